"""Grow up on the first level, look for a shop on the next ones, sell something, and stay alive for a while."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
GROWN = 4
SURVIVAL = 320  # steps after the sale, with some to spare
LEVELS = 12
PATIENCE = 600  # turns for the first visit to a level
MORE = 250  # turns for each later visit
MANY = 20  # visits that are counted at most
SHOP_BONUS = 500
REST = 60  # turns after a trade without a sale, for each failure but the first
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'school', 'market', 'survive' and 'done', in this order."""

    def __init__(self):
        self.phase = "school"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.sold = 0  # sales up to now
        self.sale_step = 0  # of the sale that counts
        self.visits = [0] * LEVELS  # arrivals of the market phase, by level
        self.has_shop = [False] * LEVELS
        self.upwards = False
        self.rounds = 0
        self.detours = 0
        self.is_back = False
        self.sales_heard = 0  # sales when the last trade ended
        self.failures = 0  # trades without a sale on this visit
        self.rest_until = 0  # turn

    def observe(self, state):
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        if state.dungeon == DOOM and "shopkeeper" in state.in_view and not state.hallucinating:
            self.has_shop[min(state.level, LEVELS - 1)] = True
        self.turn_around(state)
        if self.phase == "school" and state.experience_level >= GROWN:
            self.phase = "market"
        elif self.phase == "market" and state.num_items_sold > self.sold:
            self.phase = "survive"
            self.sale_step = state.step
        elif self.phase == "survive" and state.step - self.sale_step > SURVIVAL:
            self.phase = "done"
        self.sold = state.num_items_sold

    def note_arrival(self, state):
        """Follow a change of level."""
        self.is_back = state.dungeon == DOOM and self.dungeon != DOOM
        if self.dungeon == DOOM and state.dungeon != DOOM:
            self.detours += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.turn
        self.came = state.step
        self.failures = 0
        self.rest_until = 0
        if self.phase == "market" and state.dungeon == DOOM and not self.is_back:
            slot = min(state.level, LEVELS - 1)
            self.visits[slot] = min(self.visits[slot] + 1, MANY)

    def turn_around(self, state):
        """Begin the next round of the search at the ends of the present one."""
        if self.phase != "market" or state.dungeon != DOOM:
            return
        if self.upwards and state.level <= 2:
            self.upwards = False
            self.rounds += 1
        elif not self.upwards and state.level >= self.lowest(state):
            self.upwards = True
            self.rounds += 1

    def lowest(self, state):
        """Find how deep the hero may look for a shop: deeper when it is strong, or has looked above twice."""
        by_strength = max(4, min(state.experience_level, 9))
        return max(by_strength, min(4 + self.rounds // 2, 9))

    def select_skill(self, state, finished, startable):
        if finished == "merchant":
            self.judge_trade(state)
        if self.phase == "school":
            return self.school(state, finished, startable)
        if self.phase == "done":
            return "discoverer"
        if "merchant" in startable and state.num_items >= 1 and state.turn >= self.rest_until:
            return "merchant"
        if self.phase == "survive":
            return "discoverer"
        return self.search(state, finished, startable)

    def judge_trade(self, state):
        """Let a shop rest after a trade without a sale, the longer the more there were."""
        if state.num_items_sold > self.sales_heard:
            self.failures = 0
            self.rest_until = state.turn
        else:
            self.failures = min(self.failures + 1, 8)
            self.rest_until = state.turn + REST * (self.failures - 1)
        self.sales_heard = state.num_items_sold

    def school(self, state, finished, startable):
        """Stay on level 1, or return to it."""
        if state.dungeon == DOOM and state.level == 1:
            return "discoverer"
        wish = "ascender" if state.dungeon in (DOOM, MINES) else "descender"
        return self.travel(wish, finished, startable)

    def search(self, state, finished, startable):
        """Look for a shop, level by level."""
        if state.dungeon == MINES:
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM or state.level == 1:
            return self.travel("descender", finished, startable)
        slot = min(state.level, LEVELS - 1)
        patience = PATIENCE if self.visits[slot] <= 1 else MORE
        if self.has_shop[slot]:
            patience += SHOP_BONUS
        if self.is_back:
            patience = STROLL * min(self.detours, 8)
        if state.turn - self.since < patience:
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
