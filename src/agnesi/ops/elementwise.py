"""Elementwise operations are rows: name, NumPy function, derivative rules.

A rule gives, for one operand, the product of a cotangent or tangent ``g`` with the partial
derivative.  It is a lambda whose parameters name what it reads: ``g``, operands ``a``, ``b``, ``c``
(one operand: ``x``), the result ``y``.  The same rule serves reverse and forward mode, and what it
reads decides which values a recorded run keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from agnesi.core import dtypes, loops, shapes
from agnesi.core.dispatch import apply, assign
from agnesi.core.errors import DTypeError
from agnesi.core.op import Op, typed
from agnesi.core.tensor import Tensor
from agnesi.ops.convert import as_tensor, cast, common, pair
from agnesi.ops.expand import sum_to

_OPERANDS = ("a", "b", "c")
_SILENT = umath._make_extobj(all="ignore")
_silence = umath._extobj_contextvar.set
_restore = umath._extobj_contextvar.reset

Rule = Callable[..., Any]

#: Every row, by name.
TABLE: dict[str, Elementwise] = {}


def _names(rule: Rule) -> tuple[str, ...]:
    return rule.__code__.co_varnames[: rule.__code__.co_argcount]


class Elementwise(Op):
    """A row of the table, as an operation.

    Parameters
    ----------
    name : str
        Name, also that of the scalar operation in the loop language.
    function : callable
        NumPy function on arrays of one dtype.
    rules : tuple
        One derivative rule for each operand, or None where there is no gradient.
    result : {"same", "bool", "real"}
        dtype of the result.
    kinds : str
        dtype kinds that the operation takes, of "biufc"; integers become floats where only
        floats are taken.
    expand : callable, optional
        The row in terms of other scalar operations of the loop language, for lowering.
    """

    def __init__(self, name: str, function: Any, rules: tuple[Rule | None, ...], *,
                 result: str = "same", kinds: str = "biufc",
                 expand: Callable[..., loops.Expr] | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.function = function
        self.rules = rules
        self.result = result
        self.kinds = kinds
        self.expand = expand
        self.differentiable = any(rules) and result != "bool"  # type: ignore[misc]
        self.arity = len(rules)
        self._operands = ("x",) if self.arity == 1 else _OPERANDS[: self.arity]
        self._reads = tuple(_names(r) if r else () for r in rules)
        used = {n for names in self._reads for n in names}
        self.keep_inputs = tuple(i for i, n in enumerate(self._operands) if n in used)  # type: ignore[misc]
        self.keep_output = "y" in used  # type: ignore[misc]
        TABLE[name] = self

    def label(self) -> str:
        return self.name

    def infer(self, *xs: Any) -> Any:
        shape = shapes.broadcast(*(x.shape for x in xs))
        dtype = xs[-1].dtype
        for x in xs[1:] if self.name == "where" else xs:
            if x.dtype != dtype:
                raise DTypeError(f"operands have dtypes {' and '.join(str(x.dtype) for x in xs)}")
        return shape, self._result(dtype)

    def _result(self, dtype: np.dtype) -> np.dtype:
        if self.result == "bool":
            return dtypes.bool_
        return dtypes.real_of(dtype) if self.result == "real" else dtype

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        token = _silence(_SILENT)
        try:
            return self.function(*xs)
        finally:
            _restore(token)

    def product(self, i: int, g: Tensor, y: Tensor, xs: tuple[Tensor, ...]) -> Tensor:
        """``g`` times the derivative to operand ``i``."""
        known = dict(zip(self._operands, xs, strict=True))
        known["g"], known["y"] = g, y
        rule: Any = self.rules[i]
        return rule(*(known[n] for n in self._reads[i]))

    def vjp(self, g: Tensor, y: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        conjugate = g.dtype.kind == "c"
        if conjugate:
            g = g.conj()
        results: list[Any] = []
        for i, x in enumerate(xs):
            if self.rules[i] is None or not x.requires_grad:
                results.append(None)
                continue
            part = self.product(i, g, y, xs)
            if part.dtype.kind == "c":
                part = part.conj() if conjugate else part
                part = part if x.dtype.kind == "c" else part.real
            results.append(sum_to(part, x.shape))
        return tuple(results)

    def jvp(self, ts: Any, y: Tensor, *xs: Tensor) -> Any:
        total = None
        for i, t in enumerate(ts):
            if t is not None and self.rules[i] is not None:
                part = self.product(i, t, y, xs)
                total = part if total is None else total + part
        return total

    def lower(self, at: Any, *reads: Any) -> Any:
        values = [r.broadcast(at) for r in reads]
        if values[-1].dtype == "float16" and self.name not in ("where", "negative", "abs"):
            wide = [loops.cast(v, "float32") if v.dtype == "float16" else v for v in values]
            result = self._scalar(wide)
            return loops.cast(result, "float16") if result.dtype == "float32" else result
        return self._scalar(values)

    def _scalar(self, values: list[Any]) -> Any:
        return self.expand(*values) if self.expand else loops.call(self.name, *values)


def prepared(op: Elementwise, xs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Operands of one dtype that the operation takes."""
    if len(xs) == 2:
        operands: tuple[Tensor, ...] = pair(*xs)
    else:
        operands = common(*xs) if len(xs) > 2 else (as_tensor(xs[0]),)
    dtype = operands[0].dtype
    if dtype.kind in op.kinds:
        return operands
    if dtype.kind in "biu" and "f" in op.kinds:
        return tuple(cast(x, dtypes.config.float_dtype) for x in operands)
    allowed = ", ".join(d.name for d in dtypes.ALL if d.kind in op.kinds)
    raise DTypeError(f"{op.name} takes {allowed}, not {' and '.join(typed(x) for x in operands)}")


def unary(op: Elementwise) -> Callable[..., Tensor]:
    """The public function of a row with one operand."""
    kinds = op.kinds

    def function(x: Any, /, *, out: Tensor | None = None) -> Tensor:
        if type(x) is not Tensor or x.dtype.kind not in kinds:
            (x,) = prepared(op, (x,))
        return apply(op, x) if out is None else into(out, apply(op, x))

    return _named(function, op.name)


def binary(op: Elementwise) -> Callable[..., Tensor]:
    """The public function of a row with two operands."""
    kinds = op.kinds

    def function(x1: Any, x2: Any, /, *, out: Tensor | None = None) -> Tensor:
        if (
            type(x1) is not Tensor or type(x2) is not Tensor or x1.dtype is not x2.dtype
            or x1.dtype.kind not in kinds or x1.data is None or x2.data is None
        ):
            x1, x2 = prepared(op, (x1, x2))
        return apply(op, x1, x2) if out is None else into(out, apply(op, x1, x2))

    return _named(function, op.name)


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    return function


def into(out: Tensor, result: Tensor) -> Tensor:
    """Write a result into ``out``, which keeps its dtype."""
    if not isinstance(out, Tensor):
        raise TypeError(f"out must be a Tensor, not {type(out).__name__}")
    return assign(out, cast(result, out.dtype))
