"""Find the Mines, wait there for hunger and a meal, and only then visit the levels on which the Oracle may live."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
HUNGRY = ("Hungry", "Weak", "Fainting", "Fainted")
ROUNDS = (300, 800, 1400, 2200, 3200, 10000)
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
ENTRY_TURN = 600  # later the next hunger may be missed
MOST_RETREATS = 6
LATEST_PLUNGE = 6000
ORACLE_LEVELS = (5, 6, 7, 8, 9)


class Policy:
    """First the Mines and the meal, then the Oracle."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.last_meals = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.hungry_there = False
        self.ate_there = False
        self.visited = {5: False, 6: False, 7: False, 8: False, 9: False}  # since the meal
        self.came_back = False
        self.times_back = 0
        self.retreats = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the parts of the task and the way of the hero."""
        if state.dungeon == MINES:
            if self.hungry_there and state.num_meals > self.last_meals:
                self.ate_there = True
            if state.hunger in HUNGRY:
                self.hungry_there = True
        self.last_meals = state.num_meals
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if self.ate_there and state.dungeon == DOOM and state.level in self.visited:
            self.visited[state.level] = True

    def arrive(self, state):
        """Take note of a new level and of the way that led to it."""
        climbed = state.depth < self.depth
        fork = state.branch_depth
        at_fork = fork is not None and state.dungeon == DOOM and state.level == fork
        self.came_back = (at_fork and climbed) or self.dungeon == SOKOBAN
        if self.came_back:
            self.times_back += 1
        if climbed and self.dungeon == MINES and state.dungeon == DOOM:
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
        """Do what the present part demands."""
        if self.stairs_failed(state, finished):
            return self.after_failure(state, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if self.ate_there:
            return self.go_to_oracle(state)
        if state.dungeon == MINES:
            return self.wait_for_meal(state)
        if state.branch_depth is None:
            return self.search(state)
        return self.enter_mines(state, state.branch_depth)

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

    def climb(self, state):
        """Go up, but never out of the dungeon."""
        if state.depth <= 1 or self.strolling(state):
            return "discoverer"
        return "ascender"

    def search(self, state):
        """Explore the first levels in rounds until the fork is known; level 5 is not for now."""
        if state.level > 4:
            return self.climb(state)
        target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        return "discoverer" if target == state.level else "descender"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round."""
        for steps in ROUNDS:
            levels = (1, 2, 3, 4) if steps == ROUNDS[0] else (2, 3, 4)
            waiting = [level for level in levels if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
            if steps == ROUNDS[1] and state.max_depth < 5:
                return 5  # only now: it may be the Oracle's level, but more likely leads to the Mines unseen
        return 3

    def prepared(self, state):
        """Tell whether the hero may wait in the Mines: grown a little, or the hunger is near."""
        return state.experience_level >= 3 or state.turn >= ENTRY_TURN

    def enter_mines(self, state, fork):
        """Go to the fork, wait there for strength within bounds, and go down."""
        if state.level > fork:
            return self.climb(state)
        if state.level < fork:
            return "descender"
        here = state.step - self.arrived_step
        wounded = 10 * state.hp < 7 * state.max_hp
        if self.strolling(state) or (here < 400 and (wounded or not self.prepared(state))):
            return "discoverer"
        return "descender"

    def wait_for_meal(self, state):
        """Keep close to the way out until hunger and a meal have come."""
        here = state.step - self.arrived_step
        if state.level > 2:
            return "ascender"
        if state.level == 2:
            return "discoverer" if here < 500 else "ascender"
        beginner = not self.prepared(state) and state.branch_depth != 4
        wounded = 5 * state.hp < 2 * state.max_hp
        if (beginner or wounded) and self.retreats < MOST_RETREATS:
            return "ascender"
        if here >= 900 and state.experience_level >= 4:
            return "descender"
        return "discoverer"

    def go_to_oracle(self, state):
        """Leave the Mines, and visit the levels 5 to 9, stronger if there is time for that."""
        if state.dungeon == MINES:
            return "ascender"
        if state.level <= 4:
            return self.go_below_four(state)
        missing = [level for level in ORACLE_LEVELS if not self.visited[level]]
        if not missing:
            return "discoverer"
        target = min(missing, key=lambda level: abs(level - state.level))
        return "descender" if target > state.level else self.climb(state)

    def go_below_four(self, state):
        """Prepare on the first levels, and go down."""
        here = state.step - self.arrived_step
        in_time = state.step < LATEST_PLUNGE
        growing = state.experience_level < 6 and self.steps_on[state.level] < 900
        healing = 10 * state.hp < 7 * state.max_hp and here < 400
        if self.strolling(state) or (in_time and (growing or healing)):
            return "discoverer"
        return "descender"
