"""Relate a shopkeeper's price to the base prices that NetHack's hidden items can have.

An item whose name hides what it is (a "ruby potion") belongs to a group with few base prices, so a price
narrows what it can be: that is what players call price identification. The groups are those of NetHack 3.6.6:

| appearance | base prices |
|---|---|
| potion (not "clear") | 50 100 150 200 250 300 |
| scroll labeled | 20 50 60 80 100 200 300 |
| ring | 100 150 200 300 |
| wand | 100 150 175 200 500 |
| spellbook (not "plain") | 100 200 300 400 500 600 700 |
| tattered cape, opera cloak, ornamental cope, piece of cloth | 50 60 |
| plumed, etched, crested, visored helmet | 10 50 |
| old, padded, riding, fencing gloves | 8 50 |
| combat, jungle, hiking, mud, buckled, riding, snow boots | 8 30 50 |
| bag | 2 100 |
| lamp | 10 50 |
| candle | 10 20 |
| flute | 12 36 |
| horn | 15 50 |
| gray stone | 1 45 60 |

Appearances that belong to one item ("hooded cloak") hide nothing and are not listed; gems are not, because a
shopkeeper's offer for an unknown gem says nothing of its price; nor are appearances whose items cost the
same.

Offers: half the base price; one shopkeeper in four (by its number, for unknown goods) three eighths. A
tourist of low level, a shirt worn alone or a dunce cap make them a third and a quarter: not considered here.
Asked prices: the base times 2, 3/2, 4/3, 1, 3/4, 2/3 or 1/2 by charisma, and for one unknown item in four
times 4/3.

Source: nle 1.0.0 `src/objects.c`, `src/shk.c` (set_cost, get_cost, getprice), `src/o_init.c` (shuffle_all).
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

BASE_PRICES: dict[str, tuple[int, ...]] = {
    "potion": (50, 100, 150, 200, 250, 300),
    "scroll": (20, 50, 60, 80, 100, 200, 300),
    "ring": (100, 150, 200, 300),
    "wand": (100, 150, 175, 200, 500),
    "spellbook": (100, 200, 300, 400, 500, 600, 700),
    "cloak": (50, 60),
    "helmet": (10, 50),
    "gloves": (8, 50),
    "boots": (8, 30, 50),
    "bag": (2, 100),
    "lamp": (10, 50),
    "candle": (10, 20),
    "flute": (12, 36),
    "horn": (15, 50),
    "gray stone": (1, 45, 60),
}
# Names of hidden items, one or several, as xname() prints them; identified ones read "potion of healing".
_HIDDEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("scroll", re.compile(r"scrolls? labeled (?P<kind>.+)")),
    ("potion", re.compile(r"(?!clear |(?:.* )?of )(?P<kind>[a-z][a-z -]*) potions?")),
    ("ring", re.compile(r"(?!meat |(?:.* )?of )(?P<kind>[a-z][a-z ]*) rings?")),
    ("wand", re.compile(r"(?!(?:.* )?of )(?P<kind>[a-z][a-z ]*) wands?")),
    ("spellbook", re.compile(r"(?!(?:plain|paperback) |(?:.* )?of )(?P<kind>[a-z][a-z ]*) spellbooks?")),
    ("cloak", re.compile(r"(?P<kind>tattered cape|opera cloak|ornamental cope)s?")),
    ("cloak", re.compile(r"(?P<kind>piece)s? of cloth")),
    ("helmet", re.compile(r"(?P<kind>plumed|etched|crested|visored) helmets?")),
    ("gloves", re.compile(r"(?:pairs? of )?(?P<kind>old|padded|riding|fencing) gloves")),
    ("boots", re.compile(r"(?:pairs? of )?(?P<kind>combat|jungle|hiking|mud|buckled|riding|snow) boots")),
    ("bag", re.compile(r"(?P<kind>bag)s?")),
    ("lamp", re.compile(r"(?P<kind>lamp)s?(?: \(lit\))?")),
    ("candle", re.compile(r"(?P<kind>candle)s?")),
    ("flute", re.compile(r"(?P<kind>flute)s?")),
    ("horn", re.compile(r"(?P<kind>horn)s?")),
    ("gray stone", re.compile(r"(?P<kind>gray) stones?")),
)
_STATUS = re.compile(r"^(?:(?:blessed|uncursed|cursed|diluted|partly used|empty|[+-]\d+) )+")
_CHARISMA = tuple(Fraction(by) for by in ("2", "3/2", "4/3", "1", "3/4", "2/3", "1/2"))
_SURCHARGE = (Fraction(1), Fraction(4, 3))


@lru_cache(maxsize=4096)
def hidden_kind(item: str) -> str:
    """Return the appearance of an item whose name hides what it is, as "<group>: <appearance>"; otherwise "".

    `item` is the name without article and count. A stack and a single one give the same answer.
    """
    name = _STATUS.sub("", item)
    for group, pattern in _HIDDEN:
        match = pattern.fullmatch(name)
        if match:
            return f"{group}: {match['kind']}"
    return ""


def base_prices_from_offer(kind: str, amount: int, quantity: int = 1) -> tuple[int, ...]:
    """Return the base prices in `kind`'s group at which a shopkeeper offers `amount` for `quantity`."""
    return tuple(base for base in _group(kind) if amount in _offers_for(base * quantity))


def base_prices_from_quote(kind: str, amount: int, quantity: int = 1) -> tuple[int, ...]:
    """Return the base prices in `kind`'s group at which a shopkeeper may ask `amount` for `quantity`.

    Charisma is not asked for: the factor of every charisma is allowed, so that more than one base often fits.
    """
    if quantity < 1 or amount % quantity:
        return ()
    return tuple(base for base in _group(kind) if amount // quantity in _asked_for(base))


def narrows(kind: str, bases: tuple[int, ...]) -> bool:
    """Say whether the base prices that explain an amount are fewer than all the appearance could have."""
    return 0 < len(bases) < len(_group(kind))


def _group(kind: str) -> tuple[int, ...]:
    return BASE_PRICES[kind.split(":", 1)[0]]


def _rounded(value: Fraction) -> int:
    # shk.c works in tenths: multiply by ten, divide, add five, divide by ten; never below one.
    return max(1, (int(value * 10) + 5) // 10)


@lru_cache(maxsize=4096)
def _offers_for(total: int) -> frozenset[int]:
    return frozenset(_rounded(Fraction(total) * share) for share in (Fraction(1, 2), Fraction(3, 8)))


@lru_cache(maxsize=4096)
def _asked_for(base: int) -> frozenset[int]:
    return frozenset(_rounded(Fraction(base) * by * extra) for by in _CHARISMA for extra in _SURCHARGE)
