"""Values as autograd has them: arrays outside of derivatives, tensors that never change inside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from agnesi.core.programs import unchanging
from agnesi.core.support import tree
from agnesi.core.support.config import config
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conj
from agnesi.ops.base.convert import as_tensor, cast

#: Floats that tensors do not have, and what is computed with instead.
_NARROWED = {"longdouble": "float64", "clongdouble": "complex128"}


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Code of users runs in it: values never change in place, Python floats are float64."""
    with config(default_float="float64"), unchanging():
        yield


def isbox(x: Any) -> bool:
    """Return whether it is a value inside of a derivative."""
    return isinstance(x, Tensor)


def getval(x: Any) -> Any:
    """The array or number that a value inside of a derivative has."""
    return x if not isinstance(x, Tensor) or x.array is None else x.array[()]


def is_float(x: Any) -> bool:
    """Return whether gradients can flow to it: a float or complex number, array or tensor."""
    return isinstance(x, (float, complex)) or (
        isinstance(x, (Tensor, np.ndarray, np.generic)) and x.dtype.kind in "fc")


def tensor(x: Any) -> Tensor:
    """A number or array as a tensor, on the memory of arrays."""
    if isinstance(x, Tensor):
        return x
    array = np.asarray(x)
    return as_tensor(array.astype(_NARROWED.get(array.dtype.type.__name__, array.dtype),
                                  copy=False))


def plain(x: Any) -> Any:
    """Return a value outside of its derivative: an array or number, unless another derivative
    follows it.
    """
    if isinstance(x, Tensor) and x.array is not None and not x._requires_grad:
        return x.array[()]
    return x


def as_before(g: Tensor, x: Any) -> Any:
    """A derivative like the value that it belongs to: in its dtype, an array where that is one."""
    found = plain(g)
    dtype = getattr(x, "dtype", None)
    if isinstance(found, Tensor) or dtype is None or found.dtype == dtype:
        return found
    return found.astype(dtype)


def conjugate(x: Tensor) -> Tensor:
    """The conjugate of complex values: autograd's gradients are conjugates of ours."""
    return conj(x) if x.dtype.kind == "c" else x


class Parts:
    """The floats in a nest of containers, and how the nest is put together with others."""

    def __init__(self, nest: Any) -> None:
        self.leaves, self.shape = tree.flatten(nest)
        self.places = [i for i, x in enumerate(self.leaves) if is_float(x)]

    def floats(self) -> list[Tensor]:
        """The floats as tensors."""
        return [tensor(self.leaves[i]) for i in self.places]

    def build(self, parts: Any) -> Any:
        """The nest with other values for its floats."""
        leaves = list(self.leaves)
        for i, x in zip(self.places, parts, strict=True):
            leaves[i] = x
        return self.shape.build(leaves)

    def alike(self, parts: Any) -> Any:
        """Derivatives in the place of floats, in their dtypes."""
        return self.build([as_before(g, self.leaves[i])
                           for i, g in zip(self.places, parts, strict=True)])

    def directions(self, nest: Any) -> list[Tensor]:
        """The floats of another nest as directions of these, conjugated as autograd has them."""
        given, _ = tree.flatten(nest)
        if len(given) != len(self.leaves):
            raise ValueError(at(f"a derivative of {typed(self.shape.build(self.leaves))} is a nest "
                                f"like it, not {typed(nest)}"))
        return [self._direction(given[i], tensor(self.leaves[i])) for i in self.places]

    def _direction(self, g: Any, like: Tensor) -> Tensor:
        if np.asarray(getval(g) if isinstance(g, Tensor) else g).dtype.kind not in "biufcV":
            raise TypeError(at(f"a derivative of {typed(like)} is an array like it, not "
                               f"{typed(g)}"))
        g = tensor(g)
        if g.dtype.kind == "c" and like.dtype.kind != "c":
            g = g.real
        g = g if g.dtype == like.dtype else cast(g, like.dtype)
        return g if g.shape == like.shape else g.expand(like.shape) if g.size == 1 else g


def mapped(f: Callable[..., Any], nest: Any) -> Any:
    """A nest with a function's values in the place of its leaves."""
    return tree.map_leaves(f, nest)
