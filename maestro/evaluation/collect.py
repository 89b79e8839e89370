"""Collect transitions: play a world under its training policy over skills and keep what happened, in words and facts.

Work comes in chunks of a few episodes. What a chunk holds follows from the setup and its number alone; chunks are
written in the order of their numbers, one shard each. So a collection that was killed goes on where it was and ends
as if it had never stopped, whatever the number of workers.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from maestro.content import Content
from maestro.envs import load_world_module
from maestro.envs.world import SkillPolicy, World
from maestro.errors import ConfigError, PolicyFileError
from maestro.evaluation.episode import episode_seeds
from maestro.evaluation.policies import attend, make_policy, make_world_of, policy_identity
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy
from maestro.parallel import map_tasks
from maestro.preferences.strata import stratum
from maestro.preferences.transitions import Transition, TransitionWriter, caption_key, make_transition
from maestro.preferences.window import DEFAULT_HORIZON, Window

GAMES = 4
"""Episodes of a chunk, played at once."""
EPISODE_STEPS = 2_500
"""Steps after which an episode is cut short, so that many dungeons are seen."""
_BARREN_CHUNKS = 30
_GOLDEN = 0.6180339887498949  # steps of this size spread over [0, 1) more evenly than any others


class Share(NamedTuple):
    """A policy and its share of the chunks."""

    policy: str
    weight: float


@dataclass(frozen=True)
class CollectSetup:
    """What a worker needs to play any chunk; small, and picklable."""

    world: str
    mix: tuple[Share, ...]
    seed: int
    roots: tuple[Path, ...]
    horizon: int = DEFAULT_HORIZON
    """Steps over which a caption tells changes, at most; a skill that began later is told from its beginning."""
    episode_steps: int = EPISODE_STEPS

    def policy_of(self, chunk: int) -> str:
        """Say who plays a chunk: each policy gets its share of any stretch of chunks."""
        total = sum(share.weight for share in self.mix)
        place = (0.5 + chunk * _GOLDEN) % 1.0 * total
        for policy, weight in self.mix:
            place -= weight
            if place < 0:
                return policy
        return self.mix[-1].policy

    def identity(self) -> dict[str, Any]:
        """Collect what the data depend on, as plain data, for a run's configuration."""
        return {
            "world": self.world,
            "mix": dict(self.mix),
            "policies": mix_identity(self.mix, self.world, Content(self.roots)),
            "seed": self.seed,
            "horizon": self.horizon,
            "episode_steps": self.episode_steps,
            "caption_version": caption_version(self.world),
        }


class ChunkTask(NamedTuple):
    """One chunk to play."""

    setup: CollectSetup
    number: int


class ChunkResult(NamedTuple):
    """What a chunk gave: rows without repetition, and counts."""

    rows: list[Transition]
    steps: int
    episodes: int
    failed: int
    """Episodes that generated code ended with an error."""


@dataclass(frozen=True)
class Target:
    """When a collection is large enough: the first of the two that is reached."""

    steps: int | None = None
    """Steps played."""
    transitions: int | None = None
    """Rows kept; with `skill`, rows of that skill."""
    skill: str | None = None

    def rows(self, writer: TransitionWriter) -> int:
        """Count the rows that matter."""
        return writer.num_rows if self.skill is None else writer.rows_of_skill[self.skill]

    def reached(self, writer: TransitionWriter) -> bool:
        """Look whether it is enough."""
        enough_steps = self.steps is not None and writer.totals["steps"] >= self.steps
        return enough_steps or (self.transitions is not None and self.rows(writer) >= self.transitions)


def parse_mix(text: str) -> tuple[Share, ...]:
    """Read `reference:0.7,random:0.3`; a name without a weight has weight 1. Raises ConfigError."""
    shares = []
    for part in text.split(","):
        policy, colon, number = part.strip().rpartition(":")
        if not colon or not _is_number(number):
            policy, number = part.strip(), "1"
        if not policy or not 0 <= float(number) < math.inf:  # also false for nan
            raise ConfigError(
                f"{part.strip()!r} is no share",
                where="--mix",
                expected="policy:weight with a finite weight, such as reference:0.7",
            )
        shares.append(Share(policy, float(number)))
    total = sum(share.weight for share in shares)
    if len({share.policy for share in shares}) < len(shares) or not 0 < total < math.inf:
        raise ConfigError(
            f"the mix is {text!r}", where="--mix", expected="every policy once, weights above 0"
        )
    return tuple(share for share in shares if share.weight > 0)


def mix_identity(mix: tuple[Share, ...], world: str, content: Content) -> dict[str, str]:
    """Say which policies play, each as `policy_identity` does; raises PolicyFileError."""
    try:
        return {policy: policy_identity(policy, world, content) for policy, _ in mix}
    except PolicyFileError as error:
        if error.where == "--policy":
            error.where = "--mix"
        raise


def caption_version(world: str) -> int:
    """Give the version of a world's captions; 1 where it does not say."""
    module = load_world_module(world)
    return int(getattr(getattr(module, "caption", module), "CAPTION_VERSION", 1))


def collect(
    setup: CollectSetup,
    writer: TransitionWriter,
    target: Target,
    *,
    engine: str = "process",
    workers: int = 0,
    on_chunk: Callable[[ChunkResult, int], None] = lambda result, new: None,
) -> bool:
    """Play chunks from the first that `writer` lacks until `target` is reached, and write each as it is complete.

    Returns whether it was reached: where 30 chunks in a row bring nothing that counts, there is nothing more to find.
    """
    if target.reached(writer):
        return True
    first, barren = writer.next_shard, 0
    tasks = (ChunkTask(setup, number) for number in itertools.count(first))
    for _, result in map_tasks(play_chunk, tasks, engine=engine, workers=workers, ordered=True):
        counts = {"steps": result.steps, "episodes": result.episodes, "failed_episodes": result.failed}
        before = target.rows(writer)
        on_chunk(result, writer.add_shard(result.rows, counts))
        if target.reached(writer):
            return True
        barren = 0 if target.rows(writer) > before else barren + 1
        if target.steps is None and barren >= _BARREN_CHUNKS:
            return False
    return False


def play_chunk(task: ChunkTask) -> ChunkResult:
    """Play one chunk; the same rows wherever and whenever it is played."""
    setup, number = task
    player = _player(setup, setup.policy_of(number))
    return player.play(range(number * GAMES, (number + 1) * GAMES))


@functools.lru_cache(maxsize=8)
def _player(setup: CollectSetup, policy: str) -> Player:
    return Player(setup, policy)


class Player:
    """Games of one policy under a world's training policy over skills; kept from chunk to chunk, because engines start slowly."""

    def __init__(self, setup: CollectSetup, policy: str) -> None:
        """Load content and policy and start the games, in the world that the policy plays in.

        Raises the MaestroError that says what is wrong with them.
        """
        content = Content(setup.roots)
        training = content.training(setup.world)
        self.policy: SkillPolicy = make_policy(policy, setup.world, GAMES, content)
        self.source = policy if policy in ("reference", "random") else "policy"
        self.world: World = make_world_of(
            self.policy, policy, setup.world, GAMES, max_steps=setup.episode_steps
        )
        self._executive = Executive(
            load_options(content.skills(setup.world)), load_policy(training), training.spec.fallback, GAMES
        )
        attend(self.policy, self.world, self._executive)
        self._windows = [Window(setup.horizon) for _ in range(GAMES)]
        self._seed = setup.seed

    def play(self, episodes: range) -> ChunkResult:
        """Play these episodes (as many as there are games) to their ends."""
        seeds = [episode_seeds(self._seed, episode) for episode in episodes]
        self._begin(seeds)
        rows: list[Transition] = []
        seen: set[bytes] = set()
        steps = 0
        running = list(self._executive.running)
        while any(running):
            result = self.world.step(self.policy.act(self.world, running))
            for index, skill in enumerate(running):
                if skill is None:
                    continue
                steps += 1
                row = self._look(
                    index, skill, episodes[index], (seeds[index].core, seeds[index].disp), self.source
                )
                key = caption_key(row.caption)
                if key not in seen:
                    seen.add(key)
                    rows.append(row)
                self._go_on(index, bool(result.terminated[index] or result.truncated[index]))
            running = list(self._executive.running)
        failed = sum(self._executive.failure(index) is not None for index in range(GAMES))
        return ChunkResult(rows, steps, len(episodes), failed)

    def _begin(self, seeds: list[Any]) -> None:
        for index, game_seeds in enumerate(seeds):
            self.world.seed(index, game_seeds.core, game_seeds.disp)
        self.world.reset()
        for index, game_seeds in enumerate(seeds):
            self.policy.reset(index, game_seeds.policy)
            self._executive.start(index, self.world.states[index], game_seeds.code)
            self._windows[index].reset(self.world.states[index])

    def _look(self, index: int, skill: str, episode: int, seeds: tuple[int, int], source: str) -> Transition:
        """Make the row of the step just taken; the skill that chose the action counts, also where it ends now."""
        window, now = self._windows[index], self.world.states[index]
        window.push(now)
        start = window.start(self._executive.started[index])
        return make_transition(
            skill=skill,
            previous=window.previous,
            now=now,
            start=start,
            caption=self.world.caption(index, start),
            stratum=stratum(window.previous, now),
            episode=episode,
            seeds=seeds,
            source=source,
        )

    def _go_on(self, index: int, is_over: bool) -> None:
        state = self.world.states[index]
        if is_over:
            self._executive.finish(index, state)
        else:
            self._executive.advance(index, state)


def recorded_rows(folder: Path, horizon: int = DEFAULT_HORIZON) -> Iterator[list[Transition]]:
    """Yield the transitions of recorded games, a game at a time: a folder of ttyrecs as NLE writes them.

    Recordings tell neither the skill (it is empty) nor the seeds (0). Raises DatasetError where there are none.
    """
    from maestro.envs.nethack.caption import caption
    from maestro.envs.nethack.ttyrecs import read_games

    for episode, states in enumerate(read_games(folder)):
        window = Window(horizon)
        rows = []
        for number, now in enumerate(states):
            if number == 0:
                window.reset(now)
                continue
            window.push(now)
            start, previous = window.start(), window.previous
            recorded: Any = now  # it has what a caption reads of a State
            text = caption(previous.message, recorded, start)
            rows.append(
                make_transition(
                    skill="",
                    previous=previous,
                    now=now,
                    start=start,
                    caption=text,
                    stratum=stratum(previous, now),
                    episode=episode,
                    seeds=(0, 0),
                    source="ttyrec",
                )
            )
        yield rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
