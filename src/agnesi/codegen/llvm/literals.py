"""Numeric literals of LLVM IR."""

from __future__ import annotations

import struct


def literal(type_: str, value: float | int | bool) -> str:
    """A number of a scalar type."""
    if type_ == "double":
        return f"0x{struct.unpack('>Q', struct.pack('>d', float(value)))[0]:016X}"
    if type_ == "float":
        single = struct.unpack(">f", struct.pack(">f", float(value)))[0]
        return f"0x{struct.unpack('>Q', struct.pack('>d', single))[0]:016X}"
    if type_ == "half":
        return f"0xH{struct.unpack('>H', struct.pack('>e', float(value)))[0]:04X}"
    if type_ == "bfloat":
        bits = struct.unpack(">I", struct.pack(">f", float(value)))[0]
        nan = 0x40 if value != value else 0
        return f"0xR{(bits + 0x7FFF + (bits >> 16 & 1)) >> 16 | nan:04X}"
    if type_ == "i1":
        return "true" if value else "false"
    if type_ == "ptr":
        return "null"
    return str(int(value))
