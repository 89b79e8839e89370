"""The folder of one evaluated task: which episodes are there, which are missing, and what makes it the same evaluation.

    <run>/config.json           what the results depend on (see `identity`)
    <run>/episodes.jsonl        one record an episode, in the order they ended
    <run>/episodes/<n>.npz      what it takes to play episode n again
    <run>/summary.json          the figures
    <run>/report.html           the same to look at

A run may be killed at any point; what it had recorded counts, and only the rest is played when it is opened again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from maestro.content import Content
from maestro.errors import RecordError
from maestro.evaluation.episode import EpisodeFile, EpisodeRecord, parse_records, read_episode
from maestro.evaluation.games import Setup, engine_versions, source_digest, world_sources
from maestro.evaluation.play import Outcome
from maestro.evaluation.policies import TRAINED, is_trained, policy_identity
from maestro.runs import Run, read_records, runs_root

RECORDS = "episodes"
POLICY_SOURCES = (
    *(f"learner/{name}.py" for name in ("trained", "network", "encoders", "recurrent", "skill_view")),
    "rewards/model.py",
)
"""What of maestro a trained policy's actions depend on."""
MAY_DIFFER = ("episodes", "workers", "policy")
"""Settings that change no episode's result: more episodes or workers continue the same evaluation."""


def identity(setup: Setup) -> dict[str, Any]:
    """Collect everything an episode's result depends on besides its number, flat, hashes in place of texts.

    Raises the MaestroError of an unknown task or policy, or of content that cannot be read.
    """
    task = setup.task()
    content = Content(setup.roots)
    found: dict[str, Any] = {
        "target": setup.target,
        "policy": setup.policy,
        "policy_identity": policy_identity(setup.policy, task.spec.world, content),
        "seed": setup.seed,
        "world": task.spec.world,
        "max_steps": task.spec.max_steps,
        "fallback": task.spec.fallback,
        "success.true": task.spec.success.true,
        "success.compatible": task.spec.success.compatible,
        f"meta_policies/{task.name}/policy.py": _hash(task.policy_path),
        "code": source_digest("options", "evaluation/games.py", *world_sources(task.spec.world)),
        **engine_versions(task.spec.world),
    }
    if is_trained(setup.policy):
        found["policy_code"] = source_digest(*POLICY_SOURCES)
        found["torch"] = metadata.version(
            "torch"
        )  # its products are rounded otherwise from version to version
    if setup.code_seed is not None:
        found["code_seed"] = setup.code_seed
    for name, skill in content.skills(task.spec.world).items():
        found[f"skills/{name}/initiation.py"] = _hash(skill.initiation_path)
        found[f"skills/{name}/termination.py"] = _hash(skill.termination_path)
        found[f"skills/{name}.max_turns"] = skill.spec.max_turns
        found[f"skills/{name}.max_steps"] = skill.spec.max_steps
    return found


def default_folder(setup: Setup, config: dict[str, Any]) -> Path:
    """Name the folder of an evaluation after what it depends on: the same command finds it again, a changed one not.

    What a policy is counts, and not how its path was spelled.
    """
    depends = {key: value for key, value in config.items() if key != "policy"}
    digest = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:8]
    policy = TRAINED if is_trained(setup.policy) else Path(setup.policy).stem
    return runs_root() / f"eval-{setup.target}-{policy}-{digest}"


class EvaluationRun:
    """One task's evaluation on the disk; a context manager. Only this process writes it."""

    def __init__(self, setup: Setup, num_episodes: int, folder: Path | None = None) -> None:
        """Make `folder` (or the default one), or continue it.

        Raises RunError where it cannot be written, is being written, or belongs to another configuration (the
        message names the first key that differs), and RecordError for damaged records.
        """
        config = identity(setup)
        path = (folder or default_folder(setup, config)).absolute()
        self.num_episodes = num_episodes
        self.run = Run(
            path.name, config=config | {"episodes": num_episodes}, root=path.parent, may_differ=MAY_DIFFER
        )
        try:
            self._records = read_run_records(self.run.folder)
        except RecordError:
            self.run.close()
            raise
        self.folder = self.run.folder

    def __enter__(self) -> EvaluationRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.run.close()

    @property
    def records(self) -> list[EpisodeRecord]:
        """List the finished episodes below `num_episodes`, in the order of their numbers."""
        wanted = (record for record in self._records.values() if record.episode < self.num_episodes)
        return sorted(wanted, key=lambda record: record.episode)

    @property
    def missing(self) -> list[int]:
        """List the numbers of the episodes that have no record yet."""
        return [number for number in range(self.num_episodes) if number not in self._records]

    def add(self, outcome: Outcome) -> None:
        """Write an episode's file, then its record; a kill between the two only means it is played again."""
        record = outcome.record
        if outcome.file is not None:
            self._write_file(episode_path(self.folder, record.episode), outcome.file.to_bytes())
        self.run.append_record(RECORDS, record.model_dump())
        self._records[record.episode] = record

    def reload(self) -> None:
        """Read the records again: an interrupt may have struck between writing one and taking note of it."""
        self._records = read_run_records(self.folder)

    def read_file(self, episode: int) -> EpisodeFile:
        """Read an episode's file; raises RecordError."""
        return read_episode(episode_path(self.folder, episode))

    def _write_file(self, path: Path, content: bytes) -> None:
        self.run.path("episodes", path.name)
        temporary = path.with_suffix(".tmp")
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise RecordError(
                f"cannot be written: {error.strerror or error}", where=str(path),
                hint="free some space or mend the permissions, then give the same command again: it continues",
            ) from error  # fmt: skip


def episode_path(folder: Path, episode: int) -> Path:
    """Locate an episode's file in its run folder."""
    return folder / "episodes" / f"{episode}.npz"


def read_run_records(folder: Path) -> dict[int, EpisodeRecord]:
    """Read a run folder's records by their episode; raises RecordError."""
    path = folder / f"{RECORDS}.jsonl"
    return {record.episode: record for record in parse_records(read_records(path), str(path))}


def _hash(path: Path) -> str | None:
    """Hash a content file; None for one that is missing, which the loader will complain about."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None
