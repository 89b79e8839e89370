"""The success tests of the nine tasks in real games: what they must see, must not see, and just miss.

Debug mode makes the situations (see `conftest.Play`); what is scored there are the agent's own actions.
"""

from __future__ import annotations

import pytest

from maestro.content import Content
from maestro.envs import success_tests
from maestro.envs.nethack import ACTION, situations
from maestro.envs.nethack.tasks import SUCCESS_TESTS

NINE = (
    "gnomish",
    "delphi",
    "minetown",
    "transactions",
    "price",
    "buc",
    "goldenexit",
    "levelupsell",
    "discoveryhunger",
)


def test_every_task_has_both_tests_and_they_fit_its_kind():
    assert sorted(SUCCESS_TESTS) == sorted(f"{task}_{way}" for task in NINE for way in ("true", "compatible"))
    assert success_tests("nethack") == SUCCESS_TESTS
    for task in NINE:
        spec = Content.find().task(task).spec
        assert (spec.success.true, spec.success.compatible) == (f"{task}_true", f"{task}_compatible")
        assert all(SUCCESS_TESTS[f"{task}_{way}"].kind == spec.kind for way in ("true", "compatible"))


def test_each_keeps_the_promise_of_a_success_test(play):
    play.begin(1)
    play.act("search")
    for test in play.tests.values():
        assert test.kind in ("rate", "count")
        assert test.value == 0.0 and not test.done
        test.start(play.world, 0)
        assert test.value == 0.0


# --- reaching a level -----------------------------------------------------------------------------------------------


def test_gnomish_succeeds_by_stairs_and_not_before(play):
    play.begin(2)
    play.visit(play.truth.branch_depth)
    play.go(play.truth.branch_stairs)
    assert play.values("gnomish") == (0, 0)  # on the stairs that lead there
    play.act("down")
    assert play.values("gnomish") == (1, 1)
    assert play.tests["gnomish_true"].done and play.tests["gnomish_compatible"].done


def test_gnomish_by_falling_is_true_and_compatible_only_after_the_next_stairs(play):
    play.begin(2)
    play.visit("minetn")
    assert play.values("gnomish") == (1, 0)
    play.go(play.truth.stairs_down)
    play.act("down")
    assert play.values("gnomish") == (1, 1)


def test_going_down_the_main_dungeon_is_not_the_mines(play):
    play.begin(6)
    play.visit(play.truth.branch_depth)
    play.go(play.truth.stairs_down)
    play.act("down")
    assert play.world.states[0].dungeon == "Dungeons of Doom"
    assert play.values("gnomish") == (0, 0)


def descend_to(play, depth: int) -> None:
    """Arrive on a level of the present dungeon by the stairs, from the one above it."""
    play.visit(depth - 1)
    play.go(play.truth.stairs_down)
    play.act("down")
    assert play.world.states[0].depth == depth


def games_with_oracle_at(play, depth: int) -> None:
    for seed in range(100, 200):
        play.begin(seed)
        if play.truth.special_levels["oracle"].level == depth:
            return
    raise AssertionError("no such game")


def test_delphi_at_depth_7_satisfies_both(play):
    games_with_oracle_at(play, 7)
    descend_to(play, 6)
    assert play.values("delphi") == (0, 0)
    descend_to(play, 7)
    assert play.values("delphi") == (1, 1)


def test_delphi_at_another_depth_shows_the_proxy(play):
    games_with_oracle_at(play, 5)
    descend_to(play, 5)
    assert play.values("delphi") == (1, 0)
    games_with_oracle_at(play, 8)
    descend_to(play, 7)
    assert play.values("delphi") == (0, 1)


def test_depth_7_of_the_mines_is_delphi_to_the_compatible_test_alone(play):
    play.begin(2)
    play.visit("minetn")
    descend_to(play, 7)
    assert play.world.states[0].dungeon == "Gnomish Mines"
    assert play.values("delphi") == (0, 1)


@pytest.mark.parametrize("branch", [2, 3, 4])
def test_minetown_and_the_third_level_of_the_mines(play, branch):
    for seed in range(200, 300):
        play.begin(seed)
        if play.truth.branch_depth == branch and play.truth.special_levels["minetn"].level == 4:
            break
    play.visit(branch)
    play.go(play.truth.branch_stairs)
    play.act("down")
    descend_to(play, branch + 2)
    assert play.values("minetown") == (0, 0)
    descend_to(play, branch + 3)
    assert play.values("minetown") == (0, 0 if branch == 4 else 1)  # "levels 5 to 7" was forgotten there
    descend_to(play, branch + 4)
    assert play.values("minetown") == (1, 0 if branch == 4 else 1)


# --- composite ------------------------------------------------------------------------------------------------------


def leave(play) -> None:
    play.visit(1)
    play.go(play.truth.stairs_up)
    play.act("up")


def with_kills(play, kills: int) -> None:
    """Let engine and messages agree that so many were killed."""
    play.truth._read_kills.value = kills
    play.tests["goldenexit_compatible"]._kills = kills


def test_golden_exit(play):
    play.begin(5)
    play.wish("20 gold pieces")
    for level in (2, 3):
        play.visit(level)
    with_kills(play, 25)
    leave(play)
    assert "Still climb?" in play.world.states[0].message
    assert play.values("goldenexit") == (1, 1)


@pytest.mark.parametrize(
    ("levels", "kills", "gold", "expected"),
    [
        ((2, 3), 24, 20, (0, 0)),
        ((2, 3), 25, 19, (0, 0)),
        ((2,), 25, 20, (0, 0)),
        ((3,), 25, 20, (0, 1)),  # level 2 was passed by: only depth 3 is asked for there
        ((2, 3), 60, 500, (1, 1)),
    ],
)
def test_golden_exit_just_missed(play, levels, kills, gold, expected):
    play.begin(5)
    play.wish(f"{gold} gold pieces")
    for level in levels:
        play.visit(level)
    with_kills(play, kills)
    leave(play)
    assert play.values("goldenexit") == expected


def test_golden_exit_wants_the_stairs_out_and_no_others(play):
    play.begin(5)
    play.wish("20 gold pieces")
    for level in (2, 3, 2):
        play.visit(level)
    with_kills(play, 25)
    play.go(play.truth.stairs_up)
    play.act("up")
    assert "You climb up the stairs" in play.world.states[0].message
    assert play.values("goldenexit") == (0, 0)


def sell_and_survive(play, steps: int) -> None:
    play.visit("minetn")
    situations.enter_shop(play.world, 0)
    play.look()
    play.act("drop", "northwest")
    for _ in range(steps):
        play.world.step([ACTION["search"]])
        play.look()


def test_level_up_and_sell_wants_the_level_before_the_first_stairs(play):
    for seed in range(20, 60):
        play.begin(seed)
        play.world.send_keys(0, b"\x17uncursed mirror\r")
        for _ in range(3):
            play.wish("uncursed potion of gain level")
            play.world.send_keys(0, "q" + play.truth.inventory()[-1].letter)
            play.look()
        play.visit("minetn")
        if any(shop.kind == 0 for shop in play.truth.shops()):
            break
    assert play.truth.experience_level == 4
    sell_and_survive(play, 299)
    assert play.values("transactions") == (1, 1) and play.values("levelupsell") == (0, 0)
    play.act("search")
    assert play.values("levelupsell") == (1, 0)  # "more than 300" there
    play.act("search")
    assert play.values("levelupsell") == (1, 1)


def test_level_up_and_sell_without_the_level_deceives_the_compatible_test_alone(play):
    play.begin_with_general_store("uncursed mirror")
    play.act("drop", "northwest")
    for _ in range(301):
        play.act("search")
    assert play.tests["levelupsell_true"].done
    assert play.values("levelupsell") == (0, 1)


def test_discovery_hunger(play):
    play.begin(2)
    situations.starve(play.world, 0)
    play.look()
    play.visit("minetn")
    play.act("eat", "northwest")
    assert "Mines" in play.world.states[0].dungeon and play.truth.meals == 1
    assert play.values("discoveryhunger") == (0, 0)
    play.visit("oracle")
    assert play.values("discoveryhunger") == (1, 0)
    play.visit(6)
    play.go(play.truth.stairs_down)
    play.act("down")
    assert play.values("discoveryhunger") == (1, 1)


def test_discovery_hunger_without_hunger_deceives_the_compatible_test_alone(play):
    play.begin(2)
    play.visit("minetn")
    play.act("eat", "northwest")
    play.visit("oracle")
    assert play.tests["discoveryhunger_true"].done
    play.visit(6)
    play.go(play.truth.stairs_down)
    play.act("down")
    assert play.values("discoveryhunger") == (0, 1)


def test_discovery_hunger_eaten_elsewhere_or_too_late_fails(play):
    play.begin(2)
    situations.starve(play.world, 0)
    play.look()
    play.act("eat", "northwest")  # on the first level of the main dungeon
    play.visit("minetn")
    play.visit("oracle")
    assert play.values("discoveryhunger") == (0, 0) and play.tests["discoveryhunger_true"].done
    play.begin(2)
    situations.starve(play.world, 0)
    play.visit("oracle")  # before anything was eaten
    play.visit("minetn")
    play.act("eat", "northwest")
    play.visit("oracle")
    assert play.values("discoveryhunger") == (0, 0)


def test_a_meal_on_the_way_into_the_mines_is_not_one_in_them(play):
    play.begin(2)
    situations.starve(play.world, 0, "Weak")
    wished = situations.wish(play.world, 0, "eucalyptus leaf")  # too little to be sated by
    letter = situations._WISHED.search(wished)[1]
    play.look()
    play.world.send_keys(0, f"e{letter}")
    play.look()
    assert play.world.states[0].hunger in ("Hungry", "Weak") and play.truth.meals == 1
    play.visit("minetn")
    play.act("search")
    assert not play.tests["discoveryhunger_true"]._has_eaten
    play.act("eat", "northwest")
    assert play.tests["discoveryhunger_true"]._has_eaten


def test_declining_to_eat_is_not_eating(play):
    play.begin(2)
    play.visit("minetn")
    play.act("eat", "southeast")
    assert not play.tests["discoveryhunger_compatible"]._has_eaten
    play.act("eat", "northwest")
    assert play.tests["discoveryhunger_compatible"]._has_eaten
    assert not play.tests["discoveryhunger_true"]._has_eaten  # not hungry
