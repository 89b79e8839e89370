"""Make options and policies over skills from the generated files of the content folders.

A file runs only if the provenance beside it speaks for it, with restricted builtins, and only if it keeps to its
interface: `can_initiate(state)`, `should_terminate(state, start, startable)`, and a class `Policy` with
`select_skill(self, state, finished, startable)` and, if it likes, `observe(self, state)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maestro.content import SkillContent, TrainingContent
from maestro.envs import load_world_module
from maestro.errors import ContentError, GeneratedCodeError
from maestro.options.module import GeneratedModule, load_module
from maestro.options.option import Initiation, Option, PolicyOverSkills, Termination
from maestro.options.provenance import Provenance, sign
from maestro.specs import SkillSpec, TaskSpec, TrainingSpec, load_toml

_INITIATION = ("can_initiate", ("state",))
_TERMINATION = ("should_terminate", ("state", "start", "startable"))


@dataclass(frozen=True)
class PolicySource:
    """A loaded policy.py. Called with a seed it makes the policy of one episode: the executive's `make_policy`.

    Every policy it makes lives in a module of its own, so that neither random numbers nor module-level names are
    shared between games.
    """

    module: GeneratedModule

    @property
    def file(self) -> str:
        """Name the source file, as tracebacks name it."""
        return str(self.module.path)

    @property
    def sha256(self) -> str:
        """Give the hash of the source, for records."""
        return self.module.sha256

    @property
    def provenance(self) -> Provenance:
        """Give what the file's provenance.toml says."""
        return self.module.provenance

    def __call__(self, seed: int) -> PolicyOverSkills:
        """Make a policy whose random numbers are fixed by `seed`; exceptions of the generated code pass through."""
        return self.module.execute(seed)["Policy"]()


def load_options(skills: Mapping[str, SkillContent]) -> tuple[Option, ...]:
    """Load the options of skills, in their order: `load_options(content.skills("nethack"))`.

    Raises GeneratedCodeError for a file that does not keep to its contract.
    """
    return tuple(load_option(skill) for skill in skills.values())


def load_option(skill: SkillContent) -> Option:
    """Load one skill's option from its initiation.py and termination.py."""
    version = state_version(skill.spec.world)
    initiation = load_module(skill.initiation_path, version)
    termination = load_module(skill.termination_path, version)

    option = Option(
        skill.name,
        can_initiate=_function(initiation, *_INITIATION),
        should_terminate=_function(termination, *_TERMINATION),
        max_turns=skill.spec.max_turns,
        max_steps=skill.spec.max_steps,
        sources={module.path.name: module.sha256 for module in (initiation, termination)},
    )

    def fresh(seed: int) -> Option:
        can_initiate: Initiation = initiation.execute(seed)["can_initiate"]
        should_terminate: Termination = termination.execute(seed)["should_terminate"]
        return replace(option, can_initiate=can_initiate, should_terminate=should_terminate)

    return replace(option, fresh=fresh)


def load_policy(policy: TrainingContent) -> PolicySource:
    """Load the policy over skills of a task, or the training policy.

    It is made once here, so that one whose `__init__` raises is refused before any game starts.
    """
    module = load_module(policy.policy_path, state_version(policy.spec.world))
    source = PolicySource(module)
    try:
        module.policy_class(module.execute(0))()
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        raise _mendable(module, error) from None
    return source


def sign_folder(folder: Path, author: str) -> list[Path]:
    """Write the provenance of one skill's, task's or training policy's folder; return the files it speaks for.

    Raises ContentError for a folder that is none of these, and what `provenance.sign` raises.
    """
    for file_name, model in (
        ("skill.toml", SkillSpec),
        ("task.toml", TaskSpec),
        ("training.toml", TrainingSpec),
    ):
        if (folder / file_name).is_file():
            world = load_toml(folder / file_name, model).world
            return sign(folder, state_version(world), author)
    raise ContentError(
        "this is no folder of a skill or a task",
        where=str(folder),
        expected="a folder with a skill.toml, task.toml or training.toml",
    )


def state_version(world: str) -> int:
    """Give the version of the State that `world` publishes: `STATE_VERSION` in the module that defines it."""
    state = load_world_module(world).State
    return importlib.import_module(state.__module__).STATE_VERSION


def _function(module: GeneratedModule, name: str, parameters: tuple[str, ...]) -> Any:
    try:
        return module.function(module.execute(0), name, parameters)
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        raise _mendable(module, error) from None


def _mendable(module: GeneratedModule, error: Exception) -> GeneratedCodeError:
    """Turn whatever executing a module raised into the error that names its file and line."""
    return error if isinstance(error, GeneratedCodeError) else module.raised(error)
