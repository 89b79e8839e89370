"""NetHack as a `World`: N games whose engines write straight into the rows of shared arrays.

What can be done for all games at once (messages, status lines, names on the map) is done by numpy over the batch; what
remains per game is one call of the engine and one `State`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from maestro.envs.nethack import caption, keys
from maestro.envs.nethack.characters import check_character
from maestro.envs.nethack.game import Game
from maestro.envs.nethack.instance import OBSERVATION_DESC, Instance
from maestro.envs.nethack.native import check_version
from maestro.envs.nethack.sightings import Lookout
from maestro.envs.nethack.state import State
from maestro.envs.nethack.tracker import Tracker
from maestro.envs.world import Screen, StepResult
from maestro.errors import WorldError

_AGENT_SEES = ("glyphs", "blstats", "message", "inv_letters", "inv_oclasses")
_INVENTORY = ("inv_glyphs", "inv_strs")
_ENGINE_TELLS = ("misc", "program_state")
_TERMINAL = ("tty_chars", "tty_colors", "tty_cursor")
_MOST_TEXTS = 8_192


class NetHackOptions(BaseModel):
    """How the games are set up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    character: Annotated[str, AfterValidator(check_character)] = "mon-hum-neu-mal"
    """Role, race, alignment and gender by three letters each, or `@` for chance."""
    max_steps: int = Field(default=10_000, ge=1)
    """Steps after which an episode is truncated."""
    rest_moves: int = Field(default=keys.MOST_REST_MOVES, ge=1, le=keys.MOST_REST_MOVES)
    """Moves that the action `wait` rests at most (a fast hero has more of them than turns); the policy that ships and the
    controllers were made with 25."""
    fixed_levels: bool = False
    """Whether the levels below the first, too, follow from the seeds: one that is first entered by `down` is then the same
    whatever was played before (in NetHack itself the seeds fix the first level, and the play the others)."""
    render: bool = False
    """Whether `screen` works; it costs about a fifth of the speed."""
    inventory_shown: bool = True
    """Whether glyphs and wording of what the hero carries (`inv_glyphs`, `inv_strs`) are among the observations; without
    them a step is a tenth faster, and casting a healing spell asks for its direction (`wait` means the hero himself)."""
    overview: bool = True
    """Whether the engine keeps what its page #overview lists, which two of the success tests `compatible` read; without
    it a step is a little faster. A world with `render` always keeps it."""
    wizard: bool = False
    """NetHack's debug mode, for making test situations."""


class NetHackWorld:
    """N games of NetHack; see `maestro.envs.world.World` for what every method promises."""

    name = "nethack"
    action_names = keys.ACTION_NAMES

    def __init__(self, num_games: int, options: NetHackOptions):
        if num_games < 1:
            raise WorldError(f"num_games is {num_games}", where="NetHackWorld", expected="at least 1")
        check_version()
        self.num_games = num_games
        self.options = options
        visible = _AGENT_SEES + (_INVENTORY if options.inventory_shown else ())
        names = visible + _ENGINE_TELLS + (_TERMINAL if options.render else ())
        arrays = {
            name: np.zeros((num_games, *OBSERVATION_DESC[name]["shape"]), OBSERVATION_DESC[name]["dtype"])
            for name in names
        }
        self.observation: dict[str, np.ndarray] = {name: arrays[name] for name in visible}
        self._arrays = arrays
        self.games: list[Game] = []
        for index in range(num_games):
            rows = {name: array[index] for name, array in arrays.items()}
            instance = Instance(options.character, rows, wizard=options.wizard, overview=options.overview)
            self.games.append(Game(instance, rows, options.rest_moves, options.fixed_levels))
        self._seeds: list[tuple[int, int] | None] = [None] * num_games
        self._trackers = [Tracker() for _ in range(num_games)]
        self._last_letters: list[bytes] = [b"\xff"] * num_games
        self._num_items = [0] * num_games
        self._last_actions = [keys.ACTION["more"]] * num_games
        self._truths: list[Any] = [None] * num_games
        self.states: list[Any] = [None] * num_games
        self._scores = np.zeros(num_games, np.int64)
        self._reward = np.zeros(num_games, np.float32)
        self._terminated = np.zeros(num_games, bool)
        self._truncated = np.zeros(num_games, bool)
        self._ended = [False] * num_games
        """Whether the episode is over, by its end in the game or by truncation, and not begun anew."""
        self._everyone = list(range(num_games))
        self._order = list(range(num_games))
        self._lookout = Lookout(arrays["glyphs"], arrays["blstats"])
        self._texts = arrays["message"].view("S256")[:, 0]
        self._letters = arrays["inv_letters"].view("S55")[:, 0]
        self._message_rows = [row.data for row in arrays["message"]]

    # --- the protocol ---------------------------------------------------------------------------------------------

    def seed(self, index: int, core: int, disp: int) -> None:
        """Fix the seeds of game `index` for its next reset; WorldError for what is no unsigned number of 64 bits.

        Source: NLE's own call; its `reset(seed=)` is ignored.
        """
        for seed in (core, disp):
            if not 0 <= seed < 1 << 64:
                raise WorldError(f"the seed is {seed}", where="NetHackWorld.seed", expected="0 to 2**64 - 1")
        self._seeds[index] = (int(core), int(disp))

    def reset(self, indices: Iterable[int] | None = None, *, wizkit: str = "") -> None:
        """Start new games; `wizkit` (wizard mode) names objects to carry, one per line."""
        chosen = self._everyone if indices is None else list(indices)
        for index in chosen:
            self._release(index)
            self.games[index].restart(self._seeds[index], wizkit)
            self._seeds[index] = None
            self._ended[index] = False
            self._trackers[index] = Tracker()
            self._last_letters[index] = b"\xff"
            self._last_actions[index] = keys.ACTION["more"]
        self._observe(chosen)
        self._scores[chosen] = self._arrays["blstats"][chosen, 9]

    def step(self, actions: Sequence[int]) -> StepResult:
        """Play one action in every game that is not over and whose action is not negative.

        Raises WorldError, before anything is played, for a game that has ended, an action of 28 or more, and where there
        is not one action a game.
        """
        games, all_keys = self.games, keys.KEYS
        # To and fro: the games played last are still in the processor's cache, so they go first the next time.
        self._order.reverse()
        if len(actions) != self.num_games:
            raise WorldError(
                f"{len(actions)} actions", where="NetHackWorld.step", expected=f"{self.num_games}, one a game"
            )
        stepped = [index for index in self._order if actions[index] >= 0]
        for index in stepped:
            if self._ended[index] or actions[index] >= len(all_keys):
                raise self._refusal(index, actions[index])
        for index in stepped:
            action = actions[index]
            games[index].play(all_keys[action])
            self._last_actions[index] = action
        return self._finish_step(stepped)

    def send_keys(self, index: int, sent: str | bytes | list[int]) -> StepResult:
        """Send raw keys to one game as one step, for tests and wizard mode; no action of the agent does this."""
        self.games[index].send_keys(sent)
        return self._finish_step([index])

    def caption(self, index: int, start: State) -> str:
        """Describe the last step of game `index` and the changes since `start`; see `caption.caption`."""
        return caption.caption(self._trackers[index].previous_message, self.states[index], start)

    def last_action(self, index: int) -> int:
        """Return the number of the action game `index` took last."""
        return self._last_actions[index]

    def ending(self, index: int) -> str:
        """Return how game `index` ended as NetHack names it ('DIED', 'STARVING', ...); empty while it runs."""
        return self.games[index].ending

    def screen(self, index: int) -> Screen:
        """Return a copy of the terminal; WorldError unless the world was made with `render=True`."""
        if not self.options.render:
            raise WorldError(
                "this world draws no screens", where="NetHackWorld.screen", expected="render=True"
            )
        chars, colors, cursor = (self._arrays[name][index] for name in _TERMINAL)
        return Screen(chars.copy(), colors.copy(), (int(cursor[0]), int(cursor[1])))

    def truth(self, index: int) -> Any:
        """Return the engine's own facts about game `index`, for success tests and error measurement only."""
        if self._truths[index] is None:
            from maestro.envs.nethack.engine import Truth

            game = self.games[index]
            keeps = self.options.overview or self.options.render
            self._truths[index] = Truth(game.instance.library_path, game.rows["blstats"], overview=keeps)
        return self._truths[index]

    def close(self) -> None:
        """End all games and remove their files."""
        for index, game in enumerate(self.games):
            self._release(index)
            game.instance.close()

    # --- after the engines have run -------------------------------------------------------------------------------

    def _release(self, index: int) -> None:
        """Let go of the engine's library: an open handle would keep the next game from loading its own."""
        if self._truths[index] is not None:
            self._truths[index].release()
            self._truths[index] = None

    def _refusal(self, index: int, action: int) -> WorldError:
        if self._ended[index]:
            return WorldError(
                f"game {index} has ended",
                where="NetHackWorld.step",
                expected="action -1, or reset([index]) first",
            )
        return WorldError(
            f"action {action} of game {index}",
            where="NetHackWorld.step",
            expected="0 to 27, or -1 to leave it alone",
        )

    def _finish_step(self, stepped: list[int]) -> StepResult:
        self._observe(stepped)
        reward, terminated, truncated = self._reward, self._terminated, self._truncated
        terminated[:] = False
        truncated[:] = False
        scores = self._arrays["blstats"][:, 9]
        np.subtract(scores, self._scores, out=reward, casting="unsafe")
        self._scores[:] = scores
        max_steps = self.options.max_steps
        for index in stepped:
            if self.games[index].is_over:
                terminated[index] = self._ended[index] = True
            elif self.states[index].step >= max_steps:
                truncated[index] = self._ended[index] = True
        return StepResult(reward, terminated, truncated)

    def _observe(self, stepped: list[int]) -> None:
        """Make the states of the given games from what their engines wrote."""
        arrays, games, trackers, states = self._arrays, self.games, self._trackers, self.states
        texts_seen = _TEXTS
        rows = arrays["blstats"].tolist()
        texts = self._texts.tolist()
        letters = self._letters.tolist()
        in_view, nearby = self._lookout.look()
        for index in stepped:
            game = games[index]
            pages = game.pages
            if pages is None:
                text = texts[index]
                message = texts_seen.get(text) or _decode(text)
            else:
                message = " ".join(pages)
                self._message_rows[index][:] = message.encode("latin-1")[:255].ljust(256, b"\0")
            if letters[index] != self._last_letters[index]:
                self._last_letters[index] = letters[index]
                self._num_items[index] = len(game.droppable())
            row, tracker = rows[index], trackers[index]
            if "staircase down" in in_view[index] and tracker.seeks_branch(row):
                tracker.see_stairs_down(row, self._lookout.stairs_down(index))
            states[index] = tracker.update(
                row, message, game.prompt, self._num_items[index], nearby[index], in_view[index]
            )


_TEXTS: dict[bytes, str] = {}


def _decode(text: bytes) -> str:
    """Return the message of a top line and remember it: messages repeat, and equal ones share one string."""
    if len(_TEXTS) >= _MOST_TEXTS:
        _TEXTS.clear()
    _TEXTS[text] = message = text.decode("latin-1").strip()
    return message
