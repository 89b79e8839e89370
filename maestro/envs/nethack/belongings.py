"""What the engine knows of objects and shops; the part of `engine.Truth` that walks its lists."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import NamedTuple

from maestro.envs.nethack import layout
from maestro.envs.nethack.layout import Item, pointer, read_items
from maestro.envs.nethack.prices import hidden_kind

_DUNCE_CAP = 76
_ARMOR, _COIN = 3, 12
_MAGIC_OR_PLAIN = (9, 10)
# The name of an item that is known by its appearance only, as objnam.c xname() makes it, by object class.
_APPEARANCE_FORMS = {
    3: "{}", 4: "{} ring", 6: "{}", 8: "{} potion", 9: "scroll labeled {}",
    10: "{} spellbook", 11: "{} wand", 13: "{} stone",
}  # fmt: skip


class Shopkeeper(NamedTuple):
    """The keeper of the shop the hero is in."""

    id: int
    gold: int
    credit: int
    """Gold the hero may still spend there."""
    is_angry: bool


class Shop(NamedTuple):
    """A shop, by what it sells (0 a general store, 1 armor, 2 scrolls, 3 potions, ...) and its squares."""

    kind: int
    left: int
    right: int
    top: int
    bottom: int


class Belongings:
    """What the hero and the shops own. `engine.Truth` finds the variables this reads."""

    _symbols: dict[str, int]
    _read_x: ctypes.c_byte
    _read_y: ctypes.c_byte
    _read_shop: ctypes.c_ubyte
    _read_is_over: ctypes.c_int

    @property
    def position(self) -> tuple[int, int]:
        """Column 1 to 79 and row 0 to 20, as the engine counts (blstats count columns from 0)."""
        return self._read_x.value, self._read_y.value

    @property
    def is_over(self) -> bool:
        """Whether the game has ended; the hero's belongings cannot be read any more."""
        return self._read_is_over.value != 0

    @property
    def gold(self) -> int:
        """Gold pieces in the open inventory."""
        return sum(item.quantity for item in self.inventory() if item.object_class == _COIN)

    @property
    def is_in_shop(self) -> bool:
        """Whether the hero is inside a shop (its doorway and the free spot behind it included)."""
        return self._read_shop.value != 0

    def inventory(self) -> list[Item]:
        """Return what the hero carries (bags not opened); nothing once the game is over."""
        return [] if self.is_over else read_items(pointer(self._symbols["invent"]), 0)

    def floor(self) -> list[Item]:
        """Return what lies on the hero's square, the last dropped first (a boulder before all)."""
        if self.is_over:
            return []
        x, y = self.position
        square = layout.FLOOR + (x * layout.ROWS + y) * 8
        return read_items(pointer(self._symbols["level"] + square), layout.OBJECT_NEXT_HERE)

    def shopkeeper(self) -> Shopkeeper | None:
        """Return the keeper of the shop the hero is in; None outside shops and in one without a keeper."""
        monster = self._keeper()
        if not monster:
            return None
        keeping = self._keeping()
        purse = read_items(pointer(monster + layout.MONSTER_INVENTORY), 0)
        return Shopkeeper(
            ctypes.c_uint32.from_address(monster + layout.MONSTER_ID).value,
            sum(item.quantity for item in purse if item.object_class == _COIN),
            ctypes.c_long.from_address(keeping + layout.SHOPKEEPER_CREDIT).value,
            ctypes.c_byte.from_address(keeping + layout.SHOPKEEPER_ANGRY).value != 0,
        )

    def _keeper(self) -> int:
        """Return the address of the monster that keeps the shop the hero is in; 0 for none."""
        room = self._read_shop.value
        if self.is_over or room < layout.FIRST_ROOM:
            return 0
        address = self._symbols["rooms"] + (room - layout.FIRST_ROOM) * layout.ROOM_SIZE
        return pointer(address + layout.ROOM_RESIDENT)

    def _keeping(self) -> int:
        """Return the address of what that shopkeeper knows of the shop; 0 without one."""
        monster = self._keeper()
        return pointer(pointer(monster + layout.MONSTER_EXTRA) + layout.EXTRA_SHOPKEEPER) if monster else 0

    def bill(self) -> dict[int, int]:
        """Return the shop's bill for what the hero carries unpaid: object number to price of one."""
        keeping = self._keeping()
        if not keeping:
            return {}
        entries = ctypes.c_int.from_address(keeping + layout.SHOPKEEPER_BILL_LENGTH).value
        found, address = {}, pointer(keeping + layout.SHOPKEEPER_BILL)
        for _ in range(min(entries, layout.LONGEST_BILL)):
            number, price = layout.BILL_ENTRY.unpack(ctypes.string_at(address, layout.BILL_ENTRY.size))
            found[number] = price
            address += layout.BILL_ENTRY_SIZE
        return found

    def shops(self) -> list[Shop]:
        """Return the shops of the level the hero is on, visited or not."""
        return [*self._shops_from(0), *self._shops_from(layout.FIRST_SUBROOM)]

    def _shops_from(self, number: int) -> Iterator[Shop]:
        """Go through a list of rooms, which a room with a negative right side ends."""
        while True:
            address = self._symbols["rooms"] + number * layout.ROOM_SIZE
            left, right, top, bottom, kind = struct.unpack("<5b", ctypes.string_at(address, 5))
            if right < 0:
                return
            if kind >= layout.ROOM_SHOP:
                yield Shop(kind - layout.ROOM_SHOP, left, right, top, bottom)
            number += 1

    def altars(self) -> list[tuple[int, int]]:
        """Return the positions of the altars on the level the hero is on, seen or not."""
        squares = ctypes.string_at(self._symbols["level"], layout.FLOOR)
        terrain = squares[layout.SQUARE_TERRAIN :: layout.SQUARE_SIZE]
        found, cell = [], terrain.find(layout.TERRAIN_ALTAR)
        while cell >= 0:
            found.append(divmod(cell, layout.ROWS))
            cell = terrain.find(layout.TERRAIN_ALTAR, cell + 1)
        return found

    def base_price(self, kind: int) -> int:
        """Return what one object of this kind costs before all haggling."""
        return ctypes.c_short.from_address(self._kind(kind) + layout.KIND_PRICE).value

    def is_identified(self, kind: int) -> bool:
        """Whether the hero knows what objects of this kind are."""
        return bool(
            ctypes.c_ubyte.from_address(self._kind(kind) + layout.KIND_KNOWN).value & layout.KIND_IDENTIFIED
        )

    def hidden_kind(self, kind: int) -> str:
        """Return the appearance behind which objects of this kind hide (see `prices.hidden_kind`), or ""."""
        address = self._kind(kind)
        object_class = ctypes.c_byte.from_address(address + layout.KIND_CLASS).value
        is_magic = ctypes.c_ubyte.from_address(address + layout.KIND_KNOWN).value & layout.KIND_MAGIC
        if object_class in _MAGIC_OR_PLAIN and not is_magic:
            return ""  # an unlabeled scroll, a plain book: these appearances are never another kind's
        form = _APPEARANCE_FORMS.get(object_class)
        index = ctypes.c_short.from_address(address + layout.KIND_APPEARANCE).value
        shown = pointer(self._symbols["obj_descr"] + index * layout.APPEARANCE_SIZE + layout.APPEARANCE_TEXT)
        if form is None or not shown or self.is_identified(kind):
            return ""
        return hidden_kind(form.format(layout.text(shown, 32)))

    def offer_for(self, item: Item, keeper: Shopkeeper) -> int:
        """Return what `keeper` would offer for `item` if money were no object; 0 for nothing.

        Left out: gems, artifacts, partly eaten food, candles, cancelled wands, plain water and what tourists
        are offered: they follow rules of their own.

        Source: nle 1.0.0 `src/shk.c` set_cost(), getprice().
        """
        price = self.base_price(item.kind)
        if item.object_class == _ARMOR and item.enchantment > 0:
            price += 10 * item.enchantment
        total, divisor = price * item.quantity, 2
        if total < 1:
            return 0
        helmet, shirt, suit, cloak = (
            pointer(self._symbols[name]) for name in ("uarmh", "uarmu", "uarm", "uarmc")
        )
        if (helmet and read_items(helmet, 0)[0].kind == _DUNCE_CAP) or (shirt and not suit and not cloak):
            divisor = 3
        if not self.is_identified(item.kind) and total > 1 and keeper.id % 4 == 0:
            total, divisor = total * 3, divisor * 4
        return max(1, (total * 10 // divisor + 5) // 10)

    def _kind(self, kind: int) -> int:
        if not 0 <= kind < layout.NUM_KINDS:
            raise ValueError(f"there is no object kind {kind}")
        return self._symbols["objects"] + kind * layout.KIND_SIZE
