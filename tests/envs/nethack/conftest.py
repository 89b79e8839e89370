"""Games in debug mode for the tests of the success tests: see `maestro.envs.nethack.situations`."""

from __future__ import annotations

import pytest

from maestro.envs.nethack import ACTION, situations
from maestro.envs.nethack.tasks import SUCCESS_TESTS


class Play:
    """One game in debug mode with all tests watching it."""

    def __init__(self, world):
        self.world = world

    def begin(self, seed: int) -> None:
        self.world.seed(0, seed, seed)
        self.world.reset()
        self.tests = {name: test() for name, test in SUCCESS_TESTS.items()}
        for test in self.tests.values():
            test.start(self.world, 0)
        self.truth = self.world.truth(0)

    def look(self) -> None:
        for test in self.tests.values():
            test.update(self.world, 0)

    def act(self, *names: str) -> None:
        for name in names:
            self.world.step([ACTION[name]])
            self.look()

    def visit(self, level: str | int) -> None:
        situations.visit(self.world, 0, level)
        self.look()

    def go(self, position: tuple[int, int]) -> None:
        situations.teleport(self.world, 0, *position)
        self.look()

    def wish(self, what: str) -> None:
        situations.wish(self.world, 0, what)
        self.look()

    def begin_with_general_store(self, *wishes: str, keeper: int | None = None) -> None:
        """Stand in a general store of Minetown with what was wished for; `keeper` 0 pays less for unknown goods."""
        for seed in range(20, 100):
            self.begin(seed)
            for what in wishes:
                self.wish(what)
            self.visit("minetn")
            if not any(shop.kind == 0 for shop in self.truth.shops()):
                continue
            situations.enter_shop(self.world, 0)
            self.look()
            standing = self.truth.shopkeeper()
            if standing is not None and (keeper is None or min(standing.id % 4, 1) == keeper):
                return
        raise AssertionError("no game with such a store")

    def values(self, task: str) -> tuple[float, float]:
        return self.tests[f"{task}_true"].value, self.tests[f"{task}_compatible"].value


@pytest.fixture(scope="module")
def debug_world():
    made = situations.make_wizard_world()
    yield made
    made.close()


@pytest.fixture
def play(debug_world):
    return Play(debug_world)
