"""Enter the Gnomish Mines: sweep levels 2 to 4 with growing patience, then gamble on the level with two ways down."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
WARM_UP = 150
PATIENCE = 350
STROLL = 40
STUCK = 500


class Policy:
    """Three phases: 'sweep' until the branch level is known, 'gamble' on its staircases, 'inside' for good."""

    def __init__(self):
        self.phase = "sweep"
        self.dungeon = DOOM
        self.level = 1
        self.now = 0
        self.since = 0  # step of the arrival on the present level
        self.spent = [0, 0, 0, 0, 0, 0]  # steps spent on levels 1 to 4 of the Dungeons of Doom, and on all below
        self.heading = "descender"
        self.turns = 0  # how often the sweep has turned around
        self.misses = 0  # descents from the branch level that led to the wrong dungeon

    def observe(self, state):
        if self.dungeon == DOOM:
            self.spent[min(self.level, 5)] += max(0, state.step - self.now)
        self.now = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        if state.dungeon == MINES:
            self.phase = "inside"
        elif self.phase == "sweep" and state.branch_depth is not None:
            self.phase = "gamble"

    def arrive(self, state):
        """Take note of a change of level."""
        came_down = self.dungeon == DOOM and state.dungeon == DOOM and state.level == self.level + 1
        if came_down and state.branch_depth is not None and self.level == state.branch_depth:
            self.misses += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.step
        if state.dungeon == DOOM and state.level > 4 and self.heading == "descender":
            self.heading = "ascender"
            self.turns += 1
        elif state.dungeon == DOOM and state.level <= 2 and self.heading == "ascender":
            self.heading = "descender"
            self.turns += 1

    def select_skill(self, state, finished, startable):
        if self.phase == "inside":
            return "discoverer"
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if self.phase == "gamble":
            return self.gamble(state, finished, startable)
        return self.sweep(state, finished, startable)

    def sweep(self, state, finished, startable):
        """Explore levels 2 to 4 in turn."""
        if state.level > 4:
            return self.travel("ascender", finished, startable)
        allowance = PATIENCE * (1 + self.turns)
        if state.level == 1:
            allowance = WARM_UP
        if self.spent[state.level] < allowance:
            return "discoverer"
        if state.level == 1:
            return self.travel("descender", finished, startable)
        return self.travel(self.heading, finished, startable)

    def gamble(self, state, finished, startable):
        """Go to the branch level and down from it, and walk about there after each miss."""
        branch = state.branch_depth
        if branch is None:
            return "discoverer"
        if state.depth < branch:
            return self.travel("descender", finished, startable)
        if state.depth > branch:
            return self.travel("ascender", finished, startable)
        if state.step - self.since < STROLL * min(self.misses, 8):
            return "discoverer"
        return self.travel("descender", finished, startable)

    def travel(self, wish, finished, startable):
        """Take the stairs; where they were sought in vain for long, or cannot be sought, explore a little."""
        if wish not in startable:
            return "discoverer"
        if wish == finished and self.now - self.since > STUCK:
            return "discoverer"
        return wish
