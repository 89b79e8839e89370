"""Hear as many prices as possible: collect things on the first levels, carry them to Minetown, then go deeper."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
COLLECT = 350  # turns on level 1
FIRST_VISIT = 600
NEXT_VISIT = 300
SHOP_TIME = 500  # turns more where a shopkeeper has been seen
READY = 5  # experience level for the Mines
READY_ITEMS = 3
READY_ANYWAY = 4000  # step
NOTHING_NEW = 2200  # turns in the Mines without a new price, after which they are left
REST = 60  # turns after each vain trade but the first, which may just have been cut short
VAIN = 3  # vain trades with the same goods on one visit
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'survey', 'town' and 'deep'; a trade comes first in each of them."""

    def __init__(self):
        self.phase = "survey"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.visited = [False] * 16  # levels of the Dungeons of Doom that were left once
        self.shop_here = False  # whether a shopkeeper was seen during this visit
        self.upwards = False
        self.rounds = 0
        self.misses = 0  # wrong staircases taken
        self.is_back = False
        self.prices = 0
        self.news = 1  # turn of the last new price, or of the arrival in the Mines
        self.left_town = False
        self.heard = 0  # prices when the last trade ended
        self.offered = 0  # things carried when the last trade ended
        self.vain = 0
        self.rest_until = 0  # turn

    def observe(self, state):
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        if state.num_prices_identified > self.prices:
            self.prices = state.num_prices_identified
            self.news = state.turn
        if "shopkeeper" in state.in_view and not state.hallucinating:
            self.shop_here = True
        if state.dungeon == DOOM:
            self.turn_around(state)
        self.update_phase(state)

    def note_arrival(self, state):
        """Follow a change of level."""
        if self.dungeon == DOOM:
            self.visited[min(self.level, 15)] = True
        self.is_back = state.dungeon == DOOM and self.dungeon != DOOM
        if self.phase == "town":
            went_down = self.dungeon == DOOM and state.dungeon == DOOM and state.level > self.level
            if went_down and state.branch_depth is not None and self.level == state.branch_depth:
                self.misses += 1
        elif self.dungeon == DOOM and state.dungeon != DOOM:
            self.misses += 1
        if self.dungeon == DOOM and state.dungeon == MINES:
            self.news = state.turn
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.turn
        self.came = state.step
        self.shop_here = False
        self.vain = 0
        self.rest_until = 0

    def turn_around(self, state):
        """Begin the next round at the ends of the present one."""
        if self.upwards and state.level <= 2:
            self.upwards = False
            self.rounds += 1
        elif not self.upwards and state.level >= self.lowest(state):
            self.upwards = True
            self.rounds += 1

    def lowest(self, state):
        """Find how deep a round goes."""
        by_strength = 4
        if self.phase == "deep":
            by_strength = max(4, min(state.experience_level, 9))
        return max(by_strength, min(3 + (self.rounds + 1) // 2, 9))

    def update_phase(self, state):
        """Begin the errand to Minetown, or end it."""
        if self.left_town:
            self.phase = "deep"
        elif self.phase == "town":
            if state.dungeon == MINES and state.turn - self.news > NOTHING_NEW:
                self.left_town = True
                self.phase = "deep"
        elif state.branch_depth is not None:
            is_ready = state.experience_level >= READY and state.num_items >= READY_ITEMS
            if is_ready or state.step >= READY_ANYWAY:
                self.phase = "town"

    def select_skill(self, state, finished, startable):
        if finished == "merchant":
            self.judge_trade(state)
        if "merchant" in startable and self.may_trade(state):
            return "merchant"
        if self.phase == "town":
            return self.visit_town(state, finished, startable)
        if state.dungeon == MINES:
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        return self.visit_level(state, finished, startable)

    def may_trade(self, state):
        """Whether a trade now could teach anything."""
        if state.num_items < 1 or state.turn < self.rest_until:
            return False
        return self.vain < VAIN or state.num_items > self.offered

    def judge_trade(self, state):
        """Let the shop rest if no price was heard."""
        if state.num_prices_identified > self.heard:
            self.vain = 0
            self.rest_until = state.turn
        else:
            self.vain = min(self.vain + 1, 9)
            self.rest_until = state.turn + REST * (self.vain - 1)
        self.heard = state.num_prices_identified
        self.offered = state.num_items

    def visit_level(self, state, finished, startable):
        """Explore a level of the Dungeons of Doom for the time of a visit, then go on."""
        length = NEXT_VISIT if self.visited[min(state.level, 15)] else FIRST_VISIT
        if state.level == 1:
            length = COLLECT
        if self.shop_here:
            length += SHOP_TIME
        if self.is_back:
            length = STROLL * min(self.misses, 8)
        if state.turn - self.since < length:
            return "discoverer"
        if self.upwards and state.level > 2:
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def visit_town(self, state, finished, startable):
        """Get into the Mines, and there to and fro between levels 3 and 4."""
        here = state.turn - self.since
        if state.dungeon == MINES:
            length = FIRST_VISIT
            if self.shop_here:
                length += SHOP_TIME
            if state.level in (3, 4) and here < length:
                return "discoverer"
            return self.travel("ascender" if state.level > 3 else "descender", finished, startable)
        branch = state.branch_depth
        if branch is not None and state.dungeon == DOOM:
            if state.level > branch:
                return self.travel("ascender", finished, startable)
            if state.level == branch and here < STROLL * min(self.misses, 8):
                return "discoverer"
        return self.travel("descender", finished, startable)

    def travel(self, wish, finished, startable):
        """Take the stairs; explore for one spell where that is impossible or was in vain for long."""
        if wish not in startable or (wish == finished and self.is_late()):
            return "discoverer"
        return wish

    def is_late(self):
        """Whether the hero has been on this level for long, by turns or by steps, of which many may share a turn."""
        return max(self.now - self.since, self.step - self.came) > STUCK
