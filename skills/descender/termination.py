def should_terminate(state, start, startable):
    """End on another level, and when an altar or a shop that was not in reach at the start comes into reach."""
    if state.depth != start.depth or state.dungeon != start.dungeon:
        return True
    if "merchant" in startable:
        return start.num_items < 1 or "shopkeeper" not in start.nearby
    if "worshipper" in startable:
        return start.num_items < 1 or "altar" not in start.nearby
    return False
