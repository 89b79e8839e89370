"""Fit a reward model to the verdicts on a skill's pairs.

    maestro fit-reward --skill merchant
    maestro fit-reward --all --config paper
    maestro fit-reward --skill merchant --config paper epochs=5 seed=1
    maestro fit-reward --skill combat --data runs/collect-nethack --verdicts runs/a/verdicts.parquet --run mine
    maestro eval --target minetown --content runs/rewards

The model reads the step's message and the signs of the changes since the skill began; it is fitted so that the better
caption of a pair is rewarded more. Two parts of the messages are held out: by one the fit sees when it no longer gets
better, by the other it is measured. The model goes to <run>/skills/<skill>/reward/, a folder of content that --content adds. What was there before stays until
the new one is complete; a fit that was stopped or killed goes on at its last epoch.

--config takes a preset's name ("small", the default; "paper", MaestroMotif's network and settings), TOML files and single keys:
preset, epochs, batch_size, learning_rate, schedule, patience, held_out, validation, seed, ensemble, precision, max_unparsed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._counter import Counter
from maestro.commands._output import print_json, print_table
from maestro.commands._settings import read_settings
from maestro.content import Content
from maestro.errors import ConfigError, DatasetError, suggestion
from maestro.runs import runs_root

if TYPE_CHECKING:
    from maestro.rewards.files import Card
    from maestro.rewards.fit import Epoch, FitConfig
    from maestro.rewards.job import FitJob

DEFAULT_RUN = "rewards"


@dataclass(frozen=True)
class Config:
    """Choose what is fitted to what."""

    skill: str | None = None
    """A skill, or a goal of prompts/preference/goals."""
    all: bool = False
    """Fit every skill of NetHack."""
    data: Path | None = None
    """Folder of the transitions; by default that of `maestro collect`."""
    verdicts: tuple[Path, ...] = ()
    """Files of verdicts; by default that of `maestro annotate`. With --all, folders that hold one folder a skill."""
    run: Path | None = None
    """Folder of the results; by default runs/rewards."""
    config: tuple[str, ...] = ()
    """A preset, TOML files, or single settings such as epochs=5; see above."""
    device: str = "auto"
    """"auto" (a GPU where there is one), "cpu", "cuda:0", ..."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Fit each skill in turn and show how good the models are."""
    if (config.skill is None) == (not config.all):
        raise ConfigError("name one skill, or all", where="--skill and --all", expected="one of them")
    content = Content.find()
    settings = read_fit_config(config.config)
    skills = list(content.skills("nethack")) if config.skill is None else [config.skill]
    jobs = [_job(config, content, skill, settings) for skill in skills]
    cards = []
    for job in jobs:
        cards.append(fit_one(content, job))
        if not config.json and len(jobs) > 1:
            print(f"{job.skill}: {_words(cards[-1])}", flush=True)
    if config.json:
        shown = {
            card.skill: {**card.model_dump(), "folder": str(job.out)}
            for card, job in zip(cards, jobs, strict=True)
        }
        print_json(shown[config.skill] if config.skill else {"skills": shown})
    else:
        show_cards(cards)
        root = jobs[0].out.parent.parent.parent
        print(f"\nModels: {root}/skills/*/reward\nNext: maestro rewards --skill {skills[0]} --run {root}")
    return 0


def read_fit_config(words: Sequence[str]) -> FitConfig:
    """Read the settings from presets' names, TOML files and single keys; raises ConfigError and SpecError."""
    from maestro.rewards.fit import FIT_PRESETS, FitConfig

    known = ", ".join(FIT_PRESETS)
    for word in words:
        if word not in FIT_PRESETS and "=" not in word and not word.endswith(".toml"):
            raise ConfigError(
                f"{word!r} is neither a preset, a file nor a setting",
                where="--config",
                expected=f"{known}, a path that ends in .toml, or key=value",
                hint=suggestion(word, FIT_PRESETS),
            )
    found = read_settings([f"preset={word}" if word in FIT_PRESETS else word for word in words], FitConfig)
    if found.preset not in FIT_PRESETS:
        raise ConfigError(
            f"the preset is {found.preset!r}", where="--config: preset", expected=f"one of {known}"
        )
    return found


def fit_one(content: Content, job: FitJob) -> Card:
    """Fit one model, with progress on stderr."""
    from maestro.rewards.data import split_by_caption
    from maestro.rewards.job import fit_job, read_judged

    judged = read_judged(content, job)
    settings = job.config
    training = split_by_caption(judged.pairs, settings.held_out, settings.validation, settings.seed).training
    total = settings.ensemble * settings.epochs * len(training.pairs)
    done, note = 0, ""
    with Counter(f"fit {job.skill}", "pairs", total) as counter:

        def on_pairs(pairs: int) -> None:
            nonlocal done
            done += pairs
            counter.update(done, note)

        def on_epoch(epoch: Epoch) -> None:
            nonlocal note
            note = f"epoch {epoch.epoch + 1}, validation accuracy {epoch.validation_accuracy:.1%}"

        def tell(text: str) -> None:
            print(f"maestro: {text}", file=sys.stderr)

        return fit_job(judged, job, progress=on_epoch, on_pairs=on_pairs, notice=tell)


def show_cards(cards: list[Card]) -> None:
    """Print one line a model."""
    columns = {
        "skill": "skill",
        "annotator": "annotator",
        "pairs": "pairs",
        "held-out accuracy": "accuracy",
        "calibration error": "calibration",
        "threshold": "threshold",
    }
    print_table(columns, [_row(card) for card in cards], empty="no model")
    for card in cards:
        if card.paid_share == 0:
            print(
                f"maestro: {card.skill}: no caption of the data would be paid: the model is nowhere sure enough. More pairs or "
                "epochs, or a lower reward.certainty in skill.toml",
                file=sys.stderr,
            )


def _row(card: Card) -> dict[str, Any]:
    held = card.held_out
    return {
        "skill": card.skill,
        "annotator": card.annotator,
        "pairs": f"{card.data['pairs']:,}",
        "accuracy": f"{percent(held['accuracy'])} of {held['decided_pairs']:,}",
        "calibration": percent(held["calibration_error"]),
        "threshold": "none" if card.threshold is None else f"{card.threshold:.3f}",
    }


def _words(card: Card) -> str:
    return (
        f"held-out accuracy {percent(card.held_out['accuracy'])} on {card.held_out['decided_pairs']:,} pairs "
        f"(annotator: {card.annotator})"
    )


def percent(value: float | None) -> str:
    """Write a share that may be unknown."""
    return "unknown" if value is None else f"{value:.2%}"


def _job(config: Config, content: Content, skill: str, settings: FitConfig) -> FitJob:
    from maestro.preferences.goals import find_goal
    from maestro.rewards.job import FitJob

    data = config.data or runs_root() / f"collect-{find_goal(content, skill).world}"
    root = config.run or runs_root() / DEFAULT_RUN
    out = root.absolute() / "skills" / skill / "reward"
    return FitJob(skill, data.absolute(), _verdicts(config, skill), out, settings, config.device)


def _verdicts(config: Config, skill: str) -> tuple[Path, ...]:
    if config.verdicts:
        return tuple(_verdict_file(path, skill if config.all else None) for path in config.verdicts)
    found = sorted(runs_root().glob(f"annotate-{skill}-*/verdicts.parquet"))
    if len(found) == 1:
        return (found[0],)
    if not found:
        raise DatasetError(
            f"there are no verdicts for {skill!r}",
            where=str(runs_root() / f"annotate-{skill}-*"),
            hint=f"maestro annotate --skill {skill}, or name a file with --verdicts",
        )
    raise ConfigError(
        f"there are several annotations of {skill!r}: {', '.join(path.parent.name for path in found)}",
        where="fit-reward",
        hint="name the file with --verdicts",
    )


def _verdict_file(path: Path, skill: str | None) -> Path:
    """Find the file where a folder was named: the annotation's, or one that has a folder for each skill."""
    if path.is_dir():
        return path / skill / "verdicts.parquet" if skill else path / "verdicts.parquet"
    return path
