"""Let a candidate for a task's policy play real games with the reference skills, and keep the best of several."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from codegen.repair import Candidate, Checked
from maestro.commands._codegen.jobs import Job
from maestro.content import Content
from maestro.evaluation.episode import EpisodeRecord
from maestro.evaluation.games import Setup
from maestro.evaluation.play import Workers, play_here
from maestro.options.load import VALIDATOR_VERSION, state_version
from maestro.options.provenance import sign

AUTHOR = "a candidate of maestro codegen"
GAMES_PER_WORKER = 4
TOY_WORLD = "corridor"


@dataclass
class RealGames:
    """Plays `num_games` for every candidate. The first with full success ends the search; of others the best is kept.

    A candidate is judged by the task's `true` test, then by its `compatible` one.
    """

    job: Job
    content: Content
    num_games: int
    improve: bool
    """Whether the model shall try again where a candidate succeeds in some games only."""
    say: Callable[[str], None]
    best: Candidate | None = None
    best_score: tuple[float, float] = (-1.0, -1.0)
    scores: list[float] = field(default_factory=list)

    def __call__(self, candidate: Candidate) -> Checked:
        """Play and judge: the check of `codegen.repair`."""
        records = self._play(candidate)
        text = summary(records)
        self.say(f"real games: {text.splitlines()[0]}")
        errors = Counter(record.ended.cause for record in records if record.ended.by in ("error", "failed"))
        if errors:
            problems = [
                f"in {count} of {len(records)} real games: {cause}" for cause, count in errors.items()
            ]
            return Checked(tuple(problems), text)
        score = _mean(records, "true"), _mean(records, "compatible")
        self.scores.append(score[0])
        if score > self.best_score:
            self.best, self.best_score = candidate, score
        if score[0] >= 1.0 or not self.improve:
            return Checked((), text)
        problem = (
            f"in {len(records)} real games with skills written by hand the task's success was {score[0]:.2f} on average; "
            "what happened is below. Find what kept the other games from success, and whether another choice would "
            "have helped. Of all versions the best one is kept, so nothing is lost by a change."
        )
        return Checked((problem,), text)

    def _play(self, candidate: Candidate) -> list[EpisodeRecord]:
        """Play in a content folder of their own, so that nothing of the user's is touched before it is good."""
        with tempfile.TemporaryDirectory(prefix="maestro-codegen-") as place:
            folder = Path(place) / "meta_policies" / self.job.item.name
            folder.mkdir(parents=True)
            shutil.copy(self.job.item.folder / "task.toml", folder)
            (folder / self.job.file_name).write_text(candidate.source, encoding="utf-8")
            sign(
                folder, author=AUTHOR, state_version=state_version(self.job.world),
                validator_version=VALIDATOR_VERSION, skills=self.job.contract.skills,
            )  # fmt: skip
            setup = Setup(
                self.job.item.name, "reference", 0, GAMES_PER_WORKER, (Path(place), *self.content.roots)
            )
            return sorted(self._records(setup), key=lambda record: record.episode)

    def _records(self, setup: Setup) -> list[EpisodeRecord]:
        episodes = list(range(self.num_games))
        num_workers = min(len(os.sched_getaffinity(0)), -(-self.num_games // GAMES_PER_WORKER))
        if self.job.world == TOY_WORLD or num_workers == 1:
            return [outcome.record for outcome in play_here(setup, episodes)]
        with Workers(setup, num_workers) as workers:
            return [outcome.record for outcome in workers.play(episodes)]


def summary(records: list[EpisodeRecord]) -> str:
    """Say how games went: success, endings, where the hero came to, what the skills did, one line a game."""
    lines = [
        f"success {_mean(records, 'true'):.2f} (as the published code counts: {_mean(records, 'compatible'):.2f}) "
        f"on average of {len(records)} games"
    ]
    for record in records:
        total = max(1, record.steps)
        shares = ", ".join(
            f"{name} {use.steps / total:.0%}" for name, use in record.skills.items() if use.steps
        )
        facts = [
            f"success {(record.success.get('true') or 0.0):g}",
            f"ended: {' '.join(part for part in (record.ended.by, record.ended.cause) if part)}",
            f"after {record.steps} steps",
        ]
        for name in ("depth", "max_depth", "dungeon", "experience_level", "kills", "gold"):
            value = getattr(record, name, None)
            facts += [f"{name} {value}"] if value is not None else []
        lines.append(f"game {record.episode + 1}: {', '.join(facts)}; time: {shares or 'none'}")
    return "\n".join(lines)


def _mean(records: list[EpisodeRecord], test: str) -> float:
    return sum(record.success.get(test) or 0.0 for record in records) / max(1, len(records))
