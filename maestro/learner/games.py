"""Games that teach: N games of a world under the training policy over skills, each skill paid by its own reward model.

    games = SkillGames(GamesConfig(num_games=64))
    games.reset()
    step = games.step(actions)      # int (64,); games that ended have begun anew
    games.observation["option"]     # which skill runs in which game

What a game does follows from the seed, the group and the game's number alone, whatever is played beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from maestro.content import Content
from maestro.envs import load_world_module, make_features, make_world
from maestro.envs.world import Features, World
from maestro.errors import ConfigError, GeneratedCodeError, MaestroError
from maestro.learner.direction import direction
from maestro.learner.extrinsic import make_task_reward
from maestro.learner.guide import Guide, GuideConfig
from maestro.learner.metrics import Counts, EpisodeSummary, facts_of_episode
from maestro.learner.network import OPTION, ArraySpec
from maestro.learner.payment import ChangeReader, LevelReader, Look, PayConfig, load_payment
from maestro.learner.skill_view import SkillView
from maestro.options.executive import Executive
from maestro.preferences.window import DEFAULT_HORIZON, Window

_MOST_FAILED_STARTS = 20
"""Episodes in a row that may end before the learner's first step, by a fault of generated code or under the guide."""


class GamesConfig(BaseModel):
    """Which games are played, and what is paid in them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str = "nethack"
    num_games: int = Field(default=64, ge=1)
    features: str = "compass"
    """Which of the world's feature sets the network sees."""
    training: str | None = None
    """Training policy over skills that directs the games, by name: a curriculum; None: the world's default."""
    max_steps: int | None = Field(default=None, ge=1, le=1_000_000_000)
    """Steps after which an episode is truncated; None: as the training policy's training.toml says."""
    options: dict[str, Any] = {}
    """Of the world, over its own TRAINING_OPTIONS."""
    seed: int = Field(default=0, ge=0)
    dungeons: tuple[Annotated[int, Field(ge=0, lt=1 << 64)], ...] = ()
    """Numbers of the worlds that episodes are drawn from, each equally likely; empty: every episode has one of its own.

    A few make a small problem for probes of learning, as `num_levels` does in Procgen (Cobbe et al. 2020). In NetHack
    a number fixes the first level, and the world's option `fixed_levels` those below it.
    """
    guide: GuideConfig = GuideConfig()
    """Whether the reference policy leads games to where a skill that is seldom started may start."""
    horizon: int = Field(default=DEFAULT_HORIZON, ge=1)
    """Steps over which changes are told to a reward model, at most; it was fitted to captions of the same horizon."""
    pay: PayConfig = PayConfig()
    option_returns: Literal["through", "cut"] = "through"
    """Whether returns flow through the end of a skill into the next one, or the learner is told that each is an end.

    With "cut" sample-factory also forgets the recurrent state at every skill's end, while imitation and evaluation carry it
    on: a network with a memory then plays otherwise than it was trained.
    """
    roots: tuple[Path, ...] = ()
    """Roots of the content; empty: those of `Content.find`."""

    def content(self) -> Content:
        """Find the content; raises ContentError as `Content.find` does."""
        return Content(self.roots) if self.roots else Content.find()


class GamesStep(NamedTuple):
    """What one step of all games gave the learner: arrays of length N, made anew every step."""

    reward: np.ndarray
    """float32 (N,)"""
    terminated: np.ndarray
    """bool (N,): the episode ended, or, with option_returns "cut", a skill did."""
    truncated: np.ndarray
    """bool (N,): the step limit was reached, or generated code failed; never true together with `terminated`."""
    cut: np.ndarray
    """bool (N,): `terminated` means no more than the end of a skill; the game goes on."""
    finished: list[EpisodeSummary]
    """Episodes that ended."""


class SkillGames:
    """N games; see the module's text. `observation` is overwritten by every step."""

    def __init__(self, config: GamesConfig, *, group: int = 0, content: Content | None = None) -> None:
        """Load content and reward models and start the engines; groups of other numbers play other dungeons.

        Raises the MaestroError that says what is wrong with content, rewards, world or features.
        """
        content = content or config.content()
        self.config = config
        self.group = group
        options, make_policy, fallback = direction(content, config.world, config.training, config.pay.skill)
        num_games = config.num_games
        self.executive = Executive(options, make_policy, fallback, num_games)
        self.skills = self.executive.skills
        self._payment = load_payment(content, config.world, self.skills, config.pay, num_games)
        self.world: World = make_world(config.world, num_games, **world_options(config, content))
        self.num_actions = len(self.world.action_names)
        self.features: Features = make_features(self.world, config.features)
        guide = config.guide
        self._guide = Guide(guide, self.world, self.executive) if guide.skills else None
        self._view = SkillView(self.executive)
        self.observation: dict[str, np.ndarray] = {**self.features.arrays, OPTION: self._view.array}
        self.specs = {
            name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in self.observation.items()
        }
        pay = config.pay
        self._task = make_task_reward(pay.extrinsic, self.world, pay.penalty) if pay.extrinsic_scale else None
        self.counts = Counts(self.skills)
        self._windows = [Window(config.horizon) for _ in range(num_games)]
        self._everyone = list(range(num_games))
        self._episodes = [-1] * num_games
        self._began: list[Any] = [None] * num_games
        self._first_turns = [0] * num_games
        self._first_steps = [0] * num_games
        self._turns = np.zeros(num_games, np.int64)
        self._sums = np.zeros((3, num_games))
        self._finished: list[EpisodeSummary] = []
        self._told = (0, 0)

    @property
    def running(self) -> np.ndarray:
        """Give the number of the skill that acts next in each game, int64 (N,), overwritten by every step."""
        return self._view.running

    def reset(self) -> None:
        """Begin a new episode in every game; what runs is given up without being counted as an episode."""
        for index in self._everyone:
            if self.executive.running[index] is not None:
                self.executive.finish(index, self.world.states[index])
                self._count_switch(index)
        self._begin(self._everyone)
        self._view.update(self.world.states)

    def step(self, actions: np.ndarray) -> GamesStep:
        """Apply actions[i], int (N,), to game i, pay the skills and begin anew where an episode ended."""
        result = self.world.step(actions.tolist())
        terminated, truncated = result.terminated.copy(), result.truncated.copy()
        extrinsic = result.reward
        if self._task is not None:
            extrinsic, done = self._task(result)
            terminated |= done
            truncated &= ~done
        acted = self._view.running.copy()
        looks, switched = self._advance((terminated | truncated).tolist())
        reward, intrinsic, payers = self._pay(looks, extrinsic, acted)
        cut = np.zeros(len(acted), bool)
        ended = []
        for index in switched:
            self._count_switch(index)
            if self.executive.running[index] is not None:
                cut[index] = self.config.option_returns == "cut"
                continue
            ended.append(index)
            if not terminated[index]:
                truncated[index] = True
        terminated |= cut
        self._count(acted, payers, intrinsic, reward)
        for index in ended:
            self._finish(index, "terminated" if terminated[index] else "truncated")
        if ended:
            gone = set(ended)
            self.features.update([index for index in self._everyone if index not in gone])
            self._begin(ended)
        else:
            self.features.update(self._everyone)
        self._view.update(self.world.states)
        finished, self._finished = self._finished, []
        return GamesStep(reward, terminated, truncated, cut, finished)

    def metrics(self) -> dict[str, float]:
        """Say what happened since the last call; see `metrics.Counts.report`."""
        return self.take_counts().report()

    def take_counts(self) -> Counts:
        """Give the sums since the last call and begin anew; they can be added to those of other games."""
        counts, self.counts = self.counts, Counts(self.skills)
        if self._payment is not None:
            lookups, misses = self._payment.lookups, self._payment.misses
            counts.add("lookups", lookups - self._told[0])
            counts.add("hits", lookups - misses - (self._told[0] - self._told[1]))
            self._told = lookups, misses
        return counts

    def close(self) -> None:
        """End all games."""
        self.world.close()

    def _advance(self, over: list[bool]) -> tuple[list[Look], list[int]]:
        """Tell windows and executive of the step; return what there is to read, and the games whose skill ended."""
        executive, windows, began = self.executive, self._windows, self._began
        running, started, advance = executive.running, executive.started, executive.advance
        pays, changes, level = self._payment is not None, self._changes, self._level
        looks, switched = [], []
        for index, state in enumerate(self.world.states):
            window, start = windows[index], began[index]
            window.push(state)
            message = state.message
            # Read before the executive moves on: the step that ends a skill is told from where that skill began.
            if message and pays:
                looks.append(Look(index, message, changes(window.start(start), state), level(state)))
            if over[index]:
                executive.finish(index, state)
                switched.append(index)
                continue
            advance(index, state)
            if started[index] is not start or running[index] is None:
                switched.append(index)
        return looks, switched

    def _pay(
        self, looks: list[Look], extrinsic: np.ndarray, acted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give rewards, float32 (N,), shaped intrinsic rewards, float64 (N,), and whose model pays, int64 (N,)."""
        pay, payers, intrinsic = self.config.pay, acted, np.zeros(len(acted))
        if self._payment is not None and looks:
            if pay.switch_reward == "next":
                payers = acted.copy()
                for index, skill in enumerate(self.executive.running):
                    if skill is not None:
                        payers[index] = self.skills.index(skill)
            numbers = payers.tolist()
            intrinsic, values = self._payment.pay(looks, numbers)
            self.counts.looks([numbers[look.game] for look in looks], values)
        reward = pay.intrinsic_scale * intrinsic
        if pay.extrinsic_scale:
            clipped = np.clip(pay.reward_scale * extrinsic, -pay.reward_clip, pay.reward_clip)
            reward = reward + pay.extrinsic_scale * clipped
        self._sums += (reward, intrinsic, extrinsic)
        return reward.astype(np.float32), intrinsic, payers

    def _count(
        self, acted: np.ndarray, payers: np.ndarray, intrinsic: np.ndarray, reward: np.ndarray
    ) -> None:
        turns = np.array([state.turn for state in self.world.states])
        self.counts.step(acted, turns - self._turns, payers, intrinsic, reward)
        self._turns = turns

    def _count_switch(self, index: int) -> None:
        """Count the activation that ended in a game and the one that began, if one did."""
        executive = self.executive
        switch = executive.last_ended(index)
        assert switch is not None
        self.counts.ended(switch, self._began[index], self.world.states[index])
        self._note_start(index)

    def _note_start(self, index: int) -> None:
        skill = self.executive.running[index]
        if skill is not None:
            self._began[index] = self.executive.started[index]
            self.counts.began(self.skills.index(skill))

    def _finish(self, index: int, ending: str) -> None:
        """Sum up an episode that is over."""
        state, failure = self.world.states[index], self.executive.failure(index)
        summary = EpisodeSummary(
            game=index,
            episode=self._episodes[index],
            steps=state.step - self._first_steps[index],
            turns=state.turn - self._first_turns[index],
            reward=float(self._sums[0, index]),
            intrinsic=float(self._sums[1, index]),
            extrinsic=float(self._sums[2, index]),
            ending=ending if failure is None else "failed",
            failure="" if failure is None else str(failure),
            facts=facts_of_episode(state),
        )
        self.counts.episode(summary)
        self._finished.append(summary)

    def _begin(self, indices: Iterable[int]) -> None:
        """Start new episodes; one that generated code fails at once counts as an episode of no steps."""
        waiting, begun = list(indices), list(indices)
        for _ in range(_MOST_FAILED_STARTS):
            waiting = self._start(waiting)
            if not waiting:
                break
        else:
            raise self._never_begins(waiting[0])
        self.features.begin(begun)

    def _never_begins(self, index: int) -> MaestroError:
        if (failure := self.executive.failure(index)) is None:
            return ConfigError(
                f"the guide lost every one of {_MOST_FAILED_STARTS} games in a row",
                where="games.guide",
                hint="a smaller games.guide.max_steps",
            )
        return GeneratedCodeError(
            f"every one of {_MOST_FAILED_STARTS} episodes failed before its first step: {failure}",
            where="SkillGames",
            hint="mend the code, or generate it again with `maestro codegen`",
        )

    def _start(self, indices: list[int]) -> list[int]:
        """Start one episode in each of these games; return those that ended before the learner could act."""
        world, executive = self.world, self.executive
        codes, guided = [], {}
        for index in indices:
            self._episodes[index] += 1
            core, disp, code, guide = self._seeds(index)
            world.seed(index, core, disp)
            codes.append(code)
            if guide < self.config.guide.share * 2**32:
                guided[index] = guide
        world.reset(indices)
        for index, code in zip(indices, codes, strict=True):
            executive.start(index, world.states[index], code)
        if self._guide is not None:
            self._guide.lead(guided)
        for index in indices:
            self._take_over(index)
        return [index for index in indices if executive.running[index] is None]

    def _take_over(self, index: int) -> None:
        """Begin to pay and count a game where it stands."""
        state = self.world.states[index]
        if not hasattr(self, "_changes"):
            self._changes: Callable[[Any, Any], tuple[int, ...]] = ChangeReader(state)
            by_level = self.config.pay.count_by == "level"
            self._level: Callable[[Any], Hashable] = LevelReader(state) if by_level else lambda _: None
        self._windows[index].reset(state)
        self._turns[index] = self._first_turns[index] = state.turn
        self._first_steps[index] = state.step
        self._sums[:, index] = 0.0
        if self._payment is not None:
            self._payment.begin(index)
        if self._task is not None:
            self._task.begin(index)
        if self.executive.failure(index) is not None:
            self._finish(index, "failed")
        self._note_start(index)

    def _seeds(self, index: int) -> tuple[int, int, int, int]:
        """Derive the seeds of world (two), generated code and guide from seed, group, game and episode.

        Evaluation derives its own from keys of length one, so no training episode is one of an evaluation's.
        """
        key = (self.group, index, self._episodes[index])
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        core, disp, code, guide = sequence.generate_state(4, np.uint32).tolist()
        if self.config.dungeons:
            core = disp = self.config.dungeons[core % len(self.config.dungeons)]
        return core, disp, code, guide


def world_options(config: GamesConfig, content: Content) -> dict[str, Any]:
    """Give the options the games' world is made with."""
    max_steps = config.max_steps or content.training(config.world, config.training).spec.max_steps
    module = load_world_module(config.world)
    usual = getattr(module, "TRAINING_OPTIONS", {})
    guide = getattr(module, "REFERENCE_OPTIONS", {}) if config.guide.skills else {}
    return {**usual, **guide, "max_steps": max_steps, **config.options}


def action_options(config: GamesConfig) -> dict[str, Any]:
    """Give those of the configured options of the world that say what an action does; they belong to the policy."""
    names = getattr(load_world_module(config.world), "ACTION_OPTIONS", ())
    return {name: value for name, value in config.options.items() if name in names}
