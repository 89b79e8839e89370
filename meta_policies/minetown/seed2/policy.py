"""Reach Minetown: search for the branch level while growing stronger, enter the Mines, stand on their levels 3 and 4."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
STRONG = 5  # experience level with which the Mines are entered gladly
TRAIN_UNTIL = 4500  # steps of the episode
TRAIN_TURNS = 1200  # turns of training on one level at most
FIRST_ROUND = 800  # turns on each of levels 2 to 4; by then a level is known
ROUND = 300  # turns that each later round adds
FIRST_LEVEL = 300
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'surface', 'branch', 'mines' and 'town'; the place and what has been visited decide between them."""

    def __init__(self):
        self.phase = "surface"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.spent = [0, 0, 0, 0, 0, 0]
        self.upwards = False  # direction of the present round
        self.rounds = 1
        self.misses = 0
        self.saw_third = False
        self.saw_fourth = False
        self.saw_watchman = False

    def observe(self, state):
        if self.dungeon == DOOM:
            self.spent[min(self.level, 5)] += max(0, state.turn - self.now)
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        if state.dungeon == MINES:
            self.saw_third = self.saw_third or state.level == 3
            self.saw_fourth = self.saw_fourth or state.level == 4
            if "watchman" in state.in_view and not state.hallucinating:
                self.saw_watchman = True
        self.phase = self.find_phase(state)

    def note_arrival(self, state):
        """Follow a change of level: count misses, and turn the search round at its ends."""
        if state.dungeon == DOOM and self.dungeon == DOOM:
            if state.branch_depth is not None and self.level == state.branch_depth and state.level > self.level:
                self.misses += 1
            if state.level > 4 and not self.upwards:
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
        """Name the part of the task that is due."""
        if self.saw_watchman or (self.saw_third and self.saw_fourth):
            return "town"
        if state.dungeon == MINES:
            return "mines"
        return "surface" if state.branch_depth is None else "branch"

    def select_skill(self, state, finished, startable):
        if self.phase == "town":
            return "discoverer"
        if self.phase == "mines":
            return self.cross_mines(state, finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if self.phase == "branch":
            return self.enter_mines(state, finished, startable)
        return self.search(state, finished, startable)

    def search(self, state, finished, startable):
        """Explore level after level, in rounds."""
        if state.level > 4:
            return self.travel("ascender", finished, startable)
        patience = FIRST_LEVEL if state.level == 1 else FIRST_ROUND + ROUND * (self.rounds - 1)
        if self.spent[state.level] < patience:
            return "discoverer"
        if self.upwards and state.level > 1:
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def enter_mines(self, state, finished, startable):
        """Go to the branch level; from there down, when strong enough."""
        branch = state.branch_depth
        if branch is None:
            return "discoverer"
        if state.level > branch:
            return self.travel("ascender", finished, startable)
        may_train = state.step < TRAIN_UNTIL and self.spent[state.level] < TRAIN_TURNS
        if may_train and state.experience_level < STRONG and state.level > 1:
            return "discoverer"
        if state.level == branch and state.turn - self.since < STROLL * min(self.misses, 8):
            return "discoverer"
        return self.travel("descender", finished, startable)

    def cross_mines(self, state, finished, startable):
        """Go to level 3, and if it was not Minetown, to level 4, from wherever the hero is."""
        if state.level < 3 or (state.level == 3 and not self.saw_fourth):
            return self.travel("descender", finished, startable)
        return self.travel("ascender", finished, startable)

    def travel(self, wish, finished, startable):
        """Take the stairs; explore for one spell where that is impossible or was in vain for long."""
        if wish not in startable or (wish == finished and self.is_late()):
            return "discoverer"
        return wish

    def is_late(self):
        """Whether the hero has been on this level for long, by turns or by steps, of which many may share a turn."""
        return max(self.now - self.since, self.step - self.came) > STUCK
