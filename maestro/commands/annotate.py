"""Let an annotator say which of two captions is better for a skill, many thousand times.

    maestro annotate --all
    maestro annotate --skill merchant --annotator llm --llm openai:llama@http://localhost:8000/v1
    maestro annotate --skill combat --annotator llm --llm hf:meta-llama/Llama-3.3-70B-Instruct --reasoning brief
    maestro annotate --skill merchant --annotator llm --llm openai:llama@http://gpu2:8000/v1 --shard 2/2 --store b.sqlite
    maestro annotate --skill merchant --annotator llm --llm ... --merge b.sqlite

Annotators: "rules" (the preference rules of skill.toml; no model), "llm", "random". Both orders of a pair are asked;
where they disagree it is a tie. Every answer is kept as it arrives, and no question is asked twice: stop the command or
kill it, give it again, and it continues. A changed preference, prompt or model makes other questions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro.commands._counter import Counter
from maestro.commands._output import console, print_json, print_table
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.preferences.annotate import Progress
from maestro.preferences.annotators import Reasoning
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.questions import parse_shard
from maestro.preferences.store import JudgementStore
from maestro.runs import runs_root
from maestro.specs import load_toml

INCOMPLETE = 1
_KINDS = {
    "order_disagreement": "the two orders disagree",
    "tie": "a tie",
    "unparsed": "no answer that can be used",
    "against_rules": "against the rules",
    "as_rules": "as the rules say",
}


@dataclass(frozen=True)
class Config:
    """Choose what is judged, by whom, and how often."""

    skill: str | None = None
    """A skill, or a goal of prompts/preference/goals (combat, gold, stairs, motif_default, zeroknowledge)."""
    all: bool = False
    """Annotate every skill of NetHack."""
    annotator: str = "rules"
    """"rules", "llm" or "random"."""
    llm: str = "replay"
    """The language model, such as openai:<model>@<url>[,<url>...]; with --annotator llm."""
    reasoning: Reasoning = "none"
    """How much the model writes before it answers."""
    pairs: int = 10_000
    """Pairs to compare."""
    data: Path | None = None
    """Folder of the transitions; by default that of `maestro collect`."""
    run: Path | None = None
    """Folder of verdicts and report; by default runs/annotate-<skill>-<annotator>."""
    store: Path | None = None
    """The file of all answers; by default runs/judgements.sqlite."""
    max_cost: float | None = None
    """Stop before the answers cost more, by the prices in --settings."""
    shard: str = "1/1"
    """Ask only a share: K/N. Shares go into stores of their own, to be merged, or into the same one."""
    merge: tuple[Path, ...] = ()
    """Take in the answers of these stores first."""
    workers: int = 0
    """Processes that ask; 0 asks from this one, which serves any number of servers."""
    engine: str = "process"
    """"process" for this machine, "ray" for a cluster."""
    settings: Path | None = None
    """A TOML file with the finer settings: prompt, seed, both_orders, temperature, max_unparsed, llm_settings, ..."""
    content: Path | None = None
    """A folder with skills and prompts of your own, searched first."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Annotate each skill; exit code 1 where the cost limit left questions open."""
    if (config.skill is None) == (not config.all):
        raise ConfigError("name one skill, or all", where="--skill and --all", expected="one of them")
    if config.pairs < 1 or config.workers < 0:
        raise ConfigError(f"{config.pairs} pairs, {config.workers} workers", where="--pairs and --workers")
    content = Content.find(config.content)
    skills = list(content.skills("nethack")) if config.skill is None else [config.skill]
    reports = []
    with JudgementStore(config.store or runs_root() / "judgements.sqlite") as store:
        if config.merge:
            new = store.merge(config.merge)
            print(f"{new:,} new answers from {len(config.merge)} stores", file=sys.stderr)
        for skill in skills:
            reports.append(_annotate(config, content, skill, store))
            if not config.json:
                _show(reports[-1])
    if config.json:
        print_json(
            reports[0] if config.skill else {"skills": {report["skill"]: report for report in reports}}
        )
    return INCOMPLETE if any("stopped" in report for report in reports) else 0


def _annotate(config: Config, content: Content, skill: str, store: JudgementStore) -> dict[str, Any]:
    options = JobOptions() if config.settings is None else load_toml(config.settings, JobOptions)
    world = content.skill(skill).spec.world if skill in content.skills() else "nethack"
    data = config.data or runs_root() / f"collect-{world}"
    job = Job(skill, data.absolute(), config.pairs, config.annotator, config.llm, config.reasoning, options)
    shard = parse_shard(config.shard)
    with Annotation(content, job) as annotation:
        progress = _ask(config, annotation, store)
        report = {**annotation.info(), **_effort(progress)}
        if progress.stopped:
            return {**report, "stopped": progress.stopped}
        if not shard.is_all:
            return {**report, "shard": str(shard), "files": {"store": str(store.path)}}
        name = f"annotate-{skill}-{annotation.label}".replace("/", "-").replace(":", "-")
        folder = (config.run / skill if config.run and config.all else config.run) or runs_root() / name
        return {**annotation.conclude(store, folder.absolute()), **_effort(progress)}


def _ask(config: Config, annotation: Annotation, store: JudgementStore) -> Progress:
    plan = annotation.plan
    shard = parse_shard(config.shard)
    total = len(plan.pairing) * (2 if plan.both_orders else 1) // shard.count
    with Counter(f"annotate {annotation.job.skill} ({annotation.label})", "questions", total) as counter:

        def tell(progress: Progress) -> None:
            counter.update(
                progress.known + progress.answered, _note(progress, plan.both_orders), fresh=progress.answered
            )

        return annotation.ask(
            store,
            shard=shard,
            max_cost=config.max_cost,
            engine=config.engine,
            workers=config.workers,
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
            f"{skill}: share {report['shard']} is answered, in {report['files']['store']}; merge it with --merge."
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
    for kind, text in _KINDS.items():
        for example in report["examples"].get(kind, [])[:1]:
            _show_example(text, example)
    print(f"\nVerdicts and report: {Path(report['files']['verdicts']).parent}\n")


def _show_example(text: str, example: dict[str, Any]) -> None:
    out = console()
    out.print(f"\nExample, {text} (verdict {example['verdict']}):", markup=False)
    for side in ("first", "second"):
        out.print("  " + example[side].replace("\n", "\n    "), markup=False, style="dim")
    if example["reply"]:
        out.print(f"  answer: {example['reply'][:200]}", markup=False)
