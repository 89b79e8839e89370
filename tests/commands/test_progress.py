"""Progress: what the line says, and how the time left is estimated."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from maestro.commands._progress import EpisodeProgress, duration


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(
    clock: Clock, finished: list[int] | None = None, total: int = 10
) -> tuple[EpisodeProgress, io.StringIO]:
    stream = io.StringIO()
    made = EpisodeProgress(
        "minetown", total, max_steps=10_000, finished_steps=finished or [],
        console=Console(file=stream, force_terminal=False, width=100), clock=clock,
    )  # fmt: skip
    return made, stream


def test_lines_are_plain_and_not_too_many():
    clock = Clock()
    made, stream = progress(clock, total=2)
    with made:
        for _ in range(50):
            clock.now += 1
            made.on_steps(100)
        made.on_episode(4000)
        clock.now += 11
        made.on_steps(1000)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "minetown: 0/2 episodes, starting"
    assert 5 <= len(lines) <= 7
    assert "\x1b" not in stream.getvalue()
    assert lines[1] == "minetown: 0/2 episodes, 100 steps/s, 11 s so far, at most 3 min left"
    assert lines[-1] == "minetown: 1/2 episodes, 98 steps/s, 61 s so far, about 61 s left"


def test_episodes_of_earlier_sessions_count_but_not_for_the_speed():
    clock = Clock()
    made, _ = progress(clock, finished=[100] * 8)
    assert made.time_left_s() is None
    clock.now += 10
    made.on_steps(100)
    assert made.steps_per_s == 10
    assert made.time_left_s() == pytest.approx(2 * (900 / 8) / 10)


def test_the_time_left_is_bounded_by_the_step_budget():
    clock = Clock()
    made, _ = progress(clock, finished=[9_000] * 9)
    clock.now += 10
    made.on_steps(9_500)
    assert made.time_left_s() == pytest.approx(500 / 950)


def test_a_terminal_gets_a_bar():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    with EpisodeProgress("minetown", 2, max_steps=10, finished_steps=[], console=console) as made:
        made.on_steps(5)
        made.on_episode(5)
    assert "minetown" in stream.getvalue()
    assert "1/2" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (7500, "2 h 05 min")]
)
def test_times_are_written_as_people_do(seconds: float, text: str):
    assert duration(seconds) == text


def test_what_starting_takes_is_no_measure_of_the_time_left():
    clock = Clock()
    made, _ = progress(clock)
    clock.now += 30
    made.on_steps(500)
    assert made.time_left_s() is None
    made.on_steps(500)
    assert made.time_left_s() is not None
