"""Stop the clock on the wall for NetHack, so that the same seeds play the same game at any hour.

NetHack asks the machine for the date: at night and at midnight some monsters are more dangerous, a full moon and a Friday
the 13th change the hero's luck, and each of these changes which random numbers are drawn. Of 24 games with the same seeds,
played by the reference skills at 22 h and at 8 h, 12 were not the same. So the private copy of the engine that every
instance loads anyway answers four questions for an ordinary day: no night, no midnight, no Friday the 13th, and a moon
in its first quarter. The installed file is not touched.

Source: NetHack 3.6.6, src/hacklib.c: `night`, `midnight`, `friday_13th`, `phase_of_the_moon` (0 new, 4 full).
"""

from __future__ import annotations

from maestro.envs.nethack.patching import return_constants

ORDINARY_DAY = {"night": 0, "midnight": 0, "friday_13th": 0, "phase_of_the_moon": 2}
"""What the engine's functions of these names return from now on."""

BIRTHDAY = 1_704_067_200
"""When every hero is born (2024-01-01, in seconds since 1970), written into `ubirthday` when a game has begun.

Names of shopkeepers, offers for glass, kinds of ants and texts of T-shirts follow from it, all of them below level 1 or later.
Source: NetHack 3.6.6, src/shknam.c, shk.c, mkroom.c, read.c.
"""


def stop_clock(library: bytes) -> bytes:
    """Give a copy of the engine's library in which the functions of `ORDINARY_DAY` return constants.

    Raises EngineError for a library that is not ELF-64 for x86-64 or AArch64, or lacks one of the functions.
    """
    return return_constants(library, ORDINARY_DAY)
