def can_initiate(state):
    return state.at_door and state.num_keys > 0
