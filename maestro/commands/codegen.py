"""Have a language model write the code of tasks and skills, and keep only what passes every test.

    maestro codegen --task goldenexit
    maestro codegen --task goldenexit --dry-run
    maestro codegen --task minetown --llm openai:llama@http://localhost:8000/v1 --check-games 8
    maestro codegen --skill merchant --content mine
    maestro codegen --all

The model is told about the world, its skills and the task, and answers with a module and a unit test. The module is taken
out of the reply, validated, run in a sandbox with its test, and tried in simulated games (with --check-games also in real
ones). What is wrong goes back to the model, until a module is good or the attempts are spent. A good one is written into a
content folder of yours, with its provenance and the whole conversation; what is there already is kept until then. Unless
you name a model with --llm, replies recorded by hand for this project answer: no network, no cost.

Temperature and further limits stand in prompts/codegen/settings.toml. The exit code is 0 only when every module was written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError, TranscriptError
from codegen.transcript import Transcript
from maestro.commands._codegen.generate import Means, Result, generate
from maestro.commands._codegen.jobs import Job, skill_jobs, task_job, training_job, worlds
from maestro.commands._codegen.settings import load_settings
from maestro.commands._codegen.tell import print_prompt, to_people
from maestro.commands._codegen.write import (
    Written,
    commit,
    find_content,
    folder_of,
    keep_failed,
    new_transcript,
    output_root,
)
from maestro.commands._output import print_json
from maestro.content import CONTENT_VARIABLE, Content
from maestro.errors import ConfigError, MaestroError, RunError
from maestro.llm import load_chat_model
from maestro.prompts import Prompts

DEFAULT_WORLD = "nethack"
Unit = Callable[[Content], list[Job]]
"""What is written together: both functions of a skill, or one policy. Made when its turn has come."""


@dataclass(frozen=True)
class Config:
    """Choose what is written, and by whom."""

    task: str | None = None
    """Write the policy over skills of this task."""
    skill: str | None = None
    """Write when this skill may start and when it ends."""
    training: bool = False
    """Write NetHack's training policy, whose methods the tasks' policies may call."""
    all: bool = False
    """Write all of these, of every world."""
    llm: str = "replay"
    """Who writes: replay, replay:<folder>, openai:<model>@<url>[,<url>...], hf:<model>, vllm:<model>."""
    code_seed: int | None = None
    """Ask with this seed, and keep a task's policy beside the others, for `eval --code-seed`."""
    attempts: int | None = None
    """Replies that may be tried for one module; by default what settings.toml says."""
    check_games: int = 0
    """Real games that a task's policy plays with the reference skills; of several good ones the best is kept."""
    content: Path | None = None
    """Your content folder: searched first and written; by default the first of MAESTRO_CONTENT, else ./content."""
    dry_run: bool = False
    """Print what the model would be sent, and do nothing."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Write what was asked for, piece by piece; a piece that fails does not keep the next from being tried."""
    _check(config)
    root = output_root(config.content)
    content = find_content(root)
    units = _units(config, content)
    if config.dry_run:
        with _faults_of_codegen():
            return _print_prompts(config, content, units)
    say = to_people(config.json)
    settings = load_settings(content)
    record = Path(settings.record) if settings.record else None
    written: list[Path] = []
    results: list[Result] = []
    faults: list[str] = []
    with load_chat_model(config.llm, record=record) as model:
        means = Means(
            content, Prompts(content.prompt_folders()), model, settings,
            config.attempts or settings.attempts, config.check_games, config.code_seed, say,
        )  # fmt: skip
        for unit in units:
            means = replace(means, content=find_content(root))  # what was just written counts for the next
            try:
                with _faults_of_codegen():
                    done, paths = _write(unit(means.content), means, root)
            except MaestroError as error:
                if not config.all:
                    raise
                say(f"  FAILED: {error}")
                faults.append(str(error))
                continue
            results += done
            written += paths
        cost = asdict(model.totals)
    _conclude(config, root, results, written, faults, cost)
    return 0 if all(result.written for result in results) and not faults else 1


@contextlib.contextmanager
def _faults_of_codegen() -> Iterator[None]:
    """Pass the faults of the package codegen on as ours: it knows nothing of maestro."""
    try:
        yield
    except TranscriptError as error:
        raise RunError(
            f"the conversation cannot be kept: {error}",
            where="maestro codegen",
            hint="make room, or name another folder with --content",
        ) from None
    except CodegenError as error:
        raise RunError(
            f"{type(error).__name__}: {error}",
            where="maestro codegen",
            expected="a world, skills and sandbox that code can be written for",
            hint="`maestro doctor` checks the sandbox, `maestro list skills` what the content folders hold",
        ) from error


def _check(config: Config) -> None:
    """Refuse what cannot be meant."""
    chosen = [config.task is not None, config.skill is not None, config.training, config.all]
    if sum(chosen) != 1:
        raise ConfigError(
            f"{sum(chosen)} things were named to be written",
            where="maestro codegen",
            expected="one of --task NAME, --skill NAME, --training, --all",
            hint="`maestro list tasks` and `maestro list skills` show the names",
        )
    for flag, value, least in (
        ("--attempts", config.attempts, 1),
        ("--check-games", config.check_games, 0),
        ("--code-seed", config.code_seed, 0),
    ):
        if value is not None and value < least:
            raise ConfigError(f"the value is {value}", where=flag, expected=f"at least {least}")
    if config.check_games and (config.skill is not None or config.training):
        raise ConfigError(
            "real games measure the policy of a task",
            where="--check-games",
            expected="--task NAME or --all",
            hint="leave it out: initiations, terminations and the training policy are tried in scenarios",
        )


def _units(config: Config, content: Content) -> list[Unit]:
    """List what is to be written, in the order in which one needs the other; names are looked up now."""
    if config.skill is not None:
        name = content.skill(config.skill).name
        return [lambda content: skill_jobs(content, name)]
    if config.training:
        return [lambda content: [training_job(content, DEFAULT_WORLD)]]
    if config.task is not None:
        return [_policy_unit(config.task, content)]
    units: list[Unit] = [lambda content, name=name: skill_jobs(content, name) for name in content.skills()]
    units += [lambda content, world=world: [training_job(content, world)] for world in worlds(content)]
    return units + [_policy_unit(name, content) for name in content.tasks()]


def _policy_unit(name: str, content: Content) -> Unit:
    """Ask for a task's policy, or for the training policy of that name."""
    for world in worlds(content):
        if content.training(world).name == name:
            return lambda content: [training_job(content, world)]
    found = content.task(name).name
    return lambda content: [task_job(content, found)]


def _write(jobs: list[Job], means: Means, root: Path) -> tuple[list[Result], list[Path]]:
    """Generate the modules of one folder and put them there once all of them are good."""
    first = jobs[0]
    code_seed = means.code_seed if first.file_name == "policy.py" and _has_seeds(first) else None
    folder = folder_of(first, root, code_seed)
    path = new_transcript(first, root, code_seed)
    # of recorded replies the same conversation gives the same file
    transcript = Transcript(path) if means.model.live else Transcript(path, clock=lambda: 0.0)
    results: list[Result] = []
    good: list[Written] = []
    for job in jobs:
        recorded = "" if means.model.live else " (recorded replies, no model)"
        means.say(f"{job.label}: asking {means.model.spec}{recorded}")
        results.append(generate(job, means, transcript))
        if results[-1].written is not None:
            good.append(results[-1].written)
    if len(good) == len(jobs):
        paths = commit(folder, good, path, code_seed)
        for file, result in zip(paths, results, strict=True):
            means.say(
                f"  wrote {file} ({_effort(result)}; by {result.written.author if result.written else ''})"
            )
        return results, paths
    for result in results:
        if result.written is None:
            means.say(f"  {result.job.label} FAILED: {result.reasons[0] if result.reasons else 'no reason'}")
    kept = "; what was there is kept" if (folder / first.file_name).is_file() else ""
    means.say(f"  nothing was written{kept}. The conversation is in {keep_failed(path)}")
    return results, []


def _has_seeds(job: Job) -> bool:
    """Tell whether code seeds stand side by side: of tasks they do, while skills are learnt with one training policy."""
    return job.template == "codegen/task.j2"


def _effort(result: Result) -> str:
    count = len(result.attempts)
    real = "" if result.real_success is None else f", success in real games {result.real_success:.2f}"
    tokens = f", {result.tokens} tokens" if result.tokens else ""
    return f"{count} attempt{'s' * (count > 1)}, {result.seconds:.1f} s{tokens}{real}"


def _print_prompts(config: Config, content: Content, units: list[Unit]) -> int:
    prompts = Prompts(content.prompt_folders())
    jobs = [job for unit in units for job in unit(content)]
    if config.json:
        print_json(
            {
                job.label: [{"role": m.role, "content": m.content} for m in job.messages(prompts)]
                for job in jobs
            }
        )
    else:
        for job in jobs:
            print_prompt(job, job.messages(prompts))
    return 0


def _conclude(
    config: Config,
    root: Path,
    results: list[Result],
    written: list[Path],
    faults: list[str],
    cost: dict[str, Any],
) -> None:
    """Say in one line what came of it, and what to do next."""
    good = sum(result.written is not None for result in results)
    if config.json:
        print_json(
            {
                "ok": good == len(results) and not faults,
                "content": str(root),
                "written": [str(path) for path in written],
                "faults": faults,
                "modules": [result.to_json() for result in results],
                "model": {"spec": config.llm, **cost},
            }
        )
        return
    price = f", cost {cost['cost']:.4f}" if cost["cost"] is not None else ""
    tokens = cost["prompt_tokens"] + cost["completion_tokens"]
    used = f", {tokens} tokens{price}" if tokens else ""
    broken = f" {len(faults)} could not be tried." if faults else ""
    print(f"{good} of {len(results)} modules are good{used}.{broken}")
    if written:
        print(f"Next: {_next_command(config, root, results[0].job.world)}")


def _next_command(config: Config, root: Path, world: str) -> str:
    """Say how what was written is played: a skill or a training policy in the first task of its world."""
    seed = f" --code-seed {config.code_seed}" if config.code_seed is not None and config.task else ""
    tasks = find_content(root).tasks(world)
    first = next(iter(tasks), "all")
    target = "all" if config.all else config.task if config.task in tasks else first
    is_default = os.environ.get(CONTENT_VARIABLE, "").split(os.pathsep)[0] == str(root)
    where = "" if is_default else f" --content {root}"
    return f"maestro eval --target {target}{where}{seed}"
