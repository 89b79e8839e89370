"""Play an episode again from its seeds and actions, step by step, and check that it is the same episode.

No skill and no generated code takes part: the world alone answers the recorded actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from maestro.envs import make_world, success_tests
from maestro.envs.world import Screen, World
from maestro.errors import RecordError, UnknownNameError
from maestro.evaluation.episode import EpisodeFile
from maestro.evaluation.games import Tally, engine_versions, facts, world_ending
from maestro.options.accounting import Switch

_EVENTS = (
    "depth", "dungeon", "branch_depth", "experience_level", "hunger", "gold",
    "blind", "confused", "stunned", "hallucinating", "door_open",
)  # fmt: skip
"""Fields of a State whose changes are told; those that begin with `num_` are, too."""


class Frame(NamedTuple):
    """One moment of an episode; safe to keep."""

    step: int
    """Steps taken so far; 0 is the start."""
    action: str
    """Name of the action that led here; empty at the start."""
    switch: Switch | None
    """The activation that runs from here on; that of the last action at the end. None if none ever began."""
    state: Any
    caption: str
    """From the state in which the running skill began, as the reward model reads it; empty at the start."""
    events: tuple[str, ...]
    """What changed with this step, in words."""
    screen: Screen | None
    """None without `render`."""


class Replay:
    """An episode being played again: iterate once over its frames, then ask for `differences`."""

    def __init__(self, file: EpisodeFile, render: bool = False) -> None:
        """Set the same world up with the same seeds.

        Raises RecordError for an episode of another world's layout or with a success test that is gone.
        """
        self.file = file
        self._render = render
        self._options = dict(file.options) | ({"render": True} if render else {})
        self._differences: list[str] | None = None

    @property
    def differences(self) -> list[str]:
        """Say where the replay differs from the record, one line each; empty if it is bit for bit the same.

        Raises ValueError before the last frame has been taken.
        """
        if self._differences is None:
            raise ValueError("the replay has not reached its end")
        return self._differences

    def __iter__(self) -> Iterator[Frame]:
        """Yield the start and then a frame for every step; the world is closed after the last one."""
        file = self.file
        world: World = make_world(file.world, 1, **self._options)
        try:
            if tuple(world.action_names) != file.action_names:
                raise RecordError(
                    f"the world {file.world!r} now has other actions than this episode was played with",
                    where=f"episode {file.record.episode} of {file.target}",
                )
            world.seed(0, file.record.seeds.core, file.record.seeds.disp)
            world.reset([0])
            yield from self._play(world)
        finally:
            world.close()

    def _play(self, world: World) -> Iterator[Frame]:
        file = self.file
        tally = Tally(world, 0, self._tests())
        switches = list(file.switches)
        position, begin, before = 0, world.states[0], world.states[0]
        terminated = truncated = False
        yield self._frame(world, 0, "", switches[0] if switches else None, "", ())
        for step, action in enumerate(file.actions.tolist(), 1):
            if terminated or truncated:
                self._differences = [f"the game ended at step {step - 1} of {len(file.actions)}"]
                return
            result = world.step([action])
            tally.update(world, 0, float(result.reward[0]))
            terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
            state = world.states[0]
            caption = world.caption(0, begin)
            while position + 1 < len(switches) and switches[position + 1].step <= step:
                position, begin = position + 1, state
            switch = switches[position] if switches else None
            yield self._frame(world, step, file.action_names[action], switch, caption, events(before, state))
            before = state
        self._differences = self._compare(world, tally, terminated, truncated)

    def _frame(
        self, world: World, step: int, action: str, switch: Switch | None, caption: str, told: tuple
    ) -> Frame:
        screen = world.screen(0) if self._render else None
        return Frame(step, action, switch, world.states[0], caption, told, screen)

    def _tests(self) -> dict[str, Any]:
        known = success_tests(self.file.world)
        for name in self.file.tests.values():
            if name not in known:
                raise UnknownNameError(
                    "success test", name, known, where=f"episode {self.file.record.episode}"
                )
        return {key: known[name]() for key, name in self.file.tests.items()}

    def _compare(self, world: World, tally: Tally, terminated: bool, truncated: bool) -> list[str]:
        record = self.file.record
        found = facts(world.name, world.states[0]) | {
            "steps": tally.steps,
            "success": tally.values,
            "checksum": tally.checksum,
        }
        ending = world_ending(world, 0, tally, terminated, truncated)
        if ending is not None:
            found["ended"] = ending
        lines = []
        for key, value in found.items():
            recorded = getattr(record, key)
            if recorded != value and key != "checksum":
                lines.append(f"{key}: recorded {recorded}, replayed {value}")
        if record.checksum != tally.checksum:
            lines.append("checksum: rewards or messages on the way were others")
        played, now = self.file.versions, engine_versions(world.name)
        if lines and played != now:
            lines.append(f"it was played with {_versions(played)}; this is {_versions(now)}")
        return lines


def verify(file: EpisodeFile) -> list[str]:
    """Play the episode again without showing it and give its differences; none means bit for bit the same."""
    replay = Replay(file)
    for _ in replay:
        pass
    return replay.differences


def events(before: Any, after: Any) -> tuple[str, ...]:
    """Tell what changed between two states, in words: "depth 1 to 2", "kills 3 to 4", "blind"."""
    told = []
    for name in after._fields:
        if not (name.startswith("num_") or name in _EVENTS):
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        label = name.removeprefix("num_").replace("_", " ")
        if isinstance(new, bool):
            told.append(label if new else f"no longer {label}")
        elif old is None or isinstance(new, str):
            told.append(f"{label}: {new}")
        else:
            told.append(f"{label} {old} to {new}")
    return tuple(told)


def _versions(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
