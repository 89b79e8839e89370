"""The brain of one game: perceive, answer questions, stay alive, then carry on with the running skill."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference.altars import Worshipper
from maestro.envs.nethack.reference.combat import Fighter
from maestro.envs.nethack.reference.exploration import Explorer
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.overrule import Notes, overrule, take_notes
from maestro.envs.nethack.reference.senses import Senses
from maestro.envs.nethack.reference.shopping import Merchant
from maestro.envs.nethack.reference.stairs import StairTaker
from maestro.envs.nethack.reference.survival import Survivor
from maestro.errors import UnknownNameError

STUCK_STEPS = 25  # steps without a turn after which anything else is better


class Brain:
    """Play the five skills in one game. Its memory lasts one episode."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.senses = Senses()
        self.mover = Mover(self.senses)
        self.explorer = Explorer(self.senses, self.mover)
        self.stairs = StairTaker(self.senses, self.mover, self.explorer)
        self.fighter = Fighter(self.senses, self.mover)
        self.survivor = Survivor(self.senses, self.mover, self.fighter)
        self.merchant = Merchant(self.senses, self.mover, self.explorer)
        self.worshipper = Worshipper(self.senses, self.mover, self.explorer)
        self.idle = 0
        self.reason = ""
        self.chosen = -1
        self.notes: Notes | None = None  # what choosing changes and an overruled choice gets back

    def act(self, world: Any, index: int, skill: str) -> int:
        """Return the action of the running skill for game `index` of the world."""
        self.senses.update(world, index)
        self.notes = take_notes(self)
        self.chosen = self._act(world, index, skill)
        return self.chosen

    def _act(self, world: Any, index: int, skill: str) -> int:
        s = self.senses
        if s.last_turn == 0:
            self.survivor.read_inventory(world, index)
        if s.prompt:
            return self._answer(s.prompt)
        self.stairs.note_arrival()
        self.mover.learn()
        self.fighter.learn()
        self.survivor.learn(s.message)
        if self.mover.pending:
            self.mover.pending.clear()  # the question that was expected did not come
        self.idle = self.idle + 1 if s.turn == s.last_turn and not s.moved else 0
        if self.idle > STUCK_STEPS:
            self.idle -= 5
            self.reason = "stuck"
            return self.random.choice((A.MORE, A.SEARCH, *range(A.NORTH, A.NORTHWEST + 1)))
        return self._choose(world, index, skill)

    def _choose(self, world: Any, index: int, skill: str) -> int:
        survivor = self.survivor
        for reason, choice in (
            ("emergency", lambda: survivor.emergency(world, index)),
            ("flee", self.fighter.flee),
            ("spell", survivor.cast),
            ("retreat", self.fighter.retreat),
            ("strike", self.fighter.strike),
            ("hunger", lambda: survivor.hunger(world, index)),
            ("rest", survivor.rest),
        ):
            action = choice()
            if action is not None:
                self.reason = reason
                return action
        self.reason = skill
        play = _SKILLS.get(skill)
        if play is None:
            raise UnknownNameError("skill", skill, _SKILLS, where="the reference policy of nethack")
        return play(self)

    def _answer(self, prompt: str) -> int:
        self.reason = "answer"
        if "direction" in prompt and self.mover.pending:
            return self.mover.pending.pop()
        if "Really attack" in prompt:
            self.fighter.mark_peaceful()
            self.mover.target = -1
            return A.NO
        if "Sell" in prompt:
            return A.YES
        answer = self.survivor.answer(prompt)
        return A.MORE if answer is None else answer

    def _discoverer(self) -> int:
        self.worshipper.take_up()
        leaving = self.merchant.leave_shop()
        if leaving is not None:
            return leaving
        action = self.fighter.approach()
        if action is None:
            action = self.explorer.step(collect=True)
        if action is not None:
            return action
        level, turn = self.senses.level, self.senses.turn
        if level.rounds % 4 == 2:
            action = self.explorer.push_on()
        if action is not None:
            return action
        if level.rounds > 25 and turn // 50 % 4:
            return self.explorer.wander(turn)
        return self.explorer.search()

    def _descender(self) -> int:
        return self.stairs.descend()

    def _ascender(self) -> int:
        return self.stairs.ascend()

    def _merchant(self) -> int:
        return self.merchant.act()

    def _worshipper(self) -> int:
        return self.worshipper.act()


_SKILLS: dict[str, Callable[[Brain], int]] = {
    "discoverer": Brain._discoverer,
    "descender": Brain._descender,
    "ascender": Brain._ascender,
    "merchant": Brain._merchant,
    "worshipper": Brain._worshipper,
}


class ReferencePolicy:
    """Play any of the five skills in every game of a NetHack world, by hand-written rules."""

    name = "reference"

    def __init__(self, num_games: int) -> None:
        self.brains = [Brain(index) for index in range(num_games)]

    def reset(self, index: int, seed: int) -> None:
        """Forget everything about game `index`; call when its episode begins."""
        self.brains[index] = Brain(seed)

    def act(self, world: Any, skills: Sequence[str | None]) -> list[int]:
        """Return one action a game; -1 where the skill is None."""
        return [
            -1 if skill is None else brain.act(world, index, skill)
            for index, (brain, skill) in enumerate(zip(self.brains, skills, strict=True))
        ]

    def overrule(self, index: int, action: int) -> None:
        """Learn, before the world steps, that game `index` will take `action` and not what `act` last chose for it."""
        overrule(self.brains[index], action)


class RandomPolicy:
    """Draw every action evenly from all of the world's actions, whatever the skill."""

    name = "random"

    def __init__(self, num_games: int) -> None:
        self._random = [random.Random(index) for index in range(num_games)]

    def reset(self, index: int, seed: int) -> None:
        """Start the stream of random numbers of game `index` anew."""
        self._random[index] = random.Random(seed)

    def act(self, world: Any, skills: Sequence[str | None]) -> list[int]:
        """Return one action a game; -1 where the skill is None."""
        return [
            -1 if skill is None else source.randrange(A.NUM_ACTIONS)
            for source, skill in zip(self._random, skills, strict=True)
        ]
