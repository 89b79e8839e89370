"""`maestro bench env` measures real play and says so in numbers that can be compared."""

from __future__ import annotations

import json

import pytest

from maestro.cli import main


def measured(capsys, *arguments: str) -> dict:
    assert main(["bench", "env", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_figures_are_those_of_real_play(capsys):
    figures = measured(capsys, "--games", "4", "--steps", "800", "--repeats", "2")
    assert figures["steps"] == 1_600
    assert figures["turns"] > 80  # keys reach the game: its clock moves
    assert figures["num_games"] == 4
    low, high = figures["steps_per_s_range"]
    assert 0 < low <= figures["steps_per_s"] <= high
    assert figures["yardstick_ratio"] > 0
    assert figures["executive_us"] > 0
    assert figures["mb_per_game"] < 12


@pytest.mark.parametrize(
    "arguments", [("--games", "0"), ("--repeats", "0"), ("--games", "16", "--steps", "100")]
)
def test_sizes_that_measure_nothing_are_refused(capsys, arguments):
    assert main(["bench", "env", *arguments]) == 1
    assert "Expected: at least" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("env --seed -1", "--seed is -1"),
        ("counters --seed -1", "--seed is -1"),
        ("sampling --processes 0", "--processes: the value is 0"),
        ("sampling --seconds nan", "--seconds: the value is nan"),
        ("training --seconds inf", "--seconds: the value is inf"),
        ("training --seconds -1", "--seconds: the value is -1"),
        ("fit --skill nope", "nope"),
        ("fit --device tpu:9", "tpu:9"),
    ],
)
def test_what_no_benchmark_can_measure_is_refused_at_once(capsys, words, said):
    assert main(["bench", *words.split()]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_world_keeps_up_with_bare_nethack(capsys):
    """0.9 is promised (docs/benchmarks.md); a little is left to machines that do other things meanwhile."""
    assert measured(capsys)["yardstick_ratio"] > 0.8
