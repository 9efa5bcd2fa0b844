"""Softmax, its logarithm, and the operations of their losses; all stable for large and infinite
inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, symbolic
from agnesi.core.ir.dims import product
from agnesi.core.op import Op, called, typed
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import at_once, planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.gather.gather_scatter import located, within
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.base.reduce import mean as mean_of
from agnesi.ops.base.reduce import reducer
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.indexing.masked import RULES, Selection
from agnesi.ops.indexing.ranges import Arange

# -- logsumexp ----------------------------------------------------------------------------------


def total(x: Tensor, axes: tuple[int, ...], keepdims: bool = True) -> Tensor:
    """The sum over axes, which stay with size 1."""
    return apply(reducer("add", axes, keepdims), x)


def _peak(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Greatest element along axes, made finite so that it can be subtracted; 0 of none."""
    if 0 in [x.shape[a] for a in axes]:
        return total(x, axes)
    top = apply(reducer("maximum", axes, True), x)
    return select.where(compare.isfinite(top), top, 0)


def _numpy_peak(x: np.ndarray, axes: Any) -> np.ndarray:
    if not x.size:
        return np.asarray(np.add.reduce(x, axis=axes, keepdims=True))
    top = np.maximum.reduce(x, axis=axes, keepdims=True)
    finite = np.isfinite(top)
    return top if np.logical_and.reduce(finite, axis=None) else np.where(finite, top, 0)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype in dtypes.HALVES else x


def _below_peak(x: np.ndarray, axes: Any) -> np.ndarray:
    """A new array: ``x`` less its greatest element along axes."""
    x = _wide(x)
    return np.asarray(x - _numpy_peak(x, axes))


@record
class LogSumExp(Op):
    """Logarithm of the sum of exponentials along axes."""

    axes: tuple[int, ...]
    keepdims: bool = False
    name = "logsumexp"
    work = elements(8)
    by_types = True
    keep_output = True

    def infer(self, x: Any) -> Any:
        return shapes.reduced(x.shape, self.axes, self.keepdims), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = _native(self, x)
        return silently(self._compute, x) if found is None else found

    def _compute(self, x: np.ndarray) -> np.ndarray:
        wide = _wide(x)
        top = _numpy_peak(wide, self.axes)
        add: Any = np.add.reduce
        total = add(np.exp(wide - top), axis=self.axes, keepdims=self.keepdims)
        y = np.log(total) + (top if self.keepdims else top.reshape(np.shape(total)))
        return np.asarray(y, x.dtype)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        top = _peak(x, self.axes)
        y = arith.add(log(total(exp(arith.subtract(x, top)), self.axes)), top)
        return y if self.keepdims else total(y, self.axes, False)

    def shares(self, y: Tensor, x: Tensor) -> Tensor:
        """The part of each element in the sum; 0 where all are -inf."""
        # Not exp(x - y): all of them would carry the rounding of y, which is large where y is.
        none = reducer("add", self.axes, self.keepdims).spread(compare.equal(y, -np.inf), x.shape)
        return select.where(none, 0, apply(Softmax(self.axes), x))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        g = reducer("add", self.axes, self.keepdims).spread(g, x.shape)
        return (arith.multiply(g, self.shares(y, x)),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return total(arith.multiply(ts[0], self.shares(y, x)), self.axes, self.keepdims)


def _of_elements(op: LogSumExp, xs: Any) -> Tensor | None:
    """Of the elements under a mask that each step of a body computes: the others add nothing."""
    x: Selection = xs[0]
    if not x.part.simple or x.part.before not in op.axes or not x.is_unsized:
        return None
    whole, weights = x.all_of(-np.inf), x.part.weights
    if weights is not None:
        whole = arith.add(whole, log(cast(x.part.beside_view(weights), whole.dtype)))
    return x.kept(apply(LogSumExp(x.inside(op.axes)), whole), op)


RULES[LogSumExp] = _of_elements


@planned
@public
def logsumexp(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
              out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(x)))`` over axes (all by default), without overflow.

    :param x: Numbers; integers become the default float dtype.
    :returns: The shape of ``x`` without the axes; -inf for no elements.
    :see: logaddexp, log_softmax, softmax

    >>> ag.logsumexp(ag.tensor([1000.0, 1000.0]))
    tensor(1000.6932)
    """
    x = as_tensor(x)
    axes = shapes.axes_of(axis, x.ndim)
    if x.dtype.kind == "c":
        return _complex_logsumexp(x, axes, keepdims)
    return apply(LogSumExp(axes, keepdims), floats(x))


def _complex_logsumexp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    top = _peak(arith.real(x), axes)  # what it adds to the gradient cancels
    found = arith.add(log(total(exp(arith.subtract(x, top)), axes)), top)
    return found if keepdims else total(found, axes, False)


def floats(x: Any) -> Tensor:
    """The operand as floats; complex numbers are refused."""
    x = as_tensor(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"complex numbers have no order: {typed(x)}")
    return cast(x, dtypes.floating(x.dtype))


# -- softmax ------------------------------------------------------------------------------------
@record
class Shares(Op):
    """Base of softmax and its logarithm, whose derivatives read nothing but the result."""

    axes: tuple[int, ...]
    keep_inputs = ()
    keep_output = True

    work = elements(8)

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = _native(self, x)
        return silently(self.compute, x) if found is None else found

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The result, with warnings where numbers overflow."""
        raise NotImplementedError


@record
class Softmax(Shares):
    """Exponentials divided by their sum."""

    name = "softmax"
    work = elements(8)
    by_types = True

    def compute(self, x: np.ndarray) -> np.ndarray:
        e = _below_peak(x, self.axes)
        np.exp(e, out=e)
        e /= np.add.reduce(e, axis=self.axes, keepdims=True)
        return e.astype(x.dtype, copy=False)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        e = exp(arith.subtract(x, _peak(x, self.axes)))
        return arith.multiply(e, arith.reciprocal(total(e, self.axes)))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (self.jvp((g,), y, x),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        part = arith.multiply(ts[0], y)
        return arith.subtract(part, arith.multiply(y, total(part, self.axes)))


@record
class LogSoftmax(Shares):
    """Logarithm of the softmax."""

    name = "log_softmax"
    work = elements(8)
    by_types = True

    def compute(self, x: np.ndarray) -> np.ndarray:
        off = _below_peak(x, self.axes)
        off -= np.log(np.add.reduce(np.exp(off), axis=self.axes, keepdims=True))
        return off.astype(x.dtype, copy=False)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        off = arith.subtract(x, _peak(x, self.axes))
        return arith.subtract(off, log(total(exp(off), self.axes)))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (arith.subtract(g, arith.multiply(exp(y), total(g, self.axes))),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        t = ts[0]
        return arith.subtract(t, total(arith.multiply(t, exp(y)), self.axes))


def _of_few(kind: type[Shares]) -> Any:
    """The usual call of softmax or its logarithm, along one axis that is given, of a tensor of few
    elements without gradients: no plan fits sizes that grow from call to call."""

    def usual(x: Any = None, *more: Any, axis: Any = None, dim: Any = None) -> Any:
        if len(more) > 1 or type(x) is not Tensor or (data := x.array) is None or (
                data.size > _FEW_ELEMENTS or data.dtype.kind != "f") or (
                x._requires_grad and MODE.get().recording):
            return NotImplemented
        axis = more[0] if more else axis if dim is None else dim
        if type(axis) is not int or not -data.ndim <= axis < data.ndim:
            return NotImplemented
        key = kind, axis % data.ndim
        op = _known.get(key)
        if op is None:
            op = _known[key] = kind((key[1],))
        return wrap(np.asarray(op.perform(data), order="C"))

    return usual


#: The operations of single axes.
_known: dict[Any, Any] = {}
#: More elements take so long that the layers around them count for little.
_FEW_ELEMENTS = 4096
softmax_of_few, log_softmax_of_few = _of_few(Softmax), _of_few(LogSoftmax)


@planned
@at_once(softmax_of_few)
@public
def softmax(x: TensorLike, /, axis: Axis = -1, *, out: Tensor | None = None) -> Tensor:
    """Exponentials divided by their sum over ``axis``.

    :param x: Scores; integers become the default float dtype.
    :param axis: Axes over which exponentials are summed; also written ``dim``.
    :returns: Of the shape of ``x``; positive numbers that sum to 1 along the axis, without
        overflow. NaN spreads along the axis.
    :raises DTypeError: For complex numbers.
    :raises IndexError: If an axis is out of range.
    :see: log_softmax, logsumexp, sigmoid, nn.Softmax, nn.functional.cross_entropy

    >>> ag.softmax(ag.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """
    x = floats(x)
    return apply(Softmax(shapes.axes_of(axis, x.ndim)), x)


@planned
@at_once(log_softmax_of_few)
@public
def log_softmax(x: TensorLike, /, axis: Axis = -1, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of :func:`softmax`, without its rounding.

    :like: softmax
    :returns: Of the shape of ``x``; not positive. NaN spreads along the axis.
    :see: softmax, logsumexp, nn.LogSoftmax, nn.functional.nll_loss

    >>> ag.log_softmax(ag.tensor([0.0, 0.0]))
    tensor([-0.6931472, -0.6931472])
    """
    x = floats(x)
    return apply(LogSoftmax(shapes.axes_of(axis, x.ndim)), x)


# -- losses -------------------------------------------------------------------------------------
@record
class Pick(LinearOp):
    """For each row, the element of the last axis that its label names."""

    work = elements(1)
    name = "pick"
    traits = frozenset(("raises",))
    keep_inputs = (1,)

    def infer(self, x: Any, labels: Any) -> Any:
        rows = x.shape[:-1]
        if rows != labels.shape and (len(rows) != len(labels.shape) or any(
            m != n and type(m) is type(n) is int for m, n in zip(rows, labels.shape, strict=True)
        )):
            rest = len(x.shape) > 2 and (x.shape[0], x.shape[-1], *x.shape[1:-2]) == labels.shape
            hint = "; write axis=-1 for classes in the last axis" if rest else ""
            raise ShapeError(f"labels need one entry per row of classes: shape {rows}, not "
                             f"{labels.shape}{hint}")
        return rows, x.dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        rows = np.arange(labels.size).reshape(labels.shape)
        flat = x.reshape(labels.size, x.shape[-1])
        try:
            if labels.min(initial=0) >= 0:
                return flat[rows, labels]
        except IndexError:
            pass
        classes = x.shape[-1]
        wrong = labels[(labels < 0) | (labels >= classes)][0]
        raise IndexError(f"label {wrong} is out of range for {classes} classes: labels run from "
                         f"0 to {classes - 1}")

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        return apply(Chosen(), x, _in_range(x, labels))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        if not is_known(labels):  # the value may not be computed at all
            labels = _in_range(x, labels)
        return select.where(is_label(labels, x.shape[-1]), expand_dims(g, -1), 0), None


def _in_range(x: Tensor, labels: Tensor) -> Tensor:
    """Labels of the last axis of ``x``, checked when the code runs; all share one check."""
    return within(labels, x.shape[-1], called(Pick.name, (x, labels)), least=0, what="a label")


@record
class Chosen(Op):
    """``Pick``, compiled: the labels are known to be in range."""

    work = elements(1)
    name = "label_score"
    keep_inputs = (1,)

    def infer(self, x: Any, labels: Any) -> Any:
        return Pick().infer(x, labels)

    def reduction(self, x: Any, labels: Any) -> tuple[int, ...]:
        return (len(x.shape) - 1,)

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return Pick().perform(x, labels)

    def lower(self, at: Any, x: Any, labels: Any) -> Any:
        return x(*at, located(labels(*at), x.shape[-1]))


def is_label(labels: Tensor, classes: Any) -> Tensor:
    """One True per row, at its label."""
    if isinstance(classes, int) and classes < 1 << 31 and labels.dtype.kind in "iu":
        labels = cast(labels, dtypes.int32)  # more of them at a time
    numbers = Arange(0, 1, classes, labels.dtype)
    # In a graph the numbers stay an operation, so that they need no memory.
    columns = symbolic(numbers, ()) if labels.array is None else apply(numbers)
    return compare.equal(expand_dims(labels, -1), columns)


def _native(op: Op, x: np.ndarray, *labels: np.ndarray) -> np.ndarray | None:
    """Results of compiled code, where the operation was wanted often enough; None otherwise.

    NumPy calls some ten functions for it, and takes about 40 multiply-adds' time an element.
    """
    try:
        found: np.ndarray | None = HOOKS.run(op, (x, *labels), 1_000_000 + 40 * x.size)
    except IndexError:  # NumPy's way names the label
        return None
    return found


@record
class SoftmaxLessLabel(Op):
    """Probabilities less one at the label: the derivative of the cross-entropy."""

    work = elements(8)
    name = "softmax_less_label"
    keep_inputs = (0,)

    def infer(self, x: Any, labels: Any) -> Any:
        Pick().infer(x, labels)
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        found = _native(self, x, labels)
        if found is not None:
            return found
        p = np.ascontiguousarray(Softmax((x.ndim - 1,)).perform(x))
        flat = p.reshape(labels.size, x.shape[-1])
        flat[np.arange(labels.size), labels.reshape(-1)] -= 1
        return p

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        p = apply(Softmax((len(x.shape) - 1,)), x)
        labels = _in_range(x, labels)
        return arith.subtract(p, cast(is_label(labels, x.shape[-1]), x.dtype))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        return self.jvp((g,), y, x, labels), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, labels: Tensor) -> Any:
        if ts[0] is None:
            return None
        softmax = Softmax((len(x.shape) - 1,))
        return softmax.jvp(ts, apply(softmax, x), x)


_LESS_LABEL = SoftmaxLessLabel()


@record
class LabelLoss(Op):
    """Cross-entropy of softmax along the last axis with labels: row by row, or its mean."""

    mean: bool = False
    work = elements(8)
    name = "cross_entropy"
    traits = frozenset(("raises",))

    def infer(self, x: Any, labels: Any) -> Any:
        rows, dtype = Pick().infer(x, labels)
        return () if self.mean else rows, dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        found = _native(self, x, labels)
        return silently(self._compute, x, labels) if found is None else found

    def _compute(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        off = _below_peak(x, -1)
        rows: Any = np.log(np.exp(off).sum(-1)) - Pick().perform(off, labels)
        return np.asarray(np.divide(rows.sum(), rows.size) if self.mean else rows, x.dtype)

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        rows = arith.negative(apply(Pick(), apply(LogSoftmax((len(x.shape) - 1,)), x), labels))
        return mean_of(rows) if self.mean else rows

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        if self.mean:  # of more rows than float16 has numbers
            wide = cast(g, dtypes.computed(g.dtype))
            g = cast(arith.divide(wide, product(labels.shape)), g.dtype)
        else:
            g = expand_dims(g, -1)
        return arith.multiply(g, apply(_LESS_LABEL, x, labels)), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, labels: Tensor) -> Any:
        if ts[0] is None:
            return None
        part = arith.multiply(ts[0], apply(_LESS_LABEL, x, labels))
        rows = total(part, (len(x.shape) - 1,), False)
        return mean_of(rows) if self.mean else rows
