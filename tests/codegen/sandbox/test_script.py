"""The sandbox as its users see it: answers, failures with their reasons, time."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
# What `run` gives is one of several types; which one it is, is what these tests assert.

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.contract import Contract
from codegen.errors import SandboxError
from codegen.sandbox import (
    Call,
    Limits,
    New,
    Raised,
    Returned,
    RunTest,
    SandboxFailure,
    SandboxResult,
    StateValue,
    TestReport,
    bubblewrap,
    open_session,
    run,
)  # fmt: skip
from codegen.sandbox.process import Session

LIMITS = Limits(wall_s=1.5, cpu_s=1)


@pytest.fixture
def ask(contracts):
    """Run an initiation module, with all builtins, and give the outcome of one call."""

    def run_it(source: str, limits: Limits = LIMITS, **state: object) -> object:
        outcome = run(
            source, [Call("can_initiate", (StateValue(state),))], contracts["initiation"], limits=limits
        )
        return outcome if isinstance(outcome, SandboxFailure) else outcome.answers[0]

    return run_it


def predicate(line: str) -> str:
    return f"def can_initiate(state):\n    return {line}\n"


def test_states_arrive_with_their_fields_and_defaults(ask):
    assert ask(predicate("state.depth"), depth=7).value == 7
    assert ask(predicate("state.depth")).value == 1
    assert ask(predicate("state.turn + len(state.nearby)")).value == 0
    assert ask(predicate("'altar' in state.nearby and sorted(state.nearby)"), nearby={"altar", "door"}).value == [
        "altar", "door",
    ]  # fmt: skip
    assert ask(predicate("state.branch_depth is None")).value is True
    assert ask(predicate("isinstance(state.nearby, frozenset)"), nearby=["x"]).value is True


def test_states_cannot_be_changed(ask):
    answer = ask("def can_initiate(state):\n    state.depth = 3\n    return True\n")
    assert (answer.type, answer.line, answer.text) == ("AttributeError", 2, "state.depth = 3")


def test_a_policy_lives_from_call_to_call_until_the_next(contracts, policy):
    ask = Call("select_skill", (StateValue({"depth": 2}), None, frozenset({"descender"})))
    seen = Call("toward", (StateValue({"depth": 9}),))
    outcome = run(
        policy.replace("return self.toward(state)", "self.goal = 0\n        return self.toward(state)"),
        [New(), seen, ask, New(), ask], contracts["policy"],
    )  # fmt: skip
    assert isinstance(outcome, SandboxResult)
    assert [each.value for each in outcome.answers] == [None, "ascender", "ascender", None, "ascender"]
    assert "limits" in outcome.layers


def test_random_numbers_are_fixed_by_the_seed(contracts):
    source = "import random\n" + predicate("[random.random() for _ in range(3)]")
    call = [Call("can_initiate", (None,))]
    values = [run(source, call, contracts["initiation"], seed=seed).answers[0].value for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_exceptions_are_answers_and_the_session_goes_on(contracts):
    source = "def can_initiate(state):\n    x = {}\n    return x[state.depth]\n"
    calls = [Call("can_initiate", (StateValue({}),)), Call("can_initiate", ()), Call("absent", ())]
    outcome = run(source, calls, contracts["initiation"])
    first, second, third = outcome.answers
    assert first == Raised("KeyError", "1", 3, "can_initiate", "return x[state.depth]")
    assert str(first) == "KeyError: 1 (line 3, in can_initiate: return x[state.depth])"
    assert second.type == "TypeError"
    assert third.type == "KeyError"


def test_the_unit_test_shows_what_it_printed_and_what_failed(contracts, policy):
    test = (
        "def test_good():\n    for depth in range(3):\n        print(depth, State(depth=depth).depth)\n\n"
        "def test_bad():\n    choice = Policy().toward(State(depth=9))\n    assert choice == 'descender', choice\n"
    )
    outcome = run(policy, [RunTest(test)], contracts["policy"])
    report = outcome.answers[0]
    assert isinstance(report, TestReport)
    assert report.tests == ("test_good", "test_bad")
    assert report.printed == "0 0\n1 1\n2 2\n"
    assert not report.passed
    name, raised = report.failures[0]
    assert (name, raised.message, raised.line) == ("test_bad", "ascender", 7)
    unknown = run(policy, [RunTest("def test_a():\n    State(dept=1)\n")], contracts["policy"]).answers[0]
    assert "'dept' is not a field of the state. Fields: turn, depth" in unknown.failures[0][1].message


def test_much_printing_keeps_its_beginning_and_its_end(contracts, policy):
    test = "def test_a():\n    for n in range(9999):\n        print('line', n)\n"
    report = run(policy, [RunTest(test)], contracts["policy"]).answers[0]
    assert report.printed.startswith("line 0\n")
    assert report.printed.endswith("line 9998\n")
    assert "left out" in report.printed
    assert len(report.printed) < 10_000


def test_only_listed_names_are_there(ask):
    assert ask(predicate("open('/etc/passwd')")).type == "NameError"
    assert "not 'os'" in ask("import os\n" + predicate("1")).message
    assert ask("import math\n" + predicate("math.factorial(3)")).type == "AttributeError"
    assert ask("from math import sqrt\n" + predicate("sqrt(9.0)")).value == 3.0


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("while True:\n    pass\n", "timeout"),
        (predicate("[1 for _ in range(10 ** 12) if False]"), "timeout"),
        (predicate("len([0] * (2 ** 33))"), "memory"),
        ("x = [0] * (2 ** 33)\n", "memory"),
        ("1 / 0\n", "crash"),
        ("def f(:\n", "crash"),
        (predicate("['x' * 2000 for _ in range(1000)]"), "output"),
    ],
)
def test_failures_have_reasons(ask, source, reason):
    failure = ask(source, limits=replace(LIMITS, output_bytes=100_000))
    assert isinstance(failure, SandboxFailure)
    assert failure.reason == reason
    assert str(failure).startswith(f"{reason}: ")
    assert failure.duration_s < LIMITS.wall_s + 10


def test_a_failure_carries_the_answers_before_it(contracts):
    source = "def can_initiate(state):\n    for _ in range(10 ** 12 * (state.depth - 1)):\n        pass\n    return True\n"
    calls = [Call("can_initiate", (StateValue({"depth": d}),)) for d in (1, 1, 2, 1)]
    outcome = run(source, calls, contracts["initiation"], limits=LIMITS)
    assert isinstance(outcome, SandboxFailure)
    assert [each.value for each in outcome.answers] == [True, True]


def test_values_that_are_not_plain_are_named_and_not_carried(ask):
    assert ask(predicate("state")).other == "State"
    assert ask(predicate("10 ** 30")).other == "int"
    assert ask(predicate("float('nan')")).other == "float"
    assert ask(predicate("{1}")).other == "set"
    assert ask(predicate("(1, 'a', None, 2.5, False)")).value == [1, "a", None, 2.5, False]


def test_a_layer_that_must_hold_and_does_not_refuses(contracts):
    with open_session(
        predicate("1"), contracts["initiation"], layers=("limits",), required=("landlock",)
    ) as session:
        assert isinstance(session, SandboxFailure)
        assert session.reason == "refused"
        assert "landlock" in session.message


def test_every_layer_gives_way_to_none(contracts):
    with open_session(predicate("state.depth"), contracts["initiation"], layers=(), required=()) as session:
        assert isinstance(session, Session)
        assert session.ask(Call("can_initiate", (StateValue({}),))).value == 1
        assert session.layers == ()


def test_a_dialogue_depends_on_its_answers(contracts, policy):
    with open_session(policy, contracts["policy"], limits=Limits(wall_s=10)) as session:
        assert isinstance(session, Session)
        depth, ways = 1, []
        session.ask(New())
        for _ in range(200):
            answer = session.ask(Call("select_skill", (StateValue({"depth": depth}), None, frozenset())))
            assert isinstance(answer, Returned)
            ways.append(answer.value)
            depth += 1 if answer.value == "descender" else -1
    assert ways[:5] == ["descender", "descender", "descender", "ascender", "descender"]
    with pytest.raises(SandboxError, match="closed"):
        session.ask(New())


def test_nothing_is_left_behind(contracts, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(os.listdir("/proc"))
    assert isinstance(
        run("while True:\n    pass\n", [], contracts["initiation"], limits=LIMITS), SandboxFailure
    )
    assert isinstance(run(predicate("1"), [], contracts["initiation"]), SandboxResult)
    assert list(tmp_path.iterdir()) == []
    children = [
        pid for pid in set(os.listdir("/proc")) - before
        if pid.isdigit() and f"PPid:\t{os.getpid()}\n" in _read(Path("/proc") / pid / "status")
    ]  # fmt: skip
    assert children == []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def test_no_process_is_an_outcome_too(contracts, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    failure = run(predicate("1"), [], contracts["initiation"])
    assert isinstance(failure, SandboxFailure)
    assert failure.reason == "refused"
    assert "/nowhere/python" in failure.message


def test_arguments_that_cannot_be_passed_are_refused(contracts):
    with pytest.raises(SandboxError, match="object"):
        run(predicate("1"), [Call("can_initiate", (object(),))], contracts["initiation"])


def test_many_threads_may_use_it_at_once(contracts):
    results: list[object] = []

    def work(depth: int) -> None:
        outcome = run(
            predicate("state.depth"),
            [Call("can_initiate", (StateValue({"depth": depth}),))],
            contracts["initiation"],
        )
        results.append(outcome.answers[0].value)

    threads = [threading.Thread(target=work, args=(depth,)) for depth in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3, 4, 5]


def test_bubblewrap_goes_around_it_where_it_works(contracts):
    path = bubblewrap()
    outcome = run(
        predicate("state.depth"),
        [Call("can_initiate", (StateValue({}),))],
        contracts["initiation"],
        bubblewrap=path,
    )
    assert isinstance(outcome, SandboxResult)
    assert outcome.answers[0].value == 1


def test_a_harmless_program_costs_no_more_than_ten_starts_of_python(
    contracts: dict[str, Contract], policy: str
):
    """About three on the machine of docs/benchmarks.md (33 to 74 ms); processor time, and the best of several."""
    test = "def test_a():\n    assert Policy().toward(State(depth=1)) == 'descender'\n"
    requests = [New(), Call("select_skill", (StateValue({}), None, frozenset())), RunTest(test)]

    def worked_s(what: Callable[[], object]) -> float:
        before = _processor_s()
        what()
        return _processor_s() - before

    program, bare = [], []
    for _ in range(6):
        bare.append(worked_s(lambda: subprocess.run([sys.executable, "-I", "-c", "import json"], check=True)))
        program.append(worked_s(lambda: run(policy, requests, contracts["policy"])))
    assert isinstance(run(policy, requests, contracts["policy"]), SandboxResult)
    print(f"{min(program) * 1e3:.0f} ms; a start of Python {min(bare) * 1e3:.0f} ms")
    assert min(program) < 10 * min(bare)


def _processor_s() -> float:
    """Give the processor time of this process and of its children that ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def test_the_inside_imports_little():
    code = (
        "import sys; from codegen.sandbox.process import command; import subprocess, json\n"
        "line = command('/tmp', None)\n"
        "line[-1] = line[-1].replace('\\nmain()', '\\nimport sys; print(sorted(m.split(\".\")[0] for m in sys.modules))')\n"
        "print(subprocess.run(line, capture_output=True, text=True, env={}).stdout)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(eval(done.stdout))
    assert {"json", "ctypes", "codegen"} <= modules
    assert not {"libcst", "site", "subprocess", "socket", "threading", "inspect", "dataclasses"} & modules
