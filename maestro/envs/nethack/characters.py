"""Which heroes NetHack knows: role, race, alignment and gender, by three letters each.

Asked for a hero that cannot be, the engine plays another one and says nothing, so it is asked for none.

Source: NetHack 3.6.6, src/role.c: the tables of roles and races.
"""

from __future__ import annotations

_ROLES = {
    "arc": ("hum dwa gno", "law neu"),
    "bar": ("hum orc", "neu cha"),
    "cav": ("hum dwa gno", "law neu"),
    "hea": ("hum gno", "neu"),
    "kni": ("hum", "law"),
    "mon": ("hum", "law neu cha"),
    "pri": ("hum elf", "law neu cha"),
    "rog": ("hum orc", "cha"),
    "ran": ("hum elf gno orc", "neu cha"),
    "sam": ("hum", "law"),
    "tou": ("hum", "neu"),
    "val": ("hum dwa", "law neu"),
    "wiz": ("hum elf gno orc", "neu cha"),
}
"""Role to its races and alignments."""
_RACES = {"hum": "law neu cha", "dwa": "law", "elf": "cha", "gno": "neu", "orc": "cha"}
"""Race to its alignments."""
_WOMEN_ONLY = frozenset({"val"})


def check_character(character: str) -> str:
    """Return a character such as "mon-hum-neu-mal", or "@" for chance, as it is; ValueError for one that cannot be."""
    if character == "@":
        return character
    parts = character.split("-")
    if len(parts) != 4:
        raise ValueError("expected role-race-alignment-gender by three letters each, or @ for chance")
    role, race, alignment, gender = parts
    if role not in _ROLES:
        raise ValueError(f"there is no role {role!r}; expected one of {', '.join(_ROLES)}")
    races, alignments = (known.split() for known in _ROLES[role])
    if race not in races:
        raise ValueError(f"a {role} cannot be of the race {race!r}; expected one of {', '.join(races)}")
    fitting = [one for one in alignments if one in _RACES[race].split()]
    if alignment not in fitting:
        raise ValueError(f"a {role}-{race} cannot be {alignment!r}; expected one of {', '.join(fitting)}")
    genders = ("fem",) if role in _WOMEN_ONLY else ("mal", "fem")
    if gender not in genders:
        raise ValueError(f"a {role} cannot be {gender!r}; expected one of {', '.join(genders)}")
    return character
