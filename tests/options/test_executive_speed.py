"""What the executive costs a step: the project's budget is 3 microseconds with the shipped skills' own code."""

from __future__ import annotations

import time
from typing import Any

import pytest

from maestro.content import Content
from maestro.envs.nethack.state import State
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy

BUDGET_US = 3.0
NUM_GAMES, NUM_STEPS = 16, 2_000


def walk(step: int) -> State:
    """Make the state of a step in an ordinary game: something carried, something near, the clock moving."""
    values: dict[str, Any] = dict.fromkeys(State._fields, 0)
    values |= {
        "step": step, "turn": 1 + step // 2, "depth": 1 + step // 1500, "dungeon": "Dungeons of Doom", "level": 1,
        "branch_depth": None, "hunger": "Not hungry", "num_items": 2, "nearby": frozenset({"newt", "closed door"}),
        "in_view": frozenset({"staircase up", "newt"}), "message": "", "prompt": "",
    }  # fmt: skip
    return State(**values)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["training", "transactions"])
def test_a_step_of_a_game_costs_less_than_the_budget(task: str):
    content = Content.find()
    policy = load_policy(content.training() if task == "training" else content.task(task))
    executive = Executive(load_options(content.skills("nethack")), policy, "discoverer", NUM_GAMES)
    states = [walk(step) for step in range(NUM_STEPS)]
    rounds = []
    for seed in range(5):
        for index in range(NUM_GAMES):
            executive.start(index, states[0], seed)
        begin = time.process_time()
        for state in states[1:]:
            for index in range(NUM_GAMES):
                executive.advance(index, state)
        rounds.append((time.process_time() - begin) / ((NUM_STEPS - 1) * NUM_GAMES) * 1e6)
    print(f"{task}: {min(rounds):.2f} us a game and step")
    assert all(executive.failure(index) is None for index in range(NUM_GAMES))
    assert min(rounds) < BUDGET_US
