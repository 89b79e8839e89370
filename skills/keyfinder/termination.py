def should_terminate(state, start, startable):
    return state.num_keys > start.num_keys or state.position == 0
