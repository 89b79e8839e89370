"""What the tests of preferences share: small datasets, and a server that judges."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.preferences.transitions import Transition, TransitionWriter

SERVER = Path(__file__).with_name("judge_server.py")


def make_row(number: int = 0, **fields: Any) -> Transition:
    """Make a row in which nothing happened, but for `fields`; its caption depends on them and on `number`."""
    values: dict[str, Any] = {
        "skill": "descender", "previous_message": "", "message": f"You see {number}.",
        **{f"{name}_{when}": value for name, value in
           (("depth", 1), ("gold", 0), ("hp", 10), ("max_hp", 10), ("experience_level", 1), ("hunger", 1))
           for when in ("before", "after")},
        "stratum": "message", "episode": 0, "step": number, "seed_core": 1, "seed_disp": 2**32 - 1,
        "source": "reference", **fields,
    }  # fmt: skip
    depth = "same"
    if values["depth_before"] != values["depth_after"]:
        depth = f"down from {values['depth_before']} to {values['depth_after']}"
    caption = f'Messages: "{values["previous_message"]}" then "{values["message"]}"\nDungeon level: {depth}\nGold: same'
    return Transition(**{"caption": caption, **values})


def write_dataset(folder: Path, rows: list[Transition], world: str = "nethack") -> Path:
    """Write rows as a dataset of one shard."""
    writer = TransitionWriter(folder, world=world, caption_version=1)
    writer.add_shard(rows, {"steps": len(rows), "episodes": 1})
    writer.write_card()
    return folder


def mixed_rows(count: int) -> list[Transition]:
    """Make rows of different captions, lengths and strata; every seventh gets deeper."""
    return [
        make_row(
            number,
            message=f"You see {number}{' and more' * (number % 5)}.",
            depth_after=2 if number % 7 == 0 else 1,
            stratum="stairs_down" if number % 7 == 0 else "message",
        )
        for number in range(count)
    ]


class JudgeServer:
    """judge_server.py, running."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, str(SERVER), *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def spec(self) -> str:
        return f"openai:m@http://127.0.0.1:{self.port}/v1"

    def counts(self) -> dict[str, int]:
        """Ask how often each question was asked, the canary left out."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/counts") as answer:
            return json.load(answer)

    def close(self) -> None:
        """End it."""
        self._process.communicate("")


@pytest.fixture
def judge() -> Iterator[Callable[..., JudgeServer]]:
    """Start judging servers that end with the test."""
    running: list[JudgeServer] = []

    def start(*options: str) -> JudgeServer:
        running.append(JudgeServer(*options))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset of 60 rows."""
    return write_dataset(tmp_path / "data", mixed_rows(60))


@pytest.fixture
def helpers() -> Any:
    """This module: `helpers.make_row(...)`."""
    return sys.modules[__name__]
