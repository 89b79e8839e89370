"""Watch an episode of an evaluation in the terminal, or write it as an asciicast or a picture.

    maestro watch runs/eval-minetown-reference-1a2b3c4d 7
    maestro watch runs/eval-minetown-reference-1a2b3c4d/episodes/7.npz --speed 50
    maestro watch runs/eval-minetown-reference-1a2b3c4d --cast minetown.cast
    maestro watch runs/eval-minetown-reference-1a2b3c4d 7 --picture moment.svg --at 1200
    maestro watch runs/eval-minetown-reference-1a2b3c4d 7 --check

The episode is played again from its seeds and actions. Keys: space pauses and goes on, . and , step forth and back,
+ and - change the speed, n and p go to the next and the previous change of skill, q quits. Without a terminal it
prints one line a step. Without a number it takes the run's first success.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from maestro.commands._keyboard import Keyboard
from maestro.errors import RecordError, RunError, SpecError
from maestro.evaluation.asciicast import cast_lines
from maestro.evaluation.episode import EpisodeFile, read_episode
from maestro.evaluation.picture import episode_picture
from maestro.evaluation.replay import Replay, verify
from maestro.evaluation.store import episode_path, read_run_records
from maestro.evaluation.viewer import Viewer

REDRAW_S = 0.5
"""How long a paused picture stays before it is drawn again, for terminals that changed their size."""


@dataclass(frozen=True)
class Config:
    """Choose the episode and how to see it."""

    episode: tyro.conf.Positional[Path]
    """An episode's file, or the folder of a run of `maestro eval`."""
    number: tyro.conf.Positional[int | None] = None
    """Which episode of the folder; by default its first success."""
    speed: float = 10.0
    """Steps per second, to begin with."""
    cast: Path | None = None
    """Write an asciicast to this file instead of showing the episode."""
    picture: Path | None = None
    """Write one moment, with the episode's skills below it, as an SVG picture."""
    at: int | None = None
    """Step of the picture; by default the last but one, when most has been seen."""
    check: bool = False
    """Only play it again and say whether it is the recorded game, bit for bit."""


def run(config: Config) -> int:
    """Show, export or check the episode; exit code 1 for one that does not replay as recorded."""
    if config.speed <= 0:
        raise SpecError(f"the value is {config.speed}", where="--speed", expected="more than 0")
    path = _find(config)
    file = read_episode(path)
    if config.check:
        return _report(verify(file), path)
    if config.cast is not None:
        return _export(config.cast, file, config.speed)
    if config.picture is not None:
        return _draw(config.picture, file, config.at)
    if sys.stdout.isatty() and sys.stdin.isatty():
        return _show(file, path, config.speed)
    return _trace(file, path)


def _find(config: Config) -> Path:
    """Locate the episode's file; raises RunError for a folder that is no run or has no episode."""
    path = config.episode
    if not path.is_dir():
        return path
    if config.number is not None:
        return episode_path(path, config.number)
    records = [record for record in read_run_records(path).values() if record.ended.by != "failed"]
    if not records:
        raise RunError(
            "there are no episodes in this folder",
            where=str(path),
            expected="a folder that `maestro eval` wrote",
        )
    won = [record for record in records if (record.success["true"] or 0) > 0]
    return episode_path(path, min((won or records), key=lambda record: record.episode).episode)


def _title(file: EpisodeFile) -> str:
    return f"{file.target}, episode {file.record.episode} ({file.record.ended.by})"


def _report(differences: list[str], path: Path) -> int:
    if not differences:
        print(f"{path}: the replay is the recorded game, bit for bit")
        return 0
    print(f"{path}: the replay differs from the record")
    for line in differences:
        print(f"  {line}")
    return 1


def _export(target: Path, file: EpisodeFile, speed: float) -> int:
    replay = Replay(file, render=True)
    try:
        with open(target, "w", encoding="utf-8") as stream:
            for line in cast_lines(replay, title=f"maestro: {_title(file)}", steps_per_s=speed):
                stream.write(line + "\n")
    except OSError as error:
        raise RecordError(f"cannot be written: {error.strerror or error}", where=str(target)) from error
    print(f"{target}: {file.record.steps} steps, {len(file.switches)} markers")
    return _warn(replay)


def _draw(target: Path, file: EpisodeFile, at: int | None) -> int:
    if at is None:
        at = max(0, file.record.steps - 1)
    if not 0 <= at <= file.record.steps:
        raise SpecError(f"the value is {at}", where="--at", expected=f"a step from 0 to {file.record.steps}")
    replay = Replay(file, render=True)
    picture = None
    for frame in replay:  # to its end: only then is it known whether this is the recorded game
        if frame.step == at:
            picture = episode_picture(frame, file)
    if picture is None:
        raise RecordError(
            f"the replay ended before step {at}: {'; '.join(replay.differences)}",
            where=_title(file),
            expected="a game that goes as it was recorded",
            hint="replay it with the versions that played it",
        )
    try:
        target.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"cannot be written: {error.strerror or error}", where=str(target)) from error
    print(f"{target}: step {at} of {_title(file)}")
    return _warn(replay)


def _trace(file: EpisodeFile, path: Path) -> int:
    """Print one line a step, and one for every change of skill."""
    print(_title(file))
    replay, running = Replay(file), None
    for frame in replay:
        if frame.step:
            message = " ".join(getattr(frame.state, "message", "").split())
            told = f"  [{', '.join(frame.events)}]" if frame.events else ""
            print(f"{frame.step:6d}  {frame.action:14s}  {message}{told}".rstrip())
        if frame.switch is not None and frame.switch != running:
            ended = "" if running is None else f", because {running.skill} ended: {running.ended}"
            print(f"------  {frame.switch.skill}{ended}")
            running = frame.switch
    return _report(replay.differences, path)


def _show(file: EpisodeFile, path: Path, speed: float) -> int:
    """Show it full screen until it is quit; the terminal is then as it was before."""
    console = Console()
    replay = Replay(file, render=True)
    viewer = Viewer(iter(replay), file.record.steps, _title(file), speed)
    with console.screen(hide_cursor=True) as screen, Keyboard(sys.stdin) as keyboard:
        while not viewer.has_quit:
            screen.update(viewer.render(console.width, console.height))
            key = keyboard.read(REDRAW_S if viewer.is_paused else viewer.interval_s)
            if key:
                viewer.press(key)
            elif not viewer.is_paused:
                viewer.advance(viewer.frames_per_draw)
    if viewer.at_end:
        return _warn(replay)
    return 0


def _warn(replay: Replay) -> int:
    """Say so where a replay that reached its end was not the recorded game."""
    try:
        differences = replay.differences
    except ValueError:  # left before the end
        return 0
    for line in differences:
        print(f"maestro: this replay differs from the record: {line}", file=sys.stderr)
    return 1 if differences else 0
