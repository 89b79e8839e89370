"""Generated code that does not answer: its episode ends, the other games and the program go on."""

from __future__ import annotations

import gc
import os
import signal
import time
import weakref
from typing import Any

import pytest

from maestro.options import deadline
from maestro.options.executive import Executive
from maestro.options.option import Option
from tests.options.test_executive import State, option


@pytest.fixture
def soon(monkeypatch):
    """A deadline that tests can wait for."""
    monkeypatch.setattr(deadline, "LIMIT", 0.3)
    monkeypatch.setattr(deadline, "LOOK", 0.05)


class Walker:
    """Chooses the same skill for ever; `observe` is what a test puts there."""

    def observe(self, state: State) -> None: ...

    def select_skill(self, state: State, finished: str | None, startable: frozenset[str]) -> str:
        return "walk"


def loop() -> None:
    while True:
        pass


class Stuck(Walker):
    """Does not come back from step 3."""

    def observe(self, state: State) -> None:
        while state.step == 3:
            pass


@pytest.mark.timeout(60)
def test_a_call_that_never_ends_ends_its_episode_and_no_other(soon):
    policies: list[Any] = [Stuck(), Walker()]
    executive = Executive([option("walk")], lambda seed: policies[seed], "walk", 2)
    for index in range(2):
        executive.start(index, State(0, 0), seed=index)
    for step in range(1, 6):
        for index in range(2):
            executive.advance(index, State(step, step))
    failure = executive.failure(0)
    assert failure is not None and failure.step == 3 and failure.function == "observe"
    assert failure.file == __file__ and "CallTooLong" in failure.what and "0.3 seconds" in failure.what
    assert executive.running == [None, "walk"] and executive.failure(1) is None
    assert executive.start(0, State(0, 0), seed=1) == "walk"
    assert executive.advance(0, State(1, 1)) == "walk"


@pytest.mark.timeout(60)
def test_a_policy_that_is_never_made_ends_its_episode(soon):
    class Slow(Walker):
        def __init__(self) -> None:
            loop()

    executive = Executive([option("walk")], lambda seed: Slow(), "walk", 1)
    assert executive.start(0, State(0, 0), seed=0) is None
    failure = executive.failure(0)
    assert failure is not None and failure.function == "loop" and failure.step == 0


@pytest.mark.timeout(60)
def test_code_that_catches_the_exception_is_ended_again(soon):
    caught = []

    def should_terminate(state: State, start: State, startable: frozenset[str]) -> bool:
        while len(caught) < 2:
            try:
                loop()
            except Exception as error:  # noqa: BLE001 - it is what the test is about
                caught.append(error)
        return loop() is None

    stubborn = Option("walk", can_initiate=lambda state: True, should_terminate=should_terminate)
    executive = Executive([stubborn], lambda seed: Walker(), "walk", 1)
    executive.start(0, State(0, 0), seed=0)
    assert executive.advance(0, State(1, 1)) is None
    assert [type(error) for error in caught] == [deadline.CallTooLong] * 2
    assert executive.failure(0) is not None


def test_many_short_calls_and_time_without_work_are_no_long_call(soon):
    class Sleeper(Walker):
        def observe(self, state: State) -> None:
            if state.step == 1:
                time.sleep(0.8)

    executive = Executive([option("walk")], lambda seed: Sleeper(), "walk", 1)
    executive.start(0, State(0, 0), seed=0)
    end, step = time.process_time() + 1.0, 0
    while time.process_time() < end:
        step += 1
        assert executive.advance(0, State(step, step)) == "walk"
    assert step > 1_000


def test_an_executive_that_is_gone_is_watched_no_more(soon):
    executive = Executive([option("walk")], lambda seed: Walker(), "walk", 1)
    executive.start(0, State(0, 0), seed=0)
    gone = weakref.ref(executive._calls)
    assert gone() in deadline._watcher._watched
    del executive
    gc.collect()
    end = time.monotonic() + 10
    while gone() is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert gone() is None


def test_a_forked_process_watches_its_own(soon):
    executive = Executive([option("walk")], lambda seed: Stuck(), "walk", 1)
    executive.start(0, State(0, 0), seed=0)
    child = os.fork()
    if child == 0:
        executive.start(0, State(2, 2), seed=0)
        executive.advance(0, State(3, 3))
        os._exit(17 if executive.failure(0) else 1)
    end = time.monotonic() + 30
    while time.monotonic() < end and (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 17
