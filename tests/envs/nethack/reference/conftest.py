"""A painted map to try single controllers on, without the engine."""

from types import SimpleNamespace

import numpy as np
import pytest

from maestro.envs.nethack.reference import glyphs as G

SYMBOLS = {
    " ": 0, "|": 1, "-": 2, ".": 19, "o": 12, "/": 13, "+": 15, "#": 21, "<": 23, ">": 24, "_": 27, "^": 46, "}": 32,
}  # fmt: skip


class Painted:
    """A world of one game whose map is painted with characters; `@` is the hero."""

    def __init__(self) -> None:
        self.observation = {
            "glyphs": np.full((1, 21, 79), G.CMAP, np.int16),
            "blstats": np.zeros((1, 27), np.int64),
            "inv_oclasses": np.full((1, 55), 18, np.uint8),
            "inv_strs": np.zeros((1, 55, 80), np.uint8),
        }
        self.facts = {"message": "", "prompt": "", "num_items": 0}
        self.states = [SimpleNamespace(**self.facts)]
        self.observation["blstats"][0, [10, 11, 12, 14, 18, 20, 21, 24]] = [20, 20, 1, 4, 3, 1, 1, 1]

    def paint(self, *rows: str, under: int = 19, names: dict[str, int] | None = None) -> None:
        glyphs = self.observation["glyphs"][0]
        glyphs[:] = G.CMAP
        for y, row in enumerate(rows):
            for x, char in enumerate(row):
                if char == "@":
                    self.observation["blstats"][0, :2] = [x, y]
                    glyphs[y, x] = 337  # a human, the hero
                elif names and char in names:
                    glyphs[y, x] = names[char]
                else:
                    glyphs[y, x] = G.CMAP + SYMBOLS[char]

    def say(self, message: str = "", prompt: str = "", **facts) -> None:
        self.facts.update(message=message, prompt=prompt, **facts)
        self.states[0] = SimpleNamespace(**self.facts)

    def set(self, **stats: int) -> None:
        columns = {"hp": 10, "turn": 20, "hunger": 21, "dungeon": 23, "level": 24, "energy": 14}
        for name, value in stats.items():
            self.observation["blstats"][0, columns[name]] = value


@pytest.fixture
def painted() -> Painted:
    return Painted()
