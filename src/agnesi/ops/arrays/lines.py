"""``r_`` and ``c_``: arrays and ranges, written as indices, one behind the other."""

from __future__ import annotations

from typing import Any

from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange, linspace

__all__ = ["c_", "r_"]


def _range(s: slice) -> Tensor:
    """The numbers of a slice; an imaginary step is how many there are, the last included."""
    start = 0 if s.start is None else s.start
    if isinstance(s.step, complex):
        return linspace(start, s.stop, int(abs(s.step)))
    return arange(start, s.stop, 1 if s.step is None else s.step)


def _placed(x: Tensor, ndim: int, first: int) -> Tensor:
    """With so many axes at least; the operand's begin at position ``first`` of them."""
    missing = ndim - x.ndim
    if missing <= 0:
        return x
    if first < 0:
        first += missing + 1
    wide = reshape(x, (1,) * missing + x.shape)
    own = tuple(range(missing, ndim))
    return moveaxis(wide, own, tuple(range(first, first + x.ndim))) if own else wide


class _Lines:
    """Arrays written between brackets, joined along an axis."""

    def __init__(self, name: str, axis: int, ndim: int, first: int, text: str) -> None:
        self._name, self.__doc__ = name, text
        self._form = axis, ndim, first

        @public
        def joined(*entries: Any) -> Tensor:
            return self._joined(entries)

        self._call = joined

    def __getitem__(self, key: Any) -> Tensor:
        found: Tensor = self._call(*(key if isinstance(key, tuple) else (key,)))
        return found

    def _joined(self, entries: tuple[Any, ...]) -> Tensor:
        axis, ndim, first = self._form
        if entries and isinstance(entries[0], str):
            try:
                numbers = [int(n) for n in entries[0].split(",")]
            except ValueError:
                raise ValueError(f"the directive {entries[0]!r} must be 'axis', 'axis,ndim' or "
                                 "'axis,ndim,first'; tensors are no matrices") from None
            axis, ndim, first = (*numbers, *(axis, ndim, first)[len(numbers):])
            entries = entries[1:]
        operands = [_range(e) if isinstance(e, slice) else as_tensor(e) for e in entries]
        return concat([_placed(x, ndim, first) for x in operands], axis)

    def __repr__(self) -> str:
        return f"agnesi.{self._name}"

    def __reduce__(self) -> str:
        return self._name


r_ = _Lines("r_", 0, 1, -1, """Tensors, numbers and ranges one behind the other, as NumPy's ``r_``.

Slices are ranges, with an imaginary step so many numbers.  A text that comes first says along
which axis, of how many at least, and where those of the operands are among them.

Examples
--------
>>> import agnesi as ag
>>> ag.r_[1:4, 0, [7, 8]]
tensor([1, 2, 3, 0, 7, 8])
>>> ag.r_["0,2", [1, 2], [3, 4]]
tensor([[1, 2],
        [3, 4]])
""")
c_ = _Lines("c_", -1, 2, 0, """Vectors as the columns of a matrix, as NumPy's ``c_``; see ``r_``.

Examples
--------
>>> import agnesi as ag
>>> ag.c_[1:3, [5, 6]]
tensor([[1, 5],
        [2, 6]])
""")
