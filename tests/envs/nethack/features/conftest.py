"""Games recorded once for all tests of the features: what worlds show while the reference skills play."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from maestro.envs import make_world
from maestro.envs.nethack import make_reference_policy

NUM_GAMES, NUM_STEPS = 4, 420
_SHOWN = ("glyphs", "blstats", "message", "inv_letters", "inv_oclasses")


class Moment(NamedTuple):
    """All games after one step."""

    observation: dict[str, np.ndarray]
    states: list[Any]
    actions: list[int]
    stepped: list[int]
    begun: list[int]
    """Games that were reset instead of stepped."""


class Replay:
    """A world that shows recorded moments: it has what features read, and nothing else."""

    name = "nethack"

    def __init__(self, moments: list[Moment], games: list[int] | None = None):
        self.games = list(range(NUM_GAMES)) if games is None else games
        self.num_games = len(self.games)
        self.moments = moments
        self.observation = {name: moments[0].observation[name][self.games] for name in _SHOWN}
        self.show(moments[0])

    def show(self, moment: Moment) -> Moment:
        for name, array in self.observation.items():
            array[:] = moment.observation[name][self.games]
        self.states = [moment.states[game] for game in self.games]
        self.actions = [moment.actions[game] for game in self.games]
        stepped = [place for place, game in enumerate(self.games) if game in moment.stepped]
        begun = [place for place, game in enumerate(self.games) if game in moment.begun]
        return moment._replace(stepped=stepped, begun=begun)

    def last_action(self, index: int) -> int:
        return self.actions[index]

    def run(self, features, watch=None, moments=None):
        """Feed the moments to features; `watch(moment)` is called after each."""
        for moment in self.moments if moments is None else moments:
            mine = self.show(moment)
            features.update(mine.stepped)
            features.begin(mine.begun)
            if watch is not None:
                watch(mine)


def record(num_steps: int, seed: int) -> list[Moment]:
    """Play all five skills in turn; games that end are begun anew."""
    world = make_world("nethack", NUM_GAMES, max_steps=260)
    policy = make_reference_policy(NUM_GAMES)
    everyone = list(range(NUM_GAMES))
    for game in everyone:
        world.seed(game, seed + game, seed + game)
        policy.reset(game, game)
    world.reset()
    moments = []

    def keep(stepped, begun):
        shown = {name: world.observation[name].copy() for name in _SHOWN}
        actions = [world.last_action(game) for game in everyone]
        moments.append(Moment(shown, list(world.states), actions, stepped, begun))

    keep([], everyone)
    skills = ("discoverer", "descender", "discoverer", "ascender", "worshipper", "descender", "merchant")
    for step in range(num_steps):
        names = [skills[(step // 60 + game) % len(skills)] for game in everyone]
        result = world.step(policy.act(world, names))
        over = [game for game in everyone if result.terminated[game] or result.truncated[game]]
        keep(everyone, [])
        if over:
            for game in over:
                world.seed(game, seed + 100 + step + game, 1)
                policy.reset(game, step)
            world.reset(over)
            keep([], over)
    world.close()
    return moments


@pytest.fixture(scope="session")
def moments():
    return record(NUM_STEPS, seed=10)


@pytest.fixture
def replay(moments):
    return lambda games=None: Replay(moments, games)
