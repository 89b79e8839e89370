"""Hear as many offers as possible: carry things to the shops of the first levels, then to those of Minetown."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ROUNDS = (450, 950, 1500, 2200, 3000, 10000)
SHORT_REST = 40
LONG_RESTS = (40, 120, 250, 500)
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
TOWN_STEP = 5000
TOWN_STAY = 900
OUTING = 450


class Policy:
    """Carry goods from level to level and ask for prices."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.town_level = 0
        self.came_back = False
        self.times_back = 0
        self.retreats = 0
        self.trade_turn = -1000  # when the last trade ended, what was known, and what was carried
        self.prices_then = 0
        self.items_then = 0
        self.dull_trades = 0  # in a row on this level
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the hero's way, and recognise the town."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if state.dungeon == MINES and state.level in (3, 4) and not state.hallucinating:
            if "watchman" in state.in_view or "shopkeeper" in state.in_view:
                self.town_level = state.level

    def arrive(self, state):
        """Take note of a new level; on it no trade has been dull so far."""
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
        self.dull_trades = 0
        self.trade_turn = -1000

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        if finished == "merchant":
            self.learn(state)
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def learn(self, state):
        """Take note of what a trade has brought."""
        learnt = state.num_prices_identified > self.prices_then
        self.dull_trades = 0 if learnt else min(self.dull_trades + 1, len(LONG_RESTS) - 1)
        self.prices_then = state.num_prices_identified
        self.items_then = state.num_items
        self.trade_turn = state.turn

    def choose(self, state, finished, startable):
        """Ask for prices where that can teach something, else move on."""
        if "merchant" in startable and finished != "merchant" and self.worth_asking(state):
            return "merchant"
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if state.dungeon == MINES:
            return self.inside_mines(state)
        if self.town_time(state) and state.branch_depth is not None:
            return self.toward_mines(state, state.branch_depth)
        return self.first_levels(state)

    def worth_asking(self, state):
        """Tell whether there are new goods, or enough time has passed."""
        since = state.turn - self.trade_turn
        if state.num_items > self.items_then:
            return since >= SHORT_REST
        return since >= LONG_RESTS[self.dull_trades]

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
        """Tell whether Minetown is the next aim."""
        if state.step >= TOWN_STEP:
            return True
        return state.experience_level >= 5 and min(self.steps_on.values()) >= ROUNDS[0]

    def inside_mines(self, state):
        """Go down to the town and stay around it; leave if the hero is not ready for it."""
        here = state.step - self.arrived_step
        if self.town_level > 0:
            return self.around_town(state, here)
        if state.level == 4:
            return "discoverer" if here < TOWN_STAY else "ascender"
        if state.level > 4:
            return "ascender"
        if state.level == 3:
            return "discoverer" if here < 300 else "descender"
        if not self.town_time(state):
            return "ascender"
        if 5 * state.hp < 2 * state.max_hp and here < 20 and self.retreats < 4:
            return "ascender"
        if 5 * state.hp < 3 * state.max_hp and here < 250:
            return "discoverer"
        return "descender"

    def around_town(self, state, here):
        """Walk about in the town, and now and then on the level above it."""
        if state.level > self.town_level:
            return "ascender"
        if state.level == self.town_level:
            return "discoverer" if here < TOWN_STAY else "ascender"
        if state.level == self.town_level - 1 and here < OUTING:
            return "discoverer"
        return "descender"

    def toward_mines(self, state, fork):
        """Go to the fork, and down when the hero is fit or has waited long enough."""
        if state.level > fork:
            return self.climb(state)
        if state.level < fork:
            return "descender"
        waited = state.step - self.arrived_step >= 400
        if self.strolling(state) or (5 * state.hp < 3 * state.max_hp and not waited):
            return "discoverer"
        return "descender"

    def first_levels(self, state):
        """Explore the first four levels, in rounds."""
        target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        if target == state.level or self.strolling(state):
            return "discoverer"
        return "descender"

    def climb(self, state):
        """Go up, but never out of the dungeon."""
        if state.depth <= 1 or self.strolling(state):
            return "discoverer"
        return "ascender"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round; level 1 counts in the first."""
        if state.branch_depth is None and state.max_depth < 5 and self.town_time(state):
            return 5  # the fork hides well: go down once, for the descender may take it unseen
        for steps in ROUNDS:
            levels = (1, 2, 3, 4) if steps == ROUNDS[0] else (2, 3, 4)
            waiting = [level for level in levels if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 2
