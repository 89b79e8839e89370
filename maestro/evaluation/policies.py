"""Skill policies by the name `--policy` gives: "reference", "random", "trained", the path of a policy folder, or of a file.

"trained" is the content's policy (skills/policy); a folder is one that `maestro export` or `maestro hub pull` made.
A file is a hand-written Python module of the user's own with `make_skill_policy(num_games) -> SkillPolicy`; it is
executed as given, like any program its owner starts.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from maestro.content import TRAINED_POLICY_FOLDER, Content
from maestro.envs import load_world_module, make_world
from maestro.envs.world import SkillPolicy, World
from maestro.errors import MaestroError, PolicyFileError, suggestion
from maestro.options.executive import Executive

TRAINED, REFERENCE = "trained", "reference"
_BY_NAME = {REFERENCE: "make_reference_policy", "random": "make_random_policy"}
_MAKER = "make_skill_policy"
_CARD = "card.json"


@runtime_checkable
class AttentivePolicy(Protocol):
    """A skill policy that wants to know more than the names of the skills that run."""

    def attend(self, world: World, executive: Executive) -> None:
        """Follow this executive's games of this world from now on."""
        ...


def make_policy(policy: str, world: str, num_games: int, content: Content | None = None) -> SkillPolicy:
    """Make the skill policy for `num_games` games of `world`; `attend` has to be called before it acts.

    `content` is where "trained" is looked for, and what a trained policy's skills are compared with (by default what
    `Content.find` finds). Raises PolicyFileError.
    """
    if policy in _BY_NAME:
        return getattr(load_world_module(world), _BY_NAME[policy])(num_games)
    folder = _policy_folder(policy, world, content)
    if folder is None:
        return _load(_existing_file(policy))(num_games)
    from maestro.learner.trained import TrainedPolicy

    skills = (content or Content.find()).skills(world)
    return TrainedPolicy(folder, num_games, list(skills.values()))


def default_policy(world: str, content: Content) -> str:
    """Choose who plays where nobody is named: "trained" where the content has a policy for all the world's skills, else "reference".

    Only cards are read; what is wrong with a policy that is chosen is told when it is loaded.
    """
    for root in content.roots:
        folder = root / "skills" / TRAINED_POLICY_FOLDER
        for path in (folder / _CARD, folder / world / _CARD):
            try:
                card = json.loads(path.read_bytes())
                known = {skill["name"] for skill in card["skills"]}
                if card["world"] == world:
                    return TRAINED if content.skills(world).keys() <= known else REFERENCE
            except FileNotFoundError:
                continue
            except (OSError, ValueError, LookupError, TypeError):
                return TRAINED
    return REFERENCE


def attend(policy: SkillPolicy, world: World, executive: Executive) -> None:
    """Tell a policy that wants to know it whose games it plays; raises PolicyFileError where it does not fit them."""
    if isinstance(policy, AttentivePolicy):
        policy.attend(world, executive)


def wanted_options(policy: SkillPolicy) -> dict[str, Any]:
    """Give the options of the world that a policy plays with, its attribute `world_options`; most have none."""
    return dict(getattr(policy, "world_options", {}))


def make_world_of(policy: SkillPolicy, name: str, world: str, num_games: int, **options: Any) -> World:
    """Make the world that a policy plays in: with the options it wants over those given. `name` is what messages call it.

    Raises PolicyFileError where the world refuses what the policy wants, and else as `make_world` does.
    """
    wanted = wanted_options(policy)
    try:
        return make_world(world, num_games, **options | wanted)
    except MaestroError as error:
        if not wanted:
            raise
        said = ", ".join(f"{key}={value!r}" for key, value in wanted.items())
        raise PolicyFileError(
            f"this policy plays {world} with {said}, and no such world could be made: {error.what}",
            where=name,
            expected=error.expected,
            hint="make the policy anew with options that this version has, or use the version it was made with",
        ) from error


def check_policy(policy: str, world: str, content: Content | None = None) -> tuple[str, ...]:
    """Find what is wrong with a policy before anything is started, and return what the user should know about it.

    Raises PolicyFileError for one that does not exist or cannot play this world's skills.
    """
    if policy in _BY_NAME:
        return ()
    folder = _policy_folder(policy, world, content)
    if folder is None:
        _existing_file(policy)
        return ()
    from maestro.learner.policy_file import load_policy

    skills = (content or Content.find()).skills(world)
    loaded = load_policy(folder, skills=list(skills.values()))
    if loaded.card.world != world:
        raise PolicyFileError(
            f"this policy was made for the world {loaded.card.world!r}",
            where=str(folder),
            expected=f"a policy for {world!r}",
        )
    return loaded.notes


def policy_identity(policy: str, world: str = "nethack", content: Content | None = None) -> str:
    """Say in a word which policy it is: its name, or the hash of its file, so that a changed file is another one.

    A trained policy's file is its card, which names the hash of the weights. Raises PolicyFileError, with suggestions,
    for what is neither a name nor the path of a policy.
    """
    if policy in _BY_NAME:
        return policy
    folder = _policy_folder(policy, world, content)
    if folder is None:
        return "sha256:" + hashlib.sha256(_existing_file(policy).read_bytes()).hexdigest()
    from maestro.learner.policy_file import policy_sha256

    return "sha256:" + policy_sha256(folder)


def trained_folder(policy: str, world: str, content: Content | None = None) -> Path:
    """Locate a trained policy by its folder or as "trained"; raises PolicyFileError for what is none."""
    folder = _policy_folder(policy, world, content)
    if folder is None:
        raise PolicyFileError(
            f"{policy!r} is no trained policy",
            where="--policy",
            expected='"trained", or the folder of a policy',
            hint="maestro export --run <a training run> makes such a folder",
        )
    return folder


def is_trained(policy: str) -> bool:
    """Tell whether a policy is a network's: such ones are faster the more games they play at once."""
    return policy == TRAINED or Path(policy).is_dir()


def _policy_folder(policy: str, world: str, content: Content | None) -> Path | None:
    """Locate a trained policy; None where `policy` names none. Raises PolicyFileError for a folder without one."""
    if policy == TRAINED:
        from maestro.learner.policy_file import find_policy

        return find_policy(content or Content.find(), world)
    path = Path(policy)
    if not path.is_dir():
        return None
    for folder in (path, path / TRAINED_POLICY_FOLDER):
        if (folder / _CARD).is_file():
            return folder
    hint = None
    if (path / "learner").is_dir():
        hint = f"it is a run; maestro export --run {path} makes a policy folder of it"
    raise PolicyFileError(
        f"{policy!r} is a folder without a policy",
        where="--policy",
        expected=f"{_CARD} and the weights it names",
        hint=hint or "maestro export --run <a training run> makes such a folder",
    )


def _existing_file(policy: str) -> Path:
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        return path
    expected = (
        "'reference', 'random', 'trained', the folder of a trained policy, "
        f"or the path of a Python file with {_MAKER}(num_games)"
    )
    if path.exists():
        raise PolicyFileError(f"{policy!r} is not a Python file", where="--policy", expected=expected)
    nearby = [*_BY_NAME, TRAINED]
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
