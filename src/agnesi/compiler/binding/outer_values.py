"""Values that an eager region reads besides its operands, as compiled code takes them."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.tensor import Tensor, wrap


class Outer:
    """The values that a region reads besides its operands, as compiled code takes them: without
    gradients.
    """

    __slots__ = ("_data", "_flags", "bare", "tensors")

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self._take()

    def _take(self) -> None:
        self._data = [t.array for t in self.tensors]
        self._flags = [t._requires_grad for t in self.tensors]
        self.bare = [wrap(a) for a in self._data]

    def fit(self) -> bool:
        """Return whether it has the types that it had."""
        for t, data, flag in zip(self.tensors, self._data, self._flags, strict=True):
            if t.array is not data or t._requires_grad is not flag:
                break
        else:
            return True
        before, flags = [(a.shape, a.dtype) for a in self._data], self._flags
        self._take()
        return before == [(a.shape, a.dtype) for a in self._data] and (flags == self._flags)


def bare(x: Tensor) -> Tensor:
    """The same value without a gradient."""
    return wrap(x.array) if x._requires_grad and x.array is not None else x
