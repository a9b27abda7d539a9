"""Shared libraries of no content: valid ELF files with a name, so that ldconfig, readlink and the loader take them for libraries."""

from __future__ import annotations

import struct

_TEXT_AT = 0x40 + 2 * 0x38


def library(soname: str) -> bytes:
    """A 64-bit x86 shared object named ``soname`` that defines no symbol."""
    note = b"\0" + soname.encode() + b"\0SIMULATION by provision lab\0"
    names = note.ljust(-(-len(note) // 8) * 8, b"\0")
    hash_table = struct.pack("<IIII", 1, 1, 0, 0)  # one bucket, one chain, both empty
    symbols = bytes(24)
    names_at = _TEXT_AT
    hash_at = names_at + len(names)
    symbols_at = hash_at + len(hash_table)
    dynamic_at = symbols_at + len(symbols)
    entries = (
        (14, 1),  # DT_SONAME
        (4, hash_at),  # DT_HASH
        (5, names_at),  # DT_STRTAB
        (6, symbols_at),  # DT_SYMTAB
        (10, len(note)),  # DT_STRSZ
        (11, 24),  # DT_SYMENT
        (0, 0),
    )
    dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in entries)
    size = dynamic_at + len(dynamic)
    header = b"\x7fELF" + bytes([2, 1, 1, 0]).ljust(12, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0x40, 0, 0, 0x40, 0x38, 2, 0x40, 0, 0)
    segments = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, size, size, 0x1000)
    segments += struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    return header + segments + names + hash_table + symbols + dynamic
