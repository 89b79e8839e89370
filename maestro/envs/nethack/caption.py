"""Captions: what happened, in words, for an annotator to judge and a reward model to read.

A caption has six lines: the messages of this step and the one before, then what became of dungeon level, gold, hit
points, experience level and hunger since the skill began. The facts shown are those of MaestroMotif's captions.
"""

from __future__ import annotations

from maestro.envs.nethack.state import State

CAPTION_VERSION = 1
"""Raised whenever the same transition would be worded differently; data and reward models record it."""


def caption(previous_message: str, now: State, start: State) -> str:
    """Describe the step that led to `now`, and the changes since `start`.

    Source: the lines and their order follow MaestroMotif (seed_systems MM2); depth words are mended so that a change of
    the maximum alone is shown as one.
    """
    said = f'Messages: "{previous_message}" then "{now.message}"\n'
    if now[_HP:_PAST_HUNGER] == start[_HP:_PAST_HUNGER] and now.depth == start.depth:
        return said + _ALL_THE_SAME  # most steps change nothing
    return (
        f"{said}"
        f"Dungeon level: {_moved(start.depth, now.depth)}\n"
        f"Gold: {_changed(start.gold, now.gold)}\n"
        f"Hit points: {_hit_points(start, now)}\n"
        f"Experience level: {_changed(start.experience_level, now.experience_level)}\n"
        f"Hunger: {_became(start.hunger, now.hunger)}"
    )


def _moved(before: int, after: int) -> str:
    if before == after:
        return "same"
    return f"{'down' if after > before else 'up'} from {before} to {after}"


def _changed(before: int, after: int) -> str:
    if before == after:
        return "same"
    return f"{'rose' if after > before else 'fell'} from {before} to {after}"


def _hit_points(start: State, now: State) -> str:
    if start.hp == now.hp and start.max_hp == now.max_hp:
        return "same"
    verb = "rose" if now.hp > start.hp else "fell" if now.hp < start.hp else "changed"
    return f"{verb} from {start.hp}/{start.max_hp} to {now.hp}/{now.max_hp}"


def _became(before: str, after: str) -> str:
    return "same" if before == after else f"from {before} to {after}"


_HP, _PAST_HUNGER = State._fields.index("hp"), State._fields.index("hunger") + 1
"""Between them stand all the facts of a caption but depth, and a few that it does not tell."""
_ALL_THE_SAME = "\n".join(
    f"{what}: same" for what in ("Dungeon level", "Gold", "Hit points", "Experience level", "Hunger")
)
