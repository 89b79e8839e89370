"""The worlds: one file or folder each, found by its name.

A world's module publishes `make_world(num_games, **options)`, `State`, `make_reference_policy(num_games)` and
`make_random_policy(num_games)`, and for networks `make_features(world, name)` with the names it knows in
`FEATURE_SETS`, a table from name to one line of text; its success tests are in `SUCCESS_TESTS`, a table from name to class, in the module
itself or in its `tasks` file.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from types import ModuleType
from typing import Any

from maestro.errors import UnknownNameError

_NOT_WORLDS = {"world", "gym", "scenario"}
_GYM_NAMES = {"nethack": "NetHack"}  # how a world is spelt where capitalising its first letter is not enough


def world_names() -> list[str]:
    """Return the names of the worlds there are, in alphabetical order, without importing any."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in names if name not in _NOT_WORLDS and not name.endswith("_scenarios"))


def load_world_module(name: str) -> ModuleType:
    """Import the module of a world.

    Raises UnknownNameError (with suggestions) for a name without a module.
    """
    if name not in world_names():
        raise UnknownNameError("world", name, world_names())
    return importlib.import_module(f"maestro.envs.{name}")


def make_world(name: str, num_games: int, **options: Any) -> Any:
    """Make a `World` of `num_games` games; `options` are the world's own (NetHack: `NetHackOptions`)."""
    return load_world_module(name).make_world(num_games, **options)


def features_compile_first(world: str) -> bool:
    """Say whether the features of a world are compiled when they are first used; a world that compiles nothing need not answer."""
    return getattr(load_world_module(world), "features_compile_first", lambda: False)()


def make_features(world: Any, name: str) -> Any:
    """Make the `Features` called `name` of a world: what a network sees of it.

    Raises UnknownNameError (with suggestions) for a set of features that this world does not have.
    """
    return load_world_module(world.name).make_features(world, name)


def feature_sets(name: str) -> dict[str, str]:
    """Return the feature sets of a world: name to one line of text."""
    return dict(load_world_module(name).FEATURE_SETS)


def success_tests(name: str) -> dict[str, Any]:
    """Return the success tests of a world by their names, as task.toml gives them."""
    module = load_world_module(name)
    if not hasattr(module, "SUCCESS_TESTS"):
        module = importlib.import_module(f"maestro.envs.{name}.tasks")
    return dict(module.SUCCESS_TESTS)


def register_envs() -> None:
    """Tell Gymnasium every world's name, "maestro/<World>-v0"; it calls this when it is imported.

    Only names are given: a world is imported when somebody makes one. Calling it again changes nothing.
    """
    from gymnasium.envs.registration import register, registry

    for world in world_names():
        name = f"maestro/{_GYM_NAMES.get(world, world.capitalize())}-v0"
        if name not in registry:
            register(
                name,
                entry_point="maestro.envs.gym:Env",
                vector_entry_point=_vector_maker(world),
                kwargs={"world": world},
            )


def _vector_maker(world: str) -> Any:
    """Bind a world's name: `make_vec` hands a vector's maker nothing of the registered keyword arguments."""

    def make(num_envs: int, **options):
        from maestro.envs.gym import VectorEnv

        return VectorEnv(world, num_envs, **options)

    return make
