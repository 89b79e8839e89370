"""Look at a reward model: how good it is, what it pays for, and what a policy would earn with it.

    maestro rewards --skill merchant
    maestro rewards --skill merchant --run runs/rewards --data runs/collect-nethack
    maestro rewards --skill discoverer --policy random --episodes 20
    maestro rewards --skill descender --episodes 0 --data runs/collect-nethack --json

Shows accuracy and calibration on captions the model was not fitted to, agreement with the skill's preference rules, the
histogram of rewards with the threshold, the captions paid most and least, and what the skill is paid for while a policy
plays: a reward that can be had for nothing shows there. The same stands in one HTML file.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._output import console, print_json, print_table
from maestro.content import REWARD_FOLDER, Content
from maestro.errors import ConfigError, FitError
from maestro.rewards.threads import settle_threads
from maestro.runs import runs_root, write_atomically
from maestro.specs import RewardSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from maestro.rewards.files import Card

_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Config:
    """Choose the model, and what it is shown."""

    skill: str
    """A skill, or a goal that was fitted."""
    run: Path | None = None
    """Folder of `maestro fit-reward` or `train-skills`; by default runs/rewards where it has this skill, else what ships."""
    data: Path | None = None
    """Transitions to judge; by default what `maestro collect` made, or where there is none, those of the play."""
    policy: str = "reference"
    """Who plays: "reference", "random", "trained", a policy's folder, or a Python file."""
    episodes: int = 8
    """Episodes to play, in fours; 0 plays none."""
    seed: int = 0
    """What the seeds of the episodes are derived from."""
    html: Path | None = None
    """Where the HTML report goes; by default reward-<skill>.html in the runs' folder."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Load, measure, play, and show."""
    for name in ("episodes", "seed"):
        if getattr(config, name) < 0:
            raise ConfigError(
                f"the value is {getattr(config, name)}", where=f"--{name}", expected="at least 0"
            )
    settle_threads()
    from maestro.evaluation.reward_report import facts, render_reward
    from maestro.learner.payment import check_threshold
    from maestro.preferences.goals import find_goal
    from maestro.preferences.transitions import read_transitions
    from maestro.rewards.files import load_reward
    from maestro.rewards.report import look

    content = Content.find()
    goal = find_goal(content, config.skill)
    folder = reward_folder(content, config.skill, config.run)
    reward = load_reward(folder)
    check_threshold(reward.card, _settings(content, config.skill), where=str(folder))
    path = (config.html or runs_root() / f"reward-{config.skill}.html").absolute()
    _check_writable(path)
    play, table = _play(config, content, reward)
    data = config.data or runs_root() / f"collect-{goal.world}"
    source = str(data)
    if config.data is None and table is None and not data.is_dir():
        raise ConfigError(
            "there are no transitions to judge",
            where=str(data),
            hint="let a policy play (--episodes 8), name others with --data, or make some with `maestro collect`",
        )
    if config.data is not None or data.is_dir() or table is None:
        table = read_transitions(data)
    else:
        source = f"{config.episodes} episodes of {config.policy!r}"
    figures = look(reward, table, goal, seed=config.seed)
    _write(path, render_reward(reward.card, figures, play, source))
    result = {
        "skill": config.skill,
        "folder": str(folder),
        "annotator": reward.card.annotator,
        "held_out": reward.card.held_out,
        **figures,
        "source": source,
        "play": play,
        "html": str(path),
    }
    if config.json:
        print_json(result)
    else:
        _show(reward.card, facts(reward.card, figures), result)
    return 0


def _settings(content: Content, skill: str) -> RewardSettings:
    """Give a skill's settings of [reward]; a ready goal has those that count by default."""
    known = content.skills()
    return known[skill].spec.reward if skill in known else RewardSettings()


def reward_folder(content: Content, skill: str, run: Path | None) -> Path:
    """Find a skill's reward model: in the run that was named, else in runs/rewards, else in the content."""
    if run is not None:
        return run / "skills" / skill / REWARD_FOLDER
    fitted = runs_root() / "rewards" / "skills" / skill / REWARD_FOLDER
    if (fitted / "card.json").is_file():
        return fitted
    found = content.reward_folder(skill)
    if found is None:
        raise FitError(
            f"{skill!r} has no reward model",
            where="maestro rewards",
            hint=f"maestro fit-reward --skill {skill}, or maestro train-skills --stage rewards",
        )
    return found


def _play(config: Config, content: Content, reward: Any) -> tuple[dict[str, Any] | None, pa.Table | None]:
    skills = content.skills()
    if config.episodes == 0 or config.skill not in skills:
        return None, None
    from maestro.evaluation.paid import highest_paid

    spec = skills[config.skill].spec
    return highest_paid(
        reward,
        spec.reward,
        world=spec.world,
        roots=content.roots,
        policy=config.policy,
        episodes=config.episodes,
        seed=config.seed,
    )


def _check_writable(path: Path) -> None:
    """Find out before any play whether the report could be written."""
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _unwritable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"cannot be written: {why}", where=str(path), hint="name another file with --html")


def _show(card: Card, facts: list[tuple[str, str]], result: dict[str, Any]) -> None:
    rows = [{"what": label, "value": value} for label, value in facts]
    print_table({card.skill: "what", "": "value"}, rows, empty="nothing")
    histogram = result["histogram"]
    edges = histogram["edges"]
    print(f"\nRewards of distinct captions ({edges[0]:.1f} to {edges[-1]:.1f}; | is the threshold):")
    print(f"  {_sparkline(histogram, card.threshold)}")
    for title, key in (("Paid most", "top"), ("Paid least", "bottom")):
        shown = [{**row, "text": row["message"] or "(no message)"} for row in result[key]]
        print(f"\n{title}:")
        print_table({"reward": "reward", "skill": "skill", "message": "text"}, shown, empty="nothing")
    play = result["play"]
    if play is not None and not play["steps"]:
        print(
            f"\n{card.skill} never ran in {play['episodes']} episodes of {play['policy']!r}: try more --episodes."
        )
    elif play is not None:
        print(
            f"\nPlay of {play['policy']!r}: {play['episodes']} episodes, {play['steps']:,} steps of {card.skill}, "
            f"{play['paid_steps']:,} of them paid. It is paid most for:"
        )
        rows = [
            {**row, "share": f"{row['share']:.1%}", "paid": f"{row['paid']:.2f}"} for row in play["captions"]
        ]
        print_table(
            {"share": "share", "paid": "paid", "times": "times", "message": "message"}, rows, empty="nothing"
        )
    console().print(f"\nReport: {result['html']}", markup=False, soft_wrap=True)


def _sparkline(histogram: dict[str, Any], threshold: float | None) -> str:
    """Draw the histogram in one line; heights are square roots, so that rare rewards can be seen."""
    counts, edges = histogram["counts"], histogram["edges"]
    tallest = max(counts) ** 0.5 or 1.0
    marks = []
    for number, count in enumerate(counts):
        if threshold is not None and edges[number] <= threshold < edges[number + 1]:
            marks.append("|")
        marks.append(_BARS[-(-int(8 * count**0.5 / tallest * 1000) // 1000)] if count else " ")
    return "".join(marks)
