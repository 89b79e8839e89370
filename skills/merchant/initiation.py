def can_initiate(state):
    """There must be something to sell, and a shopkeeper close by."""
    return state.num_items >= 1 and "shopkeeper" in state.nearby
