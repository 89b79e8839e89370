"""Put a game into a wanted situation: in a shop, on an altar, in Minetown, hungry. For tests and
measurements.

Works in NetHack's debug ("wizard") mode only, with keys no agent has: any level, any object, any square is a
few keys away. The games played in evaluations are never in that mode.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Any

from maestro.envs.nethack.batch import NetHackOptions, NetHackWorld
from maestro.envs.nethack.belongings import Shop
from maestro.envs.nethack.engine import Truth
from maestro.errors import WorldError

_LEVEL_TELEPORT, _TELEPORT, _WISH = b"\x16", b"\x14", b"\x17"
_RETURN = b"\r"
_MENU_LINE = re.compile(r"^ *(?P<letter>[a-zA-Z]) - .{2}(?P<name>[^:]+):")
_WISHED = re.compile(r"(\w) - ")
_FARTHEST_PAGE = 10
_MOST_RESTS = 1000


def make_wizard_world(num_games: int = 1, **options: Any) -> NetHackWorld:
    """Make a world in wizard mode, drawn unless said otherwise; `options` as for NetHackOptions."""
    os.environ.setdefault("USER", "wizard")  # the engine refuses wizard mode to a player without a name
    return NetHackWorld(num_games, NetHackOptions(**{"wizard": True, "render": True, **options}))


def visit(world: NetHackWorld, index: int, level: str | int) -> None:
    """Take the hero to a level: by the name the engine gives it ("minetn", "oracle"), or by depth in this
    dungeon.

    Raises WorldError for a name that this game's dungeon does not have.
    """
    if isinstance(level, int):
        world.send_keys(index, _LEVEL_TELEPORT + str(level).encode() + _RETURN)
        return
    game = world.games[index]
    for key in _LEVEL_TELEPORT + b"?" + _RETURN:
        game.instance.send(key)
    for _ in range(_FARTHEST_PAGE):
        for line in world.screen(index).chars:
            match = _MENU_LINE.match(bytes(line).decode("latin-1"))
            if match and match["name"].strip() == level:
                world.send_keys(index, match["letter"])
                return
        game.instance.send(ord(">"))
    raise WorldError(f"the dungeon of this game has no level {level!r}", where="situations.visit")


def wish(world: NetHackWorld, index: int, what: str) -> str:
    """Give the hero an object, named as in a wish ("2 cursed scrolls of light"); return the message."""
    world.send_keys(index, _WISH + what.encode("latin-1") + _RETURN)
    return world.states[index].message


def teleport(world: NetHackWorld, index: int, column: int, row: int) -> None:
    """Put the hero on a square of the level, counted as the engine counts (columns from 1).

    Raises WorldError if the hero is not there afterwards (a wall, a monster, a level without teleportation).
    """
    truth = world.truth(index)
    here_column, here_row = truth.position
    keys = _TELEPORT + _moves(column - here_column, b"lhLH") + _moves(row - here_row, b"jkJK") + b"."
    world.send_keys(index, keys)
    if truth.position != (column, row):
        raise WorldError(
            f"the hero is at {truth.position}",
            where="situations.teleport",
            expected=f"to be at {(column, row)}",
        )


def enter_shop(world: NetHackWorld, index: int, kind: int = 0) -> Shop:
    """Put the hero into a shop of this level, near its middle, and return it; `kind` 0 is a general store.

    Raises WorldError where the level has no such shop.
    """
    truth: Truth = world.truth(index)
    for shop in truth.shops():
        if shop.kind == kind:
            _to_middle(world, index, shop)
            return shop
    raise WorldError(f"this level has no shop of kind {kind}: {truth.shops()}", where="situations.enter_shop")


def step_on_altar(world: NetHackWorld, index: int) -> tuple[int, int]:
    """Put the hero on an altar of this level and return its position; WorldError where there is none."""
    altars = world.truth(index).altars()
    if not altars:
        raise WorldError("this level has no altar", where="situations.step_on_altar")
    teleport(world, index, *altars[0])
    return altars[0]


def starve(world: NetHackWorld, index: int, hunger: str = "Hungry") -> None:
    """Let time pass until the hero is hungry, on a scroll that keeps monsters from attacking.

    Raises WorldError if the hero is not hungry after a thousand rests.
    """
    letter = _WISHED.search(wish(world, index, "scroll of scare monster"))
    world.send_keys(index, f"d{letter[1]}" if letter else "")
    for _ in range(_MOST_RESTS):
        if world.states[index].hunger == hunger:
            return
        world.send_keys(index, b"20s")
    raise WorldError(
        f"the hero is {world.states[index].hunger!r}", where="situations.starve", expected=hunger
    )


def _moves(distance: int, keys: bytes) -> bytes:
    forth, back, far_forth, far_back = (keys[number : number + 1] for number in range(4))
    eights, ones = divmod(abs(distance), 8)
    return (far_forth if distance > 0 else far_back) * eights + (forth if distance > 0 else back) * ones


def _to_middle(world: NetHackWorld, index: int, shop: Shop) -> None:
    """Try the shop's squares from its middle outwards: somebody may stand on some of them."""
    middle = ((shop.left + shop.right) / 2, (shop.top + shop.bottom) / 2)
    columns, rows = range(shop.left, shop.right + 1), range(shop.top, shop.bottom + 1)
    squares = sorted(
        ((column, row) for column in columns for row in rows),
        key=lambda square: abs(square[0] - middle[0]) + abs(square[1] - middle[1]),
    )
    for column, row in squares[:-1]:
        with contextlib.suppress(WorldError):
            teleport(world, index, column, row)
            return
    teleport(world, index, *squares[-1])
