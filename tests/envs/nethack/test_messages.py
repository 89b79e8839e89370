"""Messages to events: the sentences of NetHack 3.6.6, their near misses, and what never may be counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.envs.nethack.messages import NOTHING, Events, parse


def events(message: str) -> dict:
    """Return only what the message reports."""
    return {name: value for name, value in parse(message)._asdict().items() if value}


@pytest.mark.parametrize(
    ("message", "kills"),
    [
        ("You kill the newt!", 1),
        ("You destroy the gnome zombie!", 1),
        ("You kill it!", 1),
        ("You kill poor Slasher!", 1),
        ("You strike the jackal! You kill the jackal! You kill the newt!", 2),
        ("You kill the invisible gnome lord!  Welcome to experience level 2.", 1),
        ("The fire giant kills the newt!", 0),
        ("The newt is killed!", 0),
        ("You destroy it.", 0),
        ("CRASH!  You destroy it.  The door opens!", 0),
        ("You destroy the throne.", 0),
        ("You destroy the bear trap with the force bolt!", 0),
        ('"You kill it!" is scrawled here', 1),  # a known false alarm: engravings speak like the game
        ("You hear the shrieks of anguish!  You miss the newt.", 0),
    ],
)
def test_kills(message, kills):
    assert parse(message).kills == kills


@pytest.mark.parametrize(
    ("message", "sold", "income"),
    [
        ("You sold a ruby potion for 50 gold pieces.", 1, 50),
        ("You sold 2 cursed scrolls labeled PRATYAVAYAH for 38 gold pieces.", 1, 38),
        ("You sold a rock for 1 gold piece.", 1, 1),
        ("An orcish helm; you sold it for 5 gold pieces.", 1, 5),
        ("3 orcish daggers; you sold them for 6 gold pieces.", 1, 6),
        ("You traded a ring of conflict for 135 zorkmids in credit.", 1, 135),
        ("You relinquish a mirror and receive 5 gold pieces in compensation.", 1, 5),
        ("You sold some items inside a sack for 40 gold pieces.", 1, 40),
        ("You sold a candle\nfor 5 gold pieces.", 1, 5),  # a wrapped top line
        ("Asidonhopo offers 50 gold pieces for your ruby potion.  Sell it? [ynaq] (y)", 0, 0),
        ("Asidonhopo seems uninterested.", 0, 0),
        ("This shop appears to be deserted.", 0, 0),
        ('"I sold a camel for a song."', 0, 0),
        ("You have a little trouble lifting a soldier ant corpse.", 0, 0),
    ],
)
def test_sales(message, sold, income):
    assert (parse(message).items_sold, parse(message).sale_income) == (sold, income)


def test_an_offer_for_one_unidentified_item_narrows_its_base_price():
    found = parse(
        "You drop a ruby potion. Asidonhopo offers 50 gold pieces for your ruby potion.  Sell it? [ynaq] (y)"
    )
    (offer,) = found.offers
    assert offer == (50, "ruby potion", 1, "potion: ruby", (100,))
    assert found.price_kinds == ("potion: ruby",) and found.prices_identified == 1 and found.sale_asked


def test_an_offer_for_a_stack_is_divided_by_what_was_dropped():
    message = "You drop 3 uncursed scrolls labeled NR 9. Inuvik offers 90 gold pieces for your scrolls labeled NR 9.  "
    (offer,) = parse(message + "Sell them? [ynaq] (y)").offers
    assert (offer.quantity, offer.kind, offer.bases) == (
        3,
        "scroll: NR 9",
        (60, 80),
    )  # 1/2 of 180, 3/8 of 240
    (unknown,) = parse(
        "Inuvik offers 90 gold pieces for your scrolls labeled NR 9.  Sell them? [ynaq] (y)"
    ).offers
    assert (unknown.quantity, unknown.bases) == (None, ())


@pytest.mark.parametrize(
    ("item", "amount", "kinds"),
    [
        ("ruby potion", 19, ("potion: ruby",)),  # 3/8 of 50
        ("ruby potion", 33, ()),  # no potion's price
        ("clear potion", 50, ()),  # water, and nothing else
        ("unlabeled scroll", 30, ()),  # blank paper, and nothing else
        ("paperback spellbook", 50, ()),
        ("potion of healing", 50, ()),
        ("potion called good", 50, ()),
        ("meat ring", 2, ()),
        ("tiger eye ring", 50, ("ring: tiger eye",)),
        ("ring of conflict", 150, ()),
        ("hooded cloak", 25, ()),  # has one meaning only
        ("piece of cloth", 30, ("cloak: piece",)),
        ("opera cloak", 19, ("cloak: opera cloak",)),
        ("pair of snow boots", 15, ("boots: snow",)),
        ("riding gloves", 25, ("gloves: riding",)),
        ("hexagonal amulet", 75, ()),  # every amulet costs the same: nothing learnt
        ("runed wand", 88, ("wand: runed",)),
        ("wand of sleep", 88, ()),
        ("bag", 50, ("bag: bag",)),
        ("sack", 1, ()),
        ("white gem", 20, ()),
    ],
)
def test_which_offers_give_a_base_price_away(item, amount, kinds):
    assert (
        parse(f"Inuvik offers {amount} gold pieces for your {item}.  Sell it? [ynaq] (y)").price_kinds
        == kinds
    )


@pytest.mark.parametrize(
    "message",
    [
        "Inuvik offers only 50 gold pieces for your ruby potion.  Sell it? [ynaq] (y)",  # all the money there is
        "Inuvik offers 50 gold pieces for your ruby potion.  Sell it? [ynaq] (y) n",  # answered: the echo of an offer
        "Inuvik offers 50 gold pieces for your sack and its contents.  Sell them? [ynaq] (y)",
        "Inuvik offers 50 gold pieces for your items in your ruby potion.  Sell them? [ynaq] (y)",
        "Inuvik offers 50 gold pieces for the ruby potion.  Sell it? [ynaq] (y)",
    ],
)
def test_offers_that_identify_nothing(message):
    assert parse(message).prices_identified == 0


def test_the_echo_of_an_answered_question_asks_nothing():
    question = "Inuvik offers 50 gold pieces for your ruby potion.  Sell it? [ynaq] (y)"
    assert parse(question).sale_asked and parse(question).offers
    assert not parse(question + " n").sale_asked and not parse(question + " n").offers
    assert parse("Will you accept 45 zorkmids in credit for a ruby potion? [ynaq] (n)").sale_asked


@pytest.mark.parametrize(
    ("message", "amount", "quantity", "kind"),
    [
        ('"For you, most gracious sir; only 200 zorkmids for this ruby potion."', 200, 1, "potion: ruby"),
        ('"For you, scum; 133 zorkmids per scroll labeled NR 9."', 133, 1, "scroll: NR 9"),
        ("The ruby potion will cost you 100 zorkmids.", 100, 1, "potion: ruby"),
        ("Ruby potion, price 100 zorkmids, a real bargain.", 100, 1, ""),  # upper case: not the name any more
        ("You see here 2 ruby potions (for sale, 400 zorkmids).", 400, 2, "potion: ruby"),
        ("k - an opal ring (unpaid, 200 zorkmids).", 200, 1, "ring: opal"),
        ("The list price of the opal ring is 100 zorkmids.", 100, 1, "ring: opal"),
    ],
)
def test_quotes(message, amount, quantity, kind):
    (quote,) = parse(message).quotes
    assert (quote.amount, quote.quantity, quote.kind) == (amount, quantity, kind)


def test_a_quote_that_any_charisma_could_explain_tells_nothing():
    narrow = parse("k - an opal ring (unpaid, 600 zorkmids).")
    assert narrow.quotes[0].bases == (300,) and narrow.prices_identified == 1
    assert parse("k - a pair of riding gloves (unpaid, 100 zorkmids).").quotes[0].bases == (50,)
    assert parse("k - a plain dagger (unpaid, 8 zorkmids).").prices_identified == 0


@pytest.mark.parametrize(
    ("message", "checks"),
    [
        ("There is a black flash as 2 scrolls labeled FOO hit the altar.", 1),
        ("There is an amber flash as a ruby ring hits the altar.", 1),
        ("An emerald ring lands on the altar.", 1),
        ("3 emerald rings land on the altar.", 1),
        ("A ruby ring lands on the altar. There is a black flash as a mirror hits the altar.", 2),
        ("An uncursed emerald ring lands on the altar.", 0),
        ("There is an amber flash as a blessed ruby ring hits the altar.", 0),
        ("There is an amber flash as a potion of holy water hits the altar.", 0),
        ("12 gold pieces land on the altar.", 0),
        ("There is a mauve flash as a ruby ring hits the altar.", 0),  # hallucinating: nothing is learnt
        ("You kick the altar.", 0),
        ("There is an altar to Huan Ti (neutral) here.", 0),
        ("The altar is stained with human blood.", 0),
    ],
)
def test_curse_checks(message, checks):
    assert parse(message).curse_checks == checks


@pytest.mark.parametrize(
    ("message", "meals"),
    [
        ("This food really hits the spot!  You finish eating the food ration.", 1),
        ("You finish eating the food ration.", 1),
        ("This newt corpse tastes terrible!  You finish eating the newt corpse.", 1),
        ("This lichen corpse tastes okay.", 1),
        ("This apple is delicious!", 1),
        ("Core dumped.", 1),
        ("Blecch!  Rotten food!  The world spins and goes dark.", 1),
        ("Ulch - that meat was tainted!  You feel deathly sick.", 1),
        ("You consume homemade newt.", 1),
        ("My, this is a yummy slime mold!", 1),
        ("This food really hits the spot!  You stop eating the food ration.", 1),
        ("You're having a hard time getting all of it down. You're finally finished.", 1),
        ("You're finally finished.", 1),
        ("You resume your meal.  You're having a hard time getting all of it down.", 0),
        ("You resume your meal.  You finish eating the food ration.", 0),
        ("You resume the last bite of your meal.  You finish eating the apple.", 0),
        ("What do you want to eat? [fghi or ?*]", 0),
        ("There is a newt corpse here; eat it? [ynq] (n)", 0),
        ("The jackal eats a tripe ration.", 0),
        ("This tastes like dandelion wine!  This potion is bitter.", 0),
        ("You are beginning to feel hungry.", 0),
        ("This door is locked.", 0),
        ("You hear a strange wind.  This is a long sword!", 0),
    ],
)
def test_meals(message, meals):
    assert parse(message).meals == meals


def test_leaving_the_dungeon_is_asked():
    assert events("Beware, there will be no return!  Still climb? [yn] (n)") == {"climb_asked": True}
    assert not parse("You climb up the stairs.").climb_asked


def test_ordinary_messages_report_nothing():
    for message in (
        "",
        "You see here a newt corpse.",
        "You descend the stairs.",
        "The newt bites!",
        "$ - 12 gold pieces.",
    ):
        assert parse(message) is NOTHING


def test_equal_messages_share_one_answer():
    message = "You kill the newt!"
    assert parse(message) is parse("".join(message))


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    assert isinstance(parse(text), Events)


@given(
    st.lists(
        st.sampled_from(("You kill the newt!", "You sold a rock for 1 gold piece.", "The newt bites!")),
        max_size=6,
    )
)
def test_joined_pages_count_as_much_as_single_ones(pages):
    joined = parse(" ".join(pages))
    single = [parse(page) for page in pages]
    assert joined.kills == sum(event.kills for event in single)
    assert joined.items_sold == sum(event.items_sold for event in single)
