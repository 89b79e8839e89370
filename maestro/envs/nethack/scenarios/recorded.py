"""Moments of real games, recorded with the reference skills, to try initiation and termination functions on."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from maestro.envs.nethack.state import STATE_VERSION, State
from maestro.envs.scenario.session import state_from_json, state_to_json
from maestro.errors import WorldError

_FILE = "recorded_states.json.gz"


class Moment(NamedTuple):
    """One moment of a game while a skill ran."""

    state: State
    start: State
    """The state in which the running skill had begun."""
    skill: str
    """The running skill."""
    startable: frozenset[str]
    """The skills that could start in `state`, by the initiations shipped when this was recorded."""
    ends: bool
    """Whether the skill ended here, by the termination shipped when this was recorded or by its limit."""


@functools.cache
def recorded_moments() -> tuple[Moment, ...]:
    """Read the moments that ship with maestro.

    Raises WorldError when they were recorded with another version of State.
    """
    return _read()[0]


def recorded_provenance() -> dict[str, Any]:
    """Say how the shipped moments came about."""
    return dict(_read()[1])


def write_moments(path: Path, moments: Iterable[Moment], provenance: dict[str, Any]) -> None:
    """Write moments compactly: every state once, as a row of values in the order of State's fields."""
    numbers: dict[State, int] = {}
    rows = []
    for moment in moments:
        state, start = (numbers.setdefault(each, len(numbers)) for each in (moment.state, moment.start))
        rows.append([state, start, moment.skill, sorted(moment.startable), moment.ends])
    document = {
        "provenance": provenance,
        "fields": State._fields,
        "states": [list(state_to_json(state).values()) for state in numbers],
        "moments": rows,
    }
    text = json.dumps(document, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


@functools.cache
def _read() -> tuple[tuple[Moment, ...], dict[str, Any]]:
    packed = resources.files("maestro.envs.nethack.scenarios").joinpath(_FILE).read_bytes()
    document = json.loads(gzip.decompress(packed))
    provenance = document["provenance"]
    if provenance["state_version"] != STATE_VERSION or tuple(document["fields"]) != State._fields:
        raise WorldError(
            f"the recorded states are of State version {provenance['state_version']}",
            where=_FILE,
            expected=f"version {STATE_VERSION} and the same fields",
            hint=f"record them again with {provenance['made_by']}",
        )
    states = [
        state_from_json(State, dict(zip(State._fields, row, strict=True))) for row in document["states"]
    ]
    moments = tuple(
        Moment(states[state], states[start], skill, frozenset(startable), ends)
        for state, start, skill, startable, ends in document["moments"]
    )
    return moments, provenance
