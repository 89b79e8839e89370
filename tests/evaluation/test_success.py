"""A task's success tests are found by name, and a wrong name is answered with the file, the key and a suggestion."""

from __future__ import annotations

from dataclasses import replace

import pytest

from maestro.content import Content, TaskContent, shipped_root
from maestro.envs.corridor import DoorMessage, DoorOpened
from maestro.errors import SpecError, UnknownNameError
from maestro.evaluation.success import find_tests
from maestro.specs import SuccessSpec


@pytest.fixture
def task() -> TaskContent:
    return Content((shipped_root(),)).task("locked_door")


def test_both_tests_are_found_and_made_afresh(task: TaskContent):
    pair = find_tests(task)
    assert (pair.true, pair.compatible) == (DoorOpened, DoorMessage)
    first, second = pair.make(), pair.make()
    assert list(first) == ["true", "compatible"]
    assert first["true"] is not second["true"]


def test_an_unknown_name_is_suggested(task: TaskContent):
    wrong = task.spec.model_copy(
        update={"success": SuccessSpec(true="door_opend", compatible="door_message")}
    )
    with pytest.raises(UnknownNameError, match=r"task.toml: success.true.*'door_opened'"):
        find_tests(replace(task, spec=wrong))


def test_a_test_of_the_other_kind_is_refused(task: TaskContent):
    wrong = task.spec.model_copy(update={"kind": "count"})
    with pytest.raises(SpecError, match=r"success.true.*'rate'.*'count'"):
        find_tests(replace(task, spec=wrong))
