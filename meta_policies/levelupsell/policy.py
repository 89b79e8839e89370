"""Grow to experience level 4 on the first level of the dungeon, then find a shop, sell something, and live on."""


class Policy:
    """Stay on level 1 until the hero is strong, then look for shops as far as Minetown; after a sale, be careful."""

    def __init__(self):
        self.turn = 1
        self.explored = [0] * 64  # turns spent so far on each depth of the Dungeons of Doom
        self.mined = [0] * 64  # turns spent so far on each level of the Mines
        self.town = 0  # the level of the Mines where Minetown is; 0 until known
        self.patience = 800  # turns that every level gets in the present sweep
        self.heading = "descender"
        self.trading = False
        self.trade_again = 0  # turn from which the next trade is worth while

    def observe(self, state):
        passed = state.turn - self.turn
        self.turn = state.turn
        if self.trading:
            self.trade_again = state.turn + 60
        if state.dungeon == "Dungeons of Doom":
            self.explored[state.depth] += passed
        elif state.dungeon == "Gnomish Mines":
            self.mined[state.level] += passed
            if self.town == 0 and passed > 0 and "watchman" in state.in_view:
                self.town = state.level

    def select_skill(self, state, finished, startable):
        if self.must_grow(state) or state.num_items_sold > 0:
            # The first level is where growing counts; after the sale, where the hero is it is safest.
            return "discoverer" if state.depth == 1 or state.num_items_sold > 0 else "ascender"
        self.trading = "merchant" in startable and state.turn >= self.trade_again
        if self.trading:
            return "merchant"
        if state.dungeon == "Gnomish Mines":
            return self.toward_town(state)
        if state.depth < 5 and self.explored[state.depth] < self.patience:
            return "discoverer"
        return self.toward_mines(state, finished)

    def must_grow(self, state):
        """Tell whether the hero is below level 4 and enough of the episode is left to mend that."""
        return state.experience_level < 4 and state.step < 5000

    def toward_town(self, state):
        """Find Minetown on the third or fourth level of the Mines, and stay there."""
        if self.town == 0:
            if state.level < 3:
                return "descender"
            if self.mined[state.level] < 250:
                return "discoverer"
            if state.level == 3:
                return "descender"
            self.town = 3
        if state.level == self.town:
            return "discoverer"
        return "descender" if state.level < self.town else "ascender"

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
