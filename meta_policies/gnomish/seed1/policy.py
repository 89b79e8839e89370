"""Enter the Gnomish Mines: pass the levels 2 to 4 quickly, then search them ever more patiently."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ROUNDS = (150, 500, 1000, 1800, 3000, 10000)  # steps on each level, in all, before another one has its turn
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed


class Policy:
    """Search for the staircase to the Mines, and take it."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {2: 0, 3: 0, 4: 0}
        self.came_back = False  # from a staircase that led the wrong way
        self.times_back = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Notice arrivals on levels, and count the steps on those that may have the staircase."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step

    def arrive(self, state):
        """Remember where the hero came from: back at a fork it should not take the same way at once."""
        fork = state.branch_depth
        back_at_fork = (
            fork is not None and state.dungeon == DOOM and state.level == fork and state.depth < self.depth
        )
        self.came_back = back_at_fork or self.dungeon == SOKOBAN
        if self.came_back:
            self.times_back += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.depth = state.depth
        self.arrived_step = state.step
        self.arrived_turn = state.turn
        self.failures = 0
        self.explore_to_step = 0

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def choose(self, state, finished, startable):
        """Go through the cases, the urgent ones first."""
        if state.dungeon == MINES:
            return "discoverer"
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if state.branch_depth is not None:
            return self.approach(state, state.branch_depth)
        return self.search(state)

    def stairs_failed(self, state, finished):
        """Tell whether a search for stairs has just ended in vain."""
        if finished != "descender" and finished != "ascender":
            return False
        long = state.step - self.asked_step >= LONG_TRY or state.turn - self.asked_turn >= LONG_TRY
        return long and self.asked_place == (state.dungeon, state.level)

    def after_failure(self, state, finished, startable):
        """Do something else after a search in vain: explore, the longer the more often it has happened here."""
        self.failures += 1
        self.explore_to_step = state.step + 60 * min(self.failures, 4)
        self.explore_to_turn = state.turn + 80 * min(self.failures, 4)
        if "merchant" in startable:
            return "merchant"  # goods that are not paid for keep the hero in a shop
        if finished == "ascender" and self.failures % 3 == 0:
            return "descender"  # perhaps no way leads up from here, as after a fall
        return "discoverer"

    def strolling(self, state):
        """Tell whether the hero should still walk about after a wrong way."""
        enough = min(60 * self.times_back, 240)
        passed = max(state.step - self.arrived_step, state.turn - self.arrived_turn)
        return self.came_back and passed < enough

    def climb(self, state):
        """Go up, but never out of the dungeon."""
        if state.depth <= 1 or self.strolling(state):
            return "discoverer"
        return "ascender"

    def approach(self, state, fork):
        """Go to the level with both staircases, and down from there."""
        if state.level > fork:
            return self.climb(state)
        if state.level == fork and self.strolling(state):
            return "discoverer"
        return "descender"

    def search(self, state):
        """Explore the levels 2 to 4 in turn until one shows the second staircase."""
        if state.level > 4:
            return self.climb(state)
        target = self.next_level(state)
        if target > state.level:
            return "descender"
        if target < state.level:
            return self.climb(state)
        return "discoverer"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round; 5 is one try below level 4."""
        for steps in ROUNDS:
            waiting = [level for level in (2, 3, 4) if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
            if state.max_depth < 5:
                return 5
        return 3
