"""Sessions, traces and verdicts over a simulation of a few lines, in this process and by messages."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

from maestro.envs.nethack.scenarios import DungeonSimulation
from maestro.envs.nethack.state import State
from maestro.envs.scenario import (
    Case,
    Goal,
    Session,
    judge,
    judge_predicate,
    play,
    question_to_json,
    state_from_json,
    state_to_json,
)

SKILLS = ("discoverer", "descender", "ascender", "worshipper", "merchant")


class Spot(NamedTuple):
    step: int
    depth: int


class Stairs:
    """A stair with a bottom at 3: down, up, and a jump that can only start at the bottom and ends the game."""

    skills = ("down", "up", "jump")
    columns = (("depth", lambda state: state.depth),)
    world = None

    def __init__(self):
        self.ended = self.over = ""
        self.state = Spot(0, 0)

    @property
    def startable(self):
        return frozenset(self.skills if self.state.depth == 3 else self.skills[:2])

    def start(self):
        return self.state

    def choose(self, skill):
        change = {"down": 1, "up": -1, "jump": 0}[skill]
        self.state = Spot(self.state.step + 1, min(3, max(0, self.state.depth + change)))
        self.ended = "one stair"
        self.over = "jumped" if skill == "jump" else ""
        return [self.state]


class Follower:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.seen = []

    def observe(self, state):
        self.seen.append(state)

    def select_skill(self, state, finished, startable):
        assert state is self.seen[-1]
        answer = self.answers.pop(0) if self.answers else "down"
        if isinstance(answer, Exception):
            raise answer
        return answer


GOAL = Goal("jump.", lambda t: len(t.states) - 1 if t.over else None, lambda t: "no jump", 0.6)


def run(*answers, max_choices=6):
    return play(Follower(*answers), Session(Stairs(), fallback="up", max_choices=max_choices))


def test_a_policy_observes_every_state_once_and_is_asked_in_the_last():
    policy = Follower("down", "down", "down", "jump")
    trace = play(policy, Session(Stairs(), fallback="up"))
    assert policy.seen == trace.states[:-1]  # nothing is asked once the game is over
    assert [choice.chosen for choice in trace.choices] == ["down", "down", "down", "jump"]
    assert trace.over == "jumped"


def test_a_choice_that_may_not_start_is_refused_and_the_fallback_runs():
    trace = run("down", "jump", max_choices=2)
    assert [choice.ran for choice in trace.choices] == ["down", "up"]
    assert trace.choices[1].refused
    assert trace.states[-1].depth == 0
    assert "jump REFUSED, up ran" in str(trace)


@pytest.mark.parametrize("answer", [None, 3, "fly", ["down"]])
def test_an_answer_that_is_no_skill_ends_the_game(answer):
    trace = run("down", answer)
    assert "none of down, up, jump" in trace.error
    assert len(trace.choices) == 1
    assert "The policy failed" in trace.ending()


def test_what_the_policy_raises_is_in_the_trace():
    trace = run("down", KeyError("gold"))
    assert trace.error == "KeyError: 'gold'"
    assert trace.choices[-1].chosen == "down"


def test_what_the_simulation_raises_is_no_fault_of_the_policy():
    class Broken(Stairs):
        def choose(self, skill):
            raise RuntimeError("broken simulation")

    with pytest.raises(RuntimeError, match="broken simulation"):
        play(Follower("down"), Session(Broken(), fallback="up"))


def test_a_fallback_must_be_a_skill():
    with pytest.raises(ValueError, match="walk"):
        Session(Stairs(), fallback="walk")


def test_a_trace_counts_repeated_choices_and_leaves_out_the_middle():
    trace = run(*["down"] * 10, max_choices=10)
    text = trace.text()
    assert "down x7" in text  # at the bottom nothing changes any more
    assert text.count("\n") < 9
    zigzag = run(*["down", "up"] * 40, max_choices=80)
    short = zigzag.text(max_lines=10)
    assert "70 lines left out" in short
    assert len(short.splitlines()) == 14  # note, headings, 10 lines, the gap, the ending


def test_a_sound_policy_passes_and_a_stuck_one_does_not():
    good = [run("down", "down", "down", "jump") for _ in range(4)]
    trial = judge(good, goal=GOAL, progress=lambda state: (state.depth,))
    assert trial.passed
    assert trial.reached == (True,) * 4
    assert "Reached in 4 of 4" in trial.summary()
    stuck = [run(*["down"] * 99, max_choices=60) for _ in range(4)]
    trial = judge([*stuck, *good], goal=GOAL, progress=lambda state: (state.depth,))
    assert not trial.passed
    assert "always down" in trial.problems[0]
    assert "no jump (4x)" in trial.problems[1]
    assert trial.telling in stuck


def test_idleness_after_the_goal_does_not_count():
    calm = Goal("be at the bottom.", lambda t: 3, lambda t: "", 1.0)
    traces = [run(*["down"] * 99, max_choices=90)]
    assert judge(traces, goal=calm, progress=lambda state: (state.depth,)).passed
    assert not judge(traces, goal=None, progress=lambda state: (state.depth,)).passed


def test_a_predicate_that_is_constant_or_no_truth_is_refused():
    cases = [Case(Spot(i, i), Spot(0, 0), frozenset(), None, "") for i in range(5)]
    assert "never changes" in judge_predicate("f", cases, [True] * 5).problems[0]
    assert judge_predicate("f", cases, [True] * 5, may_be_constant=frozenset({True})).passed
    assert judge_predicate("f", cases, [True, False, True, True, True]).num_true == 4
    assert "neither True nor False" in judge_predicate("f", cases, [1, True, False, True, True]).problems[0]
    expected = [case._replace(expected=False, why="of reasons") for case in cases[:2]]
    report = judge_predicate("f", expected, [True, False], show=lambda case: f"case {case.state.step}")
    assert report.problems == (
        "f returned True in 1 cases where it should return False because of reasons. For example: case 0",
    )
    with pytest.raises(ValueError, match="1 answers to 2 cases"):
        judge_predicate("f", expected, [True])


def test_states_survive_json():
    game = DungeonSimulation(SKILLS, 1)
    for state in [game.start(), *game.choose("discoverer")]:
        assert state_from_json(State, json.loads(json.dumps(state_to_json(state)))) == state


CHILD = """
import json, sys
seen = 0
for line in sys.stdin:
    question = json.loads(line)
    seen += len(question["states"])
    state = question["states"][-1]
    down = state["depth"] < 3 and "merchant" not in question["startable"]
    print(json.dumps("descender" if down else "discoverer"), flush=True)
"""


class InHere:
    def select_skill(self, state, finished, startable):
        return "descender" if state.depth < 3 and "merchant" not in startable else "discoverer"


def test_another_process_plays_the_same_game_by_messages():
    session = Session(DungeonSimulation(SKILLS, 11), fallback="discoverer", max_choices=40)
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        question = session.start()
        while question is not None:
            child.stdin.write(json.dumps(question_to_json(question)) + "\n")
            child.stdin.flush()
            question = session.reply(json.loads(child.stdout.readline()))
        child.stdin.close()
    here = play(InHere(), Session(DungeonSimulation(SKILLS, 11), fallback="discoverer", max_choices=40))
    assert session.trace.choices == here.choices
    assert session.trace.states == here.states
