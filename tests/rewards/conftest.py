"""A small dataset of NetHack transitions and rule verdicts on it, made once."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import pytest

from maestro.content import Content
from maestro.preferences.job import Annotation, Job
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import Transition, TransitionWriter
from maestro.rewards.threads import one_thread

THINGS = ("dagger", "newt corpse", "scroll", "gem", "ring", "sling", "apple", "egg")
SAYINGS = (
    "You sold a {} for 12 gold pieces.",
    "Asidonhopo offers 7 gold pieces for your {}.",
    "You see here a {}.",
    "For you, good sir; only 20 zorkmids for this {}.",
    "You drop a {}.",
    "The {} is in the way.",
)


@pytest.fixture(autouse=True, scope="session")
def threads():
    """Compute in one thread: several wait for one another where the machine is busy, which takes many times longer."""
    with one_thread():
        yield


class Judged(NamedTuple):
    data: Path
    verdicts: Path


def rows() -> list[Transition]:
    found = []
    for number, (saying, thing, gold) in enumerate(itertools.product(SAYINGS, THINGS, (-1, 0, 1))):
        message = saying.format(thing)
        caption = f'Message: "{message}"\nGold: {gold}'
        found.append(
            Transition(
                "merchant", "", message, 1, 1, 10, 10 + gold, 8, 8, 8, 8, 1, 1, 1, 1, caption,
                "shop" if "gold" in message else "message", number // 40, number, 1, 2, "reference",
            )
        )  # fmt: skip
    return found


def make_judged(folder: Path, skill: str = "merchant", num_pairs: int = 800) -> Judged:
    writer = TransitionWriter(folder / "data", world="nethack", caption_version=1)
    everything = rows()
    for start in (0, 100):
        part = everything[start : start + 100]
        writer.add_shard(part, {"steps": len(part), "episodes": 1, "failed_episodes": 0})
    with (
        JudgementStore(folder / "judgements.sqlite") as store,
        Annotation(Content.find(), Job(skill, folder / "data", num_pairs)) as annotation,
    ):
        annotation.ask(store)
        annotation.conclude(store, folder / "verdicts")
    return Judged(folder / "data", folder / "verdicts" / "verdicts.parquet")


@pytest.fixture(scope="session")
def judged(tmp_path_factory) -> Judged:
    return make_judged(tmp_path_factory.mktemp("judged"))
