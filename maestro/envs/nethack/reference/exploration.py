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
STALE = 6 / 7
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

    def uncover(self) -> int | None:
        """Return a step towards an object never stood on, under which a staircase may lie, or None."""
        level = self.senses.level
        goals = level.objects & level.walk & ~(level.visited | level.shop | level.spoiling)
        return self.mover.go(goals) if goals else None

    def search(self) -> int:
        """Return the next action of a search for hidden doors and passages at the most promising squares."""
        s, m = self.senses, self.mover
        level = s.level
        if level.search_left > 0 and level.search_spot == s.cell:
            level.search_left -= 1
            return self._search_here()
        if level.search_spot < 0 or level.search_left <= 0 or not m.free() >> level.search_spot & 1:
            level.search_spot = self._best_spot()
            level.search_left = SEARCH_TURNS
            level.rounds += 1
        if level.search_spot != s.cell:
            action = m.go(1 << level.search_spot)
            if action is not None:
                return action
            level.search_spot = -1
        if (
            level.searched.get(s.cell, 0) > 30
        ):  # searched out: is it something not to be fought that bars the way?
            away = level.walk & ~disc(s.cell, 3) & ~level.shop
            action = m.go(away, dangers=True) if s.danger_mask else None
            if action is not None:
                return action
            if s.peaceful_mask:
                return A.WAIT
        return self._search_here()

    def _search_here(self) -> int:
        self.count_search(1)
        return A.SEARCH

    def count_search(self, turns: int) -> None:
        """Note `turns` of searching here; -1 takes one back."""
        level, here = self.senses.level, self.senses.cell
        level.searched[here] = level.searched.get(here, 0) + turns
        for cell in cells(NEIGHBOURS[here] & ~level.walk):
            level.searched_next_to[cell] = level.searched_next_to.get(cell, 0) + turns

    def _best_spot(self) -> int:
        """Return the reachable square with the best chance of a find for the turns it costs.

        Every square of wall or rock that may hide something has a weight; each turn searched next to it
        lowers the chance that something is there to be found by one seventh.
        """
        s, m = self.senses, self.mover
        level = s.level
        free = m.free()
        ground = level.walk | level.closed | level.boulders
        dark = level.stone & ~ground & ~EDGE
        deep = dark & ~dilate(ground)  # rock that is at least two squares away from all that is known
        walls = level.walls & ~EDGE & dilate(deep)
        rock = dark & dilate(level.corridors | level.doors)
        tried = level.searched_next_to
        best, best_value = s.cell, 0.0
        for rank, ring in enumerate(waves(1 << s.cell, free, level.doors)):
            for cell in cells(ring & dilate(walls | rock)):
                around = NEIGHBOURS[cell]
                chance = 0.0
                for square in cells(around & walls):
                    chance += STALE ** tried.get(square, 0)
                if around & rock:
                    weight = 3.0 if self._is_dead_end(cell, ground) else 0.08
                    for square in cells(around & rock):
                        chance += weight * STALE ** tried.get(square, 0)
                space = (disc(cell, 6) & deep).bit_count()
                value = chance * (10 + space) / (rank + 2 * SEARCH_TURNS)
                if value > best_value:
                    best, best_value = cell, value
        return best

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
