"""Generated code that fails in one game: its episode ends with a record, the others go on."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from maestro.options.executive import Executive
from maestro.options.failure import GeneratedCodeFailure
from maestro.options.option import Option


class State(NamedTuple):
    step: int
    turn: int
    game: int
    stop: bool = False


def compiled(source: str, name: str = "generated.py") -> dict[str, Any]:
    """Execute source as if it had been loaded from a file of its own."""
    names: dict[str, Any] = {}
    exec(compile(source, f"/content/{name}", "exec"), names)
    return names


GOOD = """
def can_initiate(state):
    return True
def should_terminate(state, start, startable):
    return state.stop
class Policy:
    def observe(self, state):
        pass
    def select_skill(self, state, finished, startable):
        return "walk"
"""

BAD = {
    "select_skill raises": (
        'return "walk"', 'return {}[1] if state.game == 3 and state.step else "walk"', "KeyError: 1", 10, "select_skill",
    ),
    "select_skill returns None": (
        'return "walk"', 'return None if state.game == 3 and state.step else "walk"',
        "returned None, not one of the skills walk, rest", 9, "select_skill",
    ),
    "select_skill names no skill": (
        'return "walk"', 'return "wlak" if state.game == 3 and state.step else "walk"', "returned 'wlak'", 9,
        "select_skill",
    ),
    "select_skill returns a list": (
        'return "walk"', 'return ["walk"] if state.game == 3 and state.step else "walk"', "returned ['walk']", 9,
        "select_skill",
    ),
    "select_skill returns True": (
        'return "walk"', 'return True if state.game == 3 and state.step else "walk"', "returned True", 9, "select_skill",
    ),
    "observe raises": ("pass", "state.step // (state.game - 3)", "ZeroDivisionError", 8, "observe"),
    "can_initiate raises": (
        "return True", "return state.depth if state.game == 3 else True", "AttributeError", 3, "can_initiate",
    ),
    "can_initiate returns None": (
        "return True", "return None if state.game == 3 else True", "returned None, not True or False", 2, "can_initiate",
    ),
    "should_terminate raises": (
        "return state.stop", "return state.stop[0] if state.game == 3 else state.stop", "TypeError", 5,
        "should_terminate",
    ),
    "should_terminate returns None": (
        "return state.stop", "return None if state.game == 3 else state.stop", "returned None", 4, "should_terminate",
    ),
    "an answer without a truth": (
        "return state.stop", "return Policy.nothing if state.game == 3 else state.stop", "AttributeError", 5,
        "should_terminate",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_an_error_in_game_3_ends_its_episode_and_no_other(case: str):
    old, new, text, line, function = BAD[case]
    code = compiled(GOOD.replace(old, new))
    options = [Option(name, code["can_initiate"], code["should_terminate"]) for name in ("walk", "rest")]
    executive = Executive(options, lambda seed: code["Policy"](), "walk", 5)
    for index in range(5):
        executive.start(index, State(0, 1, index), seed=index)
    for step in range(1, 4):
        for index in range(5):
            executive.advance(index, State(step, step, index, stop=step == 2))

    assert executive.running == ["walk", "walk", "walk", None, "walk"]
    failure = executive.failure(3)
    assert failure is not None
    assert text in failure.what
    assert (failure.file, failure.line, failure.function) == ("/content/generated.py", line, function)
    assert str(failure).startswith(f"/content/generated.py:{line}: ")
    for index in (0, 1, 2, 4):
        assert executive.failure(index) is None
        assert [switch.step for switch in executive.switches(index)] == [0, 2]


def test_what_ran_before_the_failure_stays_in_the_account():
    code = compiled(GOOD.replace('return "walk"', 'return "walk" if state.step < 3 else state.nothing'))
    options = [Option("walk", code["can_initiate"], code["should_terminate"])]
    executive = Executive(options, lambda seed: code["Policy"](), "walk", 1)
    executive.start(0, State(0, 1, 0), seed=0)
    assert executive.advance(0, State(1, 2, 0)) == "walk"
    assert executive.advance(0, State(2, 3, 0, stop=True)) == "walk"
    assert executive.advance(0, State(3, 4, 0, stop=True)) is None
    assert executive.advance(0, State(4, 5, 0)) is None
    executive.finish(0, State(4, 5, 0))
    assert executive.failure(0) == GeneratedCodeFailure(
        "/content/generated.py",
        10,
        "select_skill",
        "AttributeError: 'State' object has no attribute 'nothing'",
        3,
    )
    account = executive.account(0)["walk"]
    assert (account.activations, account.steps, account.ended) == (2, 3, {"terminated": 2})

    executive.start(0, State(0, 1, 0), seed=1)
    assert executive.failure(0) is None
    assert executive.running == ["walk"]


def test_a_failure_while_a_skill_runs_is_the_reason_for_its_end():
    code = compiled(GOOD.replace("pass", "1 // (state.step - 2)"))
    options = [Option("walk", code["can_initiate"], code["should_terminate"])]
    executive = Executive(options, lambda seed: code["Policy"](), "walk", 1)
    executive.start(0, State(0, 1, 0), seed=0)
    executive.advance(0, State(1, 2, 0))
    executive.advance(0, State(2, 3, 0))
    assert [(s.skill, s.ended) for s in executive.switches(0)] == [("walk", "failed")]
    assert executive.account(0)["walk"].steps == 2


def test_a_constructor_that_raises_is_contained_too():
    code = compiled("class Policy:\n    def __init__(self):\n        self.x = [][0]\n")

    class Maker:
        file = "/content/generated.py"

        def __call__(self, seed: int) -> Any:
            return code["Policy"]()

    executive = Executive([Option("walk", lambda s: True, lambda *_: False)], Maker(), "walk", 1)
    assert executive.start(0, State(0, 1, 0), seed=0) is None
    failure = executive.failure(0)
    assert failure is not None
    assert (failure.line, failure.step) == (3, 0)
    assert executive.switches(0) == []
    assert executive.account(0)["walk"].activations == 0


def test_the_line_is_the_innermost_generated_one_also_below_the_standard_library():
    code = compiled("import random\n\n\nclass Policy:\n    def select_skill(self, state, finished, startable):\n"
                    "        return self.pick([])\n\n    def pick(self, names):\n        return random.choice(names)\n")  # fmt: skip
    executive = Executive(
        [Option("walk", lambda s: True, lambda *_: False)], lambda seed: code["Policy"](), "walk", 1
    )
    executive.start(0, State(0, 1, 0), seed=0)
    failure = executive.failure(0)
    assert failure is not None
    assert (failure.line, failure.function) == (9, "pick")


def test_endless_recursion_and_huge_messages_are_contained():
    sources = {
        "RecursionError": "        return self.select_skill(state, finished, startable)\n",
        "ValueError": '        raise ValueError("x" * 1000000)\n',
    }
    for name, line in sources.items():
        code = compiled("class Policy:\n    def select_skill(self, state, finished, startable):\n" + line)
        options = [Option("walk", lambda s: True, lambda *_: False)]
        executive = Executive(options, lambda seed, code=code: code["Policy"](), "walk", 1)
        executive.start(0, State(0, 1, 0), seed=0)
        failure = executive.failure(0)
        assert failure is not None
        assert failure.what.startswith(name)
        assert len(failure.what) <= 500


def test_an_error_that_is_not_the_generated_codes_is_raised():
    """A state without a clock is a fault of the program, not of the code under test."""
    code = compiled(GOOD)
    options = [Option("walk", code["can_initiate"], lambda *_: False)]
    executive = Executive(options, lambda seed: code["Policy"](), "walk", 1)

    class NoClock(NamedTuple):
        step: int

    with pytest.raises(AttributeError, match="turn"):
        executive.start(0, NoClock(0), seed=0)


def test_answers_are_taken_by_their_truth():
    """`a and b` gives an empty set or a number where `a` is one: that is a no, or a yes, and no error."""
    code = compiled(
        GOOD.replace("return True", "return state.game and {'x'}").replace("state.stop", "state.step - 1")
    )
    options = [Option("walk", code["can_initiate"], code["should_terminate"])]
    executive = Executive(options, lambda seed: code["Policy"](), "walk", 2)
    for index in range(2):
        executive.start(index, State(0, 1, index), seed=0)
        executive.advance(index, State(1, 2, index))
        executive.advance(index, State(2, 3, index))
    assert executive.account(0)["walk"].refused == 2
    assert executive.account(1)["walk"].refused == 0
    assert [switch.step for switch in executive.switches(1)] == [0, 2]
