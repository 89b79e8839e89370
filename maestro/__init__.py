"""Turn skills described in plain language into agents, and compose them into tasks without further training.

Importing this package costs nothing and pulls in no engine: everything is reached through its sub-modules
(`maestro.content`, `maestro.envs`, `maestro.evaluation`, ...) or through the `maestro` command.
"""

from typing import Any

__version__ = "0.1.0"

_GYM_NAMES = {"nethack": "NetHack"}  # how a world is spelt where capitalising its first letter is not enough


def register_envs() -> None:
    """Tell Gymnasium every world's name, "maestro/<World>-v0"; it calls this when it is imported.

    Only names are given: a world is imported when somebody makes one. Calling it again changes nothing.
    """
    from gymnasium.envs.registration import register, registry

    from maestro.envs import world_names

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
