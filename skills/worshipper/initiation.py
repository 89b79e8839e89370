def can_initiate(state):
    """There must be something to lay on the altar, and an altar close by."""
    return state.num_items >= 1 and "altar" in state.nearby
