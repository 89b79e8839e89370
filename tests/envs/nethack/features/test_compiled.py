"""Where compiled code is kept, and that processes that start together share it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.envs.nethack.features import compiled

_SMALL = """
import sys
from pathlib import Path
from maestro.envs.nethack.features import paper
import numpy as np
copy = np.zeros(256, np.uint8)
print(paper.fill_message(copy, np.frombuffer(b"hello".ljust(256, b"\\0"), np.uint8)))
"""


def start(code: str, cache: Path) -> subprocess.Popen:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_processes_that_start_together_share_a_cache(tmp_path):
    first = [start(_SMALL, tmp_path) for _ in range(3)]
    answers = {process.communicate(timeout=200)[0] for process in first}
    assert len(answers) == 1 and answers.pop().strip().isdigit()
    assert all(process.returncode == 0 for process in first)
    files = {file: file.read_bytes() for file in tmp_path.rglob("*.nb?")}
    assert files
    again = start(_SMALL, tmp_path)
    out, errors = again.communicate(timeout=200)
    assert out.strip().isdigit() and errors == ""
    assert {
        file: file.read_bytes() for file in tmp_path.rglob("*.nb?")
    } == files  # nothing was compiled again


def test_folder_changes_with_the_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled._numba.config, "CACHE_DIR", str(tmp_path))
    one = compiled.cache_folder()
    constants = tmp_path / "other.py"
    constants.write_text("BIT = 1")
    monkeypatch.setattr(compiled, "_CONSTANTS", (*compiled._CONSTANTS, constants))
    two = compiled.cache_folder()
    constants.write_text("BIT = 2")
    three = compiled.cache_folder()
    assert len({one, two, three}) == 3 and {one.parent, two.parent, three.parent} == {tmp_path}


@pytest.mark.parametrize("home_is_writable", [True, False])
def test_folder_where_the_package_cannot_be_written_to(tmp_path, monkeypatch, home_is_writable):
    package, home, temporary = tmp_path / "package", tmp_path / "home", tmp_path / "tmp"
    package.mkdir()
    temporary.mkdir()
    (package / "__pycache__").write_text("a file where the folder should be")
    if home_is_writable:
        home.mkdir()
    else:
        home.write_text("no folder either")
    monkeypatch.setattr(compiled, "_PACKAGE", package)
    monkeypatch.setattr(compiled._numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(temporary))
    folder = compiled.cache_folder()
    assert folder.parent.parent == (home if home_is_writable else temporary)
    assert folder.is_dir() and folder.stat().st_mode & stat.S_IWUSR


@pytest.mark.slow
def test_first_call_with_a_warm_cache_is_fast(tmp_path):
    code = """
import time
from maestro.envs import make_features, make_world
world = make_world("nethack", 1); world.reset()
begun = time.perf_counter()
make_features(world, "compass").begin([0])
print(time.perf_counter() - begun)
"""
    seconds = []
    for _ in range(2):
        out, _ = start(code, tmp_path).communicate(timeout=600)
        seconds.append(float(out.split()[-1]))
    assert seconds[1] < seconds[0] / 4
