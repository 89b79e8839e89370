"""Visit three levels, find gold, defeat many, and leave: explore in rounds close to the surface, then climb out."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
GOLD = 20
KILLS = 25
ROUNDS = (400, 900, 1500, 2200, 3200, 10000)
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
MINES_STAY = 700
MOST_RETREATS = 6


class Policy:
    """Stay near the surface until everything is done, then go."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.visited = {1: True, 2: False, 3: False}
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.steps_in_mines = 0
        self.came_back = False
        self.times_back = 0
        self.retreats = 0  # times the hero came up while it was badly wounded
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Keep count of the levels and of the time spent on them."""
        passed = state.step - self.last_step
        self.last_step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == MINES:
            self.steps_in_mines += passed
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += passed
        if state.dungeon == DOOM and state.level in self.visited:
            self.visited[state.level] = True

    def arrive(self, state):
        """Take note of a new level and of the way that led to it."""
        climbed = state.depth < self.depth
        fork = state.branch_depth
        at_fork = fork is not None and state.dungeon == DOOM and state.level == fork
        self.came_back = (at_fork and climbed) or self.dungeon == SOKOBAN
        if self.came_back:
            self.times_back += 1
        if climbed and self.wounded(state):
            self.retreats += 1
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
        """Leave when all is done, else explore where it is safe."""
        if self.stairs_failed(state, finished):
            return self.after_failure(state, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if self.complete(state):
            return "discoverer" if self.dungeon_above_is_sokoban(state) else "ascender"
        if state.dungeon == MINES:
            return self.fight_in_mines(state)
        if self.wounded(state) and state.depth <= 2 and state.step - self.arrived_step < 400:
            return "discoverer"
        if self.wounded(state) and state.depth >= 3 and self.retreats < MOST_RETREATS:
            return self.climb(state)
        return self.explore_rounds(state)

    def complete(self, state):
        """Tell whether only the way out remains."""
        return all(self.visited.values()) and state.gold >= GOLD and state.num_kills >= KILLS

    def dungeon_above_is_sokoban(self, state):
        """Tell whether the hero has just come back from Sokoban, and should not go there again at once."""
        return state.depth > 4 and self.strolling(state)

    def wounded(self, state):
        """Tell whether the hero is in danger."""
        return 5 * state.hp < 2 * state.max_hp

    def stairs_failed(self, state, finished):
        """Tell whether a search for stairs has just ended in vain."""
        if finished != "descender" and finished != "ascender":
            return False
        long = state.step - self.asked_step >= LONG_TRY or state.turn - self.asked_turn >= LONG_TRY
        return long and self.asked_place == (state.dungeon, state.level)

    def after_failure(self, state, startable):
        """Do something else after a search in vain: explore, the longer the more often it has happened here."""
        self.failures += 1
        self.explore_to_step = state.step + 60 * min(self.failures, 4)
        self.explore_to_turn = state.turn + 80 * min(self.failures, 4)
        if "merchant" in startable:
            return "merchant"  # goods that are not paid for keep the hero in a shop
        return "discoverer"

    def strolling(self, state):
        """Tell whether the hero should still walk about after a wrong way."""
        enough = min(60 * self.times_back, 240)
        passed = max(state.step - self.arrived_step, state.turn - self.arrived_turn)
        return self.came_back and passed < enough

    def fight_in_mines(self, state):
        """Use the first level of the Mines for kills, if the hero can bear it and still needs them."""
        fit = state.experience_level >= 4 and not self.wounded(state)
        needed = state.num_kills < KILLS
        if state.level == 1 and fit and needed and self.steps_in_mines < MINES_STAY:
            return "discoverer"
        return "ascender"

    def explore_rounds(self, state):
        """Go to the nearest level that still has its share of steps to come."""
        target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        if target == state.level or self.strolling(state):
            return "discoverer"
        return "descender"

    def climb(self, state):
        """Go up, but not out of the dungeon."""
        if state.depth <= 1 or self.strolling(state):
            return "discoverer"
        return "ascender"

    def next_level(self, state):
        """Name that level; levels not yet visited come before longer stays."""
        for steps in ROUNDS:
            levels = (1, 2, 3) if steps == ROUNDS[0] else (1, 2, 3, 4)
            waiting = [level for level in levels if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 2
