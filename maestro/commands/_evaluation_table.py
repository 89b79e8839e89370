"""The tables `maestro eval` ends with; they fit a terminal of 60 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from maestro.commands._output import console
from maestro.evaluation.episode import EpisodeRecord
from maestro.evaluation.summary import code_name, format_estimate, format_share, format_skill_success

MAX_ERRORS = 5
_NAMES = {
    "score": "score",
    "max_depth": "greatest depth",
    "experience_level": "experience level",
    "kills": "kills",
    "gold": "gold",
    "steps": "steps",
    "turns": "turns",
}


def print_one(figures: dict[str, Any], records: Sequence[EpisodeRecord]) -> None:
    """Print one task's figures: success beside the published row, skills, endings, means, errors, files."""
    out = console()
    out.print(f"\n[bold]{figures['target']}[/]  {escape(figures['instruction'])}")
    out.print(_head(figures), style="dim")
    if not figures["complete"]:
        out.print(
            "Not all episodes have ended; short ones end first, so the figures lean towards them.",
            style="yellow",
        )
    out.print(_success_table(figures))
    _print_competence(figures)
    out.print(_ends_table(figures["skills"]))
    ended = ", ".join(f"{by} {count}" for by, count in figures["ended"].items())
    out.print(f"[bold]ended[/]  {ended}")
    if figures["causes"]:
        causes = ", ".join(f"{cause} {count}" for cause, count in list(figures["causes"].items())[:4])
        out.print(f"[bold]last blows[/]  {escape(causes)}")
    out.print(f"[bold]means[/]  {_means(figures)}")
    _print_errors(figures)
    out.print(f"\nreport  {figures['report']}", soft_wrap=True, markup=False)
    episode = _worth_watching(records)
    if episode is not None:
        out.print(
            f"watch   maestro watch {_shown_path(figures['run'])} {episode}", soft_wrap=True, markup=False
        )


def print_several(
    all_figures: Sequence[dict[str, Any]],
    together: dict[str, dict[str, Any]],
    skill_figures: dict[str, Any],
    overview: Path,
) -> None:
    """Print one line a task, the skills' figures over all tasks together, and where the report is.

    `together` has each task's figures over its code seeds, if there are several; each seed then has a line of its own.
    """
    out = console()
    lines = []
    for name in dict.fromkeys(figures["target"] for figures in all_figures):
        mine = [figures for figures in all_figures if figures["target"] == name]
        lines += [(code_name(figures["code_seed"]), figures) for figures in mine]
        if together:
            lines.append(
                (
                    f"all {len(mine)}",
                    {
                        **together[name],
                        "target": name,
                        "complete": all(figures["complete"] for figures in mine),
                    },
                )
            )
    out.print(_tasks_table(lines, with_code=bool(together)))
    total = sum(figures["total_steps"] for figures in all_figures)
    out.print(f"\n{total:,} steps{_rate(all_figures[0]['speed'])}\n", style="dim")
    if together:
        out.print(
            "code: the policy over skills; intervals of all are over policies and episodes.\n", style="dim"
        )
    _print_competence(skill_figures)
    for figures in all_figures:
        if figures["errors"]:
            out.print(f"\n[bold]{figures['target']}[/]")
            _print_errors(figures)
    out.print(f"\nreport  {overview}", soft_wrap=True, markup=False)


def _tasks_table(lines: Sequence[tuple[str, dict[str, Any]]], with_code: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    codes = ["code"] if with_code else []
    for heading in ("task", *codes, "games", "true (95 %)", "compatible (95 %)", "published"):
        table.add_column(heading, overflow="fold")
    for code, figures in lines:
        success, kind = figures["success"], figures["kind"]
        table.add_row(
            figures["target"] + ("" if figures["complete"] else " (cut short)"),
            *([code] if with_code else []),
            str(figures["episodes"]),
            *(
                format_estimate(row, kind)
                for row in (success["true"], success["compatible"], figures["published"])
            ),
        )
    return table


def _head(figures: dict[str, Any]) -> str:
    return (
        f"{figures['episodes']} episodes, {figures['policy']} skills, seed {figures['seed']}, "
        f"{figures['total_steps']:,} steps{_rate(figures['speed'])}"
    )


def _rate(speed: dict[str, Any]) -> str:
    return f", {speed['steps_per_s']:,.0f} steps/s with {speed['workers']} workers" if speed["steps"] else ""


def _success_table(figures: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("success")
    table.add_column("mean (95 % interval)")
    kind = figures["kind"]
    table.add_row("what the task says (true)", format_estimate(figures["success"]["true"], kind))
    table.add_row(
        "as MaestroMotif scores (compatible)", format_estimate(figures["success"]["compatible"], kind)
    )
    table.add_row("published", format_estimate(figures["published"], kind))
    return table


def _competence_table(skills: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("skill")
    for heading in ("time", "starts", "steps", "success (95 %)", "refused"):
        table.add_column(heading, justify="right")
    for name, skill in skills.items():
        steps = skill["steps_per_activation"]
        table.add_row(
            name,
            format_share(skill["share"]),
            f"{skill['total_activations']:,}",
            "-" if steps is None else f"{steps:.1f}",
            format_skill_success(skill["success"]),
            format_share(skill["refused_share"]),
        )
    return table


def _print_competence(figures: dict[str, Any]) -> None:
    """Print the skills' table, what their success is, and the share of choices that were refused."""
    out, skills = console(), figures["skills"]
    out.print(_competence_table(skills))
    meanings = [f"{name} {skill['success']['is']}" for name, skill in skills.items() if skill["success"]]
    told = ["steps: a mean start's; refused: of the times the skill was chosen"]
    if figures["refused_share"] is not None:
        told[0] += f" (all skills: {format_share(figures['refused_share'])})"
    if meanings:
        told.append("success, from a start to its end: " + "; ".join(meanings))
    out.print("\n".join(told), style="dim", markup=False)


def _ends_table(skills: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("skill")
    table.add_column("ended by", overflow="fold")
    for name, skill in skills.items():
        table.add_row(name, ", ".join(f"{reason} {count}" for reason, count in skill["ended"].items()))
    return table


def _means(figures: dict[str, Any]) -> str:
    means = figures["means"]
    parts = [f"{label} {means[name]['mean']:,.1f}" for name, label in _NAMES.items() if name in means]
    if "progression" in means:
        parts.append(f"progression (BALROG) {100 * means['progression']['mean']:.2f} %")
    return ", ".join(parts)


def _print_errors(figures: dict[str, Any]) -> None:
    errors, out = figures["errors"], console()
    for error in errors[:MAX_ERRORS]:
        out.print(
            f"[red]episode {error['episode']}: {error['by']}[/] {escape(error['cause'])}", soft_wrap=True
        )
    if len(errors) > MAX_ERRORS:
        out.print(f"[red]and {len(errors) - MAX_ERRORS} more episodes with errors[/]")


def _worth_watching(records: Sequence[EpisodeRecord]) -> int | None:
    """Choose the first success, else the first episode that has a file."""
    played = [record for record in records if record.ended.by != "failed"]
    won = [record for record in played if (record.success["true"] or 0) > 0]
    return (won or played)[0].episode if played else None


def _shown_path(folder: str) -> str:
    """Shorten a path below the current folder, as a person would type it."""
    try:
        return str(Path(folder).relative_to(Path.cwd()))
    except ValueError:
        return folder
