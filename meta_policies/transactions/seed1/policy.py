"""Sell as much as possible: gather on four levels, look for shops there, and then move to Minetown."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ROUNDS = (500, 1000, 1600, 2300, 3200, 10000)
SHOP_BONUS = 400  # further steps, after the first round, on a level with a shop
RESTS = (40, 80, 160, 320, 500)  # turns without trade, by the number of fruitless ones in a row
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
TOWN_STEP = 5500


class Policy:
    """Collect, trade, rest, and move on."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.shop_on = {1: False, 2: False, 3: False, 4: False}
        self.town_level = 0  # within the Mines; 0 while it is not known
        self.came_back = False
        self.times_back = 0
        self.retreats = 0
        self.fruitless = 0
        self.rest_until = 0
        self.sold_then = 0  # when the last trade ended
        self.items_then = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the hero's way and remember where there is trade."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if state.hallucinating:
            return
        if state.dungeon == DOOM and state.level in self.shop_on and "shopkeeper" in state.nearby:
            self.shop_on[state.level] = True
        if state.dungeon == MINES and state.level in (3, 4):
            if "watchman" in state.in_view or "shopkeeper" in state.in_view or "altar" in state.in_view:
                self.town_level = state.level

    def arrive(self, state):
        """Take note of a new level and of the way that led to it."""
        climbed = state.depth < self.depth
        fork = state.branch_depth
        at_fork = fork is not None and state.dungeon == DOOM and state.level == fork
        self.came_back = (at_fork and climbed) or self.dungeon == SOKOBAN
        if self.came_back:
            self.times_back += 1
        if climbed and self.dungeon == MINES and self.town_level == 0:
            self.retreats += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.depth = state.depth
        self.arrived_step = state.step
        self.arrived_turn = state.turn
        self.failures = 0
        self.explore_to_step = 0
        self.fruitless = 0
        self.rest_until = 0

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        if finished == "merchant":
            self.settle(state)
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def settle(self, state):
        """Draw the lesson from a trade that has ended."""
        if state.num_items_sold > self.sold_then:
            self.fruitless = 0
        else:
            self.fruitless = min(self.fruitless + 1, len(RESTS) - 1)
        self.sold_then = state.num_items_sold
        self.items_then = state.num_items
        self.rest_until = state.turn + RESTS[self.fruitless]

    def choose(self, state, finished, startable):
        """Trade where it makes sense, else go where goods or shops are."""
        if "merchant" in startable and finished != "merchant" and self.rested(state):
            return "merchant"
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if state.dungeon == MINES:
            return self.trade_in_mines(state)
        return self.trade_above(state)

    def rested(self, state):
        """Tell whether trading makes sense again: new goods shorten the wait."""
        if state.num_items > self.items_then + 1:
            return state.turn >= self.rest_until - RESTS[self.fruitless] + RESTS[0]
        return state.turn >= self.rest_until

    def stairs_failed(self, state, finished):
        """Tell whether a search for stairs has just ended in vain."""
        if finished != "descender" and finished != "ascender":
            return False
        long = state.step - self.asked_step >= LONG_TRY or state.turn - self.asked_turn >= LONG_TRY
        return long and self.asked_place == (state.dungeon, state.level)

    def after_failure(self, state, finished):
        """Do something else after a search in vain: explore, the longer the more often it has happened here."""
        self.failures += 1
        self.explore_to_step = state.step + 60 * min(self.failures, 4)
        self.explore_to_turn = state.turn + 80 * min(self.failures, 4)
        if finished == "ascender" and self.failures % 3 == 0:
            return "descender"  # perhaps no way leads up from here, as after a fall
        return "discoverer"

    def strolling(self, state):
        """Tell whether the hero should still walk about after a wrong way."""
        enough = min(60 * self.times_back, 240)
        passed = max(state.step - self.arrived_step, state.turn - self.arrived_turn)
        return self.came_back and passed < enough

    def town_time(self, state):
        """Tell whether to seek Minetown now: after the first round, if strong enough, or else late."""
        first_round = min(self.steps_on.values()) >= ROUNDS[0]
        return state.step >= TOWN_STEP or (first_round and state.experience_level >= 5)

    def trade_in_mines(self, state):
        """Head for the town; once there, alternate between it and the level above."""
        on_level = state.step - self.arrived_step
        if self.town_level > 0:
            if state.level > self.town_level:
                return "ascender"
            if state.level == self.town_level:
                return "discoverer" if on_level < 800 else "ascender"
            return "discoverer" if on_level < 400 and state.level == self.town_level - 1 else "descender"
        if state.level > 4:
            return "ascender"
        if state.level == 4:
            return "discoverer" if on_level < 900 else "ascender"
        if state.level == 3:
            return "discoverer" if on_level < 300 else "descender"
        weak = 5 * state.hp < 2 * state.max_hp and on_level < 20 and self.retreats < 4
        if weak or not self.town_time(state):
            return "ascender"
        if 5 * state.hp < 3 * state.max_hp and on_level < 250:
            return "discoverer"
        return "descender"

    def trade_above(self, state):
        """Explore the first levels in rounds, or take the way to the Mines."""
        if state.level > 4 and (state.branch_depth is None or not self.town_time(state)):
            return self.climb(state)
        if state.branch_depth is not None and self.town_time(state):
            if state.level > state.branch_depth:
                return self.climb(state)
            if state.level == state.branch_depth and self.strolling(state):
                return "discoverer"
            if state.level == state.branch_depth and self.recovering(state):
                return "discoverer"
            return "descender"
        target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        if target == state.level or self.strolling(state):
            return "discoverer"
        return "descender"

    def recovering(self, state):
        """Tell whether a wounded hero should wait, for a bounded time, before it enters the Mines."""
        return 5 * state.hp < 3 * state.max_hp and state.step - self.arrived_step < 400

    def climb(self, state):
        """Go up, but never out of the dungeon."""
        if state.depth <= 1 or self.strolling(state):
            return "discoverer"
        return "ascender"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round."""
        if state.branch_depth is None and state.max_depth < 5 and self.town_time(state):
            return 5  # the fork hides well: go down once, for the descender may take it unseen
        for steps in ROUNDS:
            waiting = []
            for level in (1, 2, 3, 4):
                bonus = SHOP_BONUS if self.shop_on[level] and steps > ROUNDS[0] else 0
                if self.steps_on[level] < steps + bonus and (level > 1 or steps == ROUNDS[0]):
                    waiting.append(level)
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 3
