"""The counting success tests in real games: sales, prices identified, statuses learnt on altars.

Debug mode makes the situations (see `conftest.Play`); what is scored there are the agent's own actions.
"""

from __future__ import annotations

import pytest

from maestro.envs.nethack import situations
from maestro.envs.nethack.success_compatible import is_in_price_table

# --- selling --------------------------------------------------------------------------------------------------------


def test_sales_count_stacks_and_refusals_do_not(play):
    play.begin_with_general_store("3 scrolls of light", "potion of booze", "uncursed mirror")
    play.act("drop")
    assert play.values("transactions") == (0, 0)  # only offered
    play.act("northwest")
    assert play.values("transactions") == (1, 1)
    play.act("drop", "southeast")  # the answer is no
    assert play.values("transactions") == (1, 1)
    play.act("drop", "northwest")
    assert play.values("transactions") == (2, 2)
    play.act("search", "search")
    assert play.values("transactions") == (2, 2)


def test_giving_gold_and_worthless_things_is_no_sale(play):
    play.begin_with_general_store("300 gold pieces", "3 blank scrolls")
    letter = next(item.letter for item in play.truth.inventory() if item.object_class == 12)
    play.world.send_keys(0, f"d{letter}")
    assert "credit" in play.world.states[0].message
    play.look()
    assert play.values("transactions") == (0, 0)


def test_dropping_outside_a_shop_is_no_sale(play):
    play.begin(3)
    play.wish("mirror")
    play.act("drop", "northwest")
    assert play.values("transactions") == (0, 0) and play.values("price") == (0, 0)


# --- prices ---------------------------------------------------------------------------------------------------------


def test_an_offer_for_an_unidentified_thing_identifies_its_price_once(play):
    play.begin_with_general_store("2 scrolls of fire", "uncursed ring of conflict", keeper=1)
    play.act("drop")
    assert play.values("price") == (1, 0)  # the true test needs no sale
    play.act("southeast", "drop")
    assert play.values("price") == (2, 0)
    play.act("northwest")
    assert play.values("price") == (2, 1)  # a ring at exactly half its price
    play.world.send_keys(0, ",\r")
    play.act("drop", "southeast")
    assert play.values("price") == (2, 1)  # known already


def test_a_keeper_who_pays_three_eighths_is_beyond_the_compatible_table(play):
    play.begin_with_general_store("uncursed ring of conflict", keeper=0)
    play.act("drop", "northwest")
    assert play.values("price") == (1, 0) and play.values("transactions") == (1, 1)


def test_offers_for_known_things_and_those_of_one_meaning_identify_nothing(play):
    play.begin_with_general_store("uncursed mirror", "potion of water", "hooded cloak", keeper=1)
    for _ in range(3):
        play.act("drop", "southeast")
    assert play.values("price") == (0, 0)


def test_a_potion_known_from_the_start_identifies_nothing_for_the_true_test(play):
    play.begin_with_general_store("potion of healing", keeper=1)  # a monk knows it
    play.act("drop", "northwest")
    assert play.values("transactions") == (1, 1)
    assert play.values("price") == (0, 0)


@pytest.mark.parametrize(
    ("amount", "item", "known"),
    [
        (50, "ruby potion", True), (10, "scroll labeled FOO", True), (50, "opal ring", True), (87, "oak wand", False),
        (100, "oak wand", True), (25, "opera cloak", True), (4, "pair of snow boots", True), (5, "plumed helmet", True),
        (50, "ruby potions", False), (10, "scrolls labeled FOO", False), (38, "ruby potion", False),
        (150, "conical hat", False), (50, "potion of healing", False), (25, "hooded cloak", True), (1, "", False),
    ],
)  # fmt: skip
def test_the_compatible_price_table(amount, item, known):
    assert is_in_price_table(amount, item) is known


# --- altars ---------------------------------------------------------------------------------------------------------


def test_altars_tell_the_status_of_what_is_dropped_once(play):
    play.begin(2)
    for what in ("2 cursed scrolls of light", "blessed ring of conflict", "uncursed wand of sleep"):
        play.wish(what)
    play.visit("minetn")
    play.look()
    situations.step_on_altar(play.world, 0)
    play.look()
    play.act("drop")
    assert play.values("buc") == (1, 1)
    play.act("drop", "drop")
    assert play.values("buc") == (3, 3)
    play.world.send_keys(0, ",A\r")
    play.look()
    play.act("drop")
    assert play.values("buc") == (3, 3)  # its status is in its name now
    assert play.world.states[0].num_curse_checks == 3


def test_a_name_that_hides_a_known_status_deceives_all_but_the_true_test(play):
    play.begin(2)
    play.wish("uncursed +1 dagger")
    dagger = play.truth.inventory()[-1]
    play.visit("minetn")
    situations.step_on_altar(play.world, 0)
    play.look()
    play.act("drop")
    assert play.values("buc") == (1, 1)
    play.world.send_keys(0, ",A\r")
    play.wish("blessed magic marker")  # so that identifying has more than one thing to choose from
    for _ in range(3):
        play.wish("blessed scroll of identify")
        play.world.send_keys(0, f"r{play.truth.inventory()[-1].letter},\r")
        play.look()
    play.act("drop")
    message = play.world.states[0].message
    assert "+1 dagger lands on the altar" in message and "uncursed" not in message
    assert any(item.id == dagger.id for item in play.truth.floor())
    assert play.values("buc") == (1, 2) and play.world.states[0].num_curse_checks == 2


def test_dropping_beside_the_altar_or_blind_teaches_nothing(play):
    play.begin(2)
    play.wish("cursed mirror")
    play.wish("cursed candle")
    play.visit("minetn")
    column, row = situations.step_on_altar(play.world, 0)
    play.look()
    play.go((column, row + 1))
    play.act("drop")
    assert play.values("buc") == (0, 0)
    play.wish("blindfold")
    play.world.send_keys(0, "P" + play.truth.inventory()[-1].letter)
    play.go((column, row))
    play.act("drop")
    assert play.values("buc") == (0, 0)
