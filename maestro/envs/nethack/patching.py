"""Change functions in a copy of the engine's compiled library, and find its variables. The installed file is not touched.

Source: the System V ABI, ELF-64 object files.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from maestro.errors import EngineError

_X86_64, _AARCH64 = 62, 183
_DYNAMIC_SYMBOLS, _LOADED = 11, 1


def return_constants(library: bytes, values: Mapping[str, int]) -> bytes:
    """Give a copy of a library in which the functions named in `values` do nothing and return these numbers (0 to 65535).

    Raises EngineError for a library that is not ELF-64 for x86-64 or AArch64, or lacks one of the functions.
    """
    if library[:5] != b"\x7fELF\x02":
        raise EngineError(
            "it is no 64-bit ELF library", where="NetHack's engine", expected="nle's own for Linux"
        )
    machine = struct.unpack_from("<H", library, 18)[0]
    addresses = _exported_symbols(library)
    patched = bytearray(library)
    for name, value in values.items():
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
    found = _exported_symbols(library).get(name)
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


def _exported_symbols(library: bytes) -> dict[str, tuple[int, int]]:
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
