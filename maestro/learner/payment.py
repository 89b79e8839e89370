"""What the skills are paid: each by its own reward model, through a cache, because messages repeat.

A reward model reads the message of the step and the signs of what changed since the window began. Equal ones have equal
rewards, so every (skill, message, signs) is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from maestro.content import Content
from maestro.errors import FitError
from maestro.learner.extrinsic import Penalty, TaskName
from maestro.preferences.goals import find_goal
from maestro.preferences.transitions import HUNGER_NAMES
from maestro.rewards.encode import CHANGES
from maestro.rewards.files import CARD, Card, SkillReward, load_reward
from maestro.rewards.job import preference_sha256
from maestro.rewards.shape import CaptionCounter, shaped_reward
from maestro.rewards.single import Recent, Signs, SingleReward
from maestro.specs import RewardSettings, none_word

_NO_CHANGE: Signs = (0,) * len(CHANGES)
_HUNGER = {name: code for code, name in enumerate(HUNGER_NAMES)}
_CACHED = 1 << 16
"""Rewards remembered, of all skills together; up to twice as many. One takes about 300 bytes."""


class PayConfig(BaseModel):
    """How a step is paid: extrinsic_scale * clip(reward_scale * world's) + intrinsic_scale * shaped reward.

    Source: the mixing of Motif and MaestroMotif.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    intrinsic_scale: float = Field(default=0.1, ge=0)
    """Of the reward models' rewards; 0: no reward model is needed."""
    extrinsic_scale: float = Field(default=0.0, ge=0)
    """Of the world's reward; 0: it is not looked at, and a task neither pays nor ends an episode."""
    reward_scale: float = Field(default=1.0, gt=0)
    """Of the world's reward before it is clipped."""
    reward_clip: float = Field(default=10.0, gt=0)
    """The world's reward is cut to plus and minus this."""
    extrinsic: TaskName = "score"
    """Which of the world's tasks pays the extrinsic reward; see `learner.extrinsic`."""
    penalty: Penalty = "constant"
    """What `score` takes off while the game's clock stands still."""
    count_exponent: float | Literal["skill"] = "skill"
    """Discount of captions seen before; "skill": as each skill.toml says."""
    count_memory: Annotated[
        Annotated[int, Field(gt=0)] | Literal["skill"] | None, BeforeValidator(none_word)
    ] = "skill"
    """Distinct captions remembered; "skill": as each skill.toml says; None, or "none": the whole episode, as in Motif."""
    count_by: Literal["caption", "level"] = "caption"
    """What is counted: the caption, as published, or the caption on each level of the world. By level, with `count_memory`
    None, a staircase that is taken down, up and down again is paid once, and the next level's in full."""
    switch_reward: Literal["own", "next"] = "own"
    """Whose model pays the step that ends a skill: that skill's, or, as in MaestroMotif, that of the next one."""
    skill: str | None = None
    """Train this one skill (or ready goal of the preference prompts) alone, without options, as Motif does."""
    rewards: Path | None = None
    """Run whose <run>/skills/<skill>/reward is used where it is there; else, and by default, the content's."""
    allow_stale: bool = False
    """Use also reward models that were fitted to another preference, rules or threshold settings than the content has."""

    def settings(self, spec: RewardSettings) -> RewardSettings:
        """Lay what is said here over a skill's own settings."""
        changed: dict[str, Any] = {}
        if self.count_exponent != "skill":
            changed["count_exponent"] = self.count_exponent
        if self.count_memory != "skill":
            changed["count_memory"] = self.count_memory
        return spec.model_copy(update=changed)


class Look(NamedTuple):
    """A step with something to read: what the reward models see of it."""

    game: int
    message: str
    """Not empty."""
    signs: Signs
    level: Hashable = None
    """Where the caption is counted; None where all of an episode's captions are counted together."""


class Paid(NamedTuple):
    """What the looks of one step were worth."""

    rewards: np.ndarray
    """float64 (N,): shaped rewards; 0 where there was nothing to look at. Below 0 only by a model without a threshold."""
    values: list[float]
    """Of every look the normalised reward, before threshold and count."""


class Payment:
    """Pays N games' skills by their reward models. Counts captions per game; call `begin` when an episode begins."""

    def __init__(
        self,
        rewards: Sequence[SkillReward],
        settings: Sequence[RewardSettings],
        num_games: int,
        max_cached: int = _CACHED,
    ) -> None:
        """Prepare to pay; `rewards` and `settings` have one entry a skill, in the skills' order."""
        self._models = [SingleReward(reward) for reward in rewards]
        self._terms = [
            (reward.threshold, setting.count_exponent)
            for reward, setting in zip(rewards, settings, strict=True)
        ]
        memories = sorted({setting.count_memory for setting in settings}, key=lambda memory: memory or 0)
        self._memory_of = [memories.index(setting.count_memory) for setting in settings]
        self._counters = [tuple(CaptionCounter(memory) for memory in memories) for _ in range(num_games)]
        self._num_games = num_games
        self._known = Recent[tuple[int, str, Signs], float](max_cached)
        self.lookups = self.misses = 0

    @property
    def num_cached(self) -> int:
        """Count the rewards that are remembered; at most twice `max_cached`."""
        return len(self._known)

    def begin(self, game: int) -> None:
        """Forget what the game's last episode showed."""
        for counter in self._counters[game]:
            counter.clear()

    def pay(self, looks: Sequence[Look], payers: Sequence[int]) -> Paid:
        """Pay one step of all games; `payers[game]` is the number of the skill whose model pays.

        Every caption is counted once for its game (and level), whichever skill ran when it was seen before.
        """
        rewards = np.zeros(self._num_games)
        values = self.normalised([(payers[look.game], look.message, look.signs) for look in looks])
        for (game, message, _, level), value in zip(looks, values, strict=True):
            payer = payers[game]
            counts = [counter.count((level, message)) for counter in self._counters[game]]
            threshold, exponent = self._terms[payer]
            rewards[game] = shaped_reward(value, threshold, counts[self._memory_of[payer]], exponent)
        return Paid(rewards, values)

    def normalised(self, keys: Sequence[tuple[int, str, Signs]]) -> list[float]:
        """Give the normalised rewards of (skill, message, signs), remembered or computed now."""
        self.lookups += len(keys)
        values, known = [], self._known
        for key in keys:
            value = known.get(key)
            if value is None:
                self.misses += 1
                value = self._models[key[0]](key[1], key[2])
                known.put(key, value)
            values.append(value)
        return values


class ChangeReader:
    """Reads the signs of change between two states of one world, as `rewards.encode.encode_changes` gives them."""

    def __init__(self, state: Any) -> None:
        """Prepare for states like this one; what a world's State does not have never changes."""
        self._columns = [number for number, name in enumerate(CHANGES) if hasattr(state, name)]
        self._hunger = [CHANGES[column] == "hunger" for column in self._columns]
        names = [CHANGES[column] for column in self._columns]
        self._read: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()
        self._single = len(names) == 1

    def __call__(self, before: Any, after: Any) -> Signs:
        """Return the five signs."""
        was, now = self._read(before), self._read(after)
        if was == now:
            return _NO_CHANGE
        if self._single:
            was, now = (was,), (now,)
        signs = [0] * len(CHANGES)
        for column, hunger, a, b in zip(self._columns, self._hunger, was, now, strict=True):
            if hunger:
                a, b = _HUNGER.get(a, -1), _HUNGER.get(b, -1)
            signs[column] = (b > a) - (b < a)
        return tuple(signs)


class LevelReader:
    """Reads on which level of its world a state is; None in a world that has no levels."""

    def __init__(self, state: Any) -> None:
        """Prepare for states like this one."""
        names = [name for name in ("dungeon", "depth") if hasattr(state, name)]
        self._read: Callable[[Any], Hashable] = attrgetter(*names) if names else lambda _: None

    def __call__(self, state: Any) -> Hashable:
        """Return what is the same as long as the hero stays on one level, and the same again when it comes back."""
        return self._read(state)


def load_payment(
    content: Content, world: str, skills: Sequence[str], config: PayConfig, num_games: int
) -> Payment | None:
    """Load the reward models of the skills; None where nothing intrinsic is paid.

    Raises FitError, naming the command that makes it, for a model that is missing, damaged, of another world, or fitted
    to a preference or to threshold settings that have changed since.
    """
    if config.intrinsic_scale == 0:
        return None
    known = content.skills()
    # A ready goal has no skill.toml; it is Motif's, and so is its memory.
    motif = RewardSettings(count_memory=None)
    settings = [known[skill].spec.reward if skill in known else motif for skill in skills]
    rewards = [
        _load(content, world, skill, config, setting) for skill, setting in zip(skills, settings, strict=True)
    ]
    return Payment(rewards, [config.settings(setting) for setting in settings], num_games)


def check_threshold(card: Card, settings: RewardSettings, *, where: str, beside: str = "") -> None:
    """Raise FitError where a model's threshold was chosen by other settings than these; `beside` is another way out."""
    change = card.threshold_change(settings)
    if change is not None:
        fit = f"maestro fit-reward --skill {card.skill}"
        raise FitError(
            f"the reward model of {card.skill!r} was {change}",
            where=where,
            expected="the quantile, certainty and threshold of [reward] that it was fitted with",
            hint=f"{fit}; {beside}" if beside else fit,
        )


def check_rewards(config: PayConfig, skills: Sequence[str]) -> None:
    """Raise FitError where `rewards` is named and has no reward model of any of these skills: then it is mistyped.

    `load_payment` does not ask: a run of train-skills names itself there, and may leave every skill to the content.
    """
    run = config.rewards
    if run is None or config.intrinsic_scale == 0:
        return
    if any((_own_reward(run, skill) / CARD).is_file() for skill in skills):
        return
    raise FitError(
        f"{str(run)!r} is no folder"
        if not run.is_dir()
        else f"{str(run)!r} has no reward model of any skill",
        where="games.pay.rewards",
        expected=f"a run with {_own_reward(Path('<run>'), '<skill>')} for one of {', '.join(skills)}",
        hint="mend the path, or leave it out to use the content's reward models",
    )


def _own_reward(run: Path, skill: str) -> Path:
    return run / "skills" / skill / "reward"


def _is_constant(card: Card) -> bool:
    """Tell whether a model pays nothing, and says the same of the worst and the best caption it was fitted with."""
    return card.paid_share == 0 and len(set(card.quantiles.values())) == 1


def _load(
    content: Content, world: str, skill: str, config: PayConfig, settings: RewardSettings
) -> SkillReward:
    run = config.rewards
    make = f"maestro train-skills --stage rewards --skill {skill}, or maestro fit-reward --skill {skill}"
    folder = None if run is None else _own_reward(run, skill)
    if folder is None or not (folder / CARD).is_file():
        folder = content.reward_folder(skill)
    if folder is None:
        places = "in the content" if run is None else f"in {run} or the content"
        raise FitError(
            f"there is no reward model of {skill!r} {places}",
            where="pay",
            expected="one for every skill, or intrinsic_scale = 0",
            hint=make,
        )
    reward = load_reward(folder)
    for what, found, expected in (("skill", reward.card.skill, skill), ("world", reward.card.world, world)):
        if found != expected:
            raise FitError(
                f"the reward model is of the {what} {found!r}",
                where=str(folder),
                expected=repr(expected),
                hint=make,
            )
    if not reward.card.std > 0 or _is_constant(reward.card):
        raise FitError(
            "the reward model gives all captions the same reward",
            where=str(folder),
            expected="one that tells better captions from worse ones",
            hint=make,
        )
    stale = reward.card.skill_sha256 != preference_sha256(find_goal(content, skill))
    if stale and not config.allow_stale:
        raise FitError(
            f"the reward model was fitted to another preference of {skill!r} than the content has now",
            where=str(folder),
            expected="the preference and rules it was fitted to",
            hint=f"{make}; or pay.allow_stale = true",
        )
    if not config.allow_stale:
        check_threshold(reward.card, settings, where=str(folder), beside="or pay.allow_stale = true")
    return reward
