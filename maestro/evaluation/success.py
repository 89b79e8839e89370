"""Find a task's two success tests by the names its task.toml gives."""

from __future__ import annotations

from typing import Any, NamedTuple

from maestro.content import TaskContent
from maestro.envs import success_tests
from maestro.envs.world import SuccessTest
from maestro.errors import SpecError, UnknownNameError


class TestPair(NamedTuple):
    """What makes the two tests of one episode; see design rule 6 for why there are two."""

    __test__ = False  # not a test case, whatever pytest makes of its name

    true: Any
    """Makes the test of what the task's text says."""
    compatible: Any
    """Makes the test of what the predecessor's code scores."""

    def make(self) -> dict[str, SuccessTest]:
        """Make fresh tests for one episode."""
        return {"true": self.true(), "compatible": self.compatible()}


def find_tests(task: TaskContent) -> TestPair:
    """Look up both tests of `task` in its world.

    Raises UnknownNameError, which names the task.toml and the key, for a test the world does not publish, and
    SpecError for one that counts where the task wants a rate, or the other way round.
    """
    known = success_tests(task.spec.world)
    found = {}
    for key in ("true", "compatible"):
        name = getattr(task.spec.success, key)
        where = f"{task.folder / 'task.toml'}: success.{key}"
        if name not in known:
            raise UnknownNameError("success test", name, known, where=where)
        if known[name].kind != task.spec.kind:
            raise SpecError(
                f"the test {name!r} is of kind {known[name].kind!r}",
                where=where,
                expected=f"a test of kind {task.spec.kind!r}, as the task says",
            )
        found[key] = known[name]
    return TestPair(**found)
