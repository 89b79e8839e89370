def should_terminate(state, start, startable):
    return state.at_door
