"""NetHack, batched: `make_world(num_games)` steps N games of the NetHack Learning Environment together.

world = make_world(16)
world.seed(0, core=1, disp=1)
world.reset()
result = world.step([ACTION["far_east"]] * 16)
world.states[0].depth
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from maestro.envs.nethack.batch import NetHackOptions, NetHackWorld
from maestro.envs.nethack.features import FEATURE_SETS, make_features
from maestro.envs.nethack.keys import ACTION, ACTION_NAMES
from maestro.envs.nethack.state import FIELD_DOCS, STATE_VERSION, State
from maestro.envs.world import SkillPolicy
from maestro.errors import WorldError

__all__ = [
    "ACTION",
    "ACTION_NAMES",
    "ACTION_OPTIONS",
    "FEATURE_SETS",
    "FIELD_DOCS",
    "REFERENCE_OPTIONS",
    "STATE_VERSION",
    "TRAINING_OPTIONS",
    "NetHackOptions",
    "NetHackWorld",
    "State",
    "features_compile_first",
    "make_features",
    "make_random_policy",
    "make_reference_policy",
    "make_world",
]

TRAINING_OPTIONS = {"inventory_shown": False, "overview": False}
"""What a world for training is made with: no feature set reads what it leaves out, and it is a tenth faster."""
ACTION_OPTIONS = ("rest_moves",)
"""Names of the options that say what an action does: a policy is evaluated with those it was trained with."""
REFERENCE_OPTIONS = {"inventory_shown": True}
"""What a world is made with in which the reference policy plays: it reads the inventory in words."""


def make_world(num_games: int, **options: Any) -> NetHackWorld:
    """Make a world of `num_games` games; `options` are the fields of `NetHackOptions`.

    Raises WorldError for an unknown option or a value out of range.
    """
    try:
        return NetHackWorld(num_games, NetHackOptions(**options))
    except ValidationError as error:
        first = error.errors()[0]
        raise WorldError(
            f"option {'.'.join(map(str, first['loc']))} is {first.get('input')!r}: {first['msg']}",
            where="maestro.envs.nethack.make_world",
            expected="one of " + ", ".join(NetHackOptions.model_fields),
        ) from error


def features_compile_first() -> bool:
    """Say whether the features have to be compiled when they are first used, which takes half a minute once on a machine."""
    from maestro.envs.nethack.features.compiled import is_compiled

    return not is_compiled()


def make_reference_policy(num_games: int) -> SkillPolicy:
    """Make the hand-written controllers of the five skills."""
    from maestro.envs.nethack import reference

    return reference.make_reference_policy(num_games)


def make_random_policy(num_games: int) -> SkillPolicy:
    """Make a policy that draws its actions uniformly, whatever skill runs."""
    from maestro.envs.nethack import reference

    return reference.make_random_policy(num_games)
