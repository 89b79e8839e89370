"""Where content is: the only file that knows.

Content is three folders: `skills/`, `prompts/` and `meta_policies/`. They lie beside the package in a checkout
and inside it (`maestro/_content/`) in an installed wheel. A user's own folders of the same layout are searched
first, so that one more skill is one more folder and a changed skill is a folder of the same name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from maestro.errors import ContentError, UnknownNameError
from maestro.specs import NAME_PATTERN, NAME_RULE, PolicySpec, SkillSpec, TaskSpec, TrainingSpec, load_toml

CONTENT_VARIABLE = "MAESTRO_CONTENT"
FOLDERS = ("skills", "prompts", "meta_policies")
PolicyT = TypeVar("PolicyT", bound="TrainingContent")
SUCCESS_FILE = "success.toml"
REWARD_FOLDER = "reward"  # in a skill's folder: its fitted reward model
TRAINED_POLICY_FOLDER = "policy"  # skills/policy/ holds the trained network and is no skill


@dataclass(frozen=True)
class SkillContent:
    """One skill's folder and what its skill.toml says."""

    name: str
    folder: Path
    spec: SkillSpec

    @property
    def initiation_path(self) -> Path:
        """Locate the generated `can_initiate`; the file may not exist yet."""
        return self.folder / "initiation.py"

    @property
    def termination_path(self) -> Path:
        """Locate the generated `should_terminate`; the file may not exist yet."""
        return self.folder / "termination.py"

    @property
    def success_path(self) -> Path:
        """Locate what an evaluation counts as the skill's success; a skill need not have the file.

        It is not in skill.toml, because a policy belongs to that file's hash, and how it is judged changes no policy.
        """
        return self.folder / SUCCESS_FILE


@dataclass(frozen=True)
class TrainingContent:
    """A training policy's folder and what its training.toml says."""

    name: str
    folder: Path
    spec: PolicySpec
    code_seed: int | None = None
    """Which of several generated policies is meant: None for the one in the folder itself."""

    @property
    def policy_path(self) -> Path:
        """Locate the generated policy over skills; the file may not exist yet."""
        inner = () if self.code_seed is None else (f"seed{self.code_seed}",)
        return self.folder.joinpath(*inner, "policy.py")

    @property
    def code_seeds(self) -> tuple[int, ...]:
        """List the code seeds that have a policy, beside the one in the folder itself."""
        found = (re.fullmatch(r"seed(\d+)", path.parent.name) for path in self.folder.glob("seed*/policy.py"))
        return tuple(sorted(int(match[1]) for match in found if match))

    def with_code_seed(self: PolicyT, code_seed: int | None) -> PolicyT:
        """Mean the policy of another code seed; raises ContentError where a seed has none."""
        if code_seed is not None and code_seed not in self.code_seeds:
            there = ", ".join(map(str, self.code_seeds))
            raise ContentError(
                f"there is no policy of code seed {code_seed}",
                where=str(self.folder),
                expected=f"one of {there}" if there else None,
                hint=f"maestro codegen --task {self.name} --code-seed {code_seed}",
            )
        return replace(self, code_seed=code_seed)


@dataclass(frozen=True)
class TaskContent(TrainingContent):
    """One task's folder and what its task.toml says."""

    spec: TaskSpec


@dataclass(frozen=True)
class Content:
    """Skills, tasks and prompts found under `roots`; where two roots have the same name, the earlier one counts."""

    roots: tuple[Path, ...]

    @staticmethod
    def find(extra: Path | None = None) -> Content:
        """Search `extra` (a command's `--content`), then MAESTRO_CONTENT, then what ships with maestro.

        Raises ContentError for a named folder that does not exist or holds none of the three content folders.
        """
        named = [] if extra is None else [(extra, "--content")]
        for entry in os.environ.get(CONTENT_VARIABLE, "").split(os.pathsep):
            if entry:
                named.append((Path(entry), CONTENT_VARIABLE))
        for folder, source in named:
            _check_root(folder, source)
        return Content((*(folder.resolve() for folder, _ in named), shipped_root()))

    def skills(self, world: str | None = None) -> dict[str, SkillContent]:
        """List the skills of `world` (all worlds when None) in their fixed index order, world by world.

        Raises ContentError for a bad folder name, a missing skill.toml, or one index used twice in one world.
        """
        found = []
        for name, folder in self._folders("skills"):
            if name == TRAINED_POLICY_FOLDER:
                continue
            skill = SkillContent(name, folder, load_toml(_description(folder, "skill.toml"), SkillSpec))
            _check_name(skill)
            found.append(skill)
        found.sort(key=_skill_order)
        _check_indices(found)
        return {skill.name: skill for skill in found if world in (None, skill.spec.world)}

    def skill(self, name: str) -> SkillContent:
        """Give one skill; raises UnknownNameError with suggestions."""
        return _pick("skill", name, self.skills())

    def reward_folder(self, name: str) -> Path | None:
        """Find the folder of a skill's fitted reward model; None where no root has one."""
        for root in self.roots:
            folder = root / "skills" / name / REWARD_FOLDER
            if (folder / "card.json").is_file():
                return folder
        return None

    def tasks(self, world: str | None = None) -> dict[str, TaskContent]:
        """List the tasks of `world` (all worlds when None) alphabetically; raises ContentError as `skills` does."""
        found = {}
        for name, folder in self._folders("meta_policies"):
            if (folder / "training.toml").is_file():
                continue
            task = TaskContent(name, folder, load_toml(_description(folder, "task.toml"), TaskSpec))
            _check_name(task)
            if world in (None, task.spec.world):
                found[name] = task
        return found

    def task(self, name: str) -> TaskContent:
        """Give one task; raises UnknownNameError with suggestions."""
        return _pick("task", name, self.tasks())

    def training(self, world: str = "nethack", name: str | None = None) -> TrainingContent:
        """Give a training policy of `world`: the one of that name, or else the world's default.

        It is a folder of meta_policies whose training.toml names that world. Raises UnknownNameError when there is none.
        """
        specs: dict[str, TrainingSpec] = {}
        policies: list[TrainingContent] = []
        for folder_name, folder in self._folders("meta_policies"):
            if (folder / "training.toml").is_file():
                spec = specs[folder_name] = load_toml(folder / "training.toml", TrainingSpec)
                policies.append(TrainingContent(folder_name, folder, spec))
                _check_name(policies[-1])
        if name is not None:
            known = {policy.name: policy for policy in policies if policy.spec.world == world}
            return _pick(f"training policy of {world}", name, known)
        defaults = {policy.spec.world: policy for policy in reversed(policies) if specs[policy.name].default}
        return _pick("world with a training policy", world, defaults)

    def prompt_folders(self) -> tuple[Path, ...]:
        """List the prompt folders that exist, in search order."""
        return tuple(root / "prompts" for root in self.roots if (root / "prompts").is_dir())

    def _folders(self, kind: str) -> Iterator[tuple[str, Path]]:
        """Yield (name, folder) of every item of `kind` alphabetically, the earliest root winning."""
        found: dict[str, Path] = {}
        for root in self.roots:
            base = root / kind
            if not base.is_dir():
                continue
            for folder in sorted(base.iterdir()):
                if not folder.is_dir() or folder.name.startswith((".", "_")):
                    continue
                if not re.match(NAME_PATTERN, folder.name):
                    raise ContentError(
                        f"the folder name {folder.name!r} is not allowed",
                        where=str(folder),
                        expected=NAME_RULE,
                        hint=f"rename it, for example to {_allowed_name(folder.name)!r}",
                    )
                if not _only_fitted(folder):
                    found.setdefault(folder.name, folder)
        yield from sorted(found.items())


def _only_fitted(folder: Path) -> bool:
    """Tell whether a skill's folder holds its reward model and nothing else: a run's, which describes no skill."""
    return [path.name for path in folder.iterdir() if not path.name.startswith(".")] == [REWARD_FOLDER]


def shipped_root() -> Path:
    """Find the content that ships with maestro: inside an installed package, beside it in a checkout.

    Raises ContentError when there is neither, which means a broken installation.
    """
    package = Path(__file__).resolve().parent
    for root in (package / "_content", package.parent):
        if (root / "skills").is_dir() and (root / "meta_policies").is_dir():
            return root
    raise ContentError(
        "the content folders that ship with maestro are missing",
        where=str(package),
        expected=f"{', '.join(FOLDERS)} in {package / '_content'} or in {package.parent}",
        hint="install maestro again from its wheel or from a complete checkout",
    )


def _check_root(folder: Path, source: str) -> None:
    if not folder.is_dir():
        raise ContentError(
            "the content folder does not exist",
            where=f"{source} {folder}",
            expected="an existing folder",
            hint="check the path",
        )
    if not any((folder / name).is_dir() for name in FOLDERS):
        raise ContentError(
            "the folder holds no content",
            where=f"{source} {folder}",
            expected=f"at least one of the folders {', '.join(FOLDERS)}",
        )


def _description(folder: Path, file_name: str) -> Path:
    path = folder / file_name
    if not path.is_file():
        raise ContentError(
            f"the folder has no {file_name}", where=str(folder), hint=f"write {path}, or remove the folder"
        )
    return path


def _check_name(item: SkillContent | TrainingContent) -> None:
    if item.spec.name != item.name:
        raise ContentError(
            f"the file says name = {item.spec.name!r}, but its folder is called {item.name!r}",
            where=str(item.folder),
            hint="make the two agree",
        )


def _check_indices(skills: list[SkillContent]) -> None:
    taken: dict[tuple[str, int], SkillContent] = {}
    for skill in skills:
        if skill.spec.index is None:
            continue
        other = taken.setdefault((skill.spec.world, skill.spec.index), skill)
        if other is not skill:
            raise ContentError(
                f"index = {skill.spec.index} is already taken by the skill {other.name!r}",
                where=str(skill.folder / "skill.toml"),
                expected="every index once in a world",
                hint="choose another index, or leave it out",
            )


def _skill_order(skill: SkillContent) -> tuple[str, bool, int, str]:
    return skill.spec.world, skill.spec.index is None, skill.spec.index or 0, skill.name


def _allowed_name(name: str) -> str:
    mended = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    return mended if re.match(NAME_PATTERN, mended) else f"x_{mended}".rstrip("_")


def _pick(kind: str, name: str, known: dict):
    try:
        return known[name]
    except KeyError:
        raise UnknownNameError(kind, name, known) from None
