"""Reach the Oracle: practise on the first four levels, then dive and tick off each level where she may live."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
FIRST = 5
LAST = 9
PRACTICE_UNTIL = 5000  # steps of the episode
LEVEL_TURNS = (0, 500, 600, 800, 1000)  # most turns of practice on each of the levels 1 to 4
ENOUGH = (0, 3, 4, 5, 7)  # experience level that makes practice there superfluous
PAUSE = 250
STROLL = 50
STUCK = 500


class Policy:
    """Phases 'practice', 'dive' and 'rest', told by the levels that have been visited."""

    def __init__(self):
        self.phase = "practice"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.spent = [0, 0, 0, 0, 0]
        self.visited = [False, False, False, False, False]  # levels 5 to 9
        self.detours = 0  # visits to the wrong dungeons
        self.is_back = False  # whether the hero has come to this level out of a wrong dungeon

    def observe(self, state):
        if self.dungeon == DOOM and self.level < FIRST:
            self.spent[self.level] += max(0, state.turn - self.now)
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.is_back = self.dungeon != DOOM and state.dungeon == DOOM
            if self.dungeon == DOOM and state.dungeon != DOOM:
                self.detours += 1
            self.dungeon = state.dungeon
            self.level = state.level
            self.since = state.turn
            self.came = state.step
        if state.dungeon == DOOM and FIRST <= state.level <= LAST:
            self.visited[state.level - FIRST] = True
        if all(self.visited):
            self.phase = "rest"
        elif self.phase == "practice" and (any(self.visited) or state.step >= PRACTICE_UNTIL):
            self.phase = "dive"

    def select_skill(self, state, finished, startable):
        if self.phase == "rest":
            return "discoverer"
        if state.dungeon == MINES:
            return self.travel("ascender", state, finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", state, finished, startable)
        if self.is_back and state.turn - self.since < STROLL * min(self.detours, 8):
            return "discoverer"
        if self.wants_practice(state):
            return "discoverer"
        return self.travel(self.direction(state.level), state, finished, startable)

    def wants_practice(self, state):
        """Whether the hero should grow stronger here, before it goes on."""
        if self.phase != "practice" or state.level >= FIRST:
            return False
        if self.spent[state.level] >= LEVEL_TURNS[state.level]:
            return False
        return state.experience_level < ENOUGH[state.level]

    def direction(self, level):
        """Find the way to the level to visit next: the first missing one; up, if that one was passed."""
        for number in range(FIRST, LAST + 1):
            if not self.visited[number - FIRST]:
                return "descender" if number > level else "ascender"
        return "descender"

    def travel(self, wish, state, finished, startable):
        """Take the stairs, but recover a little before going deeper, and look around where no stairs are found."""
        if wish not in startable:
            return "discoverer"
        here = state.turn - self.since
        if wish == "descender" and state.level > 1 and here < PAUSE and state.hp * 2 < state.max_hp:
            return "discoverer"
        if wish == finished and max(here, self.step - self.came) > STUCK:
            return "discoverer"
        return wish
