"""Explore a level: walk to where it lies open to the unknown, then search for what is hidden."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference.bitboard import (
    FULL,
    NEIGHBOURS,
    STRIDE,
    cells,
    dilate,
    disc,
    find_path,
    waves,
)
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import Senses

SEARCH_TURNS = 8  # in one go; what is hidden next to the hero is found with a chance of 1/7 a turn
DEAD_END_TURNS = 14
EDGE = FULL & ~(FULL >> 1 & FULL << 1 & FULL >> 80 & FULL << 80)


class Explorer:
    """Explore the level of one game's hero."""

    def __init__(self, senses: Senses, mover: Mover) -> None:
        self.senses = senses
        self.mover = mover

    def step(self, *, collect: bool) -> int | None:
        """Return the next exploring action, or None when everything within reach is known.

        With `collect` the things that are picked up by walking over them are goals too.
        """
        s, m = self.senses, self.mover
        level = s.level
        goals = level.frontier & ~level.shop
        if collect and not s.burden:
            goals |= level.wanted & ~level.taken & ~level.shop
        goals &= ~(1 << s.cell | level.forbidden | level.boulders)
        if not goals:
            return None
        action = m.go(goals & m.free())
        if action is None and goals & ~level.shop:
            action = m.go(goals & (m.free(traps=True)), traps=True)
            if action is None and s.danger_mask:
                action = m.go(goals & (m.free(traps=True, dangers=True)), traps=True, dangers=True)
        return action

    def push_on(self) -> int | None:
        """Return a step towards the unknown across boulders, or None."""
        s, m = self.senses, self.mover
        goals = (s.level.frontier | s.level.boulders) & ~s.level.shop & ~s.level.forbidden & ~(1 << s.cell)
        return m.go(goals, boulders=True, traps=True) if goals else None

    def search(self) -> int:
        """Return the next action of a search for hidden doors and passages at the most promising squares."""
        s, m = self.senses, self.mover
        level = s.level
        if level.search_left > 0 and level.search_spot == s.cell:
            level.search_left -= 1
            level.searched[s.cell] = level.searched.get(s.cell, 0) + 1
            return A.SEARCH
        if level.search_spot < 0 or level.search_left <= 0 or not m.free() >> level.search_spot & 1:
            level.search_spot = self._best_spot()
            dead_end = self._is_dead_end(level.search_spot, level.walk | level.closed | level.boulders)
            level.search_left = DEAD_END_TURNS if dead_end else SEARCH_TURNS
            level.rounds += 1
        if level.search_spot != s.cell:
            action = m.go(1 << level.search_spot)
            if action is not None:
                return action
            level.search_spot = -1
        level.searched[s.cell] = tries = level.searched.get(s.cell, 0) + 1
        if tries > 30:  # searched out: is it something that must not be fought that bars the way?
            away = level.walk & ~disc(s.cell, 3) & ~level.shop
            action = m.go(away, dangers=True) if s.danger_mask else None
            if action is not None:
                return action
            return A.WAIT if s.peaceful_mask else A.SEARCH
        return A.SEARCH

    def _best_spot(self) -> int:
        """Return the reachable square where searching promises most for the walk it costs."""
        s, m = self.senses, self.mover
        level = s.level
        free = m.free()
        ground = level.walk | level.closed | level.boulders
        # Rock that nobody has seen the other side of, seen from as many squares as possible.
        dark = level.stone & ~ground & ~EDGE
        deep = dark & ~dilate(ground)  # at least two away from all that is known
        walls = level.walls & ~EDGE
        promising = walls & dilate(deep & dilate(walls)) | dark & dilate(level.corridors)
        spots = free & dilate(promising)
        best, best_score = s.cell, -1e9
        for rank, ring in enumerate(waves(1 << s.cell, free, level.doors)):
            for cell in cells(ring & spots):
                score = self._score(cell, rank, ground, promising, deep)
                if score > best_score:
                    best, best_score = cell, score
        return best

    def _score(self, cell: int, rank: int, ground: int, promising: int, deep: int) -> float:
        level = self.senses.level
        around = NEIGHBOURS[cell]
        tries = level.searched.get(cell, 0)
        score = 2.0 * (around & promising).bit_count() - rank * 0.25 - tries * 1.2
        for near in cells(around & level.walk):
            score -= 0.12 * level.searched.get(near, 0)
        if self._is_dead_end(cell, ground):
            score += 24
        score += 0.04 * (disc(cell, 6) & deep).bit_count()
        return score

    def _is_dead_end(self, cell: int, ground: int) -> bool:
        """Tell whether a corridor or a door leads to this square and not on."""
        level = self.senses.level
        exits = list(cells(NEIGHBOURS[cell] & ground))
        if not (level.corridors | level.doors) >> cell & 1:
            return False
        return len(exits) <= 1 or len(exits) == 2 and abs(exits[0] - exits[1]) in (1, STRIDE)

    def wander(self, turn: int) -> int:
        """Return a step of a patrol between the known staircases, for when nothing else is left to do."""
        s, m = self.senses, self.mover
        posts = list(s.level.downs) + list(s.level.ups)
        if posts:
            post = posts[turn // 200 % len(posts)]
            if post != s.cell:
                path = find_path(s.cell, m.free(), s.level.doors, 1 << post)
                if path:
                    return m.follow(path)
        return A.WAIT
