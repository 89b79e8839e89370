"""One episode: its seeds, its record (a line of episodes.jsonl) and its file (what it takes to play it again).

`episodes/<number>.npz` holds `actions`, uint8 (T,), and `header`, UTF-8 JSON. Without compression an action is a byte;
with it an episode of 10,000 steps takes a few kilobytes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pydantic
from pydantic import BaseModel, ConfigDict

from maestro.errors import RecordError, suggestion
from maestro.options.accounting import Switch

FILE_VERSION = 1
MEASURED = ("wall_s", "steps_per_s", "attempts")
"""Fields of a record that depend on the machine; all others follow from the seeds."""


class Seeds(NamedTuple):
    """Everything that is random in one episode."""

    core: int
    """The game's own random numbers: levels, fights, items."""
    disp: int
    """NLE's second generator, for what is only shown."""
    policy: int
    """The skill policy's."""
    code: int
    """`random` as the generated code sees it."""


def episode_seeds(seed: int, episode: int) -> Seeds:
    """Derive the seeds of an episode from `--seed` and its number, whatever else is played beside it.

    The task has no part in it: episode 7 of every task starts in the same dungeon, so tasks and policies can be
    compared pair by pair.
    """
    words = np.random.SeedSequence(seed, spawn_key=(episode,)).generate_state(4, np.uint32)
    return Seeds(*(int(word) for word in words))


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ending(_Record):
    """Why an episode ended."""

    by: Literal["success", "missed", "died", "left", "ended", "truncated", "error", "failed"]
    """success, missed: both tests were decided, with or without a success; died; left: the hero left the dungeon
    alive; ended: the world ended it otherwise; truncated: the step budget was used up; error: generated code failed;
    failed: its worker process died again and again, so there is no result."""
    cause: str = ""
    """What killed the hero, or the error; empty where `by` says it all."""


class SkillUse(_Record):
    """What one skill had of an episode; see `maestro.options.accounting.SkillAccount`."""

    activations: int = 0
    steps: int = 0
    turns: int = 0
    refused: int = 0
    """Times it was chosen while it might not start."""
    forced: int = 0
    """Times it ran as the fallback although it might not start."""
    ended: dict[str, int] = {}
    """Reason -> times it ended for that reason."""
    success_is: str | None = None
    """What counted as a success (see `competence`); None where nothing was counted: in records of an older release."""
    reached: dict[str, int] = {}
    """Reason -> times it ended for that reason with success."""


class EpisodeRecord(_Record):
    """One finished episode. Facts the world does not have (experience levels in the corridor) are None."""

    episode: int
    seeds: Seeds
    success: dict[str, float | None]
    """The values of the tests `true` and `compatible`; None where the episode failed."""
    ended: Ending
    steps: int = 0
    turns: int | None = None
    depth: int | None = None
    max_depth: int | None = None
    dungeon: str | None = None
    score: int | None = None
    gold: int | None = None
    experience_level: int | None = None
    kills: int | None = None
    progression: float | None = None
    """BALROG's, in [0, 1]; NetHack only."""
    skills: dict[str, SkillUse] = {}
    checksum: int = 0
    """CRC-32 over rewards and messages of all steps: equal for equal games."""
    wall_s: float = 0.0
    """Seconds from reset to end; games played beside it take their part of them."""
    steps_per_s: float = 0.0
    attempts: int = 1
    """Times it was started: more than 1 after a worker died."""

    def deterministic(self) -> dict[str, Any]:
        """Give what must be equal whenever the episode is played with the same seeds."""
        return self.model_dump(exclude=set(MEASURED))


class EpisodeFile(NamedTuple):
    """All that is needed to play an episode again and to check that it is the same one."""

    target: str
    policy: str
    world: str
    options: dict[str, Any]
    """What the world was made with."""
    action_names: tuple[str, ...]
    actions: np.ndarray
    """uint8 (T,)"""
    switches: list[Switch]
    record: EpisodeRecord
    tests: dict[str, str]
    """Names of the success tests by `true` and `compatible`, to check their values again."""
    versions: dict[str, str | None]
    """What it was played with; another engine may play it differently."""

    def to_bytes(self) -> bytes:
        """Pack for `from_bytes`."""
        columns = list(zip(*self.switches, strict=True))  # columns compress better than rows
        header = self._asdict() | {
            "version": FILE_VERSION,
            "record": self.record.model_dump(),
            "switches": columns,
        }
        del header["actions"]
        packed = np.frombuffer(json.dumps(header, separators=(",", ":")).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, actions=self.actions, header=packed)
        return buffer.getvalue()


_DAMAGED = (ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What comes of reading a file in which bytes were changed."""


def read_episode(path: Path) -> EpisodeFile:
    """Read `episodes/<number>.npz`; raises RecordError for a missing, damaged or foreign file."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            actions, packed = arrays["actions"], arrays["header"]
        header = json.loads(packed.tobytes())
        version = header.pop("version")
        if version != FILE_VERSION:
            raise RecordError(
                f"the episode file has version {version}",
                where=str(path),
                expected=f"version {FILE_VERSION}",
                hint="watch it with the release of maestro that played it",
            )
        header["record"] = EpisodeRecord.model_validate(header["record"])
        header["switches"] = [Switch(*switch) for switch in zip(*header["switches"], strict=True)]
        header["action_names"] = tuple(header["action_names"])
        return EpisodeFile(actions=actions, **header)
    except FileNotFoundError:
        raise RecordError("there is no such episode file", where=str(path), hint=_neighbours(path)) from None
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    except _DAMAGED as error:
        raise RecordError(
            "this is no episode file, or a damaged one",
            where=str(path),
            expected="an .npz file from the episodes folder of a run of `maestro eval`",
        ) from error


def parse_records(lines: list[dict[str, Any]], where: str) -> list[EpisodeRecord]:
    """Check the lines of episodes.jsonl; an episode that is there twice counts once, the first time.

    Raises RecordError, naming `where` and the key, for a line of another shape.
    """
    found: dict[int, EpisodeRecord] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = EpisodeRecord.model_validate(line)
        except pydantic.ValidationError as error:
            fault = error.errors()[0]
            key = ".".join(str(part) for part in fault["loc"])
            raise RecordError(
                f"the record does not fit: {fault['msg']}",
                where=f"{where}: record {number}: {key}",
                hint="delete the line; the episode will be played again",
            ) from None
        found.setdefault(record.episode, record)
    return sorted(found.values(), key=lambda record: record.episode)


def _neighbours(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    names = [other.name for other in path.parent.glob("*.npz")]
    return suggestion(path.name, names) or (f"there are {len(names)} in {path.parent}" if names else None)
