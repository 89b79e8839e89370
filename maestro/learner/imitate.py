"""Imitation: fit the policy network to what the world's reference controllers do, on tens of millions of their own steps.

    with Imitation(ImitateConfig(steps=20_000_000)) as imitation:
        while not imitation.is_over:
            imitation.step()

Games are played while the network is fitted; every block of steps (see `demonstrations`) is used once when it arrives, with
the recurrent state carried along its games, and some again from the state they began in. Before a new block is learnt
from it is predicted: `agreement` is how often the likeliest action was the teacher's, on steps never seen before.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from maestro.errors import CheckpointError, ConfigError, PolicyFileError, TrainingError
from maestro.learner.cloning import ImitateConfig, Learner, Outcome
from maestro.learner.crew import Crew, Filled
from maestro.learner.demonstrations import DemoSetup, Layout, flat_weights, make_games
from maestro.learner.memory import available_bytes
from maestro.learner.network import PolicyNetwork
from maestro.learner.policy_file import describe, load_policy
from maestro.rewards.fit import device_named

PUBLISH_EVERY = 32  # blocks after which the student in the games gets the network's weights


class Measured(NamedTuple):
    """What was predicted of new blocks since the last report; arrays by skill."""

    steps: np.ndarray
    """int64 (2, skills): labelled steps, where the teacher and where the student played."""
    agreed: np.ndarray
    """int64 (2, skills): those whose likeliest action was the teacher's."""

    @staticmethod
    def nothing(num_skills: int) -> Measured:
        """Begin to count."""
        return Measured(np.zeros((2, num_skills), np.int64), np.zeros((2, num_skills), np.int64))


@dataclass(frozen=True)
class Report:
    """How imitation goes, since the last report."""

    steps: int
    """Labelled steps learnt from so far."""
    updates: int
    seconds: float
    """Since the last report."""
    steps_per_s: float
    """New labelled steps."""
    loss: float
    """Mean cross-entropy, nats."""
    value_loss: float
    agreement: float
    """Over all new steps."""
    agreement_of: dict[str, float]
    """By skill, where the teacher played; skills that did not run are left out."""
    student_agreement_of: dict[str, float]
    """By skill, where the student played."""
    share_of: dict[str, float]
    """Of the steps."""
    waited: float
    """Share of the time in which fitting waited for games."""
    learning_rate: float
    deaths: int
    """Processes replaced in this session."""


@dataclass
class _Kept:
    """A block that may be used again."""

    slot: int
    state: Tensor
    """Of its games before it, as the network saw them then."""


def check_config(config: ImitateConfig) -> None:
    """Raise ConfigError where settings contradict each other, or name what nobody demonstrates."""
    alone, skills = config.games.pay.skill, config.games.content().skills(config.games.world)
    if alone is not None and alone not in skills:
        raise ConfigError(
            f"there is no skill {alone!r} that could be imitated",
            where="games.pay.skill",
            expected=f"one of {', '.join(skills)}, or none for all",
            hint="a goal without a controller is learned by maestro train-policy",
        )
    if config.blocks > config.workers:
        raise ConfigError(
            f"blocks is {config.blocks} and workers is {config.workers}: a step takes at most one block of each worker",
            where="maestro imitate",
            expected="no more blocks than workers",
            hint=f"--config blocks={config.workers}, or more --workers",
        )
    if config.uses > 1 and config.kept < config.blocks:
        raise ConfigError(
            f"uses is {config.uses:g} and kept is {config.kept}: too few blocks are kept to be used again",
            where="maestro imitate",
            expected=f"kept of at least {config.blocks}, which is blocks, or uses = 1",
            hint=f"--config kept={max(48, config.blocks)}, or uses=1",
        )


def _check_memory(config: ImitateConfig, blocks: int) -> None:
    """Raise TrainingError where the blocks that are kept, of so many bytes, do not fit into the memory."""
    free = available_bytes()
    if blocks > free:
        raise TrainingError(
            f"imitation keeps {blocks / 1e9:,.1f} GB of what was played, and {free / 1e9:.1f} GB of memory are free",
            where=f"{config.games.num_games} games, sequences of {config.sequence:,} steps, kept = {config.kept}",
            expected="less than is free",
            hint="a smaller games.num_games, sequence or kept",
        )


class Imitation:
    """One imitation under way: games, network and what is kept of both; a context manager."""

    def __init__(self, config: ImitateConfig, saved: dict[str, Any] | None = None) -> None:
        """Start the games and make the network, or take up what `state` gave.

        Raises CheckpointError for a state of other skills, features or another network, and what `check_config` raises.
        """
        check_config(config)
        self.config = config
        one = make_games(config.games.model_copy(update={"num_games": 1}), 0)
        self.specs, self.skills, num_actions = one.specs, one.skills, one.num_actions
        self.action_names = tuple(one.world.action_names)
        self.features_version = int(one.features.version)
        skills = config.games.content().skills()
        self.description = describe(one.world, one.features, [skills[name] for name in self.skills])
        """The part of a policy's card that says what it belongs to."""
        one.close()
        torch.manual_seed(config.seed)
        network = PolicyNetwork(config.network, self.specs, len(self.skills), num_actions)
        self.learner = Learner(config, network, device_named(config.device))
        self._random = np.random.default_rng([config.seed, 1])
        first_group = 0
        if saved is None and config.init is not None:
            self._begin_with(config.init)
        if saved is not None:
            self._take_up(saved)
            first_group = int(saved["next_group"])
        num_slots = config.kept + config.blocks + 2 * config.workers
        _check_memory(
            config, num_slots * Layout(self.specs, config.sequence, config.games.num_games).slot_bytes
        )
        self.crew = Crew(
            DemoSetup(config.games, config.network, config.sequence, config.dagger, config.seed),
            self.specs,
            len(flat_weights(network)),
            workers=config.workers,
            num_slots=num_slots,
            first_group=first_group,
        )
        self._states: dict[int, Tensor] = {}
        self._kept: deque[_Kept] = deque()
        self._owed = 0.0
        self._blocks = self._published_at = 0
        self._begin_report()

    def __enter__(self) -> Imitation:
        return self

    def __exit__(self, *_: object) -> None:
        self.crew.close()

    @property
    def is_over(self) -> bool:
        """Whether there were steps enough."""
        return self.learner.steps >= self.config.steps

    def state(self) -> dict[str, Any]:
        """Give all that is needed to go on, in new games."""
        return {
            "learner": self.learner.state(),
            "next_group": self.crew.next_group,
            "skills": list(self.skills),
            "features_version": self.features_version,
        }

    def step(self) -> None:
        """Learn from the next new blocks, and as often again from kept ones as `uses` says."""
        filled: list[Filled] = []
        for _ in range(self.config.blocks):
            # One of each worker at most: a worker's next block begins with the state after this one.
            filled.append(self.crew.next(but=[one.worker for one in filled]))
        self._learn_from_new(filled)
        self._owed += self.config.uses - 1.0
        while self._owed >= 1.0 and len(self._kept) >= 2 * self.config.blocks:
            self._owed -= 1.0
            self._learn_again()
        self._owed = min(self._owed, 2.0)
        while len(self._kept) > self.config.kept:
            self.crew.release(self._kept.popleft().slot)
        self._publish()

    def report(self) -> Report:
        """Say how it went since the last report."""
        learner, measured = self.learner, self._measured
        seconds = max(time.perf_counter() - self._since, 1e-9)
        steps = int(measured.steps.sum())
        waited = self.crew.waited_s - self._waited_before
        report = Report(
            steps=learner.steps,
            updates=learner.updates,
            seconds=seconds,
            steps_per_s=steps / seconds,
            loss=float(np.mean(self._losses)) if self._losses else math.nan,
            value_loss=float(np.mean(self._value_losses)) if self._value_losses else math.nan,
            agreement=float(measured.agreed.sum()) / max(steps, 1),
            agreement_of=self._by_skill(measured.agreed[0], measured.steps[0]),
            student_agreement_of=self._by_skill(measured.agreed[1], measured.steps[1]),
            share_of=self._by_skill(measured.steps.sum(0), np.full(len(self.skills), max(steps, 1))),
            waited=waited / seconds,
            learning_rate=learner.learning_rate(),
            deaths=self.crew.deaths,
        )
        self._begin_report()
        return report

    def _begin_with(self, init: Path) -> None:
        """Take the weights of a policy's folder; raises PolicyFileError where it is damaged or does not fit."""
        began = load_policy(init)
        now = json.loads(json.dumps(self.description))
        then = began.card.model_dump(mode="json")
        theirs = {key: then[key] for key in ("features", "action_names")}
        if theirs != {key: now[key] for key in theirs} or [s.name for s in began.card.skills] != list(
            self.skills
        ):
            raise PolicyFileError(
                "the policy to begin with has other features, actions or skills",
                where=str(init),
                expected=f"the features {now['features']['name']!r} and the skills {', '.join(self.skills)}",
                hint="give the --preset it was made with, or begin with none",
            )
        try:
            self.learner.begin_with(began.network.state_dict())
        except RuntimeError as error:
            raise PolicyFileError(
                f"the policy to begin with has another network: {str(error).splitlines()[0][:200]}",
                where=str(init),
                expected="the network of these settings",
                hint="give the --preset it was made with, or begin with none",
            ) from error

    def _take_up(self, saved: dict[str, Any]) -> None:
        for key, now in (("skills", list(self.skills)), ("features_version", self.features_version)):
            if saved[key] != now:
                raise CheckpointError(
                    f"the checkpoint was made with {key} = {saved[key]}, and now it is {now}",
                    where="maestro imitate",
                    expected="what it was made with",
                    hint="give another --run to begin anew",
                )
        try:
            self.learner.take_up(saved["learner"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(
                f"the checkpoint does not fit the network: {str(error).splitlines()[0][:200]}",
                where="maestro imitate",
                hint="give another --run to begin anew",
            ) from error

    def _learn_from_new(self, filled: list[Filled]) -> None:
        """Take blocks, at most one of each worker: predict, learn, keep."""
        learner = self.learner
        states = [self._state_before(one) for one in filled]
        blocks = [self._tensors(one.slot) for one in filled]
        for block in blocks:
            learner.count(block)
            learner.steps += block["skill"].numel()
        block = _side_by_side(blocks)
        outcome = learner.update(block, torch.cat(states))
        width = self.config.games.num_games
        after = outcome.state.split(width)
        for one, before, state in zip(filled, states, after, strict=True):
            self._states[one.worker] = state.clone()
            self._kept.append(_Kept(one.slot, before))
        self._note(outcome, block)
        self._blocks += len(filled)

    def _learn_again(self) -> None:
        chosen = self._random.choice(len(self._kept), self.config.blocks, replace=False)
        kept = [self._kept[int(number)] for number in chosen]
        block = _side_by_side([self._tensors(one.slot) for one in kept])
        self.learner.update(block, torch.cat([one.state for one in kept]))

    def _state_before(self, filled: Filled) -> Tensor:
        config = self.config
        if filled.is_first or filled.worker not in self._states:
            zeros = torch.zeros(config.games.num_games, self.learner.network.state_size)
            return zeros.to(self.learner.device)
        return self._states[filled.worker]

    def _tensors(self, slot: int) -> dict[str, Tensor]:
        device = self.learner.device
        return {name: torch.from_numpy(array).to(device) for name, array in self.crew.blocks(slot).items()}

    def _publish(self) -> None:
        """Give the student in the games the present weights, once it is good enough to play."""
        share = self.config.dagger.at(self.learner.steps)
        if share > 0 and self._blocks - self._published_at >= PUBLISH_EVERY:
            self.crew.publish(flat_weights(self.learner.network), share)
            self._published_at = self._blocks

    def _note(self, outcome: Outcome, block: dict[str, Tensor]) -> None:
        self._losses.append(outcome.loss)
        self._value_losses.append(outcome.value_loss)
        num_skills = len(self.skills)
        places = (block["student"].long() * num_skills + block["skill"].long()).flatten().cpu()
        counted = torch.bincount(places, minlength=2 * num_skills)
        agreed = torch.bincount(places[outcome.agreed.flatten().cpu()], minlength=2 * num_skills)
        self._measured.steps[:] += counted.view(2, -1).numpy()
        self._measured.agreed[:] += agreed.view(2, -1).numpy()

    def _begin_report(self) -> None:
        self._measured = Measured.nothing(len(self.skills))
        self._losses: list[float] = []
        self._value_losses: list[float] = []
        self._since = time.perf_counter()
        self._waited_before = self.crew.waited_s

    def _by_skill(self, part: np.ndarray, whole: np.ndarray) -> dict[str, float]:
        return {
            skill: float(part[number] / whole[number])
            for number, skill in enumerate(self.skills)
            if whole[number] > 0 and part[number] + whole[number] > 0
        }


def _side_by_side(blocks: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    if len(blocks) == 1:
        return blocks[0]
    return {name: torch.cat([block[name] for block in blocks], dim=1) for name in blocks[0]}
