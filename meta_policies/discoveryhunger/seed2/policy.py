"""Find the Mines, wait there for hunger and a meal, then visit every level on which the Oracle may live."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
STARVED = ("Hungry", "Weak", "Fainting", "Fainted")
FIRST = 5
LAST = 9
FIRST_LEVEL = 120  # turns
FIRST_ROUND = 500  # turns on each of levels 2 to 4
ROUND = 300  # turns that each later round adds
WAIT = 1500  # turns on one level of the Mines before the other one is tried
PRACTICE = 400  # turns on one level above the fifth, for a weak hero on its way to the Oracle
PRACTICE_UNTIL = 5500
STRONG = 5
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'search', 'enter', 'wait', 'leave', 'oracle' and 'done'."""

    def __init__(self):
        self.phase = "search"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.meals = 0
        self.was_hungry = False  # in the Mines
        self.was_fed = False  # in the Mines, after that
        self.spent = [0, 0, 0, 0, 0, 0]
        self.upwards = False
        self.rounds = 1
        self.misses = 0  # stairs of the branch level that led to the dungeon that was not wanted
        self.visited = [False, False, False, False, False]  # levels 5 to 9, since the meal

    def observe(self, state):
        if self.dungeon == DOOM:
            self.spent[min(self.level, 5)] += max(0, state.turn - self.now)
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        if state.dungeon == MINES:
            if state.hunger in STARVED:
                self.was_hungry = True
            if self.was_hungry and state.num_meals > self.meals:
                self.was_fed = True
        self.meals = state.num_meals
        if self.was_fed and state.dungeon == DOOM and FIRST <= state.level <= LAST:
            self.visited[state.level - FIRST] = True
        self.phase = self.find_phase(state)

    def note_arrival(self, state):
        """Follow a change of level."""
        if self.was_fed:
            if self.dungeon == DOOM and state.dungeon == MINES:
                self.misses += 1
        elif self.dungeon == DOOM and state.dungeon == DOOM:
            if state.branch_depth is not None and self.level == state.branch_depth and state.level > self.level:
                self.misses += 1
            if state.level >= 4 and not self.upwards:
                self.upwards = True
                self.rounds += 1
            elif state.level <= 2 and self.upwards:
                self.upwards = False
                self.rounds += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.turn
        self.came = state.step

    def find_phase(self, state):
        """Name the part of the task that is due, by what has happened and where the hero is."""
        if self.was_fed:
            if all(self.visited):
                return "done"
            return "leave" if state.dungeon == MINES else "oracle"
        if state.dungeon == MINES:
            return "wait"
        return "search" if state.branch_depth is None else "enter"

    def select_skill(self, state, finished, startable):
        if self.phase == "done":
            return "discoverer"
        if self.phase == "wait":
            return self.wait(state, finished, startable)
        if self.phase == "leave":
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if self.phase == "oracle":
            return self.find_oracle(state, finished, startable)
        if self.phase == "enter":
            return self.enter(state, finished, startable)
        return self.search(state, finished, startable)

    def search(self, state, finished, startable):
        """Sweep levels 2 to 4 and turn around on the fourth."""
        if state.level > 4:
            return self.travel("ascender", finished, startable)
        patience = FIRST_LEVEL if state.level == 1 else FIRST_ROUND + ROUND * (self.rounds - 1)
        if self.spent[state.level] < patience:
            return "discoverer"
        if state.level > 1 and (self.upwards or state.level == 4):
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def enter(self, state, finished, startable):
        """Take the stairs of the branch level."""
        branch = state.branch_depth
        if branch is None:
            return "discoverer"
        if state.level > branch:
            return self.travel("ascender", finished, startable)
        if state.level == branch and self.should_stroll(state):
            return "discoverer"
        return self.travel("descender", finished, startable)

    def wait(self, state, finished, startable):
        """Stay in the upper Mines, and change the level now and then."""
        if state.level > 2:
            return self.travel("ascender", finished, startable)
        if state.turn - self.since < WAIT:
            return "discoverer"
        wish = "descender" if state.level == 1 else "ascender"
        if wish not in startable or wish == finished:
            return "discoverer"
        return wish

    def find_oracle(self, state, finished, startable):
        """Go to the shallowest of levels 5 to 9 that has not been visited yet."""
        if state.level < FIRST:
            is_weak = state.experience_level < STRONG and state.step < PRACTICE_UNTIL
            here = state.turn - self.since
            if self.should_stroll(state) or (is_weak and state.level > 1 and here < PRACTICE):
                return "discoverer"
        for number in range(FIRST, LAST + 1):
            if not self.visited[number - FIRST]:
                wish = "descender" if number > state.level else "ascender"
                return self.travel(wish, finished, startable)
        return "discoverer"

    def should_stroll(self, state):
        """Whether to walk away from a staircase that was the wrong one before."""
        branch = state.branch_depth
        if branch is None or state.level != branch:
            return False
        return state.turn - self.since < STROLL * min(self.misses, 8)

    def travel(self, wish, finished, startable):
        """Take the stairs; explore for one spell where that is impossible or was in vain for long."""
        if wish not in startable or (wish == finished and self.is_late()):
            return "discoverer"
        return wish

    def is_late(self):
        """Whether the hero has been on this level for long, by turns or by steps, of which many may share a turn."""
        return max(self.now - self.since, self.step - self.came) > STUCK
