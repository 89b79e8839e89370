"""Stop the clock on the wall for NetHack, so that the same seeds play the same game at any hour.

NetHack asks the machine for the date: at night and at midnight some monsters are more dangerous, a full moon and a Friday
the 13th change the hero's luck, and each of these changes which random numbers are drawn. Of 24 games with the same seeds,
played by the reference skills at 22 h and at 8 h, 12 were not the same. So the private copy of the engine that every
instance loads anyway answers four questions for an ordinary day: no night, no midnight, no Friday the 13th, and a moon
in its first quarter. The installed file is not touched.

Source: NetHack 3.6.6, src/hacklib.c: `night`, `midnight`, `friday_13th`, `phase_of_the_moon` (0 new, 4 full).
"""

from __future__ import annotations

import struct

from maestro.errors import EngineError

ORDINARY_DAY = {"night": 0, "midnight": 0, "friday_13th": 0, "phase_of_the_moon": 2}
"""What the engine's functions of these names return from now on."""

BIRTHDAY = 1_704_067_200
"""When every hero is born (2024-01-01, in seconds since 1970), written into `ubirthday` when a game has begun.

Names of shopkeepers, offers for glass, kinds of ants and texts of T-shirts follow from it, all of them below level 1 or later.
Source: NetHack 3.6.6, src/shknam.c, shk.c, mkroom.c, read.c.
"""

_X86_64, _AARCH64 = 62, 183
_DYNAMIC_SYMBOLS, _LOADED = 11, 1


def stop_clock(library: bytes) -> bytes:
    """Give a copy of the engine's library in which the functions of `ORDINARY_DAY` return constants.

    Raises EngineError for a library that is not ELF-64 for x86-64 or AArch64, or lacks one of the functions.
    """
    if library[:5] != b"\x7fELF\x02":
        raise EngineError(
            "it is no 64-bit ELF library", where="NetHack's engine", expected="nle's own for Linux"
        )
    machine = struct.unpack_from("<H", library, 18)[0]
    addresses = _exported_functions(library)
    patched = bytearray(library)
    for name, value in ORDINARY_DAY.items():
        code = _return_constant(machine, value)
        address, size = addresses.get(name, (0, 0))
        if size < len(code):
            raise EngineError(
                f"the function {name!r} is missing", where="NetHack's engine", hint="maestro doctor"
            )
        start = _file_offset(library, address)
        patched[start : start + len(code)] = code
    return bytes(patched)


def address_of(library: bytes, name: str) -> int:
    """Give the address of an exported function or variable, relative to where the library is loaded.

    Raises EngineError for a library without it.
    """
    found = _exported_functions(library).get(name)
    if found is None:
        raise EngineError(f"the symbol {name!r} is missing", where="NetHack's engine", hint="maestro doctor")
    return found[0]


def _return_constant(machine: int, value: int) -> bytes:
    """Assemble `return value`."""
    if machine == _X86_64:
        return b"\xb8" + struct.pack("<I", value) + b"\xc3"  # mov eax, value; ret
    if machine == _AARCH64:
        return struct.pack("<II", 0x52800000 | value << 5, 0xD65F03C0)  # mov w0, value; ret
    raise EngineError(f"unknown processor {machine}", where="NetHack's engine", expected="x86-64 or AArch64")


def _exported_functions(library: bytes) -> dict[str, tuple[int, int]]:
    """Read name -> (address, size) from the library's dynamic symbols."""
    table, entry_size, count = (
        struct.unpack_from("<Q", library, 40)[0],
        *struct.unpack_from("<HH", library, 58),
    )
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, table + i * entry_size) for i in range(count)]
    found = {}
    for _, kind, _, _, offset, size, link, _, _, step in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        names = sections[link][4]
        for position in range(offset, offset + size, step):
            name, _, _, _, address, length = struct.unpack_from("<IBBHQQ", library, position)
            end = library.index(b"\0", names + name)
            found[library[names + name : end].decode("latin-1")] = (address, length)
    return found


def _file_offset(library: bytes, address: int) -> int:
    """Find where in the file the byte lies that is loaded at `address`."""
    table, entry_size, count = (
        struct.unpack_from("<Q", library, 32)[0],
        *struct.unpack_from("<HH", library, 54),
    )
    for number in range(count):
        kind, _, offset, start, _, in_file, _, _ = struct.unpack_from(
            "<IIQQQQQQ", library, table + number * entry_size
        )
        if kind == _LOADED and start <= address < start + in_file:
            return address - start + offset
    raise EngineError(f"no segment holds address {address:#x}", where="NetHack's engine")
