"""Games are the same at any hour and under any moon."""

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.envs.nethack.clock import BIRTHDAY, ORDINARY_DAY, stop_clock
from maestro.envs.nethack.native import ENGINE_PATH
from maestro.errors import EngineError

GAME = """
import ctypes, _ctypes, sys
from maestro.envs import make_world
world = make_world("nethack", 2)
world.seed(0, core=1, disp=1)
world.reset()
for game in world.games[:1]:
    library = ctypes.CDLL(game.instance.library_path)
    print([getattr(library, name)() for name in ("night", "midnight", "friday_13th", "phase_of_the_moon")])
    _ctypes.dlclose(library._handle)
"""
ORIGINAL = """
import ctypes
from maestro.envs.nethack.native import ENGINE_PATH
print(ctypes.CDLL(ENGINE_PATH).night())
"""


def at_every_hour(program):
    """Run a program at the 24 hours of the day, by way of the time zone; every sixth is enough to meet night and day."""
    found = []
    for hours in range(0, 24, 6):
        environment = {**os.environ, "TZ": f"XXX{hours}"}
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment
        )
        assert result.returncode == 0, result.stderr
        found.append(result.stdout)
    return found


def test_the_engine_itself_asks_the_wall_clock():
    assert set(at_every_hour(ORIGINAL)) == {"0\n", "1\n"}


def test_in_a_game_it_is_always_an_ordinary_day():
    assert set(at_every_hour(GAME)) == {"[0, 0, 0, 2]\n"}


def test_only_the_four_functions_change():
    original = Path(ENGINE_PATH).read_bytes()
    patched = stop_clock(original)
    assert len(patched) == len(original)
    changed = [i for i, (a, b) in enumerate(zip(original, patched, strict=True)) if a != b]
    assert 0 < len(changed) <= 8 * len(ORDINARY_DAY)
    assert stop_clock(patched) == patched


def test_the_other_processor_gets_its_own_code():
    original = bytearray(Path(ENGINE_PATH).read_bytes())
    struct.pack_into("<H", original, 18, 183)
    assert struct.pack("<II", 0x52800040, 0xD65F03C0) in stop_clock(bytes(original))  # mov w0, #2; ret


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda library: b"MZ" + library, "no 64-bit ELF"),
        (lambda library: library[:18] + b"\x08\x00" + library[20:], "unknown processor 8"),
        (lambda library: library.replace(b"\0friday_13th\0", b"\0friday_14th\0"), "'friday_13th' is missing"),
    ],
)
def test_another_library_is_refused(damage, message):
    with pytest.raises(EngineError, match=message):
        stop_clock(damage(Path(ENGINE_PATH).read_bytes()))


def test_the_patched_library_can_be_loaded(tmp_path):
    path = tmp_path / "engine.so"
    path.write_bytes(stop_clock(Path(ENGINE_PATH).read_bytes()))
    library = ctypes.CDLL(str(path))
    assert {name: getattr(library, name)() for name in ORDINARY_DAY} == ORDINARY_DAY


def test_every_hero_is_born_at_the_same_moment():
    """Names of shopkeepers follow from the time of birth: another one every 257 seconds."""
    import _ctypes

    from maestro.envs import make_world

    world = make_world("nethack", 2)
    world.reset()
    world.reset([1])
    for game in world.games:
        library = ctypes.CDLL(game.instance.library_path)
        try:
            assert ctypes.c_int64.in_dll(library, "ubirthday").value == BIRTHDAY
        finally:
            _ctypes.dlclose(library._handle)
    world.close()
