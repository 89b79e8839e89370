"""Feature sets of NetHack: what a network sees, made from a world's raw arrays for all games at once."""

from __future__ import annotations

from typing import Any

from maestro.errors import UnknownNameError

FEATURE_SETS: dict[str, str] = {
    "compass": "crop, words of the message, status, and the first step of the way to each kind of target",
    "paper": "crop, message and normalised status, as published agents saw them",
}
"""Name of a feature set to one line of text."""


def make_features(world: Any, name: str) -> Any:
    """Make the feature set `name` for a NetHack world.

    Raises UnknownNameError for a set that does not exist.
    """
    if name == "compass":
        from maestro.envs.nethack.features.compass import CompassFeatures

        return CompassFeatures(world)
    if name == "paper":
        from maestro.envs.nethack.features.paper import PaperFeatures

        return PaperFeatures(world)
    raise UnknownNameError("feature set of nethack", name, FEATURE_SETS)
