"""Reach the Oracle: grow on the first four levels, then visit each of the levels 5 to 9 without delay."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ORACLE_LEVELS = (5, 6, 7, 8, 9)
# For each level of the beginning: the experience that suits whoever leaves it, and the steps after which it is left
# without.
LESSONS = {1: (3, 600), 2: (4, 700), 3: (5, 800), 4: (6, 1000)}
HEALING_STEPS = 300
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
LATEST_PLUNGE = 4500


class Policy:
    """Learn above, hurry below."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.visited = {5: False, 6: False, 7: False, 8: False, 9: False}
        self.came_back = False  # from the Mines or from Sokoban, and stands on the staircase that led there
        self.times_back = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Keep count of levels and of the time on them."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.came_back = state.dungeon == DOOM and self.dungeon != DOOM
            if self.came_back:
                self.times_back += 1
            self.dungeon = state.dungeon
            self.level = state.level
            self.arrived_step = state.step
            self.arrived_turn = state.turn
            self.failures = 0
            self.explore_to_step = 0
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        if state.dungeon == DOOM and state.level in self.visited:
            self.visited[state.level] = True
        self.last_step = state.step

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def choose(self, state, finished, startable):
        """Handle mishaps first, then the lessons above, then the search below."""
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if state.dungeon == MINES:
            return "ascender"
        if self.strolling(state):
            return "discoverer"
        if state.level in LESSONS:
            return self.grow(state)
        return self.visit(state)

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

    def grow(self, state):
        """Stay on one of the first levels as long as there is something to learn and time for it."""
        suitable, steps = LESSONS[state.level]
        in_time = self.steps_on[state.level] < steps and state.step < LATEST_PLUNGE
        if state.experience_level < suitable and in_time:
            return "discoverer"
        healing = state.step - self.arrived_step < steps + HEALING_STEPS and state.step < LATEST_PLUNGE
        if state.level == 4 and 10 * state.hp < 7 * state.max_hp and healing:
            return "discoverer"
        return "descender"

    def visit(self, state):
        """Head for the nearest of the Oracle's levels where the hero has not been; of two the higher one."""
        missing = [level for level in ORACLE_LEVELS if not self.visited[level]]
        if not missing:
            return "discoverer"
        target = min(missing, key=lambda level: abs(level - state.level))
        return "descender" if target > state.level else "ascender"
