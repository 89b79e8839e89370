"""Call-and-return for N games: run the chosen skill until it ends, then ask the policy over skills again.

Per step and game, after the world stepped: `observe`, all initiations, the running skill's termination and limits,
and, where it ended, the policy's choice. A choice that may not start is refused and the task's fallback runs instead.
An exception in generated code, an answer its contract forbids, or no answer before the deadline ends that game's episode
and no other.

Plain code over states: anything with `step` and `turn` will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maestro.errors import UnknownNameError
from maestro.options.accounting import (
    EPISODE,
    FAILED,
    MAX_STEPS,
    MAX_TURNS,
    TERMINATED,
    Reason,
    SkillAccount,
    Switch,
    summarise,
)
from maestro.options.deadline import Calls, CallTooLong
from maestro.options.failure import BadAnswer, GeneratedCodeFailure, describe_failure
from maestro.options.option import Initiation, Option, PolicyOverSkills, Termination

_NEVER = 1 << 62
"""A step or turn that no episode reaches: the limit of a skill without one."""


class _Game:
    """One game's side of the executive; what the step needs is in slots, what an episode adds up is in `ended`."""

    __slots__ = (
        "end_step",
        "end_turn",
        "ended",
        "failure",
        "fallback",
        "forced",
        "initiations",
        "make_policy",
        "mask",
        "observe",
        "refused",
        "select_skill",
        "should_terminate",
        "start",
        "startable",
        "state",
        "terminations",
    )  # fmt: skip

    observe: Callable[[Any], None] | None
    select_skill: Callable[[Any, str | None, frozenset[str]], str]
    initiations: tuple[tuple[int, Initiation], ...]
    terminations: dict[str, Termination]
    should_terminate: Termination

    def __init__(self, make_policy: Callable[[int], PolicyOverSkills], fallback: str) -> None:
        self.make_policy = make_policy
        self.fallback = fallback
        self.state: Any = None
        self.start: Any = None
        self.mask = -1
        self.startable: frozenset[str] = frozenset()
        self.end_turn = self.end_step = _NEVER
        self.ended: list[Switch] = []
        self.refused: str | None = None
        self.forced = False
        self.failure: GeneratedCodeFailure | None = None
        self.observe = None
        self.initiations = ()
        self.terminations = {}


class Executive:
    """Runs options over N games under a policy over skills.

    Call `start` when a game's episode begins, `advance` once after every step of the world with the new state, and
    `finish` instead of `advance` when the step ended the episode.
    """

    running: list[str | None]
    """The skill that runs in each game; None before `start`, after `finish` and after a failure."""
    started: list[Any]
    """The state in which each game's running (or last) skill began."""

    def __init__(
        self,
        options: Sequence[Option],
        make_policy: Callable[[int], PolicyOverSkills],
        fallback: str,
        num_games: int,
    ) -> None:
        """Prepare `num_games` games over the same options.

        `make_policy(seed)` gives a new policy over skills for one episode. `fallback` is the skill that runs where a
        choice is refused; it runs even where it may not start itself, because some skill has to act (the account says
        how often that happened). `start` may give a game others of both.
        Raises UnknownNameError for a fallback that is none of the options, ValueError for two options of one name.
        """
        names = [option.name for option in options]
        if len(set(names)) != len(names):
            raise ValueError(f"two options have the same name: {', '.join(sorted(names))}")
        if num_games < 1:
            raise ValueError(f"num_games is {num_games}; it must be at least 1")
        self.skills = tuple(names)
        self.num_games = num_games
        self.running = [None] * num_games
        self.started = [None] * num_games
        self._options = tuple(options)
        self._limits = {
            option.name: (option.max_turns or _NEVER, option.max_steps or _NEVER) for option in options
        }
        self._startable: dict[int, frozenset[str]] = {}
        self._calls = Calls()
        self._games = [self._under(make_policy, fallback) for _ in range(num_games)]

    def start(
        self,
        index: int,
        state: Any,
        seed: int,
        *,
        make_policy: Callable[[int], PolicyOverSkills] | None = None,
        fallback: str | None = None,
    ) -> str | None:
        """Begin an episode of game `index` in `state` and return the skill that runs first.

        `seed` fixes what the generated code draws at random. `make_policy` and `fallback` are the game's from now on,
        where they are given. Returns None if generated code failed already. Whatever the game's previous episode left
        is forgotten. Raises UnknownNameError for a fallback that is none of the options.
        """
        last = self._games[index]
        game = self._games[index] = self._under(make_policy or last.make_policy, fallback or last.fallback)
        self.running[index] = None
        self.started[index] = game.state = state
        self._calls.watch()
        self._calls.number += 1
        try:
            policy = game.make_policy(seed)
            game.select_skill = policy.select_skill
            game.observe = getattr(policy, "observe", None)
            fresh = [option.fresh(seed) if option.fresh else option for option in self._options]
            game.initiations = tuple((1 << bit, option.can_initiate) for bit, option in enumerate(fresh))
            game.terminations = {option.name: option.should_terminate for option in fresh}
            if game.observe is not None:
                game.observe(state)
            mask = 0
            for bit, can_initiate in game.initiations:
                if self._is_true(can_initiate(state), can_initiate):
                    mask |= bit
            self._set_startable(game, mask)
            return self._choose(index, game, state, None)
        except Exception as error:  # noqa: BLE001 - generated code may raise anything
            return self._fail(index, game, error)
        finally:
            self._calls.number += 1

    def advance(self, index: int, state: Any) -> str | None:
        """Take note of the state after a step of game `index` and return the skill that acts next.

        Returns None, and leaves everything as it is, where nothing runs: after a failure or after `finish`.
        """
        skill = self.running[index]
        if skill is None:
            return None
        game = self._games[index]
        game.state = state
        calls = self._calls
        calls.number += 1
        try:
            observe = game.observe
            if observe is not None:
                observe(state)
            mask = 0
            for bit, can_initiate in game.initiations:
                answer = can_initiate(state)
                if answer is True or (answer is not False and self._is_true(answer, can_initiate)):
                    mask |= bit
            if mask != game.mask:
                self._set_startable(game, mask)
            should_terminate = game.should_terminate
            answer = should_terminate(state, game.start, game.startable)
            if answer is not False and (answer is True or self._is_true(answer, should_terminate)):
                reason = TERMINATED
            elif state.turn >= game.end_turn:
                reason = MAX_TURNS
            elif state.step >= game.end_step:
                reason = MAX_STEPS
            else:
                return skill
            self._end(index, game, reason)
            return self._choose(index, game, state, skill)
        except Exception as error:  # noqa: BLE001 - generated code may raise anything
            return self._fail(index, game, error)
        finally:
            calls.number += 1

    def finish(self, index: int, state: Any) -> None:
        """Close the account of game `index` whose episode ended with `state`; generated code is not asked again.

        Harmless where nothing runs.
        """
        if self.running[index] is None:
            return
        game = self._games[index]
        game.state = state
        self._end(index, game, EPISODE)

    def failure(self, index: int) -> GeneratedCodeFailure | None:
        """Say how generated code ended the episode of game `index`; None if it did not."""
        return self._games[index].failure

    def startable(self, index: int) -> frozenset[str]:
        """Name the skills that may start in the last state game `index` was told of."""
        return self._games[index].startable

    def switches(self, index: int) -> list[Switch]:
        """List the activations of the current (or last) episode of game `index`, oldest first."""
        game = self._games[index]
        skill = self.running[index]
        if skill is None:
            return list(game.ended)
        return [*game.ended, self._activation(game, skill, None)]

    def last_ended(self, index: int) -> Switch | None:
        """Give the activation that ended last in the current (or last) episode of game `index`; None if none has."""
        ended = self._games[index].ended
        return ended[-1] if ended else None

    def account(self, index: int) -> dict[str, SkillAccount]:
        """Add up per skill the current (or last) episode of game `index`, up to the last state it was told of."""
        state = self._games[index].state
        switches = self.switches(index)
        if not switches:
            return {skill: SkillAccount() for skill in self.skills}
        return summarise(self.skills, switches, state.step, state.turn)

    def _under(self, make_policy: Callable[[int], PolicyOverSkills], fallback: str) -> _Game:
        """Make a game under a policy over skills."""
        if fallback not in self.skills:
            raise UnknownNameError("skill", fallback, self.skills, where="fallback")
        return _Game(make_policy, fallback)

    def _choose(self, index: int, game: _Game, state: Any, finished: str | None) -> str:
        """Ask the policy and begin what it chose, or the fallback in its place."""
        choice = game.select_skill(state, finished, game.startable)
        if type(choice) is not str or choice not in self._limits:
            raise BadAnswer(
                game.select_skill,
                f"returned {_shown(choice)}, not one of the skills {', '.join(self.skills)}",
            )
        game.refused, game.forced = None, False
        if choice not in game.startable:
            game.refused, choice = choice, game.fallback
            game.forced = choice not in game.startable
        max_turns, max_steps = self._limits[choice]
        game.end_turn = state.turn + max_turns
        game.end_step = state.step + max_steps
        game.should_terminate = game.terminations[choice]
        game.start = self.started[index] = state
        self.running[index] = choice
        return choice

    def _end(self, index: int, game: _Game, reason: Reason) -> None:
        skill = self.running[index]
        if skill is not None:
            game.ended.append(self._activation(game, skill, reason))
            self.running[index] = None

    @staticmethod
    def _activation(game: _Game, skill: str, reason: Reason | None) -> Switch:
        return Switch(game.start.step, game.start.turn, skill, reason, game.refused, game.forced)

    def _set_startable(self, game: _Game, mask: int) -> None:
        names = self._startable.get(mask)
        if names is None:
            names = frozenset(name for bit, name in enumerate(self.skills) if mask >> bit & 1)
            self._startable[mask] = names
        game.mask, game.startable = mask, names

    @staticmethod
    def _is_true(answer: Any, function: Any) -> bool:
        """Take an answer by its truth, as `and` and `or` make of it; None is a forgotten return and no answer."""
        if answer is None:
            raise BadAnswer(function, "returned None, not True or False")
        return bool(answer)

    def _fail(self, index: int, game: _Game, error: Exception) -> None:
        """Record that generated code ended the episode; raise the error again where generated code had no part."""
        functions = [game.make_policy, getattr(game, "select_skill", None), game.observe]
        for option in self._options:
            functions += (option.can_initiate, option.should_terminate)
        failure = describe_failure(error, game.state.step, functions)
        if failure is None and isinstance(
            error, CallTooLong
        ):  # it came while nothing generated was on the stack
            failure = GeneratedCodeFailure("", 0, "", str(error), game.state.step)
        if failure is None:
            raise error
        game.failure = failure
        self._end(index, game, FAILED)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
