def should_terminate(state, start, startable):
    """End when nothing is left to lay down, when the altar is gone, and when a while brought no news."""
    if state.depth != start.depth or state.dungeon != start.dungeon:
        return True
    if state.num_items < 1:
        return True
    turns = state.turn - start.turn
    if turns >= 20 and "altar" not in state.nearby:
        return True
    return turns >= 80 and state.num_curse_checks == start.num_curse_checks
