"""Every skill and task that ships: it loads, its names exist, and its code copes with any state."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from maestro.content import Content, TrainingContent, shipped_root
from maestro.envs.nethack.state import DUNGEONS, HUNGER, STATE_VERSION, State
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy
from maestro.options.option import Option
from maestro.options.provenance import OWN_AUTHOR

SKILLS = ("discoverer", "descender", "ascender", "worshipper", "merchant")
TASKS = (
    "buc", "delphi", "discoveryhunger", "gnomish", "goldenexit", "levelupsell", "minetown", "price", "transactions",
)  # fmt: skip
PUBLISHED = {
    "gnomish": (46.0, 1.70), "delphi": (29.0, 1.20), "minetown": (7.2, 0.50), "transactions": (0.66, 0.01),
    "price": (0.47, 0.01), "buc": (1.60, 0.01), "goldenexit": (24.80, 1.18), "levelupsell": (7.09, 0.99),
    "discoveryhunger": (7.91, 1.47),
}  # fmt: skip
COUNTS = {"transactions", "price", "buc"}
SHIPPED = Content((shipped_root(),))


@cache
def options() -> tuple[Option, ...]:
    return load_options(SHIPPED.skills("nethack"))


def policies() -> list[TrainingContent]:
    return [SHIPPED.training(), *SHIPPED.tasks("nethack").values()]


def state(**changes: Any) -> State:
    """Make the state of a hero who just arrived, but for `changes`."""
    values: dict[str, Any] = dict.fromkeys(State._fields, 0)
    values |= {
        "turn": 1, "depth": 1, "max_depth": 1, "dungeon": "Dungeons of Doom", "level": 1, "branch_depth": None,
        "hp": 14, "max_hp": 14, "experience_level": 1, "hunger": "Not hungry", "nearby": frozenset(),
        "in_view": frozenset(), "message": "", "prompt": "", "num_levels_visited": 1,
    }  # fmt: skip
    return State(**(values | changes))


def random_state(draws: random.Random, before: State | None) -> State:
    """Make some state, however unlikely, that may follow another in the same episode."""
    things = ("altar", "shopkeeper", "watchman", "staircase down", "newt", "fountain")
    depth = draws.choice([1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 30, 50])
    step, turn = (before.step + 1, before.turn + draws.choice([0, 0, 1, 1, 25, 300])) if before else (0, 1)
    counts = {name: getattr(before, name) + (draws.random() < 0.05) if before else 0 for name in (
        "num_kills", "num_items_sold", "num_prices_identified", "num_curse_checks", "num_meals"
    )}  # fmt: skip
    return state(
        step=step,
        turn=turn,
        depth=depth,
        max_depth=max(depth, before.max_depth if before else 1),
        dungeon=draws.choice([DUNGEONS[0], DUNGEONS[0], DUNGEONS[0], DUNGEONS[2], DUNGEONS[2], *DUNGEONS]),
        level=draws.randint(1, 12),
        branch_depth=(
            before.branch_depth if before and before.branch_depth else draws.choice([None, None, 2, 3, 4])
        ),
        experience_level=draws.randint(1, 12),
        gold=draws.choice([0, 19, 20, 500]),
        hunger=draws.choice(HUNGER),
        num_items=draws.choice([0, 0, 1, 7]),
        nearby=frozenset(draws.sample(things, draws.randint(0, 3))),
        in_view=frozenset(draws.sample(things, draws.randint(0, 5))),
        **counts,
    )


def test_all_that_the_project_promises_ships():
    assert tuple(SHIPPED.skills("nethack")) == SKILLS
    assert tuple(sorted(SHIPPED.tasks("nethack"))) == TASKS
    assert SHIPPED.training().name == "training"


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_says_what_it_is_and_has_a_limit(name: str):
    spec = SHIPPED.skill(name).spec
    assert spec.index == SKILLS.index(name)
    assert (spec.max_turns or 0) > 0
    assert (spec.max_steps or 0) > 0
    assert spec.reward.quantile == (0.72 if name == "discoverer" else 0.85)  # decision 018
    assert (spec.reward.count_exponent, spec.reward.count_memory) == (3.0, 20)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_its_tests_its_fallback_and_the_published_row(name: str):
    spec = SHIPPED.task(name).spec
    assert (spec.success.true, spec.success.compatible) == (f"{name}_true", f"{name}_compatible")
    assert spec.kind == ("count" if name in COUNTS else "rate")
    assert spec.published is not None
    assert (spec.published.value, spec.published.stderr) == PUBLISHED[name]
    assert spec.fallback in SKILLS
    assert spec.max_steps == 10_000


def test_the_fallback_may_always_start():
    draws = random.Random(0)
    before = None
    by_name = {option.name: option for option in options()}
    for _ in range(300):
        before = random_state(draws, before)
        for content in policies():
            assert by_name[content.spec.fallback].can_initiate(before) is True


@pytest.mark.parametrize("content", policies(), ids=lambda content: content.name)
def test_provenance_says_who_wrote_it(content: TrainingContent):
    provenance = load_policy(content).provenance
    assert (provenance.author, provenance.state_version) == (OWN_AUTHOR, STATE_VERSION)


@pytest.mark.parametrize("content", policies(), ids=lambda content: content.name)
def test_a_policy_keeps_to_the_skills_whatever_the_states(content: TrainingContent):
    """Random states reach corners that games do not; at each, every skill in turn is said to have finished."""
    source = load_policy(content)
    for seed in range(40):
        draws = random.Random(seed)
        policy = source(seed)
        now, finished = None, None
        for _ in range(250):
            now = random_state(draws, now)
            if hasattr(policy, "observe"):
                policy.observe(now)  # type: ignore[attr-defined]
            startable = frozenset(option.name for option in options() if option.can_initiate(now))
            if finished is None or draws.random() < 0.5:
                choice = policy.select_skill(now, finished, startable)
                assert choice in startable, f"{choice} after {finished} in {now}"
                finished = draws.choice(SKILLS)


@pytest.mark.parametrize("content", policies(), ids=lambda content: content.name)
def test_a_policy_runs_in_the_executive_without_failure_or_refusal(content: TrainingContent):
    executive = Executive(options(), load_policy(content), content.spec.fallback, 4)
    states: list[State] = []
    for index in range(4):
        states.append(random_state(random.Random(index), None))
        executive.start(index, states[index], seed=index)
    draws = random.Random(9)
    for _ in range(500):
        for index in range(4):
            states[index] = random_state(draws, states[index])
            executive.advance(index, states[index])
    for index in range(4):
        assert executive.failure(index) is None
        account = executive.account(index)
        assert sum(use.refused for use in account.values()) == 0
        assert sum(use.steps for use in account.values()) == 500


# ---- initiation and termination of the five skills


ALTAR, SHOP = frozenset({"altar", "newt"}), frozenset({"shopkeeper"})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, set()),
        ({"nearby": ALTAR}, set()),
        ({"nearby": ALTAR, "num_items": 1}, {"worshipper"}),
        ({"nearby": SHOP, "num_items": 3}, {"merchant"}),
        ({"nearby": SHOP}, set()),
        ({"nearby": ALTAR | SHOP, "num_items": 1}, {"worshipper", "merchant"}),
        ({"in_view": ALTAR | SHOP, "num_items": 1}, set()),
    ],
)
def test_shops_and_altars_open_their_skills_to_those_who_carry_something(changes: dict, expected: set):
    now = state(**changes)
    startable = {option.name for option in options() if option.can_initiate(now)}
    assert startable == {"discoverer", "descender", "ascender"} | expected


@pytest.mark.parametrize(
    ("skill", "start", "now", "expected"),
    [
        ("discoverer", {}, {"turn": 90}, False),
        ("discoverer", {}, {"depth": 2}, True),
        ("discoverer", {"depth": 3}, {"depth": 3, "branch_depth": 3}, True),
        ("discoverer", {"num_items": 1}, {"num_items": 1, "nearby": ALTAR}, True),
        ("discoverer", {"nearby": ALTAR}, {"num_items": 1, "nearby": ALTAR}, True),
        ("discoverer", {"num_items": 1, "nearby": ALTAR}, {"num_items": 1, "nearby": ALTAR}, False),
        ("descender", {"depth": 2}, {"depth": 3}, True),
        ("descender", {"depth": 2}, {"depth": 2, "turn": 500}, False),
        ("descender", {"num_items": 1}, {"num_items": 1, "nearby": SHOP}, True),
        ("ascender", {"depth": 2}, {"depth": 1}, True),
        ("ascender", {"depth": 2}, {"depth": 2, "turn": 500}, False),
        ("ascender", {"num_items": 1, "nearby": SHOP}, {"num_items": 1, "nearby": SHOP}, False),
        ("worshipper", {"num_items": 2, "nearby": ALTAR}, {"num_items": 2, "nearby": ALTAR}, False),
        ("worshipper", {"num_items": 2, "nearby": ALTAR}, {"num_items": 0, "nearby": ALTAR}, True),
        ("worshipper", {"num_items": 2}, {"num_items": 2, "turn": 30}, True),
        ("worshipper", {"num_items": 2}, {"num_items": 2, "turn": 90, "nearby": ALTAR}, True),
        (
            "worshipper",
            {"num_items": 2},
            {"num_items": 2, "turn": 90, "nearby": ALTAR, "num_curse_checks": 1},
            False,
        ),
        ("merchant", {"num_items": 2}, {"num_items": 2, "in_view": SHOP, "turn": 50}, False),
        ("merchant", {"num_items": 2}, {"num_items": 0, "in_view": SHOP}, True),
        ("merchant", {"num_items": 2}, {"num_items": 2, "turn": 50}, True),
        (
            "merchant",
            {"num_items": 2},
            {"num_items": 1, "in_view": SHOP, "turn": 150, "num_items_sold": 1},
            False,
        ),
        ("merchant", {"num_items": 2}, {"num_items": 2, "in_view": SHOP, "turn": 150}, True),
        ("merchant", {"num_items": 2}, {"num_items": 2, "in_view": SHOP, "depth": 2}, True),
    ],
)
def test_skills_end_where_they_should(skill: str, start: dict, now: dict, expected: bool):
    (option,) = (option for option in options() if option.name == skill)
    later = state(**now)
    startable = frozenset(option.name for option in options() if option.can_initiate(later))
    assert option.should_terminate(later, state(**start), startable) is expected
