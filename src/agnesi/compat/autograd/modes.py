"""Both modes of differentiation for functions of one nest of values, and spaces of values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import agnesi.compat.autograd.numpy as anp
from agnesi.autodiff.transforms import jvp as our_jvp
from agnesi.autodiff.transforms import vjp as our_vjp
from agnesi.compat.autograd.values import Parts, conjugate, getval, mapped, plain, traced
from agnesi.core.support import tree
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor

Function = Callable[..., Any]


class _Results:
    """A function of tensors, and what else it returned."""

    def __init__(self, fun: Function, x: Any) -> None:
        self.fun, self.inputs = fun, Parts(x)
        if not self.inputs.places and (self.inputs.leaves or x is None):
            kind = type(x).__name__
            whole = np.asarray(x).dtype.kind in "biu" if not isinstance(x, dict) else False
            raise TypeError(at(
                f"Can't differentiate w.r.t. type {kind}: {typed(x)} has no floats; give "
                + ("3.0 for 3" if whole else "floats, arrays of floats, or nests of them")))
        self.parts: Any = None

    def __call__(self, *xs: Any) -> list[Tensor]:
        with traced():
            y = self.fun(self.inputs.build(xs))
        self.parts = Parts(y)
        found = self.parts.floats()
        if not any(t.requires_grad or t.array is None for t in found):
            warnings.warn("Output seems independent of input.", stacklevel=4)
        return found


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """The function that pulls cotangents of a result back to ``x``, and the result.

    :param fun: Takes a nest of floats and arrays, and returns one.
    :param x:
    :type x: nest of float or array
    :returns vjp: Takes a cotangent like the result, and gives one like ``x``.
    :rtype: callable
    :returns value: ``fun(x)``.
    :rtype: nest
    """
    results = _Results(fun, x)
    values, pullback = our_vjp(results, *results.inputs.floats())
    parts = results.parts

    def vjp(g: Any) -> Any:
        gs = [conjugate(t) for t in parts.directions(g)]
        return results.inputs.alike([conjugate(t) for t in pullback(gs)])

    return vjp, parts.build([plain(v) for v in values])


def make_jvp(fun: Function, x: Any) -> Function:
    """The function that gives the value at ``x`` and the derivative along a direction.

    :param fun: Takes a nest of floats and arrays, and returns one.
    :param x:
    :type x: nest of float or array
    :returns: Takes a direction like ``x``, and gives ``(fun(x), direction of the result)``.
    """
    def jvp(v: Any) -> tuple[Any, Any]:
        results = _Results(fun, x)
        values, moves = our_jvp(results, results.inputs.floats(), results.inputs.directions(v))
        parts = results.parts
        return parts.build([plain(y) for y in values]), parts.alike(moves)

    return jvp


class VSpace:
    """The space of values like an example: nests of arrays of its shapes and dtypes.

    Attributes
    ----------
    size : int
        Real dimensions.
    iscomplex : bool
    shape, dtype : object
        Of a single array.
    """

    def __init__(self, value: Any) -> None:
        leaves, self.tree = tree.flatten(value)
        self.types = []
        for x in leaves:
            x = getval(x)
            if isinstance(x, (bool, np.bool_)) or not isinstance(
                    x, (int, float, complex, np.ndarray, np.generic, Tensor)):
                raise TypeError(at(f"Can't find vector space for value {x!r} of type {type(x)}: "
                                   "nests of floats and arrays have one"))
            dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
            self.types.append((tuple(np.shape(x)), np.dtype(dtype)))

    @property
    def shape(self) -> Any:
        return self.types[0][0]

    @property
    def dtype(self) -> Any:
        return self.types[0][1]

    @property
    def iscomplex(self) -> bool:
        return any(d.kind == "c" for _, d in self.types)

    @property
    def size(self) -> int:
        return sum(int(np.prod(s)) * (2 if d.kind == "c" else 1) for s, d in self.types)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, VSpace) and self.types == other.types
                and (self.tree.kind, self.tree.extra) == (other.tree.kind, other.tree.extra))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"VSpace({self.types})"

    def _build(self, make: Function) -> Any:
        return self.tree.build([make(s, d)[()] for s, d in self.types])

    def zeros(self) -> Any:
        return self._build(np.zeros)

    def ones(self) -> Any:
        return self._build(lambda s, d: np.full(s, 1 + 1j if d.kind == "c" else 1, d))

    def randn(self) -> Any:
        def draw(shape: Any, dtype: Any) -> Any:
            found = np.asarray(np.random.randn(*shape))
            if dtype.kind == "c":
                found = found + 1j * np.random.randn(*shape)
            return np.asarray(found).astype(dtype)

        return self._build(draw)

    def standard_basis(self) -> Iterator[Any]:
        for k, (shape, dtype) in enumerate(self.types):
            for place in np.ndindex(shape):
                for unit in (1, 1j) if dtype.kind == "c" else (1,):
                    leaves = [np.zeros(s, d) for s, d in self.types]
                    leaves[k][place] = unit
                    yield self.tree.build([x[()] for x in leaves])

    def _each(self, f: Function, *nests: Any) -> Any:
        columns = zip(*(tree.flatten(n)[0] for n in nests), strict=True)
        return self.tree.build([f(*column) for column in columns])

    def add(self, x: Any, y: Any) -> Any:
        return self._each(lambda a, b: a + b, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self._each(lambda v: v * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        pairs = zip(tree.flatten(x)[0], tree.flatten(y)[0], strict=True)
        return sum(anp.real(anp.sum(anp.conj(a) * b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        return mapped(np.conj, x)


def vspace(value: Any) -> VSpace:
    """The space of values like an example."""
    return VSpace(value)
