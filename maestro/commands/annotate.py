"""Let an annotator say which of two captions is better for a skill, many thousand times.

    maestro annotate --skill all
    maestro annotate --skill merchant,combat --config pairs=50000
    maestro annotate --skill merchant --annotator llm --llm openai:llama@http://localhost:8000/v1
    maestro annotate --skill combat --annotator llm --llm hf:meta-llama/Llama-3.3-70B-Instruct --reasoning brief
    maestro annotate --skill merchant --annotator llm --llm ... --config shard=2/2 store=b.sqlite
    maestro annotate --skill merchant --annotator llm --llm ... --config merge=b.sqlite

Annotators: "rules" (the preference rules of skill.toml; no model), "llm", "random". Both orders of a pair are asked;
where they disagree it is a tie. Every answer is kept as it arrives, and no question is asked twice: stop the command or
kill it, give it again, and it continues. A changed preference, prompt or model makes other questions.

After --config come TOML files and single keys. What and where: pairs (10,000), data (folder of the transitions), run (folder of
verdicts and report; with several skills, one folder each in it), store (the file of all answers), export (write them all to this Parquet file), content (a folder with
skills and prompts of your own). Sharing the work: workers (processes that ask; 0 asks from this one, which serves any number
of servers), shard (K/N: ask only a share), merge (stores whose answers are taken in first). Finer: prompt, seed, both_orders,
temperature, soft_labels, constrained, max_unparsed, retry_unparsed, and [llm_settings].
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from rich.padding import Padding
from rich.text import Text

from maestro.commands._counter import Counter
from maestro.commands._output import console, print_json, print_table
from maestro.commands._settings import SettingsPath, read_settings
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.preferences.annotate import Progress
from maestro.preferences.annotators import Reasoning
from maestro.preferences.goals import find_goal
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.questions import parse_shard
from maestro.preferences.store import JudgementStore
from maestro.runs import runs_root, write_atomically
from maestro.versions import versions

INCOMPLETE = 1
ALL = "all"
_BY_PLACE = 0.5
"""Order disagreement that is worth a warning: chance has as much."""
_KINDS = {
    "order_disagreement": "the two orders disagree",
    "tie": "a tie",
    "unparsed": "no answer that can be used",
    "against_rules": "against the rules",
    "as_rules": "as the rules say",
}


def _listed(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


class AnnotateSettings(JobOptions):
    """What --config may say."""

    pairs: int = Field(default=10_000, ge=1)
    """Pairs to compare, for each skill."""
    data: SettingsPath | None = None
    """Folder of the transitions; by default that of `maestro collect`."""
    run: SettingsPath | None = None
    """Folder of verdicts and report; by default runs/annotate-<skill>-<annotator>."""
    store: SettingsPath | None = None
    """The file of all answers; by default runs/judgements.sqlite."""
    shard: str = "1/1"
    """Ask only a share: K/N. Shares go into stores of their own, to be merged, or into the same one."""
    merge: Annotated[tuple[SettingsPath, ...], BeforeValidator(_listed)] = ()
    """Take in the answers of these stores first."""
    export: SettingsPath | None = None
    """Write all answers of the store, captions spelt out, to this Parquet file in the end."""
    workers: int = Field(default=0, ge=0)
    """Processes that ask; 0 asks from this one."""
    content: SettingsPath | None = None

    def options(self) -> JobOptions:
        """Give what a job needs of it."""
        return JobOptions(**{name: getattr(self, name) for name in JobOptions.model_fields})


@dataclass(frozen=True)
class Config:
    """Choose what is judged, and by whom."""

    skill: str
    """Skills with commas between them, or "all" of NetHack; goals too (combat, gold, stairs, motif_default, zeroknowledge)."""
    annotator: str = "rules"
    """"rules", "llm" or "random"."""
    llm: str = "replay"
    """The language model, such as openai:<model>@<url>[,<url>...]; with --annotator llm."""
    reasoning: Reasoning = "none"
    """How much the model writes before it answers."""
    max_cost: float | None = None
    """Stop before a skill's answers cost more, by the prices in llm_settings."""
    engine: str = "process"
    """"process" for this machine, "ray" for a cluster."""
    config: tuple[str, ...] = ()
    """TOML files with finer settings, or single ones such as pairs=50000; see above."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Annotate each skill; exit code 1 where the cost limit left questions open."""
    settings = read_settings(config.config, AnnotateSettings)
    parse_shard(settings.shard)
    content = Content.find(settings.content)
    names = [name.strip() for name in config.skill.split(",") if name.strip()]
    skills = list(content.skills("nethack")) if config.skill == ALL else list(dict.fromkeys(names))
    if not skills:
        raise ConfigError(
            "no skill is named", where="--skill", expected='skills with commas between, or "all"'
        )
    jobs = [_job(config, settings, content, skill) for skill in skills]
    reports = []
    with JudgementStore(settings.store or runs_root() / "judgements.sqlite") as store:
        if settings.merge:
            new = store.merge(settings.merge)
            print(f"{new:,} new answers from {len(settings.merge)} stores", file=sys.stderr)
        for job in jobs:
            reports.append(_annotate(config, settings, content, job, store, alone=len(jobs) == 1))
            if not config.json:
                _show(reports[-1])
        if settings.export is not None:
            count = store.export(settings.export)
            print(f"{count:,} answers: {settings.export}", file=sys.stderr)
    if config.json:
        several = {"skills": {report["skill"]: report for report in reports}}
        print_json(reports[0] if len(reports) == 1 and config.skill != ALL else several)
    return INCOMPLETE if any("stopped" in report for report in reports) else 0


def _job(config: Config, settings: AnnotateSettings, content: Content, skill: str) -> Job:
    data = settings.data or runs_root() / f"collect-{find_goal(content, skill).world}"
    return Job(
        skill,
        data.absolute(),
        settings.pairs,
        config.annotator,
        config.llm,
        config.reasoning,
        settings.options(),
    )


def _annotate(
    config: Config,
    settings: AnnotateSettings,
    content: Content,
    job: Job,
    store: JudgementStore,
    *,
    alone: bool,
) -> dict[str, Any]:
    with Annotation(content, job) as annotation:
        name = f"annotate-{job.skill}-{annotation.label}".replace("/", "-").replace(":", "-")
        folder = runs_root() / name if settings.run is None else settings.run
        folder = (folder if alone or settings.run is None else folder / job.skill).absolute()
        _save_config(config, settings, folder)
        progress = _ask(config, settings, annotation, store)
        report = {**annotation.info(), **_effort(progress)}
        if progress.stopped:
            return {**report, "stopped": progress.stopped}
        shard = parse_shard(settings.shard)
        if not shard.is_all:
            return {**report, "shard": str(shard), "files": {"store": str(store.path)}}
        return {**annotation.conclude(store, folder), **_effort(progress)}


def _save_config(config: Config, settings: AnnotateSettings, folder: Path) -> None:
    """Keep the flags and the settings, defaults included, beside the results."""
    flags = {name: value for name, value in vars(config).items() if name not in ("config", "json")}
    saved = {"config": {**flags, **settings.model_dump(mode="json")}, "versions": versions()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "config.json", json.dumps(saved, indent=2) + "\n")
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror or error}",
            where=str(folder),
            hint="name another folder: --config run=...",
        ) from error


def _ask(
    config: Config, settings: AnnotateSettings, annotation: Annotation, store: JudgementStore
) -> Progress:
    plan = annotation.plan
    shard = parse_shard(settings.shard)
    total = len(plan.pairing) * (2 if plan.both_orders else 1) // shard.count
    label = f"annotate {annotation.job.skill} ({annotation.label})"
    with Counter(label, "questions", total, tells_rate=False) as counter:

        def tell(progress: Progress) -> None:
            counter.update(progress.settled, _note(progress, plan.both_orders), fresh=progress.answered)

        return annotation.ask(
            store,
            shard=shard,
            max_cost=config.max_cost,
            engine=config.engine,
            workers=settings.workers,
            on_progress=tell,
        )


def _note(progress: Progress, both_orders: bool) -> str:
    parts = [f"{progress.rate / (2 if both_orders else 1):,.0f} pairs/s"]
    if progress.prompt_tokens:
        parts.append(f"{progress.prompt_tokens + progress.completion_tokens:,} tokens")
    if progress.cost is not None:
        parts.append(f"cost {progress.cost:.4g}")
    if progress.unparsed or progress.failed:
        parts.append(f"{progress.unparsed + progress.failed:,} without answer")
    return ", ".join(parts)


def _effort(progress: Progress) -> dict[str, Any]:
    return {
        "asked": progress.answered,
        "known_before": progress.known,
        "repeated": progress.repeated,
        "failed": progress.failed,
        "questions_per_s": round(progress.rate, 1),
        "prompt_tokens": progress.prompt_tokens,
        "completion_tokens": progress.completion_tokens,
        "cost": progress.cost,
    }


def _show(report: dict[str, Any]) -> None:
    """Print one skill's figures and an example of each kind."""
    skill, annotator = report["skill"], report["annotator"]
    who = f"{annotator} ({report['model']})" if report["model"] else annotator
    if "stopped" in report:
        print(f"{skill}: {report['stopped']}. What was answered is kept; raise --max-cost to go on.")
        return
    if "verdicts" not in report:
        print(
            f"{skill}: share {report['shard']} is answered, in {report['files']['store']}; take it in with --config merge=..."
        )
        return
    rows = [
        {"what": f"annotator of {skill}", "value": who},
        {"what": "pairs", "value": f"{report['pairs']:,}"},
    ]
    rows += [{"what": name, "value": f"{count:,}"} for name, count in report["verdicts"].items()]
    for key in ("identical", "order_disagreement", "shown_first_preferred", "agreement_with_rules"):
        value = report[key]
        text = "-" if value is None else f"{value:,}" if key == "identical" else f"{value:.1%}"
        rows.append({"what": key.replace("_", " "), "value": text})
    rows.append(
        {"what": "asked now", "value": f"{report['asked']:,} ({report['known_before']:,} known before)"}
    )
    print_table({skill: "what", "": "value"}, rows, empty="nothing")
    for warning in _warnings(report):
        print(f"\n{warning}")
    for kind, text in _KINDS.items():
        for example in report["examples"].get(kind, [])[:1]:
            _show_example(text, example)
    print(f"\nVerdicts and report: {Path(report['files']['verdicts']).parent}\n")


def _warnings(report: dict[str, Any]) -> list[str]:
    """Say what makes the verdicts useless for learning, or weak."""
    skill, found = report["skill"], []
    if report["own_rows"] == 0:
        found.append(f"{skill} never ran in these data: no pair shows its own play. Collect more.")
    if report["verdicts"]["tie"] + report["verdicts"]["unparsed"] == report["pairs"]:
        found.append("No pair is decided (every verdict is a tie): there is nothing to learn from these.")
    if (report["order_disagreement"] or 0.0) > _BY_PLACE and report["annotator"] == "llm":
        found.append(
            "The two orders disagree in most pairs: the model goes by the place of a caption more than by what it says."
        )
    return found


def _show_example(text: str, example: dict[str, Any]) -> None:
    out = console()
    out.print(f"\nExample, {text} (verdict {example['verdict']}):", markup=False)
    for side in ("first", "second"):
        first, *rest = example[side].split("\n")
        out.print(Padding(Text(first, style="dim"), (0, 0, 0, 2)))
        out.print(Padding(Text("\n".join(rest), style="dim"), (0, 0, 0, 4)))
    if example["reply"]:
        out.print(f"  answer: {example['reply'][:200]}", markup=False)
