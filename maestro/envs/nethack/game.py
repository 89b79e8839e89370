"""One game at the level of keys: actions to keys, macros, questions, pages of messages, the end of the game.

An action of the agent can take several keys. Whatever the game shows on the way is collected in `pages`; when the
step is over the game either waits for a command or for the answer to a question that the agent may answer.

Source: which macros there are and what they send follows MaestroMotif's environment.
"""

from __future__ import annotations

import re

import numpy as np

from maestro.envs.nethack import keys
from maestro.envs.nethack.instance import Instance
from maestro.errors import EngineError

_MORE_KEYS_THAN_ANY_STEP_TAKES = 500
_LETTERS_OFFERED = re.compile(r"\[([a-zA-Z])")
_LEARNED = "feel more confident"
_LEARNED_BYTES = _LEARNED.encode()
_HEALING = "spellbook of healing"


class Game:
    """One game: send actions, read the arrays. Owned by `NetHackWorld`, which gives it rows of its arrays."""

    __slots__ = (
        "_classes",
        "_flags",
        "_is_done",
        "_last_map",
        "_letters",
        "_message",
        "_rest_keys",
        "_seeds",
        "_send",
        "_squares_left",
        "_starting_letters",
        "ending",
        "heals_self",
        "instance",
        "is_over",
        "pages",
        "prompt",
        "rows",
    )

    def __init__(self, instance: Instance, rows: dict[str, np.ndarray], rest_moves: int, fixed_levels: bool):
        self.instance = instance
        self.rows = rows
        self._rest_keys = f"{rest_moves}.".encode() if rest_moves > 1 else b"."
        self._send = self._send_to_fixed_levels if fixed_levels else instance.send
        self._seeds = (0, 0)
        self._squares_left: set[tuple[int, ...]] = set()
        self._is_done = instance.is_done
        self._flags = rows["misc"].data
        self._message = rows["message"]
        self._letters = rows["inv_letters"].data
        self._classes = rows["inv_oclasses"].data
        self._starting_letters: frozenset[int] = frozenset()
        self._last_map: tuple[np.ndarray, np.ndarray] | None = None
        self.pages: list[str] | None = None
        self.prompt = ""
        self.is_over = True
        self.ending = ""
        self.heals_self = False

    def restart(self, seeds: tuple[int, int] | None, wizkit: str = "") -> None:
        """Begin a new game and click through its greeting."""
        self.instance.restart(seeds, wizkit)
        self._seeds = self.instance.seeds()
        self._squares_left.clear()
        self.pages, self.prompt, self.is_over, self.ending = [], "", False, ""
        self._settle()
        carried = zip(self._letters, self._classes, strict=False)
        self._starting_letters = frozenset(
            letter for letter, kind in carried if letter and kind != keys.FOOD_CLASS
        )
        self.heals_self = any(_HEALING in text for text in self.inventory())

    def play(self, key: int) -> None:
        """Send one action's first key and all that follows from it. `key` is one of `keys.KEYS`."""
        if self.prompt or key in _MACROS:
            self.pages = []
            if self.prompt:
                self._answer(key)
            else:
                _MACROS[key](self)
            self._settle()
            return
        self._send(key)
        flags = self._flags
        if flags[2] or flags[0] or flags[1] or self._is_done() or _LEARNED_BYTES in bytes(self._message):
            self.pages = []
            self._settle()
        else:
            self.pages = None  # the usual case: the message is what stands in the array

    def send_keys(self, sent: str | bytes | list[int]) -> None:
        """Send raw keys, then settle as after an action. For tests and wizard mode: the agent has no such action."""
        codes = sent.encode("latin-1") if isinstance(sent, str) else sent
        self.pages, self.prompt = [], ""
        for code in codes:
            if self.is_over or self._is_done():
                break
            self._send(code)
            self._collect()
        self._settle()

    def inventory(self) -> list[str]:
        """Return what the hero carries, as the game words it; nothing in a world without `inventory_shown`."""
        if "inv_strs" not in self.rows:
            return []
        texts = self.rows["inv_strs"].view("S80")[:, 0].tolist()
        return [text.decode("latin-1") for text in texts if text]

    def droppable(self) -> list[int]:
        """Return the inventory letters of what `drop` may drop: not food, not coins, not held at the start."""
        start = self._starting_letters
        return [
            letter
            for letter, kind in zip(self._letters, self._classes, strict=False)
            if letter and letter not in start and kind != keys.FOOD_CLASS and kind != keys.COIN_CLASS
        ]

    def _send_to_fixed_levels(self, key: int) -> None:
        """Send one key; before the first `>` on a square, let chance begin anew from the game's seeds and that square.

        NetHack makes a level from the random numbers that are next when somebody comes to it, so they are the same
        then, whatever was played before. Later ones on the square change nothing: a hero who goes up and down must not
        meet the same luck again and again.
        """
        if key == _DOWN_KEY:
            square = tuple(self.rows["blstats"][_SQUARE].tolist())
            if square not in self._squares_left:
                self._squares_left.add(square)
                chance = np.random.SeedSequence(self._seeds, spawn_key=square)
                self.instance.reseed(*chance.generate_state(2, np.uint64).tolist())
        self.instance.send(key)

    def _collect(self) -> None:
        """Keep the text on the top line as one more page, unless it shows again what the last page showed."""
        text = bytes(self._message).split(b"\0", 1)[0].decode("latin-1").strip()
        pages = self.pages
        if (
            text
            and pages is not None
            and not text.startswith("Count: ")
            and not (pages and text.startswith(pages[-1]))
        ):  # an answered question stays up, its answer behind it
            pages.append(text)

    def _settle(self) -> None:
        """Click through pages and unwanted questions until the game waits for a command or for the agent."""
        flags, may_enhance = self._flags, True
        for _ in range(_MORE_KEYS_THAN_ANY_STEP_TAKES):
            if self._is_done():
                self._finish()
                return
            self._collect()
            if flags[2]:
                self._keep_map()
                self._send(keys.SPACE)
            elif flags[0] or flags[1]:
                self._keep_map()
                question = self.pages[-1] if self.pages else ""
                if flags[0] and keys.AGENT_ANSWERS.search(question):
                    self.prompt = question
                    return
                self._send(keys.ESCAPE)
            else:
                self.prompt = ""
                if may_enhance and any(_LEARNED in page for page in self.pages or ()):
                    may_enhance = False
                    self._enhance()
                    continue
                return
        raise EngineError(
            f"the game did not come to rest; its last message is {self.pages[-1] if self.pages else ''!r}",
            where="maestro.envs.nethack.game",
            expected=f"at most {_MORE_KEYS_THAN_ANY_STEP_TAKES} keys in one step",
            hint="report it with the seeds and actions of the episode",
        )

    def _keep_map(self) -> None:
        """Keep status and map of a hero about to die: the engine blanks them on its last page."""
        blstats = self.rows["blstats"]
        if blstats[11] and (blstats[10] <= 0 or self.rows["program_state"][0]):
            self._last_map = (blstats.copy(), self.rows["glyphs"].copy())

    def _finish(self) -> None:
        self.is_over, self.prompt = True, ""
        self.ending = self.instance.how_done()
        blstats = self.rows["blstats"]
        if not blstats[11] and self._last_map is not None:
            blstats[:] = self._last_map[0]
            self.rows["glyphs"][:] = self._last_map[1]
        self._last_map = None

    def _answer(self, key: int) -> None:
        """Give the agent's answer to the open question."""
        question, self.prompt = self.prompt, ""
        if any(text in question for text in keys.ASKS_FOR_ITEM):
            offered = _LETTERS_OFFERED.search(question)
            takes_first = key == _YES_KEY and offered is not None
            self._send(ord(offered.group(1)) if takes_first and offered else keys.ESCAPE)
        else:
            self._send(key)
            if self._flags[0] and not self._is_done():
                self._collect()  # a key that is no answer leaves the question open

    def _rest(self) -> None:
        for key in self._rest_keys:
            self._send(key)

    def _cast(self) -> None:
        self._send(_CAST_KEY)
        self._collect()
        if self._flags[2] and not self._is_done():
            self._send(ord("a"))  # the first spell of the menu
            if self._flags[0] and self.heals_self and not self._is_done():
                self._collect()
                self._send(ord("."))

    def _enhance(self) -> None:
        self._send(_ENHANCE_KEY)
        self._collect()
        if self._flags[2] and not self._is_done():
            self._send(ord("a"))

    def _drop(self) -> None:
        self._send(_DROP_KEY)
        if self._flags[0] and not self._is_done():
            eligible = self.droppable()
            self._send(eligible[0] if eligible else keys.ESCAPE)


_YES_KEY = keys.KEYS[keys.YES]
_CAST_KEY = keys.KEYS[keys.ACTION["cast"]]
_DOWN_KEY = keys.KEYS[keys.ACTION["down"]]
_SQUARE = [23, 24, 0, 1]
"""Columns of the status line: dungeon, level, column and row."""
_DROP_KEY = keys.KEYS[keys.ACTION["drop"]]
_ENHANCE_KEY = keys.KEYS[keys.ACTION["enhance"]]
_MACROS = {
    keys.KEYS[keys.ACTION["wait"]]: Game._rest,
    _CAST_KEY: Game._cast,
    _DROP_KEY: Game._drop,
    _ENHANCE_KEY: Game._enhance,
}
