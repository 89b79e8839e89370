"""Demonstrations: the world's reference policy plays, and every step says what was seen and what the teacher would do.

Games are cut into blocks of T steps of N games, which lie in memory that processes share. In a share of the episodes
the student (the network that is being fitted) plays for stretches while the teacher goes on saying what it would do, so
that the student also learns how to go on from where its own mistakes lead (Source: DAgger, Ross et al. 2011).

Shape letters: T time, N games.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field

from maestro.envs import load_world_module
from maestro.learner.games import GamesConfig, SkillGames
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork

OBSERVED = "observation."
_ALIGNED = 64
_TEACHER, _STUDENT = 0, 1


class DaggerConfig(BaseModel):
    """When the student plays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    share: float = Field(default=0.4, ge=0, le=1)
    """Share of the episodes in which the student plays for stretches; 0 switches it off."""
    begin: int = Field(default=500_000, ge=0)
    """Labelled steps after which the first such episodes begin."""
    full: int = Field(default=2_000_000, ge=0)
    """Labelled steps at which `share` is reached; it grows evenly from `begin` on."""
    student_stretch: int = Field(default=300, ge=1)
    """Mean steps the student plays until the teacher takes over."""
    teacher_stretch: int = Field(default=100, ge=1)
    """Mean steps the teacher then plays, out of whatever the student got into."""

    def at(self, steps: int) -> float:
        """Give the share of the episodes that begin after so many labelled steps."""
        if steps < self.begin or self.share == 0:
            return 0.0
        return self.share * min(1.0, (steps - self.begin + 1) / max(1, self.full - self.begin))


class Layout:
    """Where the arrays of a block lie in a slot of shared memory."""

    def __init__(self, specs: Mapping[str, ArraySpec], sequence: int, num_games: int) -> None:
        """Lay out blocks of `sequence` steps of `num_games` games; float32 is kept as float16, to halve the memory."""
        self.sequence, self.num_games = sequence, num_games
        self._fields: dict[str, tuple[int, tuple[int, ...], np.dtype]] = {}
        self.slot_bytes = 0
        for name, spec in specs.items():
            kept = np.dtype("float16" if spec.dtype == "float32" else spec.dtype)
            self._add(OBSERVED + name, tuple(spec.shape), kept)
        for name, kind in _STEP_FIELDS.items():
            self._add(name, (), np.dtype(kind))

    def _add(self, name: str, shape: tuple[int, ...], kind: np.dtype) -> None:
        whole = (self.sequence, self.num_games, *shape)
        self._fields[name] = (self.slot_bytes, whole, kind)
        size = int(np.prod(whole)) * kind.itemsize
        self.slot_bytes += -(-size // _ALIGNED) * _ALIGNED

    def view(self, memory: Any, slot: int) -> dict[str, np.ndarray]:
        """Give the arrays of a slot, (T, N, ...) each, on the memory itself."""
        start = slot * self.slot_bytes
        return {
            name: np.frombuffer(memory, kind, int(np.prod(shape)), start + offset).reshape(shape)
            for name, (offset, shape, kind) in self._fields.items()
        }


_STEP_FIELDS = {
    "action": "int16",  # what the teacher would do
    "skill": "uint8",  # index of the running skill
    "fresh": "bool",  # an episode begins with this step
    "student": "bool",  # the student chose what was done
    "reward": "float32",  # for the step
    "ended": "bool",  # the episode, or with option_returns "cut" the skill, ended with this step
}


class DemoSetup(NamedTuple):
    """What a process needs to demonstrate; small, and picklable."""

    games: GamesConfig
    network: NetworkConfig
    sequence: int
    dagger: DaggerConfig
    seed: int


class Demonstrator:
    """N games of the training policy over skills, played by the teacher and at times by the student."""

    def __init__(self, setup: DemoSetup, group: int) -> None:
        """Start the games; `group` tells their dungeons from those of other processes."""
        self.games = make_games(setup.games, group)
        self._teacher = load_world_module(setup.games.world).make_reference_policy(setup.games.num_games)
        self._overrule = getattr(self._teacher, "overrule", lambda index, action: None)
        self._setup = setup
        self._random = np.random.default_rng([setup.seed, group])
        num_games = setup.games.num_games
        self._fresh = np.ones(num_games, bool)
        self._is_shared = np.zeros(num_games, bool)
        """Whether the student plays stretches of this episode."""
        self._player = np.full(num_games, _TEACHER)
        self._left = np.zeros(num_games, np.int64)
        """Steps until the other one plays."""
        self.share = 0.0
        self._student: PolicyNetwork | None = None
        self._states = torch.zeros(num_games, 0)
        self.games.reset()
        for index in range(num_games):
            self._begin(index)

    def learn(self, weights: np.ndarray) -> None:
        """Take over the student's weights, one float32 array of all of them (`flat_weights`)."""
        if self._student is None:
            games, setup = self.games, self._setup
            self._student = PolicyNetwork(setup.network, games.specs, len(games.skills), games.num_actions)
            self._student.eval()
            self._states = torch.zeros(len(self._fresh), self._student.state_size)
        put_weights(self._student, weights)

    def fill(self, block: dict[str, np.ndarray]) -> None:
        """Play T steps of all games and write them down."""
        games = self.games
        names = games.skills
        for step in range(self._setup.sequence):
            for name, array in games.observation.items():
                block[OBSERVED + name][step] = array
            block["fresh"][step] = self._fresh
            running = games.running
            block["skill"][step] = running
            labels = self._teacher.act(games.world, [names[skill] for skill in running.tolist()])
            block["action"][step] = labels
            actions = self._played(labels)
            block["student"][step] = self._player == _STUDENT
            result = games.step(actions)
            block["reward"][step] = result.reward
            block["ended"][step] = result.terminated | result.truncated
            self._fresh = result.terminated & ~result.cut | result.truncated
            for index in self._fresh.nonzero()[0].tolist():
                self._begin(index)

    def close(self) -> None:
        """End the games."""
        self.games.close()

    def _begin(self, index: int) -> None:
        """Decide who plays the episode that begins in a game."""
        self._teacher.reset(index, int(self._random.integers(1 << 31)))
        shared = self._student is not None and self._random.random() < self.share
        self._is_shared[index] = shared
        self._player[index] = _TEACHER
        self._left[index] = self._stretch(_TEACHER) if shared else 0

    def _stretch(self, player: int) -> int:
        dagger = self._setup.dagger
        mean = dagger.student_stretch if player == _STUDENT else dagger.teacher_stretch
        return int(self._random.geometric(1.0 / mean))

    def _played(self, labels: list[int]) -> np.ndarray:
        """Give what is really done: the teacher's choice, or where it plays the student's."""
        actions = np.asarray(labels, np.int64)
        shared = self._is_shared.nonzero()[0]
        if not len(shared):
            return actions
        self._left[shared] -= 1
        for index in shared[self._left[shared] < 0].tolist():
            self._player[index] = _STUDENT - self._player[index]
            self._left[index] = self._stretch(int(self._player[index]))
        chosen = self._student_actions(shared)
        for place, index in enumerate(shared.tolist()):
            if self._player[index] == _STUDENT and chosen[place] != actions[index]:
                actions[index] = chosen[place]
                self._overrule(index, int(chosen[place]))
        return actions

    @torch.inference_mode()
    def _student_actions(self, shared: np.ndarray) -> np.ndarray:
        """Draw the student's actions; its memory runs along where the teacher plays, too."""
        assert self._student is not None
        self._states[torch.from_numpy(self._fresh)] = 0.0
        observation = {
            name: torch.from_numpy(array[shared]) for name, array in self.games.observation.items()
        }
        rows = torch.from_numpy(shared)
        logits, _, states = self._student.step(observation, self._states[rows])
        self._states[rows] = states
        noise = self._random.gumbel(size=tuple(logits.shape))
        return (logits.numpy() + noise).argmax(axis=1)


def make_games(config: GamesConfig, group: int) -> SkillGames:
    """Start games in which the reference policy sees what it needs (NetHack's reads the inventory in words)."""
    needed = getattr(load_world_module(config.world), "REFERENCE_OPTIONS", {})
    return SkillGames(config.model_copy(update={"options": {**needed, **config.options}}), group=group)


def flat_weights(network: torch.nn.Module) -> np.ndarray:
    """Put all parameters of a network one after another, float32."""
    with torch.no_grad():
        return torch.cat([p.detach().reshape(-1).float().cpu() for p in network.parameters()]).numpy()


def put_weights(network: torch.nn.Module, flat: np.ndarray) -> None:
    """Set all parameters of a network from what `flat_weights` gave."""
    start = 0
    with torch.no_grad():
        for parameter in network.parameters():
            size = parameter.numel()
            part = torch.from_numpy(flat[start : start + size].copy())
            parameter.copy_(part.view_as(parameter))
            start += size
