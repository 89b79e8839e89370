"""Enter the Gnomish Mines: look for the second staircase down on levels 2 to 4, and take it."""


class Policy:
    """Sweep levels 2 to 4, more thoroughly each time, until one of them shows the way into the Mines."""

    def __init__(self):
        self.turn = 1
        self.explored = [0] * 64  # turns spent so far on each depth of the Dungeons of Doom
        self.patience = 600  # turns that every level gets in the present sweep
        self.heading = "descender"

    def observe(self, state):
        if state.dungeon == "Dungeons of Doom":
            self.explored[state.depth] += state.turn - self.turn
        self.turn = state.turn

    def select_skill(self, state, finished, startable):
        if state.dungeon == "Gnomish Mines":
            return "discoverer"
        return self.toward_mines(state, finished)

    def toward_mines(self, state, finished):
        """Take the Mines' staircase where it is known, or look for it."""
        if state.dungeon != "Dungeons of Doom":
            return "descender"  # Sokoban lies above the level it is entered from
        branch = state.branch_depth
        if branch is not None:
            # Of the two ways down one may take the wrong one; then it comes back up and takes the other.
            return "ascender" if state.depth > branch else "descender"
        if state.depth == 1:
            return "descender"
        if state.depth > 4:
            return "ascender"
        if self.explored[state.depth] < self.patience:
            return "discoverer"
        if state.depth == 4 and self.heading == "descender":
            self.heading = "ascender"
            self.patience += 600
        elif state.depth == 2 and self.heading == "ascender":
            self.heading = "descender"
            self.patience += 600
        if finished == self.heading and self.explored[state.depth] > 2 * self.patience:
            return "discoverer"
        return self.heading
