def should_terminate(state, start, startable):
    """End on another level, when the Mines' staircase becomes known, and when an altar or a shop comes into reach.

    What was in reach at the start does not count: the policy chose to discover nevertheless.
    """
    if state.depth != start.depth or state.dungeon != start.dungeon:
        return True
    if state.branch_depth != start.branch_depth:
        return True
    if "merchant" in startable:
        return start.num_items < 1 or "shopkeeper" not in start.nearby
    if "worshipper" in startable:
        return start.num_items < 1 or "altar" not in start.nearby
    return False
