"""Reach the Oracle: she lives on one of the levels 5 to 9 of the Dungeons of Doom."""


class Policy:
    """Grow on the first levels, then pass through every level down to 9, so that none of the five is missed."""

    def __init__(self):
        self.turn = 1
        self.explored = [0] * 64  # turns spent so far on each depth of the Dungeons of Doom
        self.missing = [5, 6, 7, 8, 9]  # levels where the Oracle may still be

    def observe(self, state):
        if state.dungeon == "Dungeons of Doom":
            self.explored[state.depth] += state.turn - self.turn
            if state.depth in self.missing:
                self.missing.remove(state.depth)
        self.turn = state.turn

    def select_skill(self, state, finished, startable):
        if state.dungeon == "Dungeons of Doom" and state.depth < 5 and self.should_grow(state):
            return "discoverer"
        return self.toward_oracle(state)

    def should_grow(self, state):
        """Tell whether a level this easy is still worth some turns."""
        return state.experience_level < 6 and self.explored[state.depth] < 400

    def toward_oracle(self, state):
        """Go through the Dungeons of Doom to the nearest level that was not seen yet."""
        if state.dungeon == "Gnomish Mines":
            return "ascender"
        if state.dungeon != "Dungeons of Doom":
            return "descender"  # Sokoban lies above the level it is entered from
        deeper = [depth for depth in self.missing if depth > state.depth]
        if deeper:
            return "descender"
        return "ascender" if self.missing else "discoverer"
