"""Read events out of NetHack's messages: kills, sales, prices, altar checks and meals.

Pure text work on what a player sees; no engine, no game. The sentences are those of NetHack 3.6.6 as nle
1.0.0 builds it; a comment names the function that prints each. Pages of one step are joined by one space
before they come here. `parse` is cached, because a few thousand distinct messages make up nearly all play.

Source: nle 1.0.0 `src/shk.c`, `src/eat.c`, `src/do.c`, `src/mon.c`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from maestro.envs.nethack.prices import base_prices_from_offer, base_prices_from_quote, hidden_kind, narrows

_CACHE_SIZE = 1 << 15


class Price(NamedTuple):
    """A price that a shopkeeper named for an item."""

    amount: int
    """Gold pieces for `quantity` of them together."""
    item: str
    """The name as printed, without article and count."""
    quantity: int | None
    """None: the message does not say how many."""
    kind: str
    """The appearance, where the name hides what the item is ("potion: ruby", "scroll: FOO"); otherwise ""."""
    bases: tuple[int, ...]
    """The base prices of the appearance's group that explain `amount`, rising; empty: nothing was learnt."""


class Events(NamedTuple):
    """What one step's message reports; 0, () or False where it reports nothing of that sort."""

    kills: int = 0
    """Monsters the hero killed or destroyed, by the sentence "You kill/destroy ...!"."""
    items_sold: int = 0
    """Completed sales, each of one inventory slot (a stack counts once), for gold or for credit."""
    sale_income: int = 0
    """Gold pieces or credit received for them."""
    offers: tuple[Price, ...] = ()
    """What a shopkeeper offers for the hero's goods (the question "Sell it?")."""
    quotes: tuple[Price, ...] = ()
    """What a shopkeeper asks for the shop's goods, when picked up, looked at or talked about."""
    price_kinds: tuple[str, ...] = ()
    """The hidden appearances (`Price.kind`) among offers and quotes whose base price the amount narrows."""
    prices_identified: int = 0
    """How many these are. The same appearance may come again later: keep `price_kinds` to tell."""
    curse_checks: int = 0
    """Items of unknown status that an altar has just shown to be blessed, cursed or neither."""
    meals: int = 0
    """1 where a meal was begun (whether or not it was finished at once), 0 where one was only resumed."""
    meal_finished: bool = False
    """The sentence "You finish eating ..." was shown; meals of one bite never show it."""
    sale_asked: bool = False
    """A question whether to sell, for gold or for credit, is shown."""
    climb_asked: bool = False
    """The question whether to leave the dungeon by the up stairs of level 1 is shown."""


NOTHING = Events()

# Any message that reports an event holds one of these; most messages hold none and are dismissed here.
_TRIGGER = re.compile(
    r"You (?:kill|destroy)|ou sold|ou traded|relinquish|offers|in credit|zorkmid|the altar|Still climb\?"
    r"|eating|You eat|tastes|tainted|This |My, this|tripe|Tastes great|dog food|elf kibble|long way\."
    r"|[Cc]ore dumped|Rotten |Macintosh|Oh wow, like|the eyeball|You consume |been poisonous!|stomach acid"
    r"|your meal|all of it down|finally finished|stuff yourself|You choke"
)
# mon.c xkilled(): "You kill the newt!", "You destroy the gnome zombie!", "You kill it!", "You kill poor
# Fido!". Doors and thrones are destroyed with a full stop, bear traps "with" something: neither is a kill.
_KILL = re.compile(r"\bYou (?:kill|destroy) (?!the bear trap)[^.!\"]+!")
# shk.c shk_names_obj() as called by sellobj().
_SALE = re.compile(
    r"\b[Yy]ou (?:(?:sold|traded) [^\"]{1,160}? for|relinquish [^\"]{1,160}? and (?:receive|acquire)) "
    r"(?P<amount>\d+) (?:gold piece|zorkmid)"
)
# shk.c sellobj(): the words after "for" depend on who owns a container and what is in it. Once answered, the
# question is shown again with the answer behind it ("Sell it? [ynaq] (y) n"): that is no new offer.
_OFFER = re.compile(
    r"offers(?P<short> only)? (?P<amount>\d+) gold pieces? for (?P<owner>(?:your items? in )?(?:your|the)) "
    r"(?P<item>[^\"?]{1,120}?)\. +Sell (?P<number>it|them)\?(?! \[\w+\] \(\w\) \w)"
)
_SELL = re.compile(r"Sell (?:it|them)\?(?! \[\w+\] \(\w\) \w)")
_CREDIT = re.compile(r"Will you accept \d+ zorkmids? in credit for [^\"?]{1,120}?\?")
_DROPPED = re.compile(r"You drop (an?|the|\d+) ")
# shk.c addtobill() and price_quote(); objnam.c doname_base() for what lies there or is carried unpaid.
_QUOTES = (
    re.compile(
        r"\"For you, [^;\"]{1,40};(?: only)? (?P<amount>\d+) zorkmids? "
        r"(?:for this|per) (?P<item>[^\"]{1,120}?)\.\""
    ),
    re.compile(r"(?:^|[.!?\"] +)The (?P<item>[^.!?\"]{1,120}?) will cost you (?P<amount>\d+) zorkmids?"),
    re.compile(r"The list price of (?:the )?(?P<item>[^.!?\"]{1,120}?) is (?P<amount>\d+) zorkmids?"),
    re.compile(r"(?:^|[.!?\"] +)(?P<item>[^.!?\",]{1,120}?), price (?P<amount>\d+) zorkmids?"),
)
_QUOTE_OF_STACK = re.compile(
    r"(?:(?<= here )|(?<= feel )|(?<= - )|^|(?<=[.!] ))(?P<item>(?:an?|the|\d+) [^.!?\"()]{1,120}?) "
    r"\((?:for sale|unpaid), (?P<amount>\d+) zorkmids?\)"
)
# do.c doaltarobj() prints the name before the status becomes known: a status in the name was known before.
_ALTAR = re.compile(
    r"[Tt]here is an? (?:black|amber) flash as (?P<flashed>[^.!]{1,160}?) hits? the altar"
    r"|(?:^|[.!?] +)(?P<landed>[^.!?]{1,160}?) lands? on the altar\."
)
_STATUS_KNOWN = re.compile(r"\b(?:blessed|uncursed|cursed|(?:un)?holy water|gold pieces?)\b")
# eat.c: fprefx(), eatcorpse(), doeat(), consume_tin(), rottenfood(), done_eating(); allmain.c
# stop_occupation().
_MEAL = re.compile(
    r"You (?:finish eating|begin eating|stop eating|eat (?:an?|the|\d+) |consume |peck the eyeball"
    r"|have a very bad case of stomach acid)"
    r"|This food really hits the spot!|Oh wow, like, superior, man!|This satiates your"
    r"|This makes you feel like "
    r"|This tripe ration is|Mmm, tripe|Tastes great! +Less filling!|dog food!|elf kibble!"
    r"|A little goes a long way\.|My, this is a (?:primo|yummy) |[Cc]ore dumped\.|Must be a Macintosh!"
    r"|Ugh\. +Rotten egg\.|Blecch! +Rotten |Ulch - that [^.!]+ was tainted"
    r"|Ecch - that must have been poisonous!|You're having a hard time getting all of it down"
    r"|You're finally finished\.|You stuff yourself and then vomit|You choke over"
    r"|This tastes just like chicken!|This [^.!]+ is (?:delicious!|terrible!|bland\.|gnarly!|grody!)"
    r"|[^.!]+ (?:tastes|is) (?:delicious!|okay\.|terrible!|gr-r-reat!|gnarly!|copacetic\.|grody!)"
)
_RESUMED = re.compile(r"You resume (?:the last bite of )?your meal")
_COUNT = re.compile(r"^(\d+) ")
_DETERMINERS = re.compile(r"^(?:(?:an?|the|\d+|your) )+")


@lru_cache(maxsize=_CACHE_SIZE)
def parse(message: str) -> Events:
    """Return the events that `message` (all pages of one step, joined by spaces) reports.

    Equal messages give the same object. Never raises: what is not understood reports nothing.
    """
    if not _TRIGGER.search(message):
        return NOTHING
    text = message.replace("\n", " ")
    sales = [int(match["amount"]) for match in _SALE.finditer(text)]
    offers, quotes = _offers(text), _quotes(text)
    told = [price.kind for price in (*offers, *quotes) if price.bases and narrows(price.kind, price.bases)]
    kinds = tuple(dict.fromkeys(told))
    events = Events(
        kills=len(_KILL.findall(text)),
        items_sold=len(sales),
        sale_income=sum(sales),
        offers=offers,
        quotes=quotes,
        price_kinds=kinds,
        prices_identified=len(kinds),
        curse_checks=_curse_checks(text),
        meals=int(_MEAL.search(text) is not None and _RESUMED.search(text) is None),
        meal_finished="You finish eating" in text,
        sale_asked=_SELL.search(text) is not None or _CREDIT.search(text) is not None,
        climb_asked="Still climb?" in text,
    )
    return events if any(events) else NOTHING


def _offers(text: str) -> tuple[Price, ...]:
    if "offers" not in text:
        return ()
    found = []
    for match in _OFFER.finditer(text):
        amount, item = int(match["amount"]), match["item"]
        quantity = 1 if match["number"] == "it" else _dropped_quantity(text[: match.start()])
        of_one_sort = match["owner"] == "your" and " and its contents" not in item and " and item" not in item
        kind = hidden_kind(item) if of_one_sort else ""
        # A shopkeeper short of money names what is in the till, which says nothing of the item's worth.
        explained = bool(kind and quantity and not match["short"])
        bases = base_prices_from_offer(kind, amount, quantity or 1) if explained else ()
        found.append(Price(amount, item, quantity, kind, bases))
    return tuple(found)


def _dropped_quantity(text: str) -> int | None:
    counts = _DROPPED.findall(text)
    if not counts:
        return None
    return int(counts[-1]) if counts[-1].isdigit() else 1


def _quotes(text: str) -> tuple[Price, ...]:
    if "zorkmid" not in text:
        return ()
    found = [(match["item"], match["amount"], 1) for pattern in _QUOTES for match in pattern.finditer(text)]
    for match in _QUOTE_OF_STACK.finditer(text):
        count = _COUNT.match(match["item"])
        found.append((match["item"], match["amount"], int(count[1]) if count else 1))
    prices = []
    for named, amount, quantity in found:
        item = _DETERMINERS.sub("", named)
        kind = hidden_kind(item)
        bases = base_prices_from_quote(kind, int(amount), quantity) if kind else ()
        prices.append(Price(int(amount), item, quantity, kind, bases))
    return tuple(prices)


def _curse_checks(text: str) -> int:
    if "the altar" not in text:
        return 0
    names = [match["flashed"] or match["landed"] for match in _ALTAR.finditer(text)]
    return sum(not _STATUS_KNOWN.search(name) for name in names)
