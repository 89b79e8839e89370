def can_initiate(state):
    return state.num_keys == 0
