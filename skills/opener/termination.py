def should_terminate(state, start, startable):
    return state.door_open
