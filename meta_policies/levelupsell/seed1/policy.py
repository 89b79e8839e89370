"""Grow on level 1, sell something in the first shop that is found, and then live on quietly."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
GROWN = 4
ROUNDS = (550, 1000, 1600, 2300, 3200, 10000)
RESTS = (30, 60, 150, 300, 500)
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
LATEST_TOWN = 8000


class Policy:
    """Three parts, one after the other."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {2: 0, 3: 0, 4: 0}
        self.town_level = 0
        self.came_back = False
        self.times_back = 0
        self.retreats = 0
        self.grown = False
        self.sold_before = 0  # sales until the hero was grown
        self.sold = False
        self.fruitless = 0
        self.rest_until = 0
        self.sold_then = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the three parts and the way of the hero."""
        if not self.grown:
            self.sold_before = state.num_items_sold
            self.grown = state.experience_level >= GROWN
        if self.grown and state.num_items_sold > self.sold_before:
            self.sold = True
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if state.dungeon == MINES and state.level in (3, 4) and not state.hallucinating:
            if "watchman" in state.in_view or "shopkeeper" in state.in_view:
                self.town_level = state.level

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
        self.fruitless = 0
        self.rest_until = 0

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        if finished == "merchant":
            fruitful = state.num_items_sold > self.sold_then
            self.fruitless = 0 if fruitful else min(self.fruitless + 1, len(RESTS) - 1)
            self.sold_then = state.num_items_sold
            self.rest_until = state.turn + RESTS[self.fruitless]
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def choose(self, state, finished, startable):
        """Do what the present part demands."""
        if self.stairs_failed(state, finished):
            return self.after_failure(state, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if self.sold:
            return self.live_on(state)
        if not self.grown:
            return self.climb(state)
        if "merchant" in startable and finished != "merchant" and state.turn >= self.rest_until:
            return "merchant"
        if state.dungeon == MINES:
            return self.inside_mines(state)
        return self.seek_shop(state)

    def stairs_failed(self, state, finished):
        """Tell whether a search for stairs has just ended in vain."""
        if finished != "descender" and finished != "ascender":
            return False
        long = state.step - self.asked_step >= LONG_TRY or state.turn - self.asked_turn >= LONG_TRY
        return long and self.asked_place == (state.dungeon, state.level)

    def after_failure(self, state, startable):
        """Do something else after a search in vain: explore, the longer the more often it has happened here."""
        self.failures += 1
        self.explore_to_step = state.step + 60 * min(self.failures, 4)
        self.explore_to_turn = state.turn + 80 * min(self.failures, 4)
        if "merchant" in startable and self.grown:
            return "merchant"  # goods that are not paid for keep the hero in a shop
        return "discoverer"

    def strolling(self, state):
        """Tell whether the hero should still walk about after a wrong way."""
        enough = min(60 * self.times_back, 240)
        passed = max(state.step - self.arrived_step, state.turn - self.arrived_turn)
        return self.came_back and passed < enough

    def climb(self, state):
        """Go up to level 1, but never out of the dungeon; there, explore."""
        if state.depth <= 1:
            return "discoverer"
        if state.depth > 4 and state.dungeon == DOOM and self.strolling(state):
            return "discoverer"  # just back from Sokoban
        return "ascender"

    def live_on(self, state):
        """Keep to places that are not dangerous."""
        if state.dungeon == MINES and self.town_level == state.level:
            return "discoverer"
        return self.climb(state) if state.depth > 2 else "discoverer"

    def town_time(self, state):
        """Tell whether to try Minetown: when the first levels have shown no shop, and strength and time suffice."""
        if state.experience_level < 5 or state.step > LATEST_TOWN:
            return False
        least = min(self.steps_on.values())
        return least >= ROUNDS[1] or (least >= ROUNDS[0] and state.experience_level >= 6)

    def inside_mines(self, state):
        """Go on to the town only if that is the aim; from its levels there is no better place to go."""
        here = state.step - self.arrived_step
        if self.town_level > 0:
            if state.level > self.town_level:
                return "ascender"
            return "discoverer" if state.level == self.town_level else "descender"
        if state.level > 4:
            return "ascender"
        if state.level == 4:
            return "discoverer" if here < 900 else "ascender"
        if state.level == 3:
            return "discoverer" if here < 300 else "descender"
        wounded = 5 * state.hp < 2 * state.max_hp and here < 20 and self.retreats < 4
        if wounded or not self.town_time(state):
            return "ascender"
        if 5 * state.hp < 3 * state.max_hp and here < 250:
            return "discoverer"
        return "descender"

    def seek_shop(self, state):
        """Explore levels 2 to 4 in rounds, or go to the Mines."""
        fork = state.branch_depth
        if fork is not None and self.town_time(state):
            target = fork + 1 if state.level <= fork else fork
        else:
            target = self.next_level(state)
        if target < state.level:
            return self.climb(state)
        if target == state.level or self.strolling(state):
            return "discoverer"
        return "descender"

    def next_level(self, state):
        """Name the nearest level that has not had the steps of the present round."""
        if state.branch_depth is None and state.max_depth < 5 and self.town_time(state):
            return 5  # the descender may take the hidden fork
        for steps in ROUNDS:
            waiting = [level for level in (2, 3, 4) if self.steps_on[level] < steps]
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 2
