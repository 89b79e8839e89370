"""Sell as much as possible: explore level after level, trade wherever a shop is near, return with new goods."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
LEVELS = 12
GATHER = 400  # steps of the episode at most on level 1
FEW = 3  # things to begin with
PATIENCE = 700  # turns for the first visit to a level
MORE = 250  # turns for each later visit
SHOP_BONUS = 400
NEW_GOODS = 3  # that make a way back to a shop worth while
REST = 50  # turns after a trade without a sale, for each failure but the first
TOWN_TURNS = 3000  # turns for the Mines
STRONG = 6
TOWN_FROM = 4500  # step from which the Mines are entered by a weaker hero too
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'gather', 'tour', 'town' and 'return'; a trade comes before each of them."""

    def __init__(self):
        self.phase = "gather"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.visits = [0] * LEVELS
        self.has_shop = [False] * LEVELS
        self.left_over = 0  # things carried that shops did not want
        self.upwards = False
        self.rounds = 0
        self.detours = 0
        self.is_back = False
        self.sold = 0  # sales when the last trade ended
        self.failures = 0  # trades without a sale on this visit
        self.rest_until = 0  # turn
        self.town_turns = 0  # turns in the Mines on the errand to Minetown
        self.misses = 0

    def observe(self, state):
        if self.phase == "town" and self.dungeon == MINES:
            self.town_turns += max(0, state.turn - self.now)
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        self.left_over = min(self.left_over, state.num_items)
        if state.dungeon == DOOM and "shopkeeper" in state.in_view and not state.hallucinating:
            self.has_shop[min(state.level, LEVELS - 1)] = True
        self.turn_around(state)
        if self.phase == "gather" and (state.level > 1 or state.num_items >= FEW or state.step >= GATHER):
            self.phase = "tour"
        if self.phase != "gather":
            is_worth_it = state.num_items - self.left_over >= NEW_GOODS
            shop = self.nearest_shop(state)
            self.phase = "return" if is_worth_it and shop not in (0, state.level) else "tour"
            if self.is_town_due(state):
                self.phase = "town"

    def is_town_due(self, state):
        """Whether the errand to Minetown should be run now."""
        if state.branch_depth is None or self.town_turns >= TOWN_TURNS:
            return False
        if self.rounds < 1 and self.visits[4] < 1:
            return False
        return state.dungeon == MINES or state.experience_level >= STRONG or state.step >= TOWN_FROM

    def note_arrival(self, state):
        """Follow a change of level."""
        if self.dungeon == DOOM and self.has_shop[min(self.level, LEVELS - 1)]:
            self.left_over = state.num_items
        if self.phase == "town" and self.dungeon == DOOM and state.dungeon == DOOM:
            if state.branch_depth is not None and self.level == state.branch_depth and state.level > self.level:
                self.misses += 1
        self.is_back = state.dungeon == DOOM and self.dungeon != DOOM
        if self.dungeon == DOOM and state.dungeon != DOOM:
            self.detours += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.turn
        self.came = state.step
        self.failures = 0
        self.rest_until = 0
        if state.dungeon == DOOM and not self.is_back:
            slot = min(state.level, LEVELS - 1)
            self.visits[slot] = min(self.visits[slot] + 1, 20)

    def turn_around(self, state):
        """Begin the next round of the tour at the ends of the present one."""
        if state.dungeon != DOOM:
            return
        if self.upwards and state.level <= 2:
            self.upwards = False
            self.rounds += 1
        elif not self.upwards and state.level >= self.lowest(state):
            self.upwards = True
            self.rounds += 1

    def lowest(self, state):
        """Find how deep the tour goes: deeper for the strong, and after whole rounds."""
        return max(4, min(state.experience_level, 9), min(4 + self.rounds // 2, 9))

    def nearest_shop(self, state):
        """Find the level of a known shop at most two levels away; 0 for none."""
        if state.dungeon != DOOM:
            return 0
        for distance in range(3):
            for level in (state.level - distance, state.level + distance):
                if 1 <= level < LEVELS and self.has_shop[level]:
                    return level
        return 0

    def select_skill(self, state, finished, startable):
        if finished == "merchant":
            self.judge_trade(state)
        if "merchant" in startable and state.num_items >= 1 and state.turn >= self.rest_until:
            return "merchant"
        if self.phase == "town":
            return self.town(state, finished, startable)
        if state.dungeon == MINES:
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if self.phase == "gather":
            return "discoverer"
        if self.phase == "return" and state.turn - self.since >= MORE:
            wish = "descender" if self.nearest_shop(state) > state.level else "ascender"
            return self.travel(wish, finished, startable)
        return self.tour(state, finished, startable)

    def judge_trade(self, state):
        """After a trade: go on where something was sold, let the shop rest where nothing was."""
        if state.num_items_sold > self.sold:
            self.failures = 0
            self.rest_until = state.turn
        else:
            self.failures = min(self.failures + 1, 8)
            self.rest_until = state.turn + REST * (self.failures - 1)
            self.left_over = state.num_items
        self.sold = state.num_items_sold

    def town(self, state, finished, startable):
        """Go to the Mines, and there to and fro between levels 3 and 4."""
        here = state.turn - self.since
        if state.dungeon == MINES:
            if state.level in (3, 4) and here < PATIENCE:
                return "discoverer"
            return self.travel("descender" if state.level <= 3 else "ascender", finished, startable)
        branch = state.branch_depth
        if branch is None or state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if state.level > branch:
            return self.travel("ascender", finished, startable)
        if state.level == branch and here < STROLL * min(self.misses, 8):
            return "discoverer"
        return self.travel("descender", finished, startable)

    def tour(self, state, finished, startable):
        """Explore for the time of this visit, then go on."""
        slot = min(state.level, LEVELS - 1)
        patience = PATIENCE if self.visits[slot] <= 1 else MORE
        if self.has_shop[slot]:
            patience += SHOP_BONUS
        if self.is_back:
            patience = STROLL * min(self.detours, 8)
        if state.level > 1 and state.turn - self.since < patience:
            return "discoverer"
        if self.upwards and state.level > 2:
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def travel(self, wish, finished, startable):
        """Take the stairs; explore for one spell where that is impossible or was in vain for long."""
        if wish not in startable or (wish == finished and self.is_late()):
            return "discoverer"
        return wish

    def is_late(self):
        """Whether the hero has been on this level for long, by turns or by steps, of which many may share a turn."""
        return max(self.now - self.since, self.step - self.came) > STUCK
