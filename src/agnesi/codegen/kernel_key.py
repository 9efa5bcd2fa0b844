"""The key of a kernel's code: kernels of equal keys share one function."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

from agnesi.core.ir.kernels import Buffer, Kernel, walk
from agnesi.core.ir.loops import Affine, Axis, Expr


def structure(kernel: Kernel) -> Hashable:
    """A key of a kernel's structure: buffers and expressions are numbered in order of appearance.

    Nodes and addresses do not count, only which buffers share an address.
    """
    return _Key().of(kernel)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """The fields of a struct that its code depends on."""
    return tuple(n for n in kind._fields if n not in ("nodes", "waits"))


class _Key:
    def __init__(self) -> None:
        self.buffers: dict[int, int] = {}
        self.address_keys: dict[tuple[int, int], int] = {}
        self.values: dict[int, int] = {}
        self._walked: set[Expr] = set()

    def of(self, part: Any) -> Hashable:
        kind = type(part)
        if kind is int or kind is str or kind is Axis:
            return part
        if kind is Expr:
            return self._value(part)
        if kind is Affine:
            of = self._value
            return part.const, *[
                (a if type(a) is Axis else of(a), c) for a, c in part.terms.items()
            ]
        if kind is Buffer:
            return self._buffer(part)
        if isinstance(part, (tuple, list)):
            return tuple([self.of(p) for p in part])
        if kind.__hash__ is None:  # a struct
            return kind, *[self.of(getattr(part, name)) for name in _fields(kind)]
        hash(part)
        return part

    def _buffer(self, buffer: Buffer) -> Hashable:
        number = self.buffers.get(id(buffer))
        if number is None:
            self.buffers[id(buffer)] = number = len(self.buffers)
            location = buffer.slot, buffer.offset
            address = self.address_keys.setdefault(location, len(self.address_keys))
            return number, address, buffer.role, buffer.dtype, buffer.shape, buffer.strides
        return number

    def _value(self, value: Expr) -> Hashable:
        """Return the number of an expression; at its first use, record its parts as well."""
        found = self.values.get(id(value))
        if found is not None:
            return found
        new = []
        for v in walk([value], self._walked):
            args = tuple([self.values[id(a)] for a in v.args])
            self.values[id(v)] = len(self.values)
            new.append((v.op, args, v.dtype, self.of(v.param)))
        return tuple(new)
