"""One imitation in a run folder: checkpoints, records, and the policy as it stands.

    <run>/imitation.pt            network, optimiser and counts; written whole or not at all
    <run>/imitation.previous.pt   the one before
    <run>/metrics.jsonl           one line a report
    <run>/policy/                 the policy, exported with every checkpoint

Killed at any moment, it goes on from its last checkpoint, in new games, until as many steps were learnt from as asked for.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pydantic
import torch

from maestro.errors import CheckpointError, ConfigError, MaestroError, RecordError
from maestro.learner.cloning import ImitateConfig
from maestro.learner.demonstrations import put_weights
from maestro.learner.games import action_options
from maestro.learner.imitate import Imitation, Report
from maestro.learner.network import PolicyNetwork
from maestro.learner.policy_file import CARD, PolicyCard, load_card, save_policy
from maestro.learner.run_policy import INIT, chained, keep_init
from maestro.runs import Run, read_config
from maestro.versions import versions

CHECKPOINT, PREVIOUS = "imitation.pt", "imitation.previous.pt"
POLICY = "policy"
METRICS = "metrics"
METHOD = "by imitation of reference skills written for this project"
MAY_DIFFER = (
    "init", "steps", "workers", "blocks", "device", "save_every_s", "kept", "uses", "dagger", "temperature",
)  # fmt: skip
"""Settings that may change when a run goes on; none of them says what the network is or what it learns."""
REPORT_EVERY_S = 10.0
_CURVE_POINTS = 200


def run_imitation(
    config: ImitateConfig,
    run: Run,
    on_report: Callable[[Report], None] = lambda report: None,
    *,
    report_every_s: float = REPORT_EVERY_S,
    say: Callable[[str], None] = lambda text: None,
) -> PolicyCard:
    """Imitate until `config.steps` steps were learnt from, and return the card of the policy in `<run>/policy`.

    `say` is told what the user should know of the beginning. Ctrl-C writes a checkpoint and the policy first, then passes
    through. Raises ConfigError where the run began with another policy than `config.init`, CheckpointError where there are
    checkpoints and none fits, TrainingError where a loss is not a number (the last checkpoint stays), EngineError where
    processes keep dying.
    """
    saved = load_checkpoint(run.folder, say)
    config = config.model_copy(
        update={"init": _beginning(run.folder, config.init, goes_on=saved is not None)}
    )
    with Imitation(config, saved) as imitation:
        told = kept = time.monotonic()
        with _kept_when_interrupted(run, imitation):
            while not imitation.is_over:
                imitation.step()
                now = time.monotonic()
                if now - told >= report_every_s or imitation.is_over:
                    told = now
                    report = imitation.report()
                    run.append_record(METRICS, asdict(report))
                    on_report(report)
                if now - kept >= config.save_every_s:
                    kept = now
                    keep(run, imitation)
        return keep(run, imitation)


def _beginning(folder: Path, init: Path | None, *, goes_on: bool) -> Path | None:
    """Keep the policy to begin with in the run; None where it begins with chance or goes on from a checkpoint."""
    kept = folder / INIT
    if not goes_on:
        shutil.rmtree(kept, ignore_errors=True)  # of a start that ended before its first checkpoint
        return keep_init(folder, init)
    if init is not None:
        began = load_card(kept).weights_sha256 if (kept / CARD).is_file() else None
        named = (
            load_card(init).weights_sha256 if (init / CARD).is_file() else began
        )  # else a run, which has moved on
        if began is None or named != began:
            raise ConfigError(
                f"the run began with {'chance' if began is None else 'another policy'}, and it goes on from there",
                where="--init",
                expected="the policy it began with, or no --init",
                hint="leave --init out to go on, or give another --run to begin with this policy",
            )
    return None


def recorded(config: ImitateConfig, folder: Path) -> dict[str, Any]:
    """Give a configuration as plain data, in the words of the run in `folder` where they mean the same.

    So a run begun by an older maestro, whose config.json lacks settings that were added since, can go on.
    """
    plain = config.model_dump(mode="json")
    if not (folder / "config.json").is_file():
        return plain
    saved = read_config(folder)["config"]
    try:
        before = ImitateConfig.model_validate(saved)
    except (pydantic.ValidationError, MaestroError):
        return plain  # which differs, and is refused with what differs
    same = {key for key in plain if getattr(before, key) == getattr(config, key)}
    return {
        key: saved[key] if key in same else value
        for key, value in plain.items()
        if key in saved or key not in same
    }


def own_steps(folder: Path) -> int:
    """Count the labelled steps behind the policy of the run in `folder`, without those of the policy it began with.

    0 where there is no policy yet; raises PolicyFileError for a damaged card.
    """
    if not (folder / POLICY / CARD).is_file():
        return 0
    before = load_card(folder / INIT).steps if (folder / INIT / CARD).is_file() else 0
    return load_card(folder / POLICY).steps - before


def keep(run: Run, imitation: Imitation) -> PolicyCard:
    """Write checkpoint and policy; raises RecordError, and what `save_policy` raises, where that fails."""
    save_checkpoint(run.folder, imitation.state())
    network = PolicyNetwork(
        imitation.config.network, imitation.specs, len(imitation.skills), len(imitation.action_names)
    )
    put_weights(network, imitation.learner.exported_weights())
    with torch.no_grad():
        for parameter in network.logits.parameters():
            parameter /= imitation.config.temperature
    return save_policy(run.folder / POLICY, network, _card(run, imitation))


def save_checkpoint(folder: Path, content: dict[str, Any]) -> None:
    """Write `imitation.pt` and keep the one before; raises RecordError."""
    path, temporary = folder / CHECKPOINT, folder / (CHECKPOINT + ".tmp")
    try:
        with open(temporary, "wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.replace(path, folder / PREVIOUS)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # torch turns some failures of writing into RuntimeError
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise RecordError(
            f"the checkpoint cannot be written: {error}",
            where=str(path),
            hint="free some space and give the same command again: it continues from the last checkpoint",
        ) from error


def load_checkpoint(folder: Path, say: Callable[[str], None] = lambda text: None) -> dict[str, Any] | None:
    """Read the newest whole checkpoint of a run; None where there is none. `say` is told of a broken one passed over.

    Raises CheckpointError where there are some and none can be read: beginning afresh would lose the run.
    """
    problems = []
    for name in (CHECKPOINT, PREVIOUS):
        path = folder / name
        if not path.is_file():
            continue
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            if "learner" in content:
                for problem in problems:
                    say(f"{problem}: it cannot be used and is passed over")
                return content
            problems.append(f"{name} is no checkpoint of an imitation")
        except Exception as error:  # noqa: BLE001 - torch raises anything for a damaged file
            problems.append(f"{name}: {str(error).splitlines()[0][:120]}")
    if problems:
        raise CheckpointError(
            f"no checkpoint can be read ({'; '.join(problems)})",
            where=str(folder),
            expected="at least one whole checkpoint",
            hint="restore one from a copy, or give another --run to begin anew",
        )
    return None


@contextlib.contextmanager
def _kept_when_interrupted(run: Run, imitation: Imitation) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        keep(run, imitation)
        raise


def _card(run: Run, imitation: Imitation) -> dict[str, Any]:
    settings, steps = imitation.config.model_dump(mode="json"), imitation.learner.steps
    method = f"{METHOD} ({steps:,} labelled steps)" if (run.folder / INIT).is_dir() else METHOD
    return {
        **imitation.description,
        "world_options": action_options(imitation.config.games),
        **chained(run.folder, method, "imitation", settings, steps, _curve(run)),
        "made_with": versions(),
    }


def _curve(run: Run) -> list[dict[str, Any]]:
    """Thin the records out to what a card needs."""
    records: list[dict[str, Any]] = []
    for record in run.read_records(METRICS):
        while records and records[-1]["steps"] >= record["steps"]:  # lost to a kill, and taken again
            records.pop()
        records.append(record)
    stride = -(-len(records) // _CURVE_POINTS) or 1
    return [
        {
            "steps": record["steps"],
            "loss": round(record["loss"], 4),
            "agreement": round(record["agreement"], 4),
            "agreement_of": {skill: round(value, 4) for skill, value in record["agreement_of"].items()},
        }
        for record in records[::stride]
    ]
