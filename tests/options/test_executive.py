"""The executive: initiation, termination, limits, refusal, fallback, accounting, and contained errors."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.errors import UnknownNameError
from maestro.options.executive import Executive
from maestro.options.option import Option


class State(NamedTuple):
    """What these tests' code reads: the clock, and which of four skills may start and end."""

    step: int
    turn: int
    may: str = "walk rest"
    stop: bool = False


class Scripted:
    """A policy that names its choices one after another and remembers what it was asked."""

    def __init__(self, *choices: Any) -> None:
        self.choices = list(choices)
        self.asked: list[tuple[int, str | None, frozenset[str]]] = []
        self.observed: list[int] = []

    def observe(self, state: State) -> None:
        self.observed.append(state.step)

    def select_skill(self, state: State, finished: str | None, startable: frozenset[str]) -> Any:
        self.asked.append((state.step, finished, startable))
        return self.choices.pop(0)


def option(name: str, **limits: Any) -> Option:
    return Option(
        name,
        can_initiate=lambda state: name in state.may,
        should_terminate=lambda state, start, startable: state.stop,
        **limits,
    )


def play(policy: Any, options: list[Option], states: list[State], fallback: str = "walk") -> Executive:
    """Run one game through `states`."""
    executive = Executive(options, lambda seed: policy, fallback, 1)
    executive.start(0, states[0], seed=0)
    for state in states[1:]:
        executive.advance(0, state)
    return executive


def test_the_first_skill_is_chosen_from_what_may_start():
    policy = Scripted("rest")
    executive = play(policy, [option("walk"), option("rest"), option("trade")], [State(0, 1)])
    assert executive.running == ["rest"]
    assert policy.asked == [(0, None, frozenset({"walk", "rest"}))]
    assert executive.started == [State(0, 1)]
    assert executive.startable(0) == {"walk", "rest"}


def test_a_skill_runs_until_it_terminates_and_its_policy_is_told():
    policy = Scripted("walk", "rest")
    states = [State(0, 1), State(1, 2), State(2, 3, stop=True), State(3, 4)]
    executive = play(policy, [option("walk"), option("rest")], states)
    assert [asked[:2] for asked in policy.asked] == [(0, None), (2, "walk")]
    assert [(s.step, s.skill, s.ended) for s in executive.switches(0)] == [
        (0, "walk", "terminated"),
        (2, "rest", None),
    ]
    assert executive.started == [states[2]]


def test_termination_sees_the_state_the_skill_began_in_and_what_may_start_now():
    seen = []

    def should_terminate(state: State, start: State, startable: frozenset[str]) -> bool:
        seen.append((state.step, start.step, startable))
        return state.step == 2

    walk = Option("walk", lambda state: True, should_terminate)
    play(Scripted("walk", "walk"), [walk, option("trade")], [State(i, i, may="trade") for i in range(5)])
    both = frozenset({"walk", "trade"})
    assert seen == [(1, 0, both), (2, 0, both), (3, 2, both), (4, 2, both)]


@pytest.mark.parametrize(
    ("limits", "turns_per_step", "reason", "steps"),
    [
        ({"max_turns": 4}, 2, "max_turns", 2),
        ({"max_turns": 3}, 2, "max_turns", 2),  # the first step at or beyond the limit
        ({"max_steps": 3}, 0, "max_steps", 3),  # also where the game's clock stands still
        ({"max_turns": 2, "max_steps": 2}, 1, "max_turns", 2),  # the clock is named first
        ({"max_turns": 1}, 25, "max_turns", 1),
    ],
)
def test_limits_always_end_a_skill(limits: dict, turns_per_step: int, reason: str, steps: int):
    states = [State(i, 1 + i * turns_per_step) for i in range(steps + 1)]
    executive = play(Scripted("walk", "rest"), [option("walk", **limits), option("rest")], states)
    first = executive.switches(0)[0]
    assert (first.skill, first.ended) == ("walk", reason)
    assert executive.running == ["rest"]
    assert executive.account(0)["walk"].steps == steps


def test_termination_is_the_reason_where_a_limit_is_reached_too():
    states = [State(0, 0), State(1, 1, stop=True)]
    executive = play(Scripted("walk", "walk"), [option("walk", max_turns=1, max_steps=1)], states)
    assert executive.switches(0)[0].ended == "terminated"


def test_limits_count_anew_when_a_skill_is_chosen_again():
    states = [State(i, i) for i in range(6)]
    executive = play(Scripted("walk", "walk", "walk"), [option("walk", max_steps=2)], states)
    assert [switch.step for switch in executive.switches(0)] == [0, 2, 4]


def test_a_choice_that_may_not_start_is_refused_and_the_fallback_runs():
    states = [State(0, 0), State(1, 1, stop=True), State(2, 2, stop=True)]
    policy = Scripted("trade", "rest", "trade")
    executive = play(policy, [option("walk"), option("rest"), option("trade")], states)
    assert [(s.skill, s.refused, s.forced) for s in executive.switches(0)] == [
        ("walk", "trade", False),
        ("rest", None, False),
        ("walk", "trade", False),
    ]
    account = executive.account(0)
    assert (account["trade"].refused, account["trade"].activations) == (2, 0)
    assert (account["walk"].refused, account["walk"].activations) == (0, 2)


def test_the_fallback_runs_even_where_it_may_not_start_and_that_is_counted():
    states = [State(0, 0, may="rest")]
    for choice in ("trade", "walk"):
        executive = play(Scripted(choice), [option("walk"), option("rest"), option("trade")], states)
        assert executive.running == ["walk"]
        assert executive.account(0)[choice].refused == 1
        assert executive.account(0)["walk"].forced == 1


def test_account_adds_up_steps_turns_activations_and_reasons():
    states = [
        State(0, 1), State(1, 3), State(2, 3, stop=True), State(3, 30), State(4, 31, stop=True), State(5, 40),
    ]  # fmt: skip
    executive = play(
        Scripted("walk", "rest", "walk"), [option("walk"), option("rest"), option("trade")], states
    )
    account = executive.account(0)
    assert list(account) == ["walk", "rest", "trade"]
    walk, rest, trade = account.values()
    assert (walk.activations, walk.steps, walk.turns, walk.ended) == (2, 3, 11, {"terminated": 1})
    assert (rest.activations, rest.steps, rest.turns, rest.ended) == (1, 2, 28, {"terminated": 1})
    assert (trade.activations, trade.steps, trade.turns, trade.ended) == (0, 0, 0, {})

    executive.finish(0, State(6, 50))
    assert executive.running == [None]
    walk = executive.account(0)["walk"]
    assert (walk.steps, walk.turns, walk.ended) == (4, 21, {"terminated": 1, "episode": 1})
    before = executive.switches(0)
    executive.finish(0, State(7, 60))
    assert executive.advance(0, State(7, 60)) is None
    assert executive.switches(0) == before


def test_observe_is_called_once_for_the_first_state_and_once_a_step_before_the_choice():
    order = []

    class Policy:
        def observe(self, state: State) -> None:
            order.append(("observe", state.step))

        def select_skill(self, state: State, finished: str | None, startable: frozenset[str]) -> str:
            order.append(("select", state.step))
            return "walk"

    play(Policy(), [option("walk")], [State(0, 0), State(1, 1), State(2, 2, stop=True)])
    assert order == [("observe", 0), ("select", 0), ("observe", 1), ("observe", 2), ("select", 2)]


def test_a_policy_needs_no_observe():
    class Policy:
        def select_skill(self, state: State, finished: str | None, startable: frozenset[str]) -> str:
            return "walk"

    assert play(Policy(), [option("walk")], [State(0, 0), State(1, 1)]).running == ["walk"]


def test_a_new_episode_forgets_the_one_before():
    executive = Executive([option("walk"), option("rest")], lambda seed: Scripted("rest", "walk"), "walk", 2)
    executive.start(1, State(0, 0), 1)
    executive.advance(1, State(1, 1, stop=True))
    executive.start(1, State(0, 0), 2)
    assert executive.running == [None, "rest"]
    assert len(executive.switches(1)) == 1
    assert executive.account(1)["walk"].activations == 0
    assert executive.account(0)["walk"].activations == 0
    assert executive.switches(0) == []


def test_every_episode_has_a_policy_of_its_own_made_with_its_seed():
    seeds = []

    def make_policy(seed: int) -> Scripted:
        seeds.append(seed)
        return Scripted("walk")

    executive = Executive([option("walk")], make_policy, "walk", 3)
    for index, seed in ((0, 7), (2, 8), (0, 9)):
        executive.start(index, State(0, 0), seed)
    assert seeds == [7, 8, 9]


def test_options_that_draw_random_numbers_get_functions_of_their_own_each_episode():
    def fresh(seed: int) -> Option:
        draws = random.Random(seed)
        return Option("walk", lambda state: True, lambda state, start, startable: draws.random() < 0.3)

    def play_one(seeds: list[int]) -> list[list[int]]:
        games = len(seeds)
        shared = Option("walk", lambda state: True, lambda *_: False, fresh=fresh)
        executive = Executive([shared], lambda seed: Scripted(*["walk"] * 50), "walk", games)
        for index, seed in enumerate(seeds):
            executive.start(index, State(0, 0), seed)
        for step in range(1, 40):
            for index in range(games):
                executive.advance(index, State(step, step))
        return [[switch.step for switch in executive.switches(index)] for index in range(games)]

    alone = [play_one([seed])[0] for seed in (1, 2, 3)]
    assert play_one([1, 2, 3]) == alone
    assert alone[0] != alone[1]


@pytest.mark.parametrize(
    ("options", "fallback", "num_games", "error", "text"),
    [
        ([option("walk")], "wlak", 1, UnknownNameError, "'walk'"),
        ([option("walk"), option("walk")], "walk", 1, ValueError, "same name"),
        ([option("walk")], "walk", 0, ValueError, "num_games is 0"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(options, fallback, num_games, error, text):
    with pytest.raises(error, match=text):
        Executive(options, lambda seed: Scripted(), fallback, num_games)


@pytest.mark.parametrize("limits", [{"max_turns": 0}, {"max_steps": -1}])
def test_a_limit_below_one_is_refused(limits: dict[str, int]):
    with pytest.raises(ValueError, match="at least 1"):
        option("walk", **limits)


# ---- a naive executive to compare with


SKILLS = ("walk", "rest", "trade")
LIMITS = {"walk": (None, 3), "rest": (4, None), "trade": (None, None)}


def naive(states: list[State], choices: list[str]) -> tuple[list[str | None], dict[str, dict]]:
    """Say what runs after each state, and the account, in the most plodding way."""
    books = {
        s: {"activations": 0, "steps": 0, "turns": 0, "refused": 0, "forced": 0, "ended": {}} for s in SKILLS
    }
    running: list[str | None] = []
    current, start, used = "", states[0], 0
    for position, state in enumerate(states):
        reason = None
        if position > 0:
            books[current]["steps"] += 1
            books[current]["turns"] += state.turn - states[position - 1].turn
            max_turns, max_steps = LIMITS[current]
            if max_steps is not None and state.step - start.step >= max_steps:
                reason = "max_steps"
            if max_turns is not None and state.turn - start.turn >= max_turns:
                reason = "max_turns"
            if state.stop:
                reason = "terminated"
            if reason is not None:
                books[current]["ended"][reason] = books[current]["ended"].get(reason, 0) + 1
        if position == 0 or reason is not None:
            choice = choices[used % len(choices)]
            used += 1
            start = state
            current = choice
            if choice not in state.may.split():
                books[choice]["refused"] += 1
                current = "walk"
                books["walk"]["forced"] += "walk" not in state.may.split()
            books[current]["activations"] += 1
        running.append(current)
    return running, books


@st.composite
def histories(draw: st.DrawFn) -> list[State]:
    length = draw(st.integers(1, 40))
    turns = draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    turn, states = 1, []
    for step, passed in enumerate(turns):
        turn += passed
        may = draw(st.sampled_from(["walk rest trade", "walk rest", "walk", "rest trade", ""]))
        states.append(State(step, turn, may, draw(st.integers(0, 5)) == 0))
    return states


@given(
    st.lists(histories(), min_size=1, max_size=4), st.lists(st.sampled_from(SKILLS), min_size=1, max_size=9)
)
def test_it_does_what_a_naive_executive_does_in_every_game(games: list[list[State]], choices: list[str]):
    options = [option(name, max_turns=LIMITS[name][0], max_steps=LIMITS[name][1]) for name in SKILLS]
    executive = Executive(options, lambda seed: Scripted(*choices * 50), "walk", len(games))
    running: list[list[str | None]] = [[executive.start(i, states[0], i)] for i, states in enumerate(games)]
    for step in range(1, max(map(len, games))):
        for index, states in enumerate(games):
            if step < len(states):
                running[index].append(executive.advance(index, states[step]))
    for index, states in enumerate(games):
        expected, books = naive(states, choices)
        assert running[index] == expected
        account = executive.account(index)
        assert {name: {key: getattr(account[name], key) for key in books[name]} for name in SKILLS} == books
        assert sum(use.steps for use in account.values()) == len(states) - 1
