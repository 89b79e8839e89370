def should_terminate(state, start, startable):
    """End when everything is sold, when the shopkeeper is gone, and when a while brought no sale."""
    if state.depth != start.depth or state.dungeon != start.dungeon:
        return True
    if state.num_items < 1:
        return True
    turns = state.turn - start.turn
    if turns >= 20 and "shopkeeper" not in state.in_view:
        return True
    return turns >= 120 and state.num_items_sold == start.num_items_sold
