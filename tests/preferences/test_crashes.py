"""Kill collecting and annotating at random moments, again and again: what comes out is what an unbroken run gives."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maestro.preferences.store import JudgementStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
COLLECT_KILLS, ANNOTATE_KILLS, STARTING_KILLS = 8, 25, 4
"""Deaths that each command has to survive; those of annotating come while it asks, or while it starts."""


def start(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start `maestro ...` with its runs in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-m", "maestro", *arguments],
        env={**os.environ, "MAESTRO_RUNS": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run_and_kill(arguments: list[str], folder: Path, after: float | None) -> int | None:
    """Run `maestro ...`; kill it `after` seconds (None: let it end). Returns its exit code, None if killed."""
    process = start(arguments, folder)
    try:
        _, said = process.communicate(timeout=after)
        assert process.returncode == 0, said.decode()[-800:]
        return process.returncode
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def kill_at_work(arguments: list[str], folder: Path, server, after: float) -> None:
    """Kill `maestro annotate` `after` seconds from its first question on."""
    before = len(server.counts())
    process = start(arguments, folder)
    deadline = time.monotonic() + 180
    try:
        while len(server.counts()) <= before:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline, "it asked nothing"
            time.sleep(0.01)
        time.sleep(after)
        assert process.poll() is None, "it ended before it could be killed"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_collecting_survives_being_killed(tmp_path, workers):
    arguments = ["collect", "--skill", "keyfinder", "--steps", "24000", "--config", f"workers={workers}"]
    started = time.monotonic()
    assert run_and_kill(arguments, tmp_path / "whole", None) == 0
    whole_s = time.monotonic() - started
    chance, killed = random.Random(int(workers)), 0
    for _ in range(COLLECT_KILLS):
        killed += run_and_kill(arguments, tmp_path / "broken", chance.uniform(0.05, 0.5) * whole_s) is None
    assert killed >= 2  # a machine that other work has left ends the later ones before they can be killed
    assert run_and_kill(arguments, tmp_path / "broken", None) == 0
    names = sorted(path.name for path in (tmp_path / "whole" / "collect-corridor").glob("*.parquet"))
    assert len(names) > 5
    for name in names:
        one, two = (tmp_path / run / "collect-corridor" / name for run in ("whole", "broken"))
        assert one.read_bytes() == two.read_bytes(), name


def test_annotating_survives_being_killed(tmp_path, judge, helpers):
    data = helpers.write_dataset(tmp_path / "data", helpers.mixed_rows(400))
    (tmp_path / "settings.toml").write_text("[llm_settings]\nmax_in_flight = 8\n")

    def arguments(spec: str) -> list[str]:
        options = ["--config", str(tmp_path / "settings.toml"), f"data={data}", "pairs=1500"]
        return ["annotate", "--skill", "descender", "--annotator", "llm", "--llm", spec, *options]

    calm = judge()
    assert run_and_kill(arguments(calm.spec), tmp_path / "whole", None) == 0
    server = judge("--delay", "0.05")
    chance, killed = random.Random(7), ANNOTATE_KILLS
    for _ in range(STARTING_KILLS):
        run_and_kill(arguments(server.spec), tmp_path / "broken", chance.uniform(0.1, 1.5))
    for _ in range(killed):
        kill_at_work(arguments(server.spec), tmp_path / "broken", server, chance.uniform(0.0, 0.5))
    assert run_and_kill(arguments(server.spec), tmp_path / "broken", None) == 0
    verdicts = [tmp_path / run / "annotate-descender-m" / "verdicts.parquet" for run in ("whole", "broken")]
    assert verdicts[0].read_bytes() == verdicts[1].read_bytes()
    counts = server.counts()
    with JudgementStore(tmp_path / "broken" / "judgements.sqlite") as store:
        answers = store.count()
    canaries = max(counts.values())
    asked_again = sum(count - 1 for count in counts.values()) - (canaries - 1)
    # Only what was under way, or had just come in, when the process died can have been asked before: no answer that
    # was counted. There are 8 questions in flight, and as many again between the model's thread and the store.
    assert 0 <= asked_again <= 16 * (killed + STARTING_KILLS)
    assert len(counts) - 1 == answers
