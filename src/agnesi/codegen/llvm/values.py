"""Operands of instructions: their text and type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agnesi.codegen.llvm.literals import literal
from agnesi.codegen.llvm.type_names import scalar, width


class Value(NamedTuple):
    """An operand: its text (``%3``, ``7``, ``splat (float 0x...)``) and its LLVM type."""

    ref: str
    type: str

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


def const(type_: str, value: float | int | bool) -> Value:
    """A constant; for a vector type every lane holds ``value``."""
    one = literal(scalar(type_), value)
    text = one if width(type_) == 1 else f"splat ({scalar(type_)} {one})"
    return Value(text, type_)


def lanes(type_: str, values: Sequence[float | int | bool]) -> Value:
    """A vector constant with one value per lane."""
    element = scalar(type_)
    return Value("<" + ", ".join(f"{element} {literal(element, v)}" for v in values) + ">", type_)


def i64(value: int) -> Value:
    """A constant index or size."""
    return Value(str(value), "i64")
