"""What a skill and a task are: the typed contents of skill.toml, task.toml and training.toml.

The files are written by hand; a mistake in one is answered with the file, the dotted key, the value, what was
expected and, for an unknown key, the key that was probably meant.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from maestro.errors import SpecError, suggestion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
NAME_RULE = "a lower-case letter followed by lower-case letters, digits and underscores"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ModelT = TypeVar("ModelT", bound=BaseModel)


def none_word(value: Any) -> Any:
    """Let a file say "none", because TOML has no null."""
    return None if value == "none" else value


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RewardSettings(_Spec):
    """Settings of one skill's reward: `1[r >= threshold] * r / count**count_exponent`."""

    quantile: float = Field(default=0.85, ge=0.0, lt=1.0)
    """Quantile of the training rewards that becomes the threshold; 0: none, everything is paid, also what is below 0."""
    certainty: float = Field(default=0.9, ge=0.5, lt=1.0)
    """The threshold is raised to where a step is thought better than one on which nothing happens, with this probability."""
    threshold: float | None = Field(default=None, ge=0.0)
    """Normalised reward that is the threshold, whatever quantile and certainty say. All three count when a model is fitted."""
    count_exponent: float = Field(default=3.0, ge=0.0)
    """How strongly a caption that was seen before is discounted; 0 means not at all."""
    count_memory: Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(none_word)] = 20
    """Distinct captions remembered for the count; "none" remembers the whole episode."""


class PreferenceRule(_Spec):
    """One rule of the `rules` annotator: a transition to which all of its conditions apply gets its score.

    Changes are those the caption tells: since the skill began, or over the caption's horizon.
    """

    score: float
    """Added to the transition's sum; of two transitions, the one with the higher sum is preferred."""
    message: str | None = None
    """Regular expression to be found in this step's message."""
    previous_message: str | None = None
    """The same for the message of the step before."""
    caption: str | None = None
    """The same for the whole caption: for worlds with other facts than NetHack's."""
    depth: Literal["deeper", "higher", "same"] | None = None
    gold: Literal["rose", "fell", "same"] | None = None
    hp: Literal["rose", "fell", "same"] | None = None
    experience_level: Literal["rose", "fell", "same"] | None = None
    hunger: Literal["better", "worse", "same"] | None = None

    @pydantic.field_validator("message", "previous_message", "caption")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"{value!r} is no regular expression: {error}") from None
        return value

    @pydantic.model_validator(mode="after")
    def _says_something(self) -> PreferenceRule:
        if self.model_fields_set <= {"score"}:
            raise ValueError(
                "a rule needs a condition: " + ", ".join(sorted(set(type(self).model_fields) - {"score"}))
            )
        return self


class SkillSpec(_Spec):
    """One skill, as its skill.toml describes it."""

    name: Name
    description: Text
    """What the skill does, for readers and for the prompts that write code."""
    preference: Text
    """What the annotator should prefer when it compares two captions for this skill."""
    world: Name = "nethack"
    index: int | None = Field(default=None, ge=0)
    """Place in the policy's skill order; skills without one come last, in alphabetical order."""
    rules: list[PreferenceRule] = []
    """The preference as far as rules can say it, for the annotator `rules`."""
    reward: RewardSettings = RewardSettings()
    max_turns: int | None = Field(default=None, gt=0)
    """Game turns after which the skill always ends; None means no such limit."""
    max_steps: int | None = Field(default=None, gt=0)
    """Agent steps after which the skill always ends; None means no such limit."""


Change = Literal["rose", "fell", "same", "changed"]


class SkillSuccessSpec(_Spec):
    """What counts as a success of one activation of a skill, as its success.toml describes it.

    Both tables say how fields of the state at the activation's end compare with those at its start.
    """

    all: dict[Name, Change] = {}
    """All of these must be so."""
    any: dict[Name, Change] = {}
    """At least one of these must be so, if there are any."""

    @pydantic.model_validator(mode="after")
    def _says_something(self) -> SkillSuccessSpec:
        if not self.all and not self.any:
            raise ValueError("it says nothing: [all] and [any] are both empty")
        return self


class SuccessSpec(_Spec):
    """Names of a task's two success tests, which the world publishes."""

    true: Name
    """What the task's text says, decided from the engine's own facts."""
    compatible: Name
    """What the predecessor's code scores, for comparison with its published row."""


class Published(_Spec):
    """A published result to set beside ours."""

    value: float
    stderr: float = Field(ge=0.0)
    unit: Literal["percent", "count"]
    """Percent of episodes (0 to 100), or a mean count an episode."""
    source: Text


class PolicySpec(_Spec):
    """What any policy over skills needs: an instruction, a world, a step budget and a fallback skill."""

    name: Name
    instruction: Text
    world: Name = "nethack"
    max_steps: int = Field(default=10_000, gt=0)
    """Agent steps after which an episode is truncated."""
    fallback: Name
    """Skill that runs instead when the policy chooses one that may not start."""


class TrainingSpec(PolicySpec):
    """One training policy over skills, as its training.toml describes it."""

    default: bool = True
    """Whether it is the one its world is trained under where no other is named; false for another curriculum."""


class TaskSpec(PolicySpec):
    """One task, as its task.toml describes it."""

    success: SuccessSpec
    kind: Literal["rate", "count"] = "rate"
    """Whether success is reached or not in an episode, or counted in it."""
    published: Published | None = None

    @pydantic.model_validator(mode="after")
    def _unit_fits_kind(self) -> TaskSpec:
        unit = {"rate": "percent", "count": "count"}[self.kind]
        if self.published is not None and self.published.unit != unit:
            raise ValueError(
                f"published.unit is {self.published.unit!r}, but a task of kind {self.kind!r} needs {unit!r}"
            )
        return self


def load_toml(path: Path, model: type[ModelT]) -> ModelT:
    """Read a TOML file into `model`; raises SpecError as `read_toml` does, and where it does not fit the model."""
    data = read_toml(path, hint=f"create it; it describes one {_noun(model)}")
    return parse(data, model, where=str(path))


def read_toml(path: Path, *, hint: str = "") -> dict[str, Any]:
    """Read a TOML file; raises SpecError for one that is missing (with `hint`), unreadable, not UTF-8, or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError("the file does not exist", where=str(path), hint=hint) from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(
            f"not valid TOML: {error}", where=str(path), hint="mend the line that is named"
        ) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"not UTF-8 text ({error.reason} at byte {error.start})", where=str(path)) from None
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", where=str(path)) from None


def parse(data: dict[str, Any], model: type[ModelT], *, where: str) -> ModelT:
    """Check `data` against `model`; the first fault found is raised as a SpecError that starts with `where`.

    Numbers have to be finite: TOML knows `inf` and `nan`, and no setting does.
    """
    endless = _endless(data)
    if endless is not None:
        key, value = endless
        raise SpecError(f"the value is {value}", where=f"{where}: {key}", expected="a finite number")
    try:
        return model.model_validate(data)
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False, include_context=True)
        faults.sort(
            key=lambda fault: fault["type"] != "extra_forbidden"
        )  # a misspelt key explains a missing one
        raise _spec_error(faults[0], len(faults), data, model, where) from None


def _endless(data: Any, key: str = "") -> tuple[str, float] | None:
    """Find a number that is not finite, and its key with dots."""
    if isinstance(data, float):
        return None if math.isfinite(data) else (key, data)
    parts = (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, (list, tuple)) else ()
    )
    found = (_endless(value, f"{key}.{name}" if key else str(name)) for name, value in parts)
    return next((one for one in found if one is not None), None)


def _spec_error(
    fault: Any, num_faults: int, data: dict[str, Any], model: type[BaseModel], where: str
) -> SpecError:
    location = [
        part for part in fault["loc"] if isinstance(part, int) or part in _keys_on_the_way(data, model)
    ]
    key = ".".join(str(part) for part in location)
    more = f" (and {num_faults - 1} more in this file)" if num_faults > 1 else ""
    place = f"{where}: {key}" if key else where
    if fault["type"] == "extra_forbidden":
        known = list(_model_at(model, location[:-1]).model_fields)
        close = suggestion(str(location[-1]), known)
        return SpecError(
            f"unknown key {location[-1]!r} = {_shown(fault['input'])}{more}",
            where=place,
            expected=f"one of {', '.join(known)}",
            hint=close or "remove the key",
        )
    if fault["type"] == "missing":
        field = _model_at(model, location[:-1]).model_fields[str(location[-1])]
        return SpecError(
            f"the key is missing{more}", where=place, expected=_wanted(field.annotation), hint="add it"
        )
    if fault["type"] == "string_pattern_mismatch":
        return SpecError(f"{_shown(fault['input'])} is no name{more}", where=place, expected=NAME_RULE)
    if fault["type"] == "value_error":
        return SpecError(f"{fault['ctx']['error']}{more}", where=place, hint="make the two agree")
    return SpecError(
        f"the value is {_shown(fault['input'])}{more}",
        where=place,
        expected=_expected(fault, model, location),
    )


def _expected(fault: Any, model: type[BaseModel], location: list[Any]) -> str:
    """Say in a TOML author's words what pydantic expected."""
    if fault["type"] in ("model_type", "model_attributes_type"):
        return f"a table with {', '.join(_model_at(model, location).model_fields)}"
    kind = {
        "string_type": "text",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "tuple_type": 'a list, such as [1, 2] or ["a", "b"]',
        "list_type": 'a list, such as [1, 2] or ["a", "b"]',
    }
    return kind.get(
        str(fault["type"]), str(fault["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
    )


def _keys_on_the_way(data: Any, model: type[BaseModel]) -> set[str]:
    """Collect real keys, so that pydantic's internal location parts (names of union members) can be left out."""
    keys = set(model.model_fields)
    if isinstance(data, dict):
        for key, value in data.items():
            keys.add(key)
            field = model.model_fields.get(key)
            child = _child_model(field.annotation) if field else None
            if child is not None:
                keys |= _keys_on_the_way(value, child)
    return keys


def _model_at(model: type[BaseModel], location: list[Any]) -> type[BaseModel]:
    for part in location:
        field = model.model_fields.get(str(part))
        child = _child_model(field.annotation) if field else None
        if child is not None:
            model = child
    return model


def _child_model(annotation: Any) -> type[BaseModel] | None:
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _wanted(annotation: Any) -> str:
    child = _child_model(annotation)
    if child is not None:
        return f"a table with {', '.join(child.model_fields)}"
    return {"str": "text", "int": "a whole number", "float": "a number"}.get(
        getattr(annotation, "__name__", ""), str(annotation).replace("typing.", "")
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _noun(model: type[BaseModel]) -> str:
    return model.__name__.removesuffix("Spec").lower()


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested configuration over another; both stay as they are."""
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result
