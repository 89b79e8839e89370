"""Lay as many things as possible on altars: gather on four levels, then go to the temple of Minetown."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
SOKOBAN = "Sokoban"
ROUNDS = (400, 900, 1500, 2200, 3000, 10000)
ALTAR_BONUS = 350
LONG_TRY = 300  # steps or turns after which a search for stairs that ends on its level has failed
TOWN_STEP = 4500
TOWN_STAY = 800
GATHERING = 500


class Policy:
    """Gather, and visit altars with what was gathered."""

    def __init__(self):
        self.dungeon = "Dungeons of Doom"
        self.level = 1
        self.depth = 1
        self.last_step = 0
        self.arrived_step = 0
        self.arrived_turn = 1
        self.steps_on = {1: 0, 2: 0, 3: 0, 4: 0}
        self.altar_on = {1: False, 2: False, 3: False, 4: False}
        self.town_level = 0
        self.came_back = False
        self.times_back = 0
        self.retreats = 0
        self.visit_turn = -1000  # when the last visit to an altar ended
        self.checks_then = 0
        self.items_then = 0
        self.useless_visits = 0
        self.failures = 0  # searches for stairs in vain on this level
        self.explore_to_step = 0
        self.explore_to_turn = 0
        self.asked_step = 0
        self.asked_turn = 1
        self.asked_place = ("Dungeons of Doom", 1)

    def observe(self, state):
        """Follow the hero's way and remember altars."""
        if state.dungeon != self.dungeon or state.level != self.level:
            self.arrive(state)
        elif state.dungeon == DOOM and state.level in self.steps_on:
            self.steps_on[state.level] += state.step - self.last_step
        self.last_step = state.step
        if state.hallucinating:
            return
        if state.dungeon == DOOM and state.level in self.altar_on and "altar" in state.in_view:
            self.altar_on[state.level] = True
        if state.dungeon == MINES and state.level in (3, 4):
            if "altar" in state.in_view or "watchman" in state.in_view:
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
        self.useless_visits = 0

    def select_skill(self, state, finished, startable):
        """Choose, and keep in mind when and where that was."""
        if finished == "worshipper":
            self.conclude(state)
        skill = self.choose(state, finished, startable)
        self.asked_step = state.step
        self.asked_turn = state.turn
        self.asked_place = (state.dungeon, state.level)
        return skill

    def conclude(self, state):
        """Take note of what a visit to an altar has brought."""
        if state.num_curse_checks > self.checks_then:
            self.useless_visits = 0
        else:
            self.useless_visits = min(self.useless_visits + 1, 4)
        self.checks_then = state.num_curse_checks
        self.items_then = state.num_items
        self.visit_turn = state.turn

    def choose(self, state, finished, startable):
        """Use an altar where that can help, else go on."""
        if "worshipper" in startable and finished != "worshipper" and self.worth_a_visit(state):
            return "worshipper"
        if self.stairs_failed(state, finished):
            return self.after_failure(state, finished, startable)
        if state.step < self.explore_to_step and state.turn < self.explore_to_turn:
            return "discoverer"
        if state.dungeon == SOKOBAN:
            return "descender"
        if state.dungeon == MINES:
            return self.inside_mines(state)
        if self.town_time(state) and state.branch_depth is not None:
            return self.toward_mines(state, state.branch_depth)
        return self.first_levels(state)

    def worth_a_visit(self, state):
        """Tell whether something new is carried, or a rest is over."""
        since = state.turn - self.visit_turn
        if state.num_items > self.items_then:
            return since >= 30 * (1 + self.useless_visits)
        return since >= 60 + 120 * self.useless_visits

    def stairs_failed(self, state, finished):
        """Tell whether a search for stairs has just ended in vain."""
        if finished != "descender" and finished != "ascender":
            return False
        long = state.step - self.asked_step >= LONG_TRY or state.turn - self.asked_turn >= LONG_TRY
        return long and self.asked_place == (state.dungeon, state.level)

    def after_failure(self, state, finished, startable):
        """Do something else after a search in vain: explore, the longer the more often it has happened here."""
        self.failures += 1
        self.explore_to_step = state.step + 60 * min(self.failures, 4)
        self.explore_to_turn = state.turn + 80 * min(self.failures, 4)
        if "merchant" in startable:
            return "merchant"  # goods that are not paid for keep the hero in a shop
        if finished == "ascender" and self.failures % 3 == 0:
            return "descender"  # perhaps no way leads up from here, as after a fall
        return "discoverer"

    def strolling(self, state):
        """Tell whether the hero should still walk about after a wrong way."""
        enough = min(60 * self.times_back, 240)
        passed = max(state.step - self.arrived_step, state.turn - self.arrived_turn)
        return self.came_back and passed < enough

    def town_time(self, state):
        """Tell whether the temple of Minetown is the next aim."""
        if state.step >= TOWN_STEP:
            return True
        return state.experience_level >= 5 and min(self.steps_on.values()) >= ROUNDS[0]

    def inside_mines(self, state):
        """Go down to the town and stay around it; leave if the hero is not ready for it."""
        here = state.step - self.arrived_step
        if self.town_level > 0:
            return self.around_town(state, here)
        if state.level > 4:
            return "ascender"
        if state.level == 4:
            return "discoverer" if here < TOWN_STAY else "ascender"
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
        """Look for the altar in the town, and for things on the level above."""
        if state.level > self.town_level:
            return "ascender"
        if state.level == self.town_level:
            return "discoverer" if here < TOWN_STAY else "ascender"
        if state.level == self.town_level - 1 and here < GATHERING:
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
        """Name the nearest level that has not had the steps of the present round."""
        if state.branch_depth is None and state.max_depth < 5 and self.town_time(state):
            return 5  # the fork hides well: go down once, for the descender may take it unseen
        for steps in ROUNDS:
            waiting = []
            for level in (1, 2, 3, 4):
                altar = self.altar_on[level]
                allowed = steps + (ALTAR_BONUS if altar and steps > ROUNDS[0] else 0)
                counts = level > 1 or altar or steps == ROUNDS[0]
                if counts and self.steps_on[level] < allowed:
                    waiting.append(level)
            if waiting:
                return min(waiting, key=lambda level: abs(level - state.level))
        return 2
