"""The 28 actions of the agent, the keys behind them, and which questions of the game wait for the agent.

Everything NetHack asks that is not listed here is answered with Escape, so that an agent is never caught in a
question it has no action for.

Source: the action set and the questions are those of MaestroMotif's environment.
"""

from __future__ import annotations

import re

from maestro.envs.nethack.native import nethack

_ACTIONS: tuple[tuple[str, int], ...] = (
    ("more", nethack.MiscAction.MORE),
    ("north", nethack.CompassDirection.N),
    ("east", nethack.CompassDirection.E),
    ("south", nethack.CompassDirection.S),
    ("west", nethack.CompassDirection.W),
    ("northeast", nethack.CompassDirection.NE),
    ("southeast", nethack.CompassDirection.SE),
    ("southwest", nethack.CompassDirection.SW),
    ("northwest", nethack.CompassDirection.NW),
    ("far_north", nethack.CompassDirectionLonger.N),
    ("far_east", nethack.CompassDirectionLonger.E),
    ("far_south", nethack.CompassDirectionLonger.S),
    ("far_west", nethack.CompassDirectionLonger.W),
    ("far_northeast", nethack.CompassDirectionLonger.NE),
    ("far_southeast", nethack.CompassDirectionLonger.SE),
    ("far_southwest", nethack.CompassDirectionLonger.SW),
    ("far_northwest", nethack.CompassDirectionLonger.NW),
    ("up", nethack.MiscDirection.UP),
    ("down", nethack.MiscDirection.DOWN),
    ("wait", nethack.MiscDirection.WAIT),
    ("kick", nethack.Command.KICK),
    ("eat", nethack.Command.EAT),
    ("search", nethack.Command.SEARCH),
    ("cast", nethack.Command.CAST),
    ("enhance", nethack.Command.ENHANCE),
    ("pray", nethack.Command.PRAY),
    ("quaff", nethack.Command.QUAFF),
    ("drop", nethack.Command.DROP),
)

ACTION_NAMES: tuple[str, ...] = tuple(name for name, _ in _ACTIONS)
KEYS: tuple[int, ...] = tuple(int(key) for _, key in _ACTIONS)
ACTION: dict[str, int] = {name: index for index, name in enumerate(ACTION_NAMES)}
"""Action name to its number."""

YES = ACTION["northwest"]
"""The action whose key is `y`: it answers questions with yes, and takes the first thing offered."""
NO = ACTION["southeast"]
"""The action whose key is `n`."""

SPACE, ESCAPE = 32, 27
MOST_REST_MOVES = 25
"""`wait` rests so many of the hero's moves unless the world says fewer; the game stops it when something comes into view."""

AGENT_ANSWERS: re.Pattern[str] = re.compile(r"\b(eat|attack|pray|drop|drink|Sell)\b|direction\?")
"""A question that holds one of these waits for the agent; every other one gets Escape."""
ASKS_FOR_ITEM: tuple[str, ...] = ("want to eat?", "want to drink?")
"""Questions for an inventory letter: `YES` takes the first letter offered, any other action declines."""

FOOD_CLASS, COIN_CLASS = 7, 12
"""NetHack's object classes that `drop` never drops."""
