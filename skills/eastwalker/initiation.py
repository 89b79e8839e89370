def can_initiate(state):
    return not state.at_door
