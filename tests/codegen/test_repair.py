"""The loop: what a model is told, when it stops, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from codegen.feedback import MAX_TRACE, Feedback, clip, explain
from codegen.repair import (
    Attempt,
    Budget,
    Candidate,
    Checked,
    Generation,
    GenerationFailed,
    Judgement,
    Message,
    Repair,
)  # fmt: skip
from codegen.transcript import Transcript, read_transcript

TEST = "\n\ndef test_a():\n    print('went', Policy().toward(State(depth=1)))\n"


@dataclass
class Said:
    text: str
    tokens: int = 10


class Model:
    """A model that says what it was given, one reply after the other, and keeps what it was told."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.heard: list[Sequence[Message]] = []

    def __call__(self, messages: Sequence[Message]) -> Said:
        self.heard.append(messages)
        return Said(self.replies[min(len(self.heard), len(self.replies)) - 1])


def block(source: str) -> str:
    return f"I think first.\n\n```python\n{source.strip()}\n```\n"


START = (Message("system", "You write policies."), Message("user", "Write one."))


@pytest.fixture
def good(policy):
    return block(policy + TEST)


def test_a_good_reply_is_taken_at_once(contracts, policy, good):
    told: list[Attempt] = []
    outcome = Repair(Model(good), contracts["policy"], report=told.append).run(START)
    assert isinstance(outcome, Generation)
    assert outcome.source == policy.lstrip("\n")
    assert outcome.test_source == TEST.lstrip("\n")
    assert [(each.stage, each.problems, each.trace) for each in told] == [
        ("done", (), "went descender\n".rstrip())
    ]
    assert (outcome.tokens, len(outcome.attempts)) == (10, 1)


def test_every_stage_sends_its_own_words_back(contracts, policy, good, tmp_path):
    failing = policy + TEST.replace("print", "assert False, ")
    model = Model(
        "I am sorry.",
        block(policy.replace("descender", "descend") + TEST),
        block(policy),
        block(policy.replace("self.goal = 4", "self.goal = 4 // 0") + TEST),
        block(failing),
        block(policy.replace("state.depth < self.goal", "state.depth < 99") + TEST),
        good,
    )
    transcript = Transcript(tmp_path / "transcript.jsonl")

    def check(candidate: Candidate) -> Checked:
        return Checked(("It never comes back.",) if "99" in candidate.source else (), "1 2 3")

    repair = Repair(model, contracts["policy"], Budget(attempts=9), checks=[check], transcript=transcript)
    outcome = repair.run(START)
    assert isinstance(outcome, Generation)
    assert [each.stage for each in outcome.attempts] == [
        "extract", "validate", "extract", "sandbox", "sandbox", "check", "done",
    ]  # fmt: skip
    last = [messages[-1].content for messages in model.heard[1:]]
    assert "There is no fenced block" in last[0]
    assert "'descend' is not a skill. Skills: discoverer" in last[1]
    assert '| return "descender"' not in last[1]
    assert '| return "descend" if state.depth < self.goal else "ascender"' in last[1]
    assert "There is no unit test" in last[2]
    assert "ZeroDivisionError" in last[3]
    assert "test_a failed: AssertionError" in last[4]
    assert "It never comes back." in last[5]
    assert "1 2 3" in last[5]
    assert [each.role for each in model.heard[-1]] == ["system", "user", *["assistant", "user"] * 6]
    entries = read_transcript(transcript.path).entries
    kinds = [entry["kind"] for entry in entries]
    assert kinds.count("reply") == kinds.count("attempt") == 7
    assert kinds.count("message") == 2 + 6
    assert entries[2]["content"] == "I am sorry."


def test_the_judge_has_the_last_word(contracts, good):
    traces: list[str] = []

    def judge(messages: Sequence[Message], candidate: Candidate, trace: str) -> Judgement:
        assert messages[-1].role == "assistant"
        traces.append(trace)
        return Judgement(len(traces) > 1, "No: it stays on level 1.", tokens=5)

    model = Model(good)
    outcome = Repair(model, contracts["policy"], judge=judge).run(START)
    assert isinstance(outcome, Generation)
    assert [each.stage for each in outcome.attempts] == ["judge", "done"]
    assert "stays on level 1" in model.heard[1][-1].content
    assert traces == ["went descender", "went descender"]
    assert outcome.tokens == 30


@pytest.mark.parametrize(
    ("budget", "reason", "attempts"),
    [
        (Budget(attempts=3), "all 3 attempts were used", 3),
        (Budget(attempts=9, tokens=15), "20 of 15 tokens were used", 2),
        (Budget(attempts=9, seconds=2.5), "4 of 2 seconds were used", 1),
        (Budget(attempts=0), "all 0 attempts were used", 0),
    ],
)
def test_the_budget_ends_it_with_reasons(contracts, budget, reason, attempts):
    ticks = iter(range(1000))
    outcome = Repair(Model("no"), contracts["policy"], budget, clock=lambda: float(next(ticks))).run(START)
    assert isinstance(outcome, GenerationFailed)
    assert outcome.reasons[0] == reason
    assert len(outcome.attempts) == attempts
    assert ("There is no fenced block" in str(outcome.reasons[1:])) == (attempts > 0)


def test_helpers_are_merged_in_and_refusals_go_back(contracts, policy):
    new = (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return self.toward(state)\n"
        "\n\ndef test_a():\n    assert Policy().select_skill(State(), None, frozenset()) == 'descender'\n"
    )
    twice = new.replace(
        "\n\n\n", "\n\n    def toward(self, state):\n        return 'ascender'\n\n\n", 1
    ).replace("self.toward(state)\n", "self.away(state)\n", 1)
    helpers = policy + "\n    def away(self, state):\n        return self.toward(state)\n"
    outcome = Repair(Model(block(twice), block(new)), contracts["policy"], helpers=helpers).run(START)
    assert isinstance(outcome, Generation), outcome
    assert [each.stage for each in outcome.attempts] == ["merge", "done"]
    assert "toward would be defined twice" in outcome.attempts[0].problems[0]
    assert "self.goal = 4" in outcome.source


def test_a_test_is_optional_where_it_is_not_needed(contracts):
    source = "def can_initiate(state):\n    return state.depth > 2\n"
    outcome = Repair(Model(block(source)), contracts["initiation"], needs_test=False).run(START)
    assert isinstance(outcome, Generation)
    assert (outcome.source, outcome.test_source) == (source, "")


def test_faults_of_the_model_pass_through_after_the_record(contracts, tmp_path):
    def broken(messages: Sequence[Message]) -> Said:
        raise ConnectionError("no server")

    transcript = Transcript(tmp_path / "transcript.jsonl")
    with pytest.raises(ConnectionError):
        Repair(broken, contracts["policy"], transcript=transcript).run(START)
    assert len(read_transcript(transcript.path).entries) == 2


def test_long_feedback_is_cut_and_its_fences_are_broken():
    text = explain(Feedback("sandbox", tuple(f"p{n}" for n in range(50)), "", "```\n" + "x" * 20_000))
    assert "- and 30 more" in text
    assert len(text) < MAX_TRACE + 2000
    assert text.count("```") == 2
    assert clip("short") == "short"
