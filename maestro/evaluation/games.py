"""Play episodes of one task, or of several in one world, G at a time, in this process.

What happens in an episode follows from its number and its setup alone: every game has its own seeds, policy state,
executive state and success tests, so batch size, order and what is played beside it change nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import struct
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import maestro
from maestro.content import Content, SkillContent, TaskContent
from maestro.envs.world import SkillPolicy, SuccessTest, World
from maestro.evaluation.competence import Judge, load_successes
from maestro.evaluation.episode import Ending, EpisodeFile, EpisodeRecord, Seeds, SkillUse, episode_seeds
from maestro.evaluation.policies import attend, check_policy, make_policy, make_world_of, wanted_options
from maestro.evaluation.progression import progression
from maestro.evaluation.success import TestPair, find_tests
from maestro.options.executive import Executive
from maestro.options.load import PolicySource, load_options, load_policy

_LEFT = ("ESCAPED", "QUIT", "ASCENDED")
_BLOW = re.compile(r"(?!You)(?:The |An? )?([\w' -]+?) (?!are |was |is )(?:just )?\w+s(?: you)?[!.]")
"""Who did what, in the sentence of a blow."""
_FACTS = {
    "turns": "turn",
    "depth": "depth",
    "max_depth": "max_depth",
    "dungeon": "dungeon",
    "score": "score",
    "gold": "gold",
    "experience_level": "experience_level",
    "kills": "num_kills",
}


@dataclass(frozen=True)
class Setup:
    """What a worker process needs to build its games; small, and picklable."""

    target: str
    policy: str
    """"reference", "random", "trained" or a path; see `policies`."""
    seed: int
    num_games: int
    """Games a process plays at once."""
    roots: tuple[Path, ...]
    """The content's roots."""
    code_seed: int | None = None
    """Which of several generated policies plays; None for the one in the task's folder itself."""

    def task(self) -> TaskContent:
        """Look the task up; raises UnknownNameError, and ContentError for a code seed without a policy."""
        return Content(self.roots).task(self.target).with_code_seed(self.code_seed)

    def company(self) -> tuple[Any, ...]:
        """Say which setups may be played beside this one in one process: those that say the same."""
        task = self.task()
        options = sorted(world_options(task).items())
        return task.spec.world, self.policy, self.seed, self.num_games, self.roots, *options


def world_options(task: TaskContent) -> dict[str, Any]:
    """Give the options a task's world is made with, plain enough for an episode's file."""
    return {"max_steps": task.spec.max_steps}


class Tally:
    """What is counted along one episode, the same way while it is played and while it is replayed."""

    def __init__(self, world: World, index: int, tests: Mapping[str, SuccessTest]) -> None:
        self.tests = tests
        self.steps = 0
        self.checksum = 0
        for test in tests.values():
            test.start(world, index)

    def update(self, world: World, index: int, reward: float) -> None:
        """Count the step just taken."""
        self.steps += 1
        message = getattr(world.states[index], "message", "")
        self.checksum = zlib.crc32(struct.pack("<f", reward) + message.encode(), self.checksum)
        for test in self.tests.values():
            test.update(world, index)

    @property
    def decided(self) -> bool:
        """Tell whether no test can change its value any more."""
        return all(test.done for test in self.tests.values())

    @property
    def values(self) -> dict[str, float | None]:
        """Give the tests' values by name."""
        return {name: float(test.value) for name, test in self.tests.items()}


def facts(world_name: str, state: Any) -> dict[str, Any]:
    """Read a record's facts off an episode's last state; None for what the world's State does not have."""
    found = {key: getattr(state, name, None) for key, name in _FACTS.items()}
    if world_name == "nethack":
        found["progression"] = progression(state.max_depth, state.experience_level)
    return found


class Finished(NamedTuple):
    """An episode that ended."""

    part: int
    """Which of the setups it is of."""
    file: EpisodeFile


class _Part(NamedTuple):
    """What one of the setups brings to a game."""

    setup: Setup
    task: TaskContent
    tests: TestPair
    make_policy: PolicySource


@dataclass
class _Slot:
    """One running episode."""

    part: int
    episode: int
    attempts: int
    seeds: Seeds
    tally: Tally
    judge: Judge
    actions: bytearray = field(default_factory=bytearray)
    started: float = field(default_factory=time.perf_counter)


class Games:
    """G games; `start` puts an episode into a free one, `step` plays all one step further."""

    def __init__(self, *setups: Setup) -> None:
        """Load content, world, skills and policies; all setups must be each other's `company`, or ValueError is raised.

        Raises whatever MaestroError says what is wrong with them.
        """
        if len({setup.company() for setup in setups}) != 1:
            raise ValueError("these setups cannot be played beside each other")
        first, task = setups[0], setups[0].task()
        world_name = task.spec.world
        content = Content(first.roots)
        self.policy: SkillPolicy = make_policy(first.policy, world_name, first.num_games, content)
        self._options = world_options(task) | wanted_options(self.policy)
        self.world: World = make_world_of(
            self.policy, first.policy, world_name, first.num_games, **world_options(task)
        )
        skills = content.skills(world_name)
        self._parts = [_part(setup, skills) for setup in setups]
        make_first, fallback = self._parts[0].make_policy, task.spec.fallback
        self.executive = Executive(load_options(skills), make_first, fallback, first.num_games)
        self._successes = load_successes(skills)
        attend(self.policy, self.world, self.executive)
        self._slots: list[_Slot | None] = [None] * first.num_games

    @property
    def num_running(self) -> int:
        """Count the games with an unfinished episode."""
        return sum(slot is not None for slot in self._slots)

    @property
    def num_free(self) -> int:
        """Count the games that wait for an episode."""
        return len(self._slots) - self.num_running

    def start(
        self, episode: int, attempts: int = 1, part: int = 0, tests: Mapping[str, SuccessTest] | None = None
    ) -> None:
        """Begin an episode of a setup, by its place among them, in a free game; raises ValueError where none is free.

        `attempts` counts this one. `tests` watch the episode in place of its task's success tests.
        """
        index = self._slots.index(None)
        setup, task, own_tests, make_policy = self._parts[part]
        seeds = episode_seeds(setup.seed, episode)
        self.world.seed(index, seeds.core, seeds.disp)
        self.world.reset([index])
        self.policy.reset(index, seeds.policy)
        tally = Tally(self.world, index, tests or own_tests.make())
        self._slots[index] = _Slot(part, episode, attempts, seeds, tally, Judge(self._successes))
        self.executive.start(
            index, self.world.states[index], seeds.code, make_policy=make_policy, fallback=task.spec.fallback
        )

    def step(self) -> list[Finished]:
        """Play every running game one step further and give the episodes that ended by it."""
        finished = self._failed_at_start()
        if not self.num_running:
            return finished
        skills = [None if slot is None else self.executive.running[i] for i, slot in enumerate(self._slots)]
        actions = self.policy.act(self.world, skills)
        result = self.world.step(actions)
        for index, slot in enumerate(self._slots):
            if slot is None:
                continue
            slot.actions.append(actions[index])
            slot.tally.update(self.world, index, float(result.reward[index]))
            ending = self._ending(index, slot, bool(result.terminated[index]), bool(result.truncated[index]))
            if ending is not None:
                finished.append(self._finish(index, slot, ending))
        return finished

    def close(self) -> None:
        """Free the games."""
        self.world.close()

    def _failed_at_start(self) -> list[Finished]:
        """End the episodes whose generated code failed before the first step."""
        return [
            self._finish(index, slot, self._error(index))
            for index, slot in enumerate(self._slots)
            if slot is not None and not slot.actions and self.executive.failure(index) is not None
        ]

    def _ending(self, index: int, slot: _Slot, terminated: bool, truncated: bool) -> Ending | None:
        """Say whether and why the episode ended with this step; otherwise let the executive go on."""
        executive, state = self.executive, self.world.states[index]
        start = executive.started[index]
        ending = world_ending(self.world, index, slot.tally, terminated, truncated)
        if ending is not None:
            executive.finish(index, state)
        else:
            executive.advance(index, state)
        if executive.running[index] is None or executive.started[index] is not start:
            switch = executive.last_ended(index)
            assert switch is not None  # a skill ran until now
            slot.judge.ended(switch, start, state)
        return self._error(index) if ending is None and executive.failure(index) is not None else ending

    def _error(self, index: int) -> Ending:
        return Ending(by="error", cause=str(self.executive.failure(index)))

    def _finish(self, index: int, slot: _Slot, ending: Ending) -> Finished:
        """Make the record and the file of an episode that is over, and free its game."""
        self._slots[index] = None
        setup, task = self._parts[slot.part][:2]
        wall_s = time.perf_counter() - slot.started
        account = self.executive.account(index)
        record = EpisodeRecord(
            episode=slot.episode,
            seeds=slot.seeds,
            success=slot.tally.values,
            ended=ending,
            steps=slot.tally.steps,
            skills={
                name: SkillUse(**asdict(use), **slot.judge.of_skill(name)) for name, use in account.items()
            },
            checksum=slot.tally.checksum,
            wall_s=round(wall_s, 3),
            steps_per_s=round(slot.tally.steps / wall_s, 1),
            attempts=slot.attempts,
            **facts(self.world.name, self.world.states[index]),
        )
        file = EpisodeFile(
            target=setup.target,
            policy=setup.policy,
            world=self.world.name,
            options=self._options,
            action_names=tuple(self.world.action_names),
            actions=np.frombuffer(bytes(slot.actions), dtype=np.uint8),
            switches=self.executive.switches(index),
            record=record,
            tests=task.spec.success.model_dump(),
            versions=engine_versions(self.world.name),
        )
        return Finished(slot.part, file)


def _part(setup: Setup, skills: Mapping[str, SkillContent]) -> _Part:
    task = setup.task()
    return _Part(setup, task, find_tests(task), load_policy(task, skills))


def world_ending(world: World, index: int, tally: Tally, terminated: bool, truncated: bool) -> Ending | None:
    """Say how an episode ended in its world; None where it goes on."""
    if tally.decided:
        return Ending(by="success" if any(test.value > 0 for test in tally.tests.values()) else "missed")
    if truncated:
        return Ending(by="truncated")
    if not terminated:
        return None
    how = getattr(world, "ending", lambda _: "")(index)
    if how == "":
        return Ending(by="ended")
    if how in _LEFT:
        return Ending(by="left", cause=how.lower())
    return Ending(by="died", cause=last_blow(how, world.states[index].message))


@functools.cache
def source_digest(*parts: str) -> str:
    """Hash Python files of maestro (folders with all they hold, absent ones skipped): what version numbers miss."""
    package, digest = Path(maestro.__file__).parent, hashlib.sha256()
    for part in parts:
        root = package / part
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root] * root.is_file():
            digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def world_sources(world_name: str) -> tuple[str, ...]:
    """Name the parts of maestro that a world's games depend on, for `source_digest`."""
    return "envs/__init__.py", "envs/world.py", f"envs/{world_name}.py", f"envs/{world_name}"


def engine_versions(world_name: str) -> dict[str, str | None]:
    """Name the versions an episode of `world_name` depends on, once its actions are chosen."""
    versions: dict[str, str | None] = {
        "maestro": maestro.__version__,
        "world_code": source_digest(*world_sources(world_name)),
    }
    if world_name == "nethack":
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions["nle"] = metadata.version("nle")
    return versions


def last_blow(how: str, message: str) -> str:
    """Say what killed the hero: who struck the last blow, else the sentence before "You die", else NetHack's word.

    "The werewolf bites! You die..." gives "werewolf"; a hero who starved died of "starving".
    """
    before, died, _ = message.partition("You die")
    sentences = re.split(r"(?<=[.!?:])\s+", before.strip())
    if not died or not sentences[-1]:
        return how.lower().replace("_", " ")
    blow = _BLOW.fullmatch(sentences[-1])
    if blow is None:
        return sentences[-1]
    return "something unseen" if blow[1] == "It" else blow[1]


def check_setup(setup: Setup) -> tuple[str, ...]:
    """Find what is wrong with task, skills, generated code, success tests or policy before anything is started.

    Returns what the user should know about the policy, one sentence each. Raises the MaestroError that says what is
    wrong; so does a world that cannot be imported.
    """
    task, content = setup.task(), Content(setup.roots)
    find_tests(task)
    skills = content.skills(task.spec.world)
    load_successes(skills)
    Executive(load_options(skills), load_policy(task, skills), task.spec.fallback, 1)
    return check_policy(setup.policy, task.spec.world, content)
