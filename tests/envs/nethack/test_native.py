"""Without nle, or with another version of it, the fault is named and so is the way out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from maestro.envs.nethack import make_world, native
from maestro.errors import DependencyError

_WITHOUT_NLE = """
import sys
sys.modules["nle"] = None
from maestro.cli import main
sys.exit(main({arguments!r}))
"""


def without_nle(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = _WITHOUT_NLE.format(arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_nethack_without_nle_says_how_to_get_it(tmp_path):
    done = without_nle("eval", "--target", "gnomish", "--episodes", "1", "--run", str(tmp_path / "run"))
    assert done.returncode == 1
    assert "nle" in done.stderr and "pip install nle==1.0.0" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_corridor_plays_without_nle(tmp_path):
    done = without_nle("eval", "--target", "locked_door", "--episodes", "2", "--run", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(native.metadata, "version", lambda name: "0.9.0")
    with pytest.raises(DependencyError, match=r"nle 0.9.0 is installed.*pip install nle==1.0.0"):
        make_world(1)
