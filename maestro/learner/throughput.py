"""How fast games are sampled and a policy is trained, in units of the yardstick, on real play."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import torch

from maestro.envs.nethack.yardstick import Yardstick
from maestro.errors import MaestroError, TrainingError
from maestro.learner.config import TrainConfig
from maestro.learner.games import SkillGames
from maestro.learner.network import PolicyNetwork, observation_tensors
from maestro.learner.supervisor import Supervisor

_FEWEST_TURNS_PER_STEP = 0.05
"""Fewer, and keys did not reach the game; random play has about 0.9, `wait` resting up to 25 turns."""
_WARM_UP_STEPS = 150


@dataclass(frozen=True)
class Throughput:
    """Figures of one measurement."""

    steps_per_s: float
    """All games of all processes together, resets included."""
    yardstick_steps_per_s: float
    """Bare NetHack on one core: mean of just before and just after."""
    yardstick_ratio: float
    processes: int
    """That play."""
    num_games: int
    steps: int
    seconds: float
    turns_per_step: float


class _Enough(Exception):
    """The measurement is over."""


def measure_sampling(
    config: TrainConfig, processes: int, seconds: float, yardstick_steps: int = 40_000
) -> Throughput:
    """Play with a frozen network (random weights) in `processes` processes, each with one thread and one group of games.

    Raises TrainingError if the games' clocks hardly moved.
    """
    before = _yardstick(yardstick_steps)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.SimpleQueue()
    started = [
        context.Process(target=_sample, args=(config, group, seconds, barrier, results))
        for group in range(processes)
    ]
    try:
        for process in started:
            process.start()
        found = _gather(started, results)
    finally:
        for process in started:
            process.kill()  # those that are done do not mind
            process.join()
    after = _yardstick(yardstick_steps)
    steps = int(sum(one["steps"] for one in found))
    turns = sum(one["turns_per_step"] * one["steps"] for one in found) / steps
    rate = sum(one["steps"] / one["seconds"] for one in found)
    return _throughput(
        rate, (before, after), processes, processes * config.games.num_games, steps, seconds, turns
    )


def _gather(started: list[Any], results: Any) -> list[dict[str, float]]:
    """Wait for one result of every process; raises the MaestroError of one that failed, TrainingError for one that died."""
    found: list[dict[str, float]] = []
    while len(found) < len(started):
        if results.empty():
            if any(process.exitcode for process in started):
                raise TrainingError("a process that played was killed or died", where="the benchmark")
            time.sleep(0.05)
            continue
        one = results.get()
        if isinstance(one, MaestroError):
            raise one
        found.append(one)
    return found


def _sample(config: TrainConfig, group: int, seconds: float, barrier: Barrier, results: Any) -> None:
    try:
        results.put(_play(config, group, seconds, barrier))
    except MaestroError as error:
        results.put(error)


def _play(config: TrainConfig, group: int, seconds: float, barrier: Barrier) -> dict[str, float]:
    """Play with random weights and count, once all processes are warm."""
    torch.set_num_threads(1)
    torch.manual_seed(group)
    games = SkillGames(config.games, group=group)
    network = PolicyNetwork(config.network, games.specs, len(games.skills), games.num_actions).eval()
    games.reset()
    state = torch.zeros(config.games.num_games, network.state_size)
    observation = observation_tensors(games.observation)

    def play() -> None:
        nonlocal state
        with torch.inference_mode():
            logits, _, state = network.step(observation, state)
            actions = torch.distributions.Categorical(logits=logits, validate_args=False).sample().numpy()
            result = games.step(actions)
            over = torch.from_numpy(result.terminated | result.truncated)
            state = state * ~over[:, None]

    for _ in range(_WARM_UP_STEPS):
        play()
    games.metrics()
    barrier.wait()
    start, rounds = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            play()
        rounds += 20
    elapsed = time.perf_counter() - start
    told = games.metrics()
    games.close()
    return {
        "steps": rounds * config.games.num_games,
        "seconds": elapsed,
        "turns_per_step": told["turns_per_step"],
    }


def measure_training(
    config: TrainConfig,
    seconds: float,
    *,
    warm_up_s: float = 15.0,
    yardstick_steps: int = 40_000,
    on_look: Callable[[Supervisor], None] = lambda supervisor: None,
) -> Throughput:
    """Train a new policy for `seconds` after a warm-up, in a folder that is removed, and count the learner's steps.

    Raises TrainingError if the games' clocks hardly moved.
    """
    before = _yardstick(yardstick_steps)
    with tempfile.TemporaryDirectory(prefix="maestro-bench-") as scratch:
        folder = Path(scratch)
        supervisor = Supervisor(folder, config, steps=1 << 62)

        def look(supervisor: Supervisor) -> None:
            on_look(supervisor)
            lines = _lines(folder / "progress.jsonl")
            if lines and lines[-1]["time"] - lines[0]["time"] > warm_up_s + seconds:
                raise _Enough

        with contextlib.suppress(_Enough):
            supervisor.run(look)
        lines = _lines(folder / "progress.jsonl")
        counted = [line for line in lines if line["time"] - lines[0]["time"] >= warm_up_s]
        turns = _turns_told(folder)
    after = _yardstick(yardstick_steps)
    steps = counted[-1]["env_steps"] - counted[0]["env_steps"]
    elapsed = counted[-1]["time"] - counted[0]["time"]
    return _throughput(
        steps / elapsed,
        (before, after),
        config.num_workers,
        config.num_games,
        steps,
        elapsed,
        statistics.fmean(turns) if turns else 0.0,
    )


def _throughput(
    rate: float,
    yardsticks: tuple[float, float],
    processes: int,
    num_games: int,
    steps: int,
    seconds: float,
    turns_per_step: float,
) -> Throughput:
    if turns_per_step < _FEWEST_TURNS_PER_STEP:
        raise TrainingError(
            f"only {turns_per_step:.3f} of NetHack's turns passed in a step",
            where="the benchmark",
            expected=f"at least {_FEWEST_TURNS_PER_STEP}, or keys are swallowed and the speed means nothing",
        )
    bare = statistics.fmean(yardsticks)
    return Throughput(rate, bare, rate / bare, processes, num_games, steps, seconds, turns_per_step)


def _yardstick(steps: int) -> float:
    yardstick = Yardstick()
    rate, _ = yardstick.measure(steps)
    yardstick.close()
    return rate


def _turns_told(folder: Path) -> list[float]:
    """Read the turns a step of every report of the games but each worker's first; one of no step at all says nothing."""
    reports = [line for path in folder.glob("games/*.jsonl") for line in _lines(path)[1:]]
    return [report["turns_per_step"] for report in reports if "turns_per_step" in report]


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read a growing file of JSON lines, without a last line that is only half there."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
