"""A trained network as a skill policy: it plays whatever skill the executive runs, in any number of games.

What it does in an episode follows from the episode's seed and what it sees: the network is always asked about blocks of
the same size, because products of other sizes are rounded otherwise, and each game draws from its own generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from maestro.content import SkillContent
from maestro.envs import make_features
from maestro.envs.world import IDLE, Features, World
from maestro.errors import PolicyFileError, UnknownNameError
from maestro.learner.network import OPTION, option_size
from maestro.learner.policy_file import load_policy
from maestro.learner.policy_fit import check_features, check_skills_named, check_world
from maestro.learner.skill_view import SkillView
from maestro.options.executive import Executive
from maestro.rewards.threads import one_thread

BLOCK = 64
"""Games the network is asked about at once."""
_DRAWS = 256
"""Random numbers drawn at a time."""


class _Unborn(NamedTuple):
    """What stands for the state of a game that never began."""

    step: int = 0
    turn: int = 0


class TrainedPolicy:
    """Plays skills with the network of a policy folder; `attend` first, then `reset` and `act` as any SkillPolicy."""

    name = "trained"

    def __init__(
        self,
        folder: Path,
        num_games: int,
        skills: Sequence[SkillContent] | None = None,
        *,
        greedy: bool = False,
    ) -> None:
        """Load the policy; raises PolicyFileError as `load_policy` does.

        `greedy` takes the most probable action instead of drawing one, which is worse for agents that can get stuck.
        """
        self.folder = folder
        self.num_games = num_games
        loaded = load_policy(folder, skills=skills)
        self.card, self.notes = loaded.card, loaded.notes
        self.world_options = dict(loaded.card.world_options)
        self._network = loaded.network.freeze_for_acting()
        self._greedy = greedy
        self._states = torch.zeros(num_games, self._network.state_size)
        self._new: set[int] = set(range(num_games))
        self._draws: list[_Draws] = [_Draws(index) for index in range(num_games)]
        self._view: SkillView | None = None

    def attend(self, world: World, executive: Executive) -> None:
        """Follow this executive's games of this world from now on.

        Raises PolicyFileError where the policy does not fit the world, its features, or the executive's skills.
        """
        check_world(self.folder, self.card, world)
        try:
            features: Features = make_features(world, self.card.features.name)
        except UnknownNameError as error:
            raise PolicyFileError(
                f"this policy sees features {error.name!r}, which {world.name!r} does not have",
                where=str(self.folder),
                expected=f"one of {', '.join(error.known)}",
                hint=f"use the maestro that made it ({self.card.maestro_version})",
            ) from None
        check_features(self.folder, self.card, features)
        check_skills_named(self.folder, self.card, executive.skills)
        self._features = features
        self._view = SkillView(executive)
        self._columns = _columns([skill.name for skill in self.card.skills], executive.skills)
        self._option = np.zeros((self.num_games, option_size(len(self.card.skills))), np.float32)
        self._arrays = {**features.arrays, OPTION: self._option}
        self._new = set(range(self.num_games))

    def reset(self, index: int, seed: int) -> None:
        """Forget game `index`; `seed` fixes what is drawn in the coming episode."""
        self._new.add(index)
        self._draws[index] = _Draws(seed)

    def act(self, world: World, skills: Sequence[str | None]) -> list[int]:
        """Choose one action per game; `IDLE` where skills[i] is None.

        Every game with a skill must have been stepped, or reset, since the last call.
        """
        if self._view is None:
            raise ValueError("a TrainedPolicy must attend to an executive before it acts")
        acting = [index for index, skill in enumerate(skills) if skill is not None]
        actions = [IDLE] * len(skills)
        if not acting:
            return actions
        self._look(world, acting)
        # A second thread would gain nothing on products of this size, and lose much where the processors are busy.
        with one_thread(), torch.inference_mode():
            for at in range(0, len(acting), BLOCK):
                games = acting[at : at + BLOCK]
                for index, action in zip(games, self._choose(games), strict=True):
                    actions[index] = action
        return actions

    def _look(self, world: World, acting: list[int]) -> None:
        """Bring features, option and memory of the acting games up to date."""
        assert self._view is not None
        begun = [index for index in acting if index in self._new]
        if begun:
            self._features.begin(begun)
            self._states[begun] = 0.0
            self._new.difference_update(begun)
            went_on = [index for index in acting if index not in set(begun)]
        else:
            went_on = acting
        if went_on:
            self._features.update(went_on)
        states: Sequence[Any] = world.states
        self._view.update([_UNBORN if state is None else state for state in states])
        self._option[:, self._columns] = self._view.array

    def _choose(self, games: list[int]) -> list[int]:
        """Ask the network about one block of games and draw their actions."""
        rows = games + games[:1] * (BLOCK - len(games))
        observation = {name: torch.from_numpy(array[rows]) for name, array in self._arrays.items()}
        logits, _, states = self._network.step(observation, self._states[rows])
        self._states[games] = states[: len(games)]
        if self._greedy:
            return logits[: len(games)].argmax(dim=1).tolist()
        weights = torch.exp(logits.double() - logits.max(dim=1, keepdim=True).values).cumsum(dim=1)
        bounds = weights.numpy()
        last = bounds.shape[1] - 1
        chosen = []
        for index, row in zip(games, bounds, strict=False):
            chosen.append(min(int(row.searchsorted(self._draws[index].next() * row[-1], "right")), last))
        return chosen


class _Draws:
    """Uniform random numbers of one episode."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator: np.random.Generator | None = None
        self._waiting: list[float] = []

    def next(self) -> float:
        """Draw a number in [0, 1)."""
        if not self._waiting:
            if self._generator is None:
                self._generator = np.random.default_rng(self._seed)
            self._waiting = self._generator.random(_DRAWS).tolist()
        return self._waiting.pop()


def _columns(mine: Sequence[str], theirs: Sequence[str]) -> np.ndarray:
    """Say where each column of the executive's `option` stands in the policy's: its skills may be ordered otherwise."""
    place = [mine.index(skill) for skill in theirs]
    count = len(mine)
    return np.array([*place, *(count + at for at in place), 2 * count, 2 * count + 1])


_UNBORN = _Unborn()
