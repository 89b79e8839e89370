"""Lay as many things as possible on altars: collect first, then move to and fro beside Minetown's temple."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
FIRST_VISIT = 500
NEXT_VISIT = 250
ALTAR_TIME = 500  # turns more where an altar is in sight and something fresh is carried
READY = 5  # experience level
READY_ITEMS = 5
READY_ANYWAY = 4000  # step
REST = 50  # turns after a service that taught nothing, for each
STROLL = 40
STUCK = 500


class Policy:
    """Phases 'collect' and 'temple'; an altar nearby comes first in both."""

    def __init__(self):
        self.phase = "collect"
        self.dungeon = DOOM
        self.level = 1
        self.now = 1  # turn
        self.since = 1  # turn of the arrival on the present level
        self.step = 0
        self.came = 0  # step of that arrival
        self.seen = [False] * 16  # levels of the Dungeons of Doom that were visited before
        self.upwards = False
        self.rounds = 0
        self.misses = 0
        self.is_back = False
        self.checked = 0  # things checked when the last service ended
        self.laid = 0  # things carried when the last service ended
        self.vain = 0  # services in a row that taught nothing
        self.rest_until = 0  # turn

    def observe(self, state):
        self.now = state.turn
        self.step = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.note_arrival(state)
        self.laid = min(self.laid, state.num_items)
        if state.dungeon == DOOM:
            if self.upwards and state.level <= 2:
                self.upwards = False
                self.rounds += 1
            elif not self.upwards and state.level >= min(4 + self.rounds // 2, 8):
                self.upwards = True
                self.rounds += 1
        if self.phase == "collect" and state.branch_depth is not None:
            is_ready = state.experience_level >= READY and state.num_items >= READY_ITEMS
            if is_ready or state.step >= READY_ANYWAY:
                self.phase = "temple"

    def note_arrival(self, state):
        """Follow a change of level."""
        if self.dungeon == DOOM:
            self.seen[min(self.level, 15)] = True
        self.is_back = state.dungeon == DOOM and self.dungeon != DOOM
        if self.dungeon == DOOM and state.dungeon != DOOM:
            if self.phase == "collect":
                self.misses += 1
        elif self.phase == "temple" and self.dungeon == DOOM and state.level > self.level:
            if state.branch_depth is not None and self.level == state.branch_depth:
                self.misses += 1
        self.dungeon = state.dungeon
        self.level = state.level
        self.since = state.turn
        self.came = state.step
        self.rest_until = 0

    def select_skill(self, state, finished, startable):
        if finished == "worshipper":
            self.judge_service(state)
        if "worshipper" in startable and self.may_worship(state):
            return "worshipper"
        if self.phase == "temple":
            return self.stay_near_temple(state, finished, startable)
        if state.dungeon == MINES:
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        return self.collect(state, finished, startable)

    def may_worship(self, state):
        """Whether a service now could teach anything."""
        if state.num_items < 1 or state.turn < self.rest_until:
            return False
        return self.vain < 2 or state.num_items > self.laid

    def judge_service(self, state):
        """Remember what was laid down, and rest if it was in vain."""
        if state.num_curse_checks > self.checked:
            self.vain = 0
            self.rest_until = state.turn
        else:
            self.vain = min(self.vain + 1, 9)
            self.rest_until = state.turn + REST * self.vain
        self.checked = state.num_curse_checks
        self.laid = state.num_items

    def visit_length(self, state, usual):
        """Tell how many turns of exploring a visit takes: more, where an altar waits for something fresh."""
        if "altar" in state.in_view and state.num_items > self.laid:
            return usual + ALTAR_TIME
        return usual

    def collect(self, state, finished, startable):
        """Explore level after level, in rounds."""
        length = self.visit_length(state, NEXT_VISIT if self.seen[min(state.level, 15)] else FIRST_VISIT)
        if self.is_back:
            length = STROLL * min(self.misses, 8)
        if state.turn - self.since < length:
            return "discoverer"
        if self.upwards and state.level > 2:
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def stay_near_temple(self, state, finished, startable):
        """Get into the Mines; there, move between levels 3 and 4."""
        here = state.turn - self.since
        if state.dungeon == MINES:
            if state.level in (3, 4) and here < self.visit_length(state, FIRST_VISIT):
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
