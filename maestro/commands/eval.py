"""Play a task for many episodes and measure how often it succeeds.

    maestro eval --target minetown
    maestro eval --target delphi --episodes 200 --seed 1
    maestro eval --target buc,price --policy random --json
    maestro eval --target all --run results
    maestro eval --target delphi --code-seed own,1,2

Every episode is recorded as it ends. Stopped at any point, the same command continues where it was; with more
--episodes it plays the missing ones. Episode i starts from the same seeds whatever the task, the policy and the number
of workers. The figures come with 95 % intervals, and the published row stands beside them. Each skill is told by its
own: time, starts, success, refused starts. Of several code seeds each is told by itself, and all of a task together,
with an interval over policies and episodes. The run's folder keeps an HTML report and every episode, for `maestro
watch`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from maestro.commands._evaluation_table import print_one, print_several
from maestro.commands._output import INTERRUPTED, print_json
from maestro.commands._progress import EpisodeProgress
from maestro.content import Content, TaskContent
from maestro.envs import features_compile_first
from maestro.errors import RunError, SpecError
from maestro.evaluation.games import Setup, check_setup
from maestro.evaluation.play import Outcome, Workers, play_here
from maestro.evaluation.policies import default_policy, is_trained
from maestro.evaluation.report import TaskResult, render_report
from maestro.evaluation.store import EvaluationRun
from maestro.evaluation.summary import OWN, code_name, summarise, summarise_code_seeds, summarise_skills
from maestro.runs import runs_root, write_atomically
from maestro.specs import TaskSpec
from maestro.versions import versions

GAMES_PER_WORKER = 4
NETWORK_GAMES_PER_WORKER = 64
"""A network that is asked about many games at once costs less for each."""
ALL_OF_WORLD = "nethack"
NOTHING_PLAYED: dict[str, Any] = {
    "workers": 0, "games_per_worker": 0, "tasks_at_once": 0, "steps": 0, "wall_s": 0.0, "steps_per_s": 0.0,
}  # fmt: skip
_STARTING = {False: "starting", True: "compiling, once on a machine: half a minute"}


@dataclass(frozen=True)
class Config:
    """Choose what to play and how much of it."""

    target: str
    """A task, several with commas between them, or "all" (all of NetHack's)."""
    policy: str | None = None
    """Who plays the skills: "trained" (skills/policy; the default where it knows the world), "reference" (controllers
    written by hand), "random", a policy's folder, or a Python file."""
    episodes: int = 200
    """Episodes of each task."""
    seed: int = 0
    """What the seeds of all episodes are derived from."""
    code_seed: str | None = None
    """Which policies over skills: the number given to `codegen --code-seed`, "own" (the task's, the default), several
    with commas between them, or "all" there are."""
    workers: int | None = None
    """Processes; by default one a core. 0 plays in this process."""
    run: Path | None = None
    """Folder of the results; by default one below ./runs (or MAESTRO_RUNS) named after the task."""
    content: Path | None = None
    """A folder with skills and meta_policies of your own, searched first."""
    json: bool = False
    """Print one JSON object."""


class _Opened(NamedTuple):
    """One task, or one code seed of it, and the run that is continued."""

    setup: Setup
    run: EvaluationRun


class _Evaluated(NamedTuple):
    """One task's run, played as far as it got."""

    spec: TaskSpec
    run: EvaluationRun
    figures: dict[str, Any]


def run(config: Config) -> int:
    """Play what is missing, then show the figures of everything; exit code 130 where Ctrl-C cut it short."""
    _check(config)
    setups = _setups(config)
    notes = dict.fromkeys(note for setup in setups for note in check_setup(setup))
    for note in notes:
        print(f"maestro: note: {note}", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        opened = [
            _Opened(setup, stack.enter_context(EvaluationRun(setup, config.episodes, folder)))
            for setup, folder in zip(setups, _folders(config, setups), strict=True)
        ]
        evaluated: list[_Evaluated] = []
        interrupted = False
        for beside in _companies(opened):
            speed = NOTHING_PLAYED
            if not interrupted:
                interrupted, speed = _play(config, beside)
            evaluated += [_conclude(config, one, speed) for one in beside]
    if not interrupted or config.json or any(result.figures["episodes"] for result in evaluated):
        _show(config, evaluated)
    if interrupted:
        _say_how_to_continue(evaluated)
        return INTERRUPTED
    return 0 if all(result.figures["episodes"] for result in evaluated) else 1


def _check(config: Config) -> None:
    """Refuse numbers that make no evaluation."""
    for name, least in (("episodes", 1), ("seed", 0), ("workers", 0)):
        value = getattr(config, name)
        if value is not None and value < least:
            raise SpecError(f"the value is {value}", where=f"--{name}", expected=f"at least {least}")


def _setups(config: Config) -> list[Setup]:
    content = Content.find(config.content)
    names = [name.strip() for name in config.target.split(",")]
    if config.target == "all":
        names = list(content.tasks(ALL_OF_WORLD))
    setups = []
    for name in dict.fromkeys(names):
        task = content.task(name)
        policy = config.policy or default_policy(task.spec.world, content)
        games = NETWORK_GAMES_PER_WORKER if is_trained(policy) else GAMES_PER_WORKER
        setups += [
            Setup(task.name, policy, config.seed, games, content.roots, code_seed)
            for code_seed in _code_seeds(config.code_seed, task)
        ]
    return setups


def _code_seeds(said: str | None, task: TaskContent) -> list[int | None]:
    """Read --code-seed; None stands for the task's own policy."""
    if said is None:
        return [None]
    if said == "all":
        return [None, *task.code_seeds]
    words = [word.strip() for word in said.split(",")]
    try:
        return list(dict.fromkeys(None if word == OWN else int(word) for word in words))
    except ValueError:
        raise SpecError(
            f"the value is {said!r}",
            where="--code-seed",
            expected='numbers, "own", several with commas, or "all"',
        ) from None


def _folders(config: Config, setups: list[Setup]) -> list[Path | None]:
    """Place the runs below --run; None leaves it to the store."""
    if config.run is None or len(setups) == 1:
        return [config.run] * len(setups)
    num_codes = Counter(setup.target for setup in setups)
    return [
        config.run
        / setup.target
        / ("" if num_codes[setup.target] == 1 else f"code-{code_name(setup.code_seed)}")
        for setup in setups
    ]


def _companies(opened: list[_Opened]) -> list[list[_Opened]]:
    """Put together what can be played beside each other, so that no core waits for the last games of every task."""
    companies: dict[tuple[Any, ...], list[_Opened]] = {}
    for one in opened:
        companies.setdefault(one.setup.company(), []).append(one)
    return list(companies.values())


def _num_workers(config: Config, num_missing: int) -> int:
    """Use every core this process may use, but no worker that would have nothing to do."""
    cores = len(os.sched_getaffinity(0)) if config.workers is None else config.workers
    return min(cores, num_missing)


def _play(config: Config, beside: list[_Opened]) -> tuple[bool, dict[str, Any]]:
    """Play the missing episodes; returns whether Ctrl-C stopped it, and how fast it went."""
    missing = [one.run.missing for one in beside]
    num_missing = sum(map(len, missing))
    if not num_missing:
        return False, NOTHING_PLAYED
    num_workers = _num_workers(config, num_missing)
    # Spread few episodes over all workers instead of filling the first one's games.
    per_worker = min(beside[0].setup.num_games, -(-num_missing // max(num_workers, 1)))
    setups = [replace(one.setup, num_games=per_worker) for one in beside]
    interrupted = False
    with _progress(config, beside) as progress:
        try:
            for outcome in _outcomes(setups, missing, num_workers, progress):
                beside[outcome.part].run.add(outcome)
                progress.on_episode(outcome.record.steps)
        except KeyboardInterrupt:
            interrupted = True
            for one in beside:
                one.run.reload()
    return interrupted, {
        "workers": num_workers,
        "games_per_worker": per_worker,
        "tasks_at_once": len(beside),
        "steps": progress.session_steps,
        "wall_s": round(progress.elapsed_s, 2),
        "steps_per_s": round(progress.steps_per_s, 1),
    }


def _progress(config: Config, beside: list[_Opened]) -> EpisodeProgress:
    setup = beside[0].setup
    spec = setup.task().spec
    names = list(dict.fromkeys(one.setup.target for one in beside))
    return EpisodeProgress(
        names[0] if len(names) == 1 else f"{len(names)} tasks",
        config.episodes * len(beside),
        max_steps=spec.max_steps,
        finished_steps=[record.steps for one in beside for record in one.run.records],
        starting=_STARTING[is_trained(setup.policy) and features_compile_first(spec.world)],
    )


def _outcomes(
    setups: list[Setup], missing: list[list[int]], num_workers: int, progress: EpisodeProgress
) -> Iterator[Outcome]:
    if num_workers == 0:
        yield from play_here(setups, *missing, on_steps=progress.on_steps)
        return
    with Workers(setups, num_workers) as workers:
        yield from workers.play(*missing, on_steps=progress.on_steps)


def _conclude(config: Config, opened: _Opened, speed: dict[str, Any]) -> _Evaluated:
    """Draw up the figures and write summary and report beside the records; `speed` is that of all played together."""
    setup, evaluation = opened
    records = evaluation.records
    spec = setup.task().spec
    figures = summarise(spec, records, policy=setup.policy, seed=config.seed, requested=config.episodes)
    figures |= {
        "code_seed": setup.code_seed,
        "speed": speed,
        "run": str(evaluation.folder),
        "versions": versions(),
    }
    figures["report"] = str(evaluation.folder / "report.html")
    evaluation.run.write_json("summary.json", figures)
    result = _Evaluated(spec, evaluation, figures)
    evaluation.run.write_text("report.html", _report([result]))
    return result


def _report(evaluated: list[_Evaluated]) -> str:
    figures = evaluated[0].figures
    provenance = {
        "runs": ", ".join(result.figures["run"] for result in evaluated),
        "seeds": f"numpy SeedSequence({figures['seed']}, spawn_key=(episode,))",
        "versions": ", ".join(
            f"{name} {version}" for name, version in figures["versions"].items() if version
        ),
    }
    results = [TaskResult(e.figures, e.run.records, e.run.read_file) for e in evaluated]
    return render_report(results, provenance)


def _show(config: Config, evaluated: list[_Evaluated]) -> None:
    """Print the figures: one JSON object, one task's tables, or one line a task and policy over skills."""
    all_figures = [result.figures for result in evaluated]
    if len(evaluated) == 1 and config.target == all_figures[0]["target"]:
        if config.json:
            print_json(all_figures[0])
        else:
            print_one(all_figures[0], evaluated[0].run.records)
        return
    skill_figures = summarise_skills([(result.spec, result.run.records) for result in evaluated])
    together = _together(evaluated)
    overview = _write_overview(config, evaluated)
    if not config.json:
        print_several(all_figures, together, skill_figures, overview)
        return
    by_task: dict[str, Any] = {figures["target"]: figures for figures in all_figures}
    success = {name: figures["success"] for name, figures in (together or by_task).items()}
    if together:
        by_task = {name: {} for name in by_task}
        for figures in all_figures:
            by_task[figures["target"]][code_name(figures["code_seed"])] = figures
    print_json(
        {
            "target": config.target,
            "policy": _who_played(evaluated),
            "episodes": sum(figures["episodes"] for figures in all_figures),
            "seed": config.seed,
            "seeds": {figures["target"]: figures["seeds"] for figures in all_figures},
            "success": success,
            "published": {figures["target"]: figures["published"] for figures in all_figures},
            **skill_figures,
            **({"code_seeds": together} if together else {}),
            "report": str(overview),
            "tasks": by_task,
        }
    )


def _together(evaluated: list[_Evaluated]) -> dict[str, dict[str, Any]]:
    """Sum up each task over its code seeds; nothing where no task was played with more than one."""
    parts: dict[str, list[_Evaluated]] = {}
    for result in evaluated:
        parts.setdefault(result.spec.name, []).append(result)
    if all(len(results) == 1 for results in parts.values()):
        return {}
    return {
        name: summarise_code_seeds(results[0].spec, [result.run.records for result in results])
        for name, results in parts.items()
    }


def _who_played(evaluated: list[_Evaluated]) -> str:
    """Name the policies; there are several only where tasks of different worlds were played without naming one."""
    return "+".join(dict.fromkeys(result.figures["policy"] for result in evaluated))


def _write_overview(config: Config, evaluated: list[_Evaluated]) -> Path:
    """Write one report over all tasks, beside their run folders."""
    name = (
        f"eval-{config.target.replace(',', '+')}-{Path(_who_played(evaluated)).stem}-seed{config.seed}.html"
    )
    path = (config.run / "report.html" if config.run else runs_root() / name).absolute()
    try:
        write_atomically(path, _report(evaluated))
    except OSError as error:
        raise RunError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
    return path


def _say_how_to_continue(evaluated: list[_Evaluated]) -> None:
    ended = sum(result.figures["episodes"] + result.figures["failed"] for result in evaluated)
    wanted = sum(result.figures["requested"] for result in evaluated)
    targets = list(dict.fromkeys(result.figures["target"] for result in evaluated))
    folders = [str(result.run.folder) for result in evaluated]
    place = folders[0] if len(folders) == 1 else os.path.commonpath(folders)
    print(
        f"\nmaestro: stopped at {ended} of {wanted} episodes of {', '.join(targets)}. "
        f"They are kept in {place}; give the same command again to continue.",
        file=sys.stderr,
    )
