"""A fit that is killed, wherever that may be, ends as if it had not been."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.rewards.files import load_card, load_reward, weights_name


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_fit_that_was_killed_many_times_ends_with_the_same_weights(judged, tmp_path, seed):
    script = Path(__file__).with_name("killed_fits.py")
    command = [sys.executable, str(script), str(judged.data), str(judged.verdicts), str(tmp_path), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2_000:]
    kills = json.loads(done.stdout)["kills"]
    assert sum(not ended for _, ended in kills) >= 8
    whole, cut = load_card(tmp_path / "whole"), load_card(tmp_path / "cut")
    assert cut.weights_sha256 == whole.weights_sha256
    assert cut == whole  # curve, scale, threshold and figures too
    load_reward(tmp_path / "cut")
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["card.json", weights_name(cut)]
