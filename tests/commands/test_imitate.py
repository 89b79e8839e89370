"""`maestro imitate`, as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from maestro.cli import main
from maestro.commands import imitate
from maestro.learner.imitate import Imitation

FAST = ["--config", "games.num_games=8", "games.pay.intrinsic_scale=0", "kept=2", "network.core_size=16"]


def test_a_policy_is_made_and_shown(tmp_path, capsys):
    run = tmp_path / "mine"
    assert main(["imitate", "--world", "corridor", "--steps", "1e3", "--run", str(run), *FAST]) == 0
    shown = capsys.readouterr()
    assert "keyfinder" in shown.out and f"--target locked_door --policy {run}/policy" in shown.out
    assert "1,000 steps of the reference policy in corridor" in shown.err
    assert (run / "policy" / "card.json").is_file()
    assert main(["imitate", "--world", "corridor", "--steps", "1e3", "--run", str(run), "--json", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"policy": f"{run}/policy", "steps": 1_024, "complete": True, "last": None}
    assert main(["imitate", "--world", "corridor", "--run", str(run), "--seed", "1", *FAST]) == 1
    assert "another" in capsys.readouterr().err


def test_the_example_of_the_corridor_fits_together():
    """The command in the help text needs no reward models, which the corridor's skills do not have."""
    (line,) = [line for line in (imitate.__doc__ or "").splitlines() if "--world corridor" in line]
    words = line.split()
    settings = imitate.read_imitate_settings(
        imitate.Config(world="corridor", steps=512, config=tuple(words[words.index("--config") + 1 :]))
    )
    with Imitation(settings) as imitation:
        imitation.step()
        assert imitation.learner.steps == 16 * settings.sequence


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "0"], "a whole number above 0"),
        (["--steps", "1.5"], "a whole number above 0"),
        (["--preset", "huge"], "one of paper, small, gpu"),
        (["--world", "moon"], "unknown world 'moon'"),
        (["--workers", "0"], "workers"),
        (["--workers", "99999"], "processors for 99999 workers"),
        (["--config", "learning_rat=1"], "learning_rate"),
        (["--config", "games.num_games=0"], "num_games"),
        (["--config", "sequence=1"], "sequence"),
        (["--config", "device=cuda:7"], "cuda:7"),
        (["--steps", "inf"], "--steps: the value is inf"),
        (["--config", "value_coefficient=inf"], "value_coefficient: the value is inf"),
        (["--workers", "1", "--config", "blocks=2"], "no more blocks than workers"),
        (["--config", "kept=0"], "too few blocks are kept"),
        (["--config", "games.features=smell"], "smell"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_played(tmp_path, capsys, words, told):
    assert main(["imitate", "--run", str(tmp_path / "run"), *words]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.timeout(300)
@pytest.mark.parametrize("later", [0.5, 2.0])
def test_ctrl_c_while_it_starts_is_answered_in_one_line(tmp_path, later):
    """It reaches all processes of the group at once, those too that still import what they need."""
    words = [
        "imitate",
        "--world",
        "corridor",
        "--workers",
        "2",
        "--steps",
        "1e7",
        "--json",
        "--run",
        str(tmp_path / "run"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro", *words, *FAST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while "steps of the reference policy" not in (line := process.stderr.readline()):
        assert line, "it ended before it began"
    time.sleep(later)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out)["complete"] is False
    assert "Traceback" not in err and "KeyboardInterrupt" not in err
