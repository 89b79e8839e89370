"""Remember each level a game has visited: its ground, doors, stairs, dead ends, shops and altars.

The map that NetHack shows already remembers most things; what it forgets (the ground under an object or
a monster, where stairs lead, what was searched or kicked) is kept here until the episode ends.
"""

from dataclasses import dataclass, field

from maestro.envs.nethack.reference.bitboard import FULL, NEIGHBOURS, cells, dilate

LevelKey = tuple[int, int]  # dungeon number, level in that dungeon

GIVE_UP_KICKS = 40
AVOID_TURNS = 60  # after a square first could not be entered; four times as long each further time


@dataclass(slots=True)
class LevelMemory:
    """Hold what is known of one level. All masks are bitboards."""

    key: LevelKey
    depth: int
    walk: int = 0  # ground that can be stood on, also where something hides it now
    doors: int = 0  # squares entered and left without diagonal steps only
    closed: int = 0  # doors seen closed
    walls: int = 0
    stone: int = FULL
    boulders: int = 0
    traps: int = 0
    holes: int = 0
    liquid: int = 0
    altars: int = 0
    corridors: int = 0
    objects: int = 0
    wanted: int = 0
    spoiling: int = 0  # food that would be picked up and can kill who eats it late
    visited: int = 0
    near: int = 0  # within one square of where the hero stood with open eyes
    taken: int = 0  # objects that were stood on and stayed
    piles: int = 0  # where objects were seen before anything was killed there
    forbidden: int = 0  # never entered again: doors of closed shops, hopeless doors
    barred: int = 0  # the squares of `blocked`, as of the last question for the ground
    shop: int = 0  # floor of shops, known from their keepers
    keepers: int = 0  # where shopkeepers were last seen
    priests: int = 0
    watched: bool = False  # a watchman was seen: no door is kicked here
    locked: dict[int, int] = field(default_factory=dict)  # door -> kicks spent
    searched: dict[int, int] = field(default_factory=dict)  # square -> turns searched there
    searched_next_to: dict[int, int] = field(default_factory=dict)  # wall or rock -> turns searched beside it
    blocked: dict[int, int] = field(default_factory=dict)  # square -> turn until which it is avoided
    setbacks: dict[int, int] = field(default_factory=dict)  # square -> how often it could not be entered
    downs: dict[int, LevelKey | None] = field(default_factory=dict)  # staircase -> where it leads
    ups: dict[int, LevelKey | None] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)  # staircase -> how often it was taken
    peaceful: dict[int, int] = field(default_factory=dict)  # square -> glyph of a peaceful monster
    sessile: dict[int, tuple[int, int]] = field(default_factory=dict)  # square -> (monster, turn last seen)
    eye_waits: int = 0  # rests given to a floating eye in the way
    search_spot: int = -1
    search_left: int = 0
    rounds: int = 0  # how many search spots were worked through
    altar_done: int = 0  # items whose status the altar here has shown
    altar_pile: int = -1  # altar with things laid down and not yet taken up again

    def look(self, masks: list[int], here: int, sees: bool) -> None:
        """Take in the map. `masks` follow `glyphs.PLANES`; `here` is the hero's cell."""
        (floor, opened, closed, wall, stone, boulder, trap, monster,
         objects, down, up, altar, liquid, hole, wanted, corridor, spoiling) = masks  # fmt: skip
        hero = 1 << here
        monster &= ~hero
        bare = floor & ~objects
        self.closed = closed
        self.boulders = boulder
        self.stone = stone
        self.objects = objects
        self.wanted = wanted
        self.spoiling = spoiling
        self.liquid = (self.liquid | liquid) & ~floor
        self.walls = wall
        self.walk = (self.walk | floor | trap | monster | hero) & ~(wall | boulder | closed | liquid)
        self.traps = (self.traps | trap) & ~bare
        self.holes = (self.holes | hole) & ~bare
        self.doors = (self.doors | opened | closed) & ~(bare & ~opened)
        self.corridors = (self.corridors | corridor) & ~closed
        self.altars |= altar
        self.visited |= hero
        self.near |= NEIGHBOURS[here] | hero if sees else hero
        self.piles = (self.piles | objects) & ~bare
        self.taken = (self.taken | hero) & (objects | hero)
        for cell in cells(down):
            self.downs.setdefault(cell, None)
        for cell in cells(up):
            self.ups.setdefault(cell, None)

    def passed(self, mask: int) -> None:
        """Note squares that the hero ran across within one step."""
        self.visited |= mask
        self.near |= dilate(mask)

    def avoid(self, cell: int, turn: int) -> None:
        """Leave a square alone for a while, longer each time."""
        count = self.setbacks[cell] = self.setbacks.get(cell, 0) + 1
        self.blocked[cell] = turn + AVOID_TURNS * 4 ** min(count, 6)

    @property
    def has_company(self) -> bool:
        """Tell whether somebody lives here whose anger would be the end: keepers, priests, the watch, peacefuls."""
        return bool(self.keepers or self.priests or self.watched or self.peaceful)

    @property
    def unknown(self) -> int:
        """Return the squares of which nothing is known and next to which the hero never stood."""
        return self.stone & ~self.near & ~self.walk

    @property
    def frontier(self) -> int:
        """Return the squares that lie open to the unknown and were not stood on yet."""
        return dilate(self.unknown) & (self.walk | self.closed) & ~self.visited

    def ground(self, turn: int) -> int:
        """Return all squares that may be entered on foot: no traps, boulders, shops or blocked squares."""
        free = (self.walk | self.closed) & ~(self.traps | self.forbidden | self.shop | self.spoiling)
        self.barred = 0
        if self.blocked:
            for cell, until in list(self.blocked.items()):
                if until <= turn:
                    del self.blocked[cell]
                else:
                    self.barred |= 1 << cell
        return free & ~self.barred
