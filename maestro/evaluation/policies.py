"""Skill policies by the name `--policy` gives: "reference", "random", or the path of a file.

A file is a hand-written Python module of the user's own with `make_skill_policy(num_games) -> SkillPolicy`; it is
executed as given, like any program its owner starts.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from maestro.envs import load_world_module
from maestro.envs.world import SkillPolicy
from maestro.errors import PolicyFileError, suggestion

_BY_NAME = {"reference": "make_reference_policy", "random": "make_random_policy"}
_MAKER = "make_skill_policy"


def make_policy(policy: str, world: str, num_games: int) -> SkillPolicy:
    """Make the skill policy for `num_games` games of `world`; raises PolicyFileError."""
    if policy in _BY_NAME:
        return getattr(load_world_module(world), _BY_NAME[policy])(num_games)
    return _load(_existing_file(policy))(num_games)


def policy_identity(policy: str) -> str:
    """Say in a word which policy it is: its name, or the hash of its file, so that a changed file is another one.

    Raises PolicyFileError, with suggestions, for what is neither a name nor the path of a Python file.
    """
    if policy in _BY_NAME:
        return policy
    return "sha256:" + hashlib.sha256(_existing_file(policy).read_bytes()).hexdigest()


def _existing_file(policy: str) -> Path:
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        return path
    expected = "'reference', 'random', or the path of a Python file with " + _MAKER + "(num_games)"
    if path.exists():
        kind = "a folder" if path.is_dir() else "not a Python file"
        raise PolicyFileError(f"{policy!r} is {kind}", where="--policy", expected=expected)
    nearby = [*_BY_NAME]
    if path.parent.is_dir():
        nearby += [str(path.parent / other.name) for other in path.parent.glob("*.py")]
    raise PolicyFileError(
        f"there is no policy {policy!r}", where="--policy", expected=expected, hint=suggestion(policy, nearby)
    )


def _load(path: Path):
    spec = importlib.util.spec_from_file_location("_maestro_user_policy", path)
    if spec is None or spec.loader is None:
        raise PolicyFileError("Python cannot load the file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PolicyFileError(
            f"the file raised {type(error).__name__} while it was loaded: {error}", where=str(path)
        ) from error
    if not callable(getattr(module, _MAKER, None)):
        raise PolicyFileError(
            f"the file has no {_MAKER}", where=str(path), expected=f"def {_MAKER}(num_games)"
        )
    return getattr(module, _MAKER)
