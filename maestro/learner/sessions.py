"""What the earlier sessions of a training run were set otherwise: much may change when a run is taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from maestro.learner.config import TrainConfig
from maestro.runs import read_records

SETTINGS = "settings"
"""Records of a run: `from`, the steps at which a session began, beside all its settings."""
_NO_SETTING = ("from", "steps")
"""What a session's record says beside them."""
_NO_MATTER = ("steps", "init", "save_every_s", "keep_checkpoints", "milestone_steps")
"""Settings that change nothing of what is learned."""


def earlier_settings(run: Path, config: TrainConfig, env_steps: int) -> list[dict[str, Any]]:
    """Tell where sessions before `env_steps` were set otherwise than `config`: `from`, `to` and the settings that differ.

    Settings are named with dots, as --config takes them; of a table that was not there, the pull's, None. Empty for a run that was never set otherwise, or does not say.
    """
    records = [record for record in read_records(run / f"{SETTINGS}.jsonl") if record["from"] < env_steps]
    ends = [*(record["from"] for record in records), env_steps][1:]
    final = _flat(config.model_dump(mode="json"))
    told: list[dict[str, Any]] = []
    for record, end in zip(records, ends, strict=True):
        found = _settings_of(record, final)
        changed = {
            key: found.get(key) for key in sorted({*final, *found}) if found.get(key) != final.get(key)
        }
        if not changed or end <= record["from"]:
            continue
        one = {"from": record["from"], "to": end, **changed}
        if told and told[-1] == {**one, "from": told[-1]["from"], "to": one["from"]}:
            told[-1]["to"] = end  # stopped and taken up with the same settings
        else:
            told.append(one)
    return told


def last_settings(run: Path) -> dict[str, Any]:
    """Give the settings of a run's newest session, but for `steps`; empty where there was none."""
    records = read_records(run / f"{SETTINGS}.jsonl")
    return {name: value for name, value in records[-1].items() if name not in _NO_SETTING} if records else {}


def _settings_of(record: dict[str, Any], final: dict[str, Any]) -> dict[str, Any]:
    """Take the settings out of a session's record; what it does not name, because it is older, had its default.

    Of a record that is of another version of maestro what it says counts, and for the rest the `final` settings.
    """
    known = {name: record[name] for name in TrainConfig.model_fields if name in record}
    try:
        return _flat(TrainConfig.model_validate(known).model_dump(mode="json"))
    except ValidationError:
        return final | {key: value for key, value in _flat(known).items() if key in final}


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Name the leaves of nested settings with dots."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        elif prefix or name not in _NO_MATTER:
            found[f"{prefix}{name}"] = value
    return found
