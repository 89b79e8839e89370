"""Sort steps by what happened on them, so that rare events can be drawn as often as common ones.

Read from a State's public fields by their names; a world that lacks a field lacks its stratum.
"""

from __future__ import annotations

import re
from typing import Any

_COUNTERS = (
    ("sale", "num_items_sold"),
    ("altar", "num_curse_checks"),
    ("level_up", "experience_level"),
    ("door", "door_open"),
    ("key", "num_keys"),
    ("meal", "num_meals"),
    ("price", "num_prices_identified"),
    ("kill", "num_kills"),
)
"""Stratum and the field that rises with it, the rarest first."""
_MESSAGES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("altar", r"\baltar\b"),
        ("prayer", r"\bYou (?:begin|finish|start) pray|\bYou feel that \w+ is |\bpray\?"),
        ("shop", r"offers|zorkmid|shop|[Ww]elcome to [\w' ]+'s|Hello, \w+!|stole"),
        ("door", r"\bdoor\b"),
        ("item", r"(?:^|[.!] +)[a-zA-Z] - "),
        ("fight", r"\bYou (?:hit|miss|kick|strike|kill|destroy)\b|\b(?:bites|hits|misses|claws|kicks)\b"),
    )
)
STRATA = (
    "sale", "altar", "level_up", "stairs_up", "stairs_down", "door", "key", "meal", "price", "kill", "prayer", "shop",
    "gold", "gold_lost", "hunger", "item", "fight", "hurt", "message", "quiet",
)  # fmt: skip
"""All of them, roughly from rare to common."""


def stratum(before: Any, now: Any) -> str:
    """Name the rarest thing that happened between two states one step apart; "quiet" where not even a word was said."""
    if _rose(before, now, "num_items_sold"):
        return "sale"
    if _rose(before, now, "num_curse_checks"):
        return "altar"
    depth, was = getattr(now, "depth", 0), getattr(before, "depth", 0)
    if depth != was:
        return "stairs_down" if depth > was else "stairs_up"
    for name, field in _COUNTERS:
        if _rose(before, now, field):
            return name
    message = now.message
    if message:
        for name, pattern in _MESSAGES:
            if pattern.search(message):
                return name
    return _quiet_change(before, now) or ("message" if message else "quiet")


def _quiet_change(before: Any, now: Any) -> str | None:
    if _rose(before, now, "gold"):
        return "gold"
    if _rose(now, before, "gold"):
        return "gold_lost"
    if getattr(before, "hunger", None) != getattr(now, "hunger", None):
        return "hunger"
    return "hurt" if _rose(now, before, "hp") else None


def _rose(before: Any, now: Any, field: str) -> bool:
    return getattr(now, field, 0) > getattr(before, field, 0)
