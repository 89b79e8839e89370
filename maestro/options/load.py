"""Make options and policies over skills from the generated files of the content folders.

A file runs only if the provenance beside it speaks for it: these bytes, checked against this State, these skills, by
this version of the validator. Nothing is signed that the validator refuses. What runs has restricted builtins and keeps
to its interface: `can_initiate(state)`, `should_terminate(state, start, startable)`, and a class `Policy` with
`select_skill(self, state, finished, startable)` and, if it likes, `observe(self, state)`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from codegen.version import VALIDATOR_VERSION
from maestro.content import Content, SkillContent, TrainingContent
from maestro.envs import load_world_module
from maestro.errors import ContentError, GeneratedCodeError, WorldError
from maestro.options.module import GeneratedModule, load_module
from maestro.options.option import Initiation, Option, PolicyOverSkills, Termination
from maestro.options.provenance import GENERATED_FILES, Origin, Provenance, sign, signable_files
from maestro.specs import SkillSpec, TaskSpec, TrainingSpec, load_toml

if TYPE_CHECKING:  # the validator takes a third of a second to load, which games need not pay
    from codegen.contract import Contract, Violation
    from codegen.sandbox import Layer

Kind = Literal["initiation", "termination", "policy"]
_INITIATION = ("can_initiate", ("state",))
_TERMINATION = ("should_terminate", ("state", "start", "startable"))
_SEED_FOLDER = re.compile(r"seed\d+")


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
    return tuple(load_option(skill, skills) for skill in skills.values())


def load_option(skill: SkillContent, skills: Collection[str] | None = None) -> Option:
    """Load one skill's option from its initiation.py and termination.py; `skills` are the names of all there are."""
    initiation = _load(skill.initiation_path, skill.spec.world, skills)
    termination = _load(skill.termination_path, skill.spec.world, skills)

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


def load_policy(policy: TrainingContent, skills: Collection[str] | None = None) -> PolicySource:
    """Load the policy over skills of a task, or the training policy; `skills` are the names of all skills there are.

    It is made once here, so that one whose `__init__` raises is refused before any game starts.
    """
    module = _load(policy.policy_path, policy.spec.world, skills)
    source = PolicySource(module)
    try:
        module.policy_class(module.execute(0))()
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        raise _mendable(module, error) from None
    return source


def contract_for(world: str, kind: Kind, skills: Iterable[str], file: str | None = None) -> Contract:
    """Say what a generated file of `world` must be, for the validator; `skills` are the names it may choose from."""
    from codegen import contract
    from maestro.envs.scenario import load_scenarios

    make = {
        "initiation": contract.initiation_contract,
        "termination": contract.termination_contract,
        "policy": contract.policy_contract,
    }[kind]
    constant: dict[str, Any] = {}
    if kind == "initiation":
        try:
            constant["may_be_constant"] = load_scenarios(world).INITIATION_MAY_BE_CONSTANT
        except WorldError:
            constant["may_be_constant"] = frozenset({True})
    return make(_state_fields(world), tuple(skills), file=file or f"{kind}.py", **constant)


class Judged(NamedTuple):
    """One file and what the validator says about it."""

    path: Path
    violations: tuple[Violation, ...]


def validate_file(path: Path, content: Content | None = None, source: bytes | None = None) -> Judged:
    """Check an initiation.py, termination.py or policy.py against its contract; nothing of it runs.

    The world is that of the skill.toml, task.toml or training.toml beside it; a file that lies by itself is taken for
    one of NetHack. The skills are those of `content`, by default those of the file's own content folder and what ships.
    `source` is what the file holds, where it was read before.
    Raises ContentError for a file of another name, or one that cannot be read.
    """
    from codegen.validate import validate

    kind = kind_of(path)
    folder = path.resolve().parent
    world, own = _described(folder, default="nethack")
    names = [*(content or content_around(folder)).skills(world), *own]
    try:
        text = (_read(path) if source is None else source).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContentError(
            f"not UTF-8 text ({error.reason} at byte {error.start})", where=str(path)
        ) from None
    found = validate(text, contract_for(world, kind, dict.fromkeys(names), file=str(path)))
    return Judged(path, tuple(found))


def check_signed(path: Path) -> None:
    """Raise the error with which the loader would refuse a file for its provenance; nothing is executed."""
    folder = path.resolve().parent
    world, own = _described(folder, default="nethack")
    _load(path, world, [*content_around(folder).skills(world), *own])


def kind_of(path: Path) -> Kind:
    """Tell by a file's name what is expected of it; raises ContentError for any other name."""
    if path.name not in GENERATED_FILES:
        raise ContentError(
            "the name does not say what this file is",
            where=str(path),
            expected=f"a file called {', '.join(GENERATED_FILES)}, or a folder with such files",
        )
    return path.stem  # type: ignore[return-value]


def sign_folder(
    folder: Path, author: str | None = None, origin: Mapping[str, Origin] | None = None
) -> list[Path]:
    """Validate what is in a skill's, task's or training policy's folder and write its provenance.

    Without an `author`, code that was signed before and not changed since keeps its own; see `provenance.sign`.
    Returns the files it speaks for. Raises ContentError for a folder that is none of these, GeneratedCodeError with
    every violation for code that the validator refuses, and what `provenance.sign` raises.
    """
    world, own = _described(folder.resolve())
    content = content_around(folder.resolve())
    paths = signable_files(folder)
    sources = {path.name: _read(path) for path in paths}  # read once: what is signed is what was validated
    refused = [
        str(violation)
        for path in paths
        for violation in validate_file(path, content, sources[path.name]).violations
    ]
    if refused:
        shown = "".join(f"\n  {text}" for text in refused[:20])
        raise GeneratedCodeError(
            f"the code breaks {len(refused)} rule{'s' * (len(refused) > 1)} and is not signed:{shown}",
            hint="mend it; docs/guides/codegen.md says what code may do",
        )
    return sign(
        folder, author=author, state_version=state_version(world), validator_version=VALIDATOR_VERSION,
        skills=dict.fromkeys([*content.skills(world), *own]), origin=origin, sources=sources,
    )  # fmt: skip


def content_around(folder: Path) -> Content:
    """Find the content that a skill's or task's folder belongs to, and what ships behind it."""
    inner = folder.parent if _SEED_FOLDER.fullmatch(folder.name) else folder
    is_inside = inner.parent.name in ("skills", "meta_policies")
    return Content.find(inner.parent.parent if is_inside else None)


def state_version(world: str) -> int:
    """Give the version of the State that `world` publishes: `STATE_VERSION` in the module that defines it."""
    state = load_world_module(world).State
    return importlib.import_module(state.__module__).STATE_VERSION


def sandbox_layers() -> tuple[Layer, ...]:
    """Try what confines generated code while it is tested, layer by layer."""
    from codegen.sandbox import layers

    return tuple(layers())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ContentError(f"cannot be read: {error.strerror}", where=str(path)) from None


def _load(path: Path, world: str, skills: Collection[str] | None) -> GeneratedModule:
    return load_module(
        path, state_version=state_version(world), validator_version=VALIDATOR_VERSION, skills=skills
    )


def _described(folder: Path, default: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Read the world, and the name of a skill described there, from the description in a folder.

    A folder `seed7` is described by the one around it. Raises ContentError where there is no description and no
    `default`.
    """
    for place in (folder, folder.parent) if _SEED_FOLDER.fullmatch(folder.name) else (folder,):
        for file_name, model in (
            ("skill.toml", SkillSpec),
            ("task.toml", TaskSpec),
            ("training.toml", TrainingSpec),
        ):
            if (place / file_name).is_file():
                spec = load_toml(place / file_name, model)
                return spec.world, (spec.name,) if isinstance(spec, SkillSpec) else ()
    if default is not None:
        return default, ()
    raise ContentError(
        "this is no folder of a skill or a task",
        where=str(folder),
        expected="a folder with a skill.toml, task.toml or training.toml",
    )


def _state_fields(world: str) -> list[Any]:
    """Describe the fields of a world's State, also of a world that publishes no scenarios."""
    from codegen.contract import StateField
    from maestro.envs.scenario import state_facts

    try:
        return [StateField(*fact) for fact in state_facts(world)]
    except WorldError:
        state = load_world_module(world).State
        kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in state.__annotations__.items()}
        return [StateField(name, str(kinds[name])) for name in state._fields]


def _function(module: GeneratedModule, name: str, parameters: tuple[str, ...]) -> Any:
    try:
        return module.function(module.execute(0), name, parameters)
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        raise _mendable(module, error) from None


def _mendable(module: GeneratedModule, error: Exception) -> GeneratedCodeError:
    """Turn whatever executing a module raised into the error that names its file and line."""
    return error if isinstance(error, GeneratedCodeError) else module.raised(error)
