"""Where NetHack keeps its facts: byte offsets into its structs, as nle 1.0.0 and 1.1.0 lay them out on
x86-64.

Computed by a C program against the headers of nle 1.0.0 (`offsetof`) and checked in play by the tests.
`Memory` finds the engine's global variables in the copy of the library that a game has loaded. Nothing here
is ever written to.

Source: nle 1.0.0 `include/{you,dungeon,obj,objclass,monst,mextra,mkroom,rm,decl}.h`.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
import struct
from typing import NamedTuple

from maestro.errors import EngineError

# struct you
U_X, U_Y, U_PLACE, U_LEVEL, U_SHOPS, U_HUNGER_STATE = 0, 1, 10, 24, 55, 80
U_MEALS, U_KILLS, U_HP = 1832, 1856, 1976
# struct dungeon; struct dgn_topology
DUNGEON_SIZE, DUNGEON_NAME, DUNGEON_REACHED, DUNGEON_DEPTH = 56, 0, 46, 52
TOPOLOGY_MINES = 42
# struct s_level
SPECIAL_PLACE, SPECIAL_NAME = 8, 10
# struct mapseen: what #overview knows of a level
SEEN_BRANCH, SEEN_PLACE, SEEN_FEATURES, SEEN_FLAGS = 8, 16, 20, 24
SEEN_UNREACHABLE_OR_FORGOTTEN = 0x03
SEEN_NAMED = 0x01 << 3 | 0x01 << 5 | 0x01 << 6 | (0x01 | 0x02 | 0x08 | 0x10 | 0x20) << 8
"""Flags that give a level a name of its own: oracle, bigroom, castle, valley, sanctum, rogue, quest."""
SEEN_FEATURE_BITS = 0xFF | 0x0F << 8 | 0x3C << 16
"""Bits of the features: fountains, sinks, altars, thrones; graves, trees; shops, temples."""
# struct obj
OBJECT_NEXT_HERE = 8
OBJECT = struct.Struct("<QQQIbbhI4xqbbbbBBBB")
"""nobj, v, cobj, o_id, ox, oy, otyp, owt, quan, spe, oclass, invlet, oartifact, where, timed, bits, bits."""
CURSED, BLESSED, UNPAID, NO_CHARGE, SEEN, STATUS_KNOWN = 0x01, 0x02, 0x04, 0x08, 0x20, 0x40
# struct objclass, struct objdescr
KIND_SIZE, KIND_APPEARANCE, KIND_KNOWN, KIND_CLASS, KIND_PRICE = 40, 2, 16, 21, 28
KIND_IDENTIFIED, KIND_MAGIC = 0x01, 0x10
"""Bits of the byte at KIND_KNOWN."""
APPEARANCE_SIZE, APPEARANCE_TEXT = 16, 8
NUM_KINDS = 453
# struct dlevel_t
COLUMNS, ROWS = 80, 21
SQUARE_SIZE, SQUARE_TERRAIN, FLOOR = 8, 4, 13440
TERRAIN_ALTAR = 31
# struct stairway, struct mkroom, struct monst, struct mextra, struct eshk
STAIRS_LEAD_UP = 4
"""Offset of `up` in struct stairway; `sx` and `sy` come first."""
ROOM_SIZE, ROOM_RESIDENT, FIRST_ROOM, FIRST_SUBROOM, ROOM_SHOP = 216, 208, 3, 41, 14
MONSTER_ID, MONSTER_INVENTORY, MONSTER_EXTRA, EXTRA_SHOPKEEPER = 16, 104, 136, 24
SHOPKEEPER_ROBBED, SHOPKEEPER_CREDIT, SHOPKEEPER_ANGRY, SHOPKEEPER_PLACE = 0, 8, 39, 45

SHOPKEEPER_BILL_LENGTH, SHOPKEEPER_BILL = 48, 4856
BILL_ENTRY, BILL_ENTRY_SIZE, LONGEST_BILL = struct.Struct("<I4xq"), 24, 200

LONGEST_LIST = 5000
"""No list of the engine is longer; a walk that goes on is in the wrong memory."""

_WANTED = (
    "u", "dungeons", "dungeon_topology", "sp_levchn", "mapseenchn", "invent", "objects", "obj_descr",
    "level", "rooms", "upstair", "dnstair", "sstairs", "program_state", "uarmh", "uarmu", "uarm", "uarmc",
)  # fmt: skip


def find_symbols(library_path: str) -> dict[str, int]:
    """Return the addresses of the engine's global variables in the library a running game has loaded.

    The handle is given back before this returns: NLE reloads the library for every new game, and an open
    handle would keep the old one in place. So the addresses hold until that game's next reset or close, and
    no longer.

    Raises EngineError where no running game has loaded `library_path`, or where it lacks a variable.
    """
    try:
        handle = _ctypes.dlopen(library_path, os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError as error:
        raise EngineError(
            f"no running game has loaded {library_path}: {error}",
            where="maestro.envs.nethack.engine",
            expected="a game between its reset and its close",
            hint="reset the game before asking for its truth",
        ) from None
    try:
        return {name: _ctypes.dlsym(handle, name) for name in _WANTED}
    except OSError as error:
        raise foreign_engine(f"it has no such variable: {error}") from None
    finally:
        _ctypes.dlclose(handle)


def foreign_engine(why: str) -> EngineError:
    """Make the error for a library that is not the one whose layout stands above."""
    return EngineError(
        f"this engine is not the one whose memory layout is known: {why}",
        where="maestro.envs.nethack.engine",
        expected="libnethack.so of nle 1.0.0 on x86-64 Linux",
        hint="pip install nle==1.0.0; success tests of kind `true` cannot be had with another engine",
    )


def pointer(address: int) -> int:
    """Read the pointer stored at `address`; 0 for NULL."""
    return ctypes.c_uint64.from_address(address).value


def text(address: int, length: int) -> str:
    """Read a NUL-terminated string of at most `length` bytes."""
    return ctypes.string_at(address, length).split(b"\0", 1)[0].decode("latin-1")


def pair(address: int) -> tuple[int, int]:
    """Read two signed bytes, such as (dungeon, level)."""
    first, second = struct.unpack("<bb", ctypes.string_at(address, 2))
    return first, second


class Item(NamedTuple):
    """An object as the engine has it."""

    id: int
    """The same object keeps it; a part split off a stack gets a new one."""
    kind: int
    """Index into the engine's table of object kinds."""
    object_class: int
    quantity: int
    enchantment: int
    letter: str
    """Its inventory letter; meaningless on the floor."""
    is_status_known: bool
    """Whether the hero knows it to be blessed, cursed or neither."""
    status: str
    """"blessed", "cursed" or "uncursed", known or not."""
    is_unpaid: bool
    is_shops: bool
    """Lying in a shop: the shop's and not the hero's."""


def read_items(address: int, link: int) -> list[Item]:
    """Walk a list of objects; `link` is the offset of the pointer to the next one."""
    found = []
    while address and len(found) < LONGEST_LIST:
        fields = OBJECT.unpack(ctypes.string_at(address, OBJECT.size))
        bits = fields[15]
        status = "blessed" if bits & BLESSED else "cursed" if bits & CURSED else "uncursed"
        found.append(
            Item(
                id=fields[3],
                kind=fields[6],
                object_class=fields[10],
                quantity=fields[8],
                enchantment=fields[9],
                letter=chr(fields[11] & 0xFF),
                is_status_known=bool(bits & STATUS_KNOWN),
                status=status,
                is_unpaid=bool(bits & UNPAID),
                is_shops=not bits & NO_CHARGE,
            )
        )
        address = pointer(address + link)
    return found
