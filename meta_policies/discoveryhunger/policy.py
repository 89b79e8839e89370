"""Find the Mines, eat there once hungry, then look for the Oracle."""


class Policy:
    """Enter the Mines, stay on their first level until a meal ended a hunger there, then turn to levels 5 to 9."""

    def __init__(self):
        self.turn = 1
        self.explored = [0] * 64  # turns spent so far on each depth of the Dungeons of Doom
        self.patience = 600  # turns that every level gets in the present sweep
        self.heading = "descender"
        self.missing = [5, 6, 7, 8, 9]  # levels where the Oracle may still be
        self.hungry = False
        self.meals = 0
        self.has_eaten = False

    def observe(self, state):
        if state.dungeon == "Dungeons of Doom":
            self.explored[state.depth] += state.turn - self.turn
            if self.has_eaten and state.depth in self.missing:
                self.missing.remove(state.depth)
        elif state.dungeon == "Gnomish Mines" and self.hungry and state.num_meals > self.meals:
            self.has_eaten = True
        self.meals = state.num_meals
        self.hungry = state.hunger in ("Hungry", "Weak", "Fainting", "Fainted")
        self.turn = state.turn

    def select_skill(self, state, finished, startable):
        if self.has_eaten:
            return self.toward_oracle(state)
        if state.dungeon == "Gnomish Mines":
            return "discoverer" if state.level == 1 else "ascender"
        if state.experience_level < 4 and state.depth < 5 and self.explored[state.depth] < 600:
            return "discoverer"
        return self.toward_mines(state, finished)

    def toward_oracle(self, state):
        """Go through the Dungeons of Doom to the nearest level that was not seen since the meal."""
        if state.dungeon == "Gnomish Mines":
            return "ascender"
        if state.dungeon != "Dungeons of Doom":
            return "descender"  # Sokoban lies above the level it is entered from
        deeper = [depth for depth in self.missing if depth > state.depth]
        if deeper:
            return "descender"
        return "ascender" if self.missing else "discoverer"

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
