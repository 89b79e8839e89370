"""Perceive one game: read the observation once per step and keep the level memories up to date."""

from typing import Any

from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.bitboard import (
    DIRECTION_OF,
    NEIGHBOURS,
    NUM_CELLS,
    STRIDE,
    cells,
    disc,
    distance,
    flood,
)
from maestro.envs.nethack.reference.memory import LevelKey, LevelMemory

BLIND, STUNNED, CONFUSED, HALLUCINATING, LEVITATING = 32, 128, 256, 512, 1024
DEADLY = 1 | 2 | 4 | 8 | 16  # stoning, slime, strangling, food poisoning, illness
MINES = 2


class Senses:
    """Hold the current percepts of one game and everything remembered about it."""

    def __init__(self) -> None:
        self.levels: dict[LevelKey, LevelMemory] = {}
        self._last_map = b""
        self._masks: list[int] = []
        self.turn = 0
        self.cell = -1
        self.key: LevelKey = (-1, -1)
        self.last_cell = -1
        self.last_turn = 0
        self.monsters: list[tuple[int, int]] = []  # (cell, glyph), the hero left out
        self._hostiles: list[tuple[int, int, int]] | None = []
        self.peaceful_mask = 0
        self.swallowed = False
        self.danger_mask = 0  # monsters that are better left alone

    def update(self, world: Any, index: int) -> None:
        """Read game `index` of the world."""
        observation = world.observation
        self._inventory = observation["inv_strs"][index]
        self.row = row = observation["blstats"][index].tolist()
        self.state = state = world.states[index]
        self.message: str = state.message
        self.prompt: str = state.prompt
        self.last_cell, self.last_turn, last_key = self.cell, self.turn, self.key
        self.hp, self.max_hp, self.depth, self.gold = row[10], row[11], row[12], row[13]
        self.energy, self.experience_level, self.turn = row[14], row[18], row[20]
        self.hunger, self.burden, self.condition = row[21], row[22], row[25]
        self.cell = row[1] * STRIDE + row[0]
        self.key = (row[23], row[24])
        self.moved = self.cell != self.last_cell
        self.new_level = self.key != last_key
        if self.moved:
            self._hostiles = None  # distances changed
        level = self.levels.get(self.key)
        if level is None:
            level = self.levels[self.key] = LevelMemory(self.key, self.depth)
        self.level = level
        self.glyph_map = glyph_map = observation["glyphs"][index]
        raw = glyph_map.tobytes()
        if raw != self._last_map or self.new_level:
            self._last_map = raw
            self._masks = G.masks_of(glyph_map)
            level.look(self._masks, self.cell, not self.condition & BLIND)
            self._see_monsters()
        if "staircase" in self.message or "ladder" in self.message or "can't go" in self.message:
            self._read_of_stairs()
        if self.new_level:
            self.last_cell = -1

    def _read_of_stairs(self) -> None:
        """Take stairs that an object or the hero hides from what the game says lies here.

        One that is none is forgotten: a monster on the real one had pushed the hero beside it when he arrived.
        """
        for way, known in (("down", self.level.downs), ("up", self.level.ups)):
            if f"staircase {way} here" in self.message or f"ladder {way} here" in self.message:
                known.setdefault(self.cell, None)
            elif f"can't go {way} here" in self.message:
                known.pop(self.cell, None)

    def is_gloved(self) -> bool:
        """Tell whether the hero wears gloves, without which a cockatrice is not to be touched."""
        return b"gloves (being worn)" in self._inventory.tobytes()

    def note_run(self, start: int, offset: int) -> None:
        """Mark the squares between `start` and the hero as passed, when they lie on the running line."""
        mask, cell = 0, start
        while 0 <= cell < NUM_CELLS:
            if cell == self.cell:
                self.level.passed(mask)
                return
            mask |= 1 << cell
            cell += offset

    def glyph_at(self, cell: int) -> int:
        """Return the glyph shown at a cell."""
        y, x = divmod(cell, STRIDE)
        return int(self.glyph_map[y, x])

    def _see_monsters(self) -> None:
        level = self.level
        mask = self._masks[7] & ~(1 << self.cell)
        self.monsters = [(cell, self.glyph_at(cell)) for cell in cells(mask)]
        around = NEIGHBOURS[self.cell]
        self.swallowed = not mask and any(G.is_swallowed(self.glyph_at(c)) for c in cells(around))
        self._follow_peacefuls()
        for cell, glyph in self.monsters:
            kind = G.monster_of(glyph)
            if kind == G.SHOPKEEPER:
                self._know_shop(cell)
            elif kind in G.PRIESTS:
                level.priests |= 1 << cell
            elif kind in G.WATCH:
                level.watched = True

    def _follow_peacefuls(self) -> None:
        """Carry the marks of peaceful monsters along with their small steps."""
        level = self.level
        marks = level.peaceful
        if marks:
            present = dict(self.monsters)
            kept: dict[int, int] = {}
            lost = []
            for cell, glyph in marks.items():
                if present.get(cell) == glyph:
                    kept[cell] = glyph
                else:
                    lost.append((cell, glyph))
            for cell, glyph in lost:
                free = [
                    c for c, g in present.items() if g == glyph and c not in kept and distance(c, cell) <= 2
                ]
                if free:
                    kept[min(free, key=lambda c: distance(c, cell))] = glyph
                elif distance(cell, self.cell) > 2 and len(kept) < 30:
                    kept[cell] = glyph  # out of sight, not gone
            level.peaceful = kept
        self.sort_out()

    def sort_out(self) -> None:
        """Make the masks of monsters to be left alone from the marks of the level."""
        self._hostiles = None
        level = self.level
        mask = 0
        for cell, glyph in self.monsters:
            if level.peaceful.get(cell) == glyph or G.monster_of(glyph) in G.UNTOUCHABLE:
                mask |= 1 << cell
        self.peaceful_mask = mask
        danger, sessile = 0, level.sessile
        for cell, glyph in self.monsters:
            kind = G.monster_of(glyph)
            if kind in G.PASSIVE:
                sessile[cell] = (kind, self.turn)
        if sessile:
            shown = {cell for cell, _ in self.monsters}
            for cell, (kind, seen) in list(sessile.items()):
                patience = 40 if kind in (G.FLOATING_EYE, G.GAS_SPORE) else 400
                if cell not in shown and (distance(cell, self.cell) <= 1 or self.turn - seen > patience):
                    del sessile[cell]
                else:
                    danger |= 1 << cell
        self.danger_mask = danger & ~mask

    def _know_shop(self, keeper: int) -> None:
        level = self.level
        room = level.walk & ~level.doors & ~level.corridors
        inside = flood(1 << keeper, room, 0)
        if inside.bit_count() > 120:
            inside &= disc(keeper, 3)  # no room of a shop is that large: do not trust the outline
        level.keepers = (level.keepers & ~disc(keeper, 12)) | 1 << keeper
        level.shop |= inside

    def hostiles(self) -> list[tuple[int, int, int]]:
        """Return (cell, monster index or -1, distance) of all that may be an enemy, nearest first."""
        if self._hostiles is None:
            found = []
            for cell, glyph in self.monsters:
                if not self.peaceful_mask >> cell & 1:
                    found.append((cell, G.monster_of(glyph), distance(cell, self.cell)))
            found.sort(key=lambda item: item[2])
            self._hostiles = found
        return self._hostiles

    def direction_to(self, cell: int) -> int:
        """Return the direction index (0..7, compass order) of an adjacent cell."""
        return DIRECTION_OF[cell - self.cell]
