"""`maestro watch`: under a real pseudo-terminal, as a trace, as a cast, as a check, and with bad input."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from maestro.cli import main
from maestro.content import shipped_root
from maestro.evaluation.episode import read_episode
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.store import EvaluationRun

ROOT = shipped_root()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watch") / "run"
    given = Setup("locked_door", "random", 0, 4, (ROOT,))
    with EvaluationRun(given, 8, folder) as run:
        for outcome in play_here(given, range(8)):
            run.add(outcome)
    return folder


class Terminal:
    """`maestro watch` in a pseudo-terminal of a given size."""

    def __init__(self, columns: int, rows: int, *arguments: str) -> None:
        self.fd, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "maestro", "watch", *arguments],
            cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environment | {"TERM": "xterm-256color"},
            start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0) and None,
        )  # fmt: skip
        self.seen = ""

    def until(self, text: str, timeout_s: float = 30.0) -> str:
        """Read until `text` has appeared since the last key."""
        deadline = time.monotonic() + timeout_s
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen[-2000:]!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    raw = os.read(self.fd, 65536).decode(errors="replace")
                except OSError:  # the other end is closed
                    raw = ""
                self.seen += re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", raw)
            assert self.process.poll() is None or text in self.seen, f"it ended: {self.seen[-2000:]!r}"
        return self.seen

    def press(self, key: str) -> None:
        self.seen = ""
        os.write(self.fd, key.encode())

    def end(self) -> int:
        code = self.process.wait(30)
        assert termios.tcgetattr(self.theirs) == self.before, "the terminal's settings were not put back"
        os.close(self.fd)
        os.close(self.theirs)
        return code


@pytest.mark.parametrize(("columns", "rows"), [(120, 30), (80, 24), (60, 24)])
def test_a_terminal_shows_the_episode_and_obeys_keys(columns: int, rows: int, run_folder: Path):
    terminal = Terminal(columns, rows, str(run_folder), "1", "--speed", "0.5")
    terminal.until("q quit")
    terminal.press(" ")
    at = int(re.findall(r"step (\d+)/", terminal.until("paused"))[-1])  # a slow machine may be past the start
    terminal.press(".")
    terminal.until(f"step {at + 1}/")
    terminal.until("keyfinder")
    terminal.until("@")
    terminal.press("\x1b[C")
    terminal.until(f"step {at + 2}/")
    terminal.press(",")
    terminal.until(f"step {at + 1}/")
    terminal.press("n")
    terminal.until("for 0 steps")
    terminal.press("+")
    terminal.press(" ")
    terminal.until("1 steps/s")
    terminal.press("q")
    assert terminal.end() == 0


def test_an_episode_plays_by_itself_to_its_end(run_folder: Path):
    terminal = Terminal(100, 40, str(run_folder), "1", "--speed", "500")
    terminal.until("step 100/100")
    terminal.press("q")
    assert terminal.end() == 0


def test_ctrl_c_leaves_the_terminal_as_it_was(run_folder: Path):
    terminal = Terminal(100, 30, str(run_folder), "1", "--speed", "1")
    terminal.until("q quit")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130


def test_without_a_terminal_it_prints_a_trace(run_folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["watch", str(run_folder / "episodes" / "1.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("locked_door, episode 1 (")
    assert lines[1] == "------  keyfinder"
    assert re.match(r" +1  (west|east|open|wait) +\w", lines[2])
    assert any("[keys 0 to 1]" in line for line in lines)
    assert any(line.startswith("------  eastwalker, because keyfinder ended: terminated") for line in lines)
    assert "bit for bit" in lines[-1]


def test_a_folder_without_a_number_shows_its_first_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    given = Setup("locked_door", "reference", 0, 4, (ROOT,))
    with EvaluationRun(given, 3, tmp_path / "run") as run:
        for outcome in play_here(given, [1, 2]):
            run.add(outcome)
    assert main(["watch", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.startswith("locked_door, episode 1 (success)")


def test_check_says_whether_it_is_the_same_game(run_folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["watch", str(run_folder), "2", "--check"]) == 0
    assert "bit for bit" in capsys.readouterr().out


def test_check_notices_a_forgery(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = read_episode(run_folder / "episodes" / "2.npz")
    forged = file._replace(record=file.record.model_copy(update={"turns": 9999}))
    (tmp_path / "2.npz").write_bytes(forged.to_bytes())
    assert main(["watch", str(tmp_path / "2.npz"), "--check"]) == 1
    assert "turns: recorded 9999" in capsys.readouterr().out


def test_a_cast_is_written(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["watch", str(run_folder), "1", "--cast", str(tmp_path / "a.cast")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "a.cast").read_text().splitlines()]
    assert lines[0]["version"] == 2
    assert any(line[1] == "m" for line in lines[1:])
    assert "100 steps" in capsys.readouterr().out


def test_a_picture_is_written(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["watch", str(run_folder), "1", "--picture", str(tmp_path / "a.svg"), "--at", "40"]) == 0
    assert "step 40 of" in capsys.readouterr().out
    assert "step 40 of 100" in (tmp_path / "a.svg").read_text()


def test_a_picture_of_a_game_that_goes_otherwise_now_is_no_success(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    recorded = read_episode(run_folder / "episodes" / "1.npz")
    seeds = recorded.record.seeds._replace(core=recorded.record.seeds.core + 1)
    other = recorded._replace(record=recorded.record.model_copy(update={"seeds": seeds}))
    (tmp_path / "1.npz").write_bytes(other.to_bytes())
    picture = tmp_path / "a.svg"
    assert main(["watch", str(tmp_path / "1.npz"), "--picture", str(picture), "--at", "1"]) == 1
    assert "this replay differs from the record" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["{run}", "1", "--picture", "/nowhere/a.svg"], "/nowhere/a.svg: cannot be written"),
        (["{run}", "1", "--picture", "/tmp/a.svg", "--at", "101"], "--at: the value is 101"),
        (["{run}", "99"], "there is no such episode file"),
        (["{run}/episodes"], "there are no episodes in this folder"),
        (["/nowhere/1.npz"], "there is no such episode file"),
        (["{run}/config.json"], "this is no episode file"),
        (["{run}", "1", "--speed", "0"], "--speed: the value is 0"),
        (["{run}", "1", "--cast", "/nowhere/a.cast"], "/nowhere/a.cast: cannot be written"),
    ],
)
def test_bad_input_is_answered(
    arguments: list[str], text: str, run_folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["watch", *(word.replace("{run}", str(run_folder)) for word in arguments)]) == 1
    err = capsys.readouterr().err
    assert text in err
    assert "Traceback" not in err
