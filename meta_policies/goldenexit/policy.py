"""Win gold and fights on the first three levels, then leave the dungeon by the way that led in."""


class Policy:
    """See levels 1 to 3, hunt until 25 kills and 20 gold pieces are won, then climb out."""

    def __init__(self):
        self.turn = 1
        self.explored = [0] * 64  # turns spent so far on each depth of the Dungeons of Doom
        self.mined = [0] * 64  # turns spent so far on each level of the Mines
        self.patience = 500  # turns that every level gets in the present sweep
        self.heading = "descender"
        self.saw_third = False

    def observe(self, state):
        passed = state.turn - self.turn
        self.turn = state.turn
        if state.dungeon == "Dungeons of Doom":
            self.explored[state.depth] += passed
            if state.depth == 3:
                self.saw_third = True
        elif state.dungeon == "Gnomish Mines":
            self.mined[state.level] += passed

    def select_skill(self, state, finished, startable):
        if self.saw_third and state.num_kills >= 25 and state.gold >= 20:
            return "ascender"
        if state.dungeon == "Gnomish Mines":
            return self.hunt_in_mines(state)
        if state.dungeon != "Dungeons of Doom":
            return "descender"
        if state.depth > 3:
            return "ascender"
        if self.explored[state.depth] < self.patience:
            return "discoverer"
        if self.saw_third and state.experience_level >= 4 and self.mines_are_worth_it(state):
            return "descender" if state.depth <= state.branch_depth else "ascender"
        return self.sweep(state)

    def mines_are_worth_it(self, state):
        """Tell whether the Mines are close, and their first two levels not hunted empty."""
        if state.branch_depth is None or state.branch_depth > 3:
            return False
        return self.mined[1] + self.mined[2] < 1600

    def hunt_in_mines(self, state):
        """Hunt gnomes on the first two levels of the Mines; before the third level was seen, go back up."""
        if not self.saw_third or state.level > 2:
            return "ascender"
        if self.mined[state.level] < 800:
            return "discoverer"
        return "descender" if state.level == 1 and self.mined[2] < 800 else "ascender"

    def sweep(self, state):
        """Walk up and down between levels 1 and 3, staying longer on each with every turn of the direction."""
        if state.depth == 3 and self.heading == "descender":
            self.heading = "ascender"
            self.patience += 500
        elif state.depth == 1 and self.heading == "ascender":
            self.heading = "descender"
            self.patience += 500
        return self.heading
