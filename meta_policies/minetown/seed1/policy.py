"""Reach Minetown: grow and find the fork on the first levels, then descend to the fourth level of the Mines."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ROUNDS = (350, 800, 1400, 2200, 3200, 10000)
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
READY_LEVEL = 5
READY_STEP = 3500
MOST_RETREATS = 3


class Policy:
    """Search above with patience, cross the Mines with care."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.came_back = False  # to a fork, by the staircase that was the wrong one
        self.times_back = 0
        self.retreats = 0  # from a level of the Mines to the one above
        self.saw_third = False
        self.saw_fourth = False
        self.saw_town = False
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the hero's way and look out for the town."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if state.dungeon == MINES:
            self.saw_third = self.saw_third or state.level == 3
            self.saw_fourth = self.saw_fourth or state.level == 4
            if "watchman" in state.in_view and state.level in (3, 4) and not state.hallucinating:
                self.saw_town = True

    def arrive(self, state):
        """Take note of a new level and of the way that led to it."""
        climbed = state.depth < self.depth
        fork = state.branch_depth
        at_fork = fork is not None and state.dungeon == DOOM and state.level == fork
        self.came_back = (at_fork and climbed) or self.dungeon == SOKOBAN
        if self.came_back:
            self.times_back += 1
        if climbed and self.dungeon == MINES:
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
        """Tell the dungeons apart, for that decides everything else."""
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == MINES:
            return self.cross_mines(state)
        if state.dungeon == SOKOBAN:
            return "descender"
        return self.reach_mines(state)

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

    def cross_mines(self, state):
        """Go to the levels that may be the town, unless the hero is too weak to go on."""
        on_level = state.step - self.arrived_step
        if self.saw_town:
            return "discoverer"
        if self.saw_third and self.saw_fourth:
            return self.look_around(state, on_level)
        if state.level >= 4:
            return "ascender" if self.saw_fourth or state.level > 4 else "discoverer"
        beginner = state.experience_level < 4 and state.step < READY_STEP
        wounded = 5 * state.hp < 2 * state.max_hp and on_level < 20
        if state.level < 3 and self.retreats < MOST_RETREATS and (wounded or (beginner and state.level == 1)):
            return "ascender"
        if 5 * state.hp < 3 * state.max_hp and on_level < 250:
            return "discoverer"
        if state.level == 3 and on_level < 100:
            return "discoverer"  # the watchmen may be close by
        return "descender"

    def look_around(self, state, on_level):
        """Seek the watchmen on both levels in turn; the task is most likely done by now."""
        if state.level < 3:
            return "descender"
        if state.level > 4:
            return "ascender"
        if on_level < 700:
            return "discoverer"
        return "descender" if state.level == 3 else "ascender"

    def reach_mines(self, state):
        """On the first levels, grow and find the fork; then take it."""
        if state.level > 4 and (state.branch_depth is None or state.level > state.branch_depth):
            return self.climb(state)
        ready = state.experience_level >= READY_LEVEL or state.step >= READY_STEP
        if self.wounded_at_fork(state):
            return "discoverer"
        if state.branch_depth is None or not ready:
            return self.search(state)
        if state.level < state.branch_depth:
            return "descender"
        if state.level > state.branch_depth:
            return self.climb(state)
        return "discoverer" if self.strolling(state) else "descender"

    def wounded_at_fork(self, state):
        """Tell whether the hero, next to the Mines, should first recover for a bounded time."""
        near = state.branch_depth is not None and state.level == state.branch_depth
        return near and 10 * state.hp < 7 * state.max_hp and state.step - self.arrived_step < 400

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
        """Explore the first levels in rounds, the nearest first."""
        target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        if target == state.level:
            return "discoverer"
        return "discoverer" if self.strolling(state) else "descender"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round; level 1 counts in the first."""
        first_round = min(self.steps_on.values()) >= ROUNDS[0]
        if first_round and state.branch_depth is None and state.max_depth < 5:
            return 5  # go down once, for the descender may take the staircase to the Mines unseen
        for steps in ROUNDS:
            levels = (1, 2, 3, 4) if steps == ROUNDS[0] else (2, 3, 4)
            waiting = [level for level in levels if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 3
