"""Leave out what the engine does for eyes only, in games nobody watches: a thirteenth of the time of its steps.

NLE keeps what programs read (glyphs, characters, `blstats`) beside what it draws on its terminal. Where the terminal is not
among the observations, the private copy of the engine draws neither map nor status line, and does not look through the
level after every move for the overview of the dungeon, a page that no action of the agent opens. No game is changed: all
that programs read is the same at every step (`tests/envs/nethack/test_unseen.py`).

Source: NetHack 3.6.6, src/dungeon.c: `recalc_mapseen`; win/tty/wintty.c: `tty_print_glyph`, `tty_status_update`.
"""

from __future__ import annotations

from maestro.envs.nethack.patching import return_constants

FOR_EYES_ONLY = {"recalc_mapseen": 0, "tty_print_glyph": 0, "tty_status_update": 0}
"""Functions without a result that do nothing from now on."""


def draw_nothing(library: bytes) -> bytes:
    """Give a copy of the engine's library without the functions of `FOR_EYES_ONLY`; EngineError as `return_constants`."""
    return return_constants(library, FOR_EYES_ONLY)
