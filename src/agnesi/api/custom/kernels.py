"""Kernels from an expression: elementwise ones, and reductions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.api import functions as ag
from agnesi.api.control.loops import fori_loop
from agnesi.api.custom.expressions import parsed
from agnesi.compiler.jit import jit
from agnesi.core.ir.dims import is_static
from agnesi.core.op import explain, typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import higher
from agnesi.core.shapes import axes_of, broadcast
from agnesi.core.support.config import STATE
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled

Expression = str | Callable[..., Any]


def _function(owner: str, expression: Expression, parameters: str = ""
              ) -> tuple[Callable[..., Any], int]:
    """Return the function that an expression means, and how many operands it takes."""
    if isinstance(expression, str):
        function, names = parsed(expression, parameters, owner)
        return function, len(names)
    return expression, expression.__code__.co_argcount


class _Kernel:
    """Base: a function that is compiled where it is called on values."""

    _given: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return type(self), self._given

    def __init__(self, body: Callable[..., Any], name: str, arity: int) -> None:
        self._body = body
        self.__name__ = self.__qualname__ = name
        self.arity = arity

        def kernel(*xs: Any, **keywords: Any) -> Any:
            return body(*xs, **keywords)

        kernel.__name__ = kernel.__qualname__ = name
        self.compiled = jit(kernel)

    def _run(self, xs: Sequence[Any], **keywords: Any) -> Any:
        if len(xs) != self.arity:
            raise TypeError(at(f"{self.__name__} takes {self.arity} operands, not {len(xs)}"))
        operands = [x if isinstance(x, (Tensor, bool, int, float, complex)) else as_tensor(x)
                    for x in xs]
        if not any(isinstance(x, Tensor) for x in operands):
            operands = [as_tensor(x) for x in operands]
        known = all(not isinstance(x, Tensor) or x.array is not None for x in operands)
        alone = known and not is_tracing() and STATE.examples is None
        try:
            return (self.compiled if alone else self._body)(*operands, **keywords)
        except (ValueError, TypeError, IndexError) as error:
            raise explain(error, self.__name__, tuple(xs)) from None


class _Elementwise(_Kernel):
    def __init__(self, expression: Expression, name: str, parameters: str) -> None:
        self._given = expression, name, parameters
        self._expression, arity = _function("elementwise", expression, parameters)
        super().__init__(self._values, name, arity)

    def _values(self, *xs: Any) -> Any:
        found = self._expression(*xs)
        shape = broadcast(*(x.shape for x in xs if isinstance(x, Tensor)))
        results = found if isinstance(found, tuple) else (found,)
        for y in results:
            if isinstance(y, Tensor) and len(y.shape) > len(shape):
                raise ShapeError(
                    f"it made {typed(y)} of operands of shape {shape}; an elementwise function may "
                    "only use operations on single elements"
                )
        made = tuple(ag.broadcast_to(as_tensor(y), shape) for y in results)
        return made if isinstance(found, tuple) else made[0]

    def __call__(self, *xs: Any) -> Any:
        if len(xs) == self.arity and not is_tracing() and STATE.examples is None:
            for x in xs:
                if type(x) is not Tensor or x.array is None:
                    break
            else:
                return self.compiled(*xs)  # at once: it is the same
        return self._run(xs)


@higher
def elementwise(expression: Expression, *, name: str = "elementwise",
                parameters: str = "") -> Callable[..., Any]:
    """A function of single elements, from an expression, for tensors that broadcast.

    On values it is one compiled kernel; in records, graphs and under ``jit`` it is what it says,
    with gradients, and shares kernels with what stands around it.

    :param expression: As in Python: ``"x*y + z"``.  It may use all elementwise functions of agnesi
        by their names, ``pi``, ``e``, ``inf``, ``nan``, ``a if c else b``, ``and``, ``or``,
        ``not``, comparisons; assignments before it, with semicolons or line ends between; and
        commas for several results.  Or a function of tensors that uses these operations.
    :type expression: str or callable
    :param name: Name for errors and listings.
    :param parameters: Names of the operands in their order, if it is not that of their first use.
    :returns: It takes the operands by place or by name, and gives a tensor of the broadcast shape,
        or a tuple for several results.
    :raises SyntaxError: If an expression cannot be read, or uses what has no place in it.
    :see: reduction, vectorize, op

    >>> squared_difference = ag.elementwise("d = x - y; d * d")
    >>> squared_difference(ag.tensor([1.0, 5.0]), 2.0)
    tensor([1., 9.])
    """
    return _Elementwise(expression, name, parameters)


#: Reductions that exist, with their neutral elements, by how two values become one.
_KNOWN = {
    "a + b": ("sum", 0), "a * b": ("prod", 1), "maximum(a, b)": ("max", None),
    "minimum(a, b)": ("min", None), "max(a, b)": ("max", None), "min(a, b)": ("min", None),
    "b + a": ("sum", 0), "b * a": ("prod", 1),
}


def _normal(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text.strip()))
    except SyntaxError:
        return text  # reported where the text is parsed


class _Reduction(_Kernel):
    def __init__(self, map: Expression, reduce: Expression, identity: Any, post: Expression | None,
                 dtype: Any, name: str, parameters: str) -> None:
        self._given = map, reduce, identity, post, dtype, name, parameters
        self._map, arity = _function("reduction", map, parameters)
        self._reduce, two = _function("reduction", reduce, "a b" if isinstance(reduce, str) else "")
        if two != 2:
            raise TypeError(at(f"reduce takes two values, a and b, not {two}"))
        self._post = None if post is None else _function("reduction", post)[0]
        self._kind = _KNOWN.get(_normal(reduce)) if isinstance(reduce, str) else None
        self._identity = identity
        self._dtype = None if dtype is None else as_dtype(dtype)
        super().__init__(self._values, name, arity)

    def _values(self, *xs: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        shape = broadcast(*(x.shape for x in xs if isinstance(x, Tensor)))
        values = ag.broadcast_to(as_tensor(self._map(*xs)), shape)
        if self._dtype is not None:
            values = values.astype(self._dtype)
        axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, len(shape))
        total = self._reduced(values, axes)
        if keepdims:
            total = ag.expand_dims(total, axes)
        return total if self._post is None else self._post(total)

    def _reduced(self, values: Tensor, axes: tuple[int, ...]) -> Tensor:
        kept = [n for i, n in enumerate(values.shape) if i not in axes]
        empty = any(is_static((values.shape[i],)) and values.shape[i] == 0 for i in axes)
        if empty or self._kind is None:
            if self._identity is None and empty:
                raise ValueError("there are no elements to reduce, and no identity; give one")
            start = None if self._identity is None else filled(
                tuple(kept), self._identity, values.dtype)
            if empty:
                assert start is not None
                return start
            rest = [i for i in range(len(values.shape)) if i not in axes]
            moved = ag.permute_dims(values, (*axes, *rest))
            rows = ag.reshape(moved, (-1, *kept)) if len(axes) != 1 else moved
            total = self._halved(rows) if is_static(rows.shape[:1]) else self._in_turn(rows)
            return total if start is None else self._reduce(start, total)
        kind, neutral = self._kind
        total = getattr(ag, kind)(values, axis=axes)
        if self._identity is None or self._identity == neutral:
            return total
        return self._reduce(filled(tuple(kept), self._identity, values.dtype), total)

    def _halved(self, rows: Tensor) -> Tensor:
        """All rows combined: neighbours first, so that their order stays."""
        while rows.shape[0] > 1:
            n = rows.shape[0]
            pairs = self._reduce(rows[0 : n - n % 2 : 2], rows[1:n:2])
            rows = ag.concat([pairs, rows[n - 1 :]]) if n % 2 else pairs
        return rows[0]

    def _in_turn(self, rows: Tensor) -> Tensor:
        def step(i: Tensor, total: Tensor) -> Any:
            return self._reduce(total, rows[i])

        found: Tensor = fori_loop(1, rows.shape[0], step, rows[0])
        return found

    def __call__(self, *xs: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        found: Tensor = self._run(xs, axis=axis, keepdims=keepdims)
        return found


@higher
def reduction(map: Expression = "x", reduce: Expression = "a + b",
              identity: TensorLike | None = None, *, post: Expression | None = None,
              dtype: DTypeLike = None, name: str = "reduction", parameters: str = ""
              ) -> Callable[..., Tensor]:
    """A reduction, from expressions: what to do with the elements, and with two results.

    Like :func:`elementwise`, it is compiled on values and has gradients.  The function takes the
    operands, ``axis`` (all, if it is None) and ``keepdims``.

    :param map: From elements of the operands, which broadcast, to what is reduced.
    :type map: str or callable
    :param reduce: Two such values, ``a`` and ``b``, as one; in whatever groups, so it must be
        associative.
    :type reduce: str or callable
    :param identity: Where the reduction starts, and its result without elements.
    :type identity: number, optional
    :param post: What becomes of the result.
    :type post: str or callable, optional
    :param dtype: In which type to reduce.
    :param name, parameters: As for :func:`elementwise`.
    :returns: It gives a tensor of the shape that the operands broadcast to, without the axes.
    :raises SyntaxError: If an expression cannot be read, or uses what has no place in it.
    :see: elementwise, sum, op

    >>> dot = ag.reduction("x * y", "a + b", 0)
    >>> dot(ag.ones((2, 3)), ag.arange(3.0), axis=1)
    tensor([3., 3.])
    >>> ag.reduction("x * x", post="sqrt(a)")(ag.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return _Reduction(map, reduce, identity, post, dtype, name, parameters)
