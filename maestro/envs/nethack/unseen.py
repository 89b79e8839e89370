"""Leave out what the engine does for eyes only, in games nobody watches: a thirteenth of the time of its steps.

NLE keeps what programs read (glyphs, characters, `blstats`) beside what it draws on its terminal. Where the terminal is not
among the observations, the private copy of the engine draws neither map nor status line. Where nobody asks for the overview
of the dungeon either (no action of the agent opens that page, but success tests of the original's kind read what it would
list), it does not look through the level for it after every move. No game is changed: all that programs read is the same at
every step (`tests/envs/nethack/test_unseen.py`).

Source: NetHack 3.6.6, src/dungeon.c: `recalc_mapseen`; win/tty/wintty.c: `tty_print_glyph`, `tty_status_update`.
"""

from __future__ import annotations

from maestro.envs.nethack.patching import return_constants

FOR_EYES_ONLY = {"tty_print_glyph": 0, "tty_status_update": 0}
"""Functions without a result that do nothing from now on."""
FOR_THE_OVERVIEW = {"recalc_mapseen": 0}


def draw_nothing(library: bytes, *, overview: bool = True) -> bytes:
    """Give a copy of the engine's library that draws nothing; EngineError as `return_constants`.

    Without `overview`, what the page #overview lists is not kept up to date.
    """
    return return_constants(library, FOR_EYES_ONLY if overview else FOR_EYES_ONLY | FOR_THE_OVERVIEW)
