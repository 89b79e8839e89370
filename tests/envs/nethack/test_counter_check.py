"""The check of State's counters: it notices what is missed, what is imagined, and nothing else."""

from __future__ import annotations

import pytest

from maestro.envs.nethack import ACTION
from maestro.envs.nethack.counter_check import COUNTERS, CounterCheck, Findings


@pytest.fixture
def checked(play):
    """Begin a game in debug mode, with a check watching it."""
    play.begin_with_general_store("2 scrolls of fire", "uncursed mirror")
    check = CounterCheck()
    check.start(play.world, 0)
    return play, check


def tallies(check: CounterCheck) -> dict[str, tuple[int, int, int]]:
    found = check.findings().tallies
    return {name: (t.events, t.misses, t.false_alarms) for name, t in found.items() if t != type(t)()}


def test_what_state_counts_right_is_no_error(checked):
    play, check = checked
    for name in ("drop", "northwest", "drop", "northwest", "eat", "northwest"):
        play.world.step([ACTION[name]])
        check.update(play.world, 0)
    assert tallies(check) == {
        "num_items_sold": (2, 0, 0),
        "num_prices_identified": (1, 0, 0),
        "num_meals": (1, 0, 0),
    }
    assert check.value == 0 and check.findings().examples == []


def test_what_state_does_not_see_is_missed(checked):
    play, check = checked
    play.truth._read_kills.value += 2
    play.world.step([ACTION["search"]])
    check.update(play.world, 0)
    assert tallies(check) == {"num_kills": (2, 2, 0)}
    (example,) = check.findings().examples
    assert (example.counter, example.kind) == ("num_kills", "miss")


@pytest.mark.parametrize("counter", COUNTERS)
def test_what_state_imagines_is_a_false_alarm(checked, counter):
    play, check = checked
    play.world.step([ACTION["search"]])
    state = play.world.states[0]
    play.world.states[0] = state._replace(**{counter: getattr(state, counter) + 1})
    check.update(play.world, 0)
    assert tallies(check) == {counter: (0, 0, 1)}


def test_the_price_on_a_bill_counts_when_it_narrows(checked):
    play, check = checked
    play.world.step([ACTION["drop"]])
    check.update(play.world, 0)
    play.world.step([ACTION["northwest"]])
    check.update(play.world, 0)
    play.world.send_keys(0, ",\r")  # take the scrolls back: now they are the shop's, and on the bill
    check.update(play.world, 0)
    assert list(play.truth.bill()) == [item.id for item in play.truth.inventory() if item.is_unpaid]
    assert tallies(check)["num_prices_identified"] == (1, 0, 0)  # the same kind again


def test_branch_depth_is_judged_at_the_end(play):
    play.begin(2)
    check = CounterCheck()
    check.start(play.world, 0)
    assert check.findings().branch.visited == 0
    play.visit(play.truth.branch_depth)
    check.update(play.world, 0)
    branch = check.findings().branch
    assert (branch.visited, branch.wrong) == (1, 0)
    play.world.states[0] = play.world.states[0]._replace(branch_depth=play.truth.branch_depth)
    check.update(play.world, 0)
    assert check.findings().branch.found == 1
    play.world.states[0] = play.world.states[0]._replace(branch_depth=play.truth.branch_depth - 1)
    check.update(play.world, 0)
    assert (check.findings().branch.found, check.findings().branch.wrong) == (0, 1)


def test_findings_add_up(checked):
    play, check = checked
    play.truth._read_kills.value += 1
    play.world.step([ACTION["search"]])
    check.update(play.world, 0)
    total = Findings() + check.findings() + check.findings()
    assert (total.episodes, total.steps, total.tallies["num_kills"].misses, len(total.examples)) == (
        2,
        2,
        2,
        2,
    )
