"""Visit levels 1 to 3, hunt in widening rounds for kills and gold, and leave the dungeon when everything is there."""

DOOM = "Dungeons of Doom"
MINES = "Gnomish Mines"
GOLD = 20
KILLS = 25
TOUR_STEPS = 200
HUNT_STEPS = 400
MINES_STEPS = 700
STROLL = 60
STUCK = 500


class Policy:
    """Phases 'tour', 'hunt' and 'leave', decided anew at every step."""

    def __init__(self):
        self.phase = "tour"
        self.dungeon = DOOM
        self.level = 1
        self.now = 0
        self.since = 0
        self.visited = [False, False, False]  # levels 1 to 3
        self.upwards = False  # direction of the present round of the hunt
        self.rounds = 0
        self.is_back = False  # whether the hero came to this level out of another dungeon

    def observe(self, state):
        self.now = state.step
        if state.dungeon != self.dungeon or state.level != self.level:
            self.is_back = state.dungeon == DOOM and self.dungeon != DOOM
            self.dungeon = state.dungeon
            self.level = state.level
            self.since = state.step
        if state.dungeon == DOOM:
            if state.level <= 3:
                self.visited[state.level - 1] = True
            self.turn_around(state)
        if not all(self.visited):
            self.phase = "tour"
        elif state.gold < GOLD or state.num_kills < KILLS:
            self.phase = "hunt"
        else:
            self.phase = "leave"

    def turn_around(self, state):
        """Begin the next round of the hunt at the ends of the present one."""
        if not all(self.visited):
            return
        if self.upwards and state.level <= 1:
            self.upwards = False
            self.rounds += 1
        elif not self.upwards and state.level >= self.lowest(state):
            self.upwards = True
            self.rounds += 1

    def lowest(self, state):
        """Find the level on which the hunt turns around: deeper in later rounds, and for stronger heroes only."""
        limit = 3
        if state.experience_level >= 4:
            limit = 4
        if state.experience_level >= 6:
            limit = 6
        return min(3 + self.rounds // 2, limit)

    def select_skill(self, state, finished, startable):
        here = state.step - self.since
        if self.phase == "leave":
            wish = "ascender" if state.dungeon in (DOOM, MINES) else "descender"
            return self.travel(wish, finished, startable)
        if state.dungeon == MINES:
            if self.phase == "hunt" and state.level <= 2 and here < MINES_STEPS:
                return "discoverer"
            return self.travel("ascender", finished, startable)
        if state.dungeon != DOOM:
            return self.travel("descender", finished, startable)
        if self.phase == "tour":
            return self.tour(state, finished, startable)
        if here < HUNT_STEPS:
            return "discoverer"
        if self.upwards and state.level > 1:
            return self.travel("ascender", finished, startable)
        return self.travel("descender", finished, startable)

    def tour(self, state, finished, startable):
        """Get to the first of levels 1 to 3 that is missing, exploring a little on the way."""
        here = state.step - self.since
        if here < (STROLL if self.is_back else TOUR_STEPS):
            return "discoverer"
        wish = "descender"
        if state.level > 3 or (state.level == 3 and not self.visited[1]):
            wish = "ascender"
        return self.travel(wish, finished, startable)

    def travel(self, wish, finished, startable):
        """Take the stairs; explore for one spell where that is impossible or was in vain for long."""
        if wish not in startable or (wish == finished and self.now - self.since > STUCK):
            return "discoverer"
        return wish
