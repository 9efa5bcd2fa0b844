"""Sums, extremes, products of matrices, and what is sorted."""

from __future__ import annotations

from typing import Any

import agnesi
from agnesi.api import functions as F
from agnesi.compat.theano.base.casting import alike
from agnesi.compat.theano.tensor.creation import as_tensor_variable, cast
from agnesi.compat.theano.tensor.elementwise import Assert
from agnesi.compat.theano.variable import Variable, bare, floats, lifted, wrapped
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor


def _axis(axis: Any) -> Any:
    """Axes as numbers: a list is a tuple, an array its numbers."""
    axis = bare(axis)
    if isinstance(axis, Tensor) and axis.array is None:
        raise TypeError(f"axis must be an integer or several, not {typed(axis)}")
    if isinstance(axis, list) or hasattr(axis, "tolist"):
        found = list(axis) if isinstance(axis, list) else axis.tolist()
        return tuple(map(int, found)) if isinstance(found, list) else int(found)
    return axis


def _reduced(function: Any, x: Any, axis: Any, to: Any, keepdims: bool, **more: Any) -> Variable:
    with floats():
        found = function(as_tensor_variable(x)._value, _axis(axis), keepdims=keepdims, **more)
    return wrapped(found) if to is None else cast(wrapped(found), to)


def sum(input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
        acc_dtype: Any = None) -> Variable:
    """The sum over axes."""
    return _reduced(F.sum, input, axis, None, keepdims, dtype=dtype or acc_dtype)


def prod(input: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         acc_dtype: Any = None, no_zeros_in_input: bool = False) -> Variable:
    """The product over axes."""
    return _reduced(F.prod, input, axis, None, keepdims, dtype=dtype or acc_dtype)


def mean(input: Any, axis: Any = None, dtype: Any = None, op: bool = False,
         keepdims: bool = False, acc_dtype: Any = None) -> Variable:
    """The mean over axes, in float64 for integers; ``dtype`` is that in which is summed."""
    x = as_tensor_variable(input)
    if dtype is not None:
        given = wrapped(F.astype(x._value, bare(dtype))) if dtype != "bool" else x
        total = wrapped(F.astype(_reduced(F.sum, given, axis, None, keepdims)._value, bare(dtype)))
        axes = range(x.ndim) if axis is None else (bare(axis),) if isinstance(axis, int) else axis
        short = total.dtype in ("float16", "float32", "complex64")
        count = cast(1, "float32" if short else "float64")
        for a in axes:
            count = count * cast(x.shape[a], count.dtype)
        return cast(total / count, "float16") if total.dtype == "float16" else total / count
    if x.dtype == "bool" or x.dtype.startswith(("int", "uint")):
        x = cast(x, "float64")
    return _reduced(F.mean, x, axis, None, keepdims)


def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False,
        corrected: bool = False) -> Variable:
    """The variance over axes."""
    return _reduced(F.var, input, axis, None, keepdims, correction=ddof)


def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False,
        corrected: bool = False) -> Variable:
    """The standard deviation over axes."""
    return _reduced(F.std, input, axis, None, keepdims, correction=ddof)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The largest element over axes; equal ones share the gradient, of which Theano's get all."""
    return _reduced(F.max, x, axis, None, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The smallest element over axes; equal ones share the gradient, of which Theano's get all."""
    return _reduced(F.min, x, axis, None, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """Where the largest element is; over several axes, by the order of these."""
    return _placed(F.argmax, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """Where the smallest element is; over several axes, by the order of these."""
    return _placed(F.argmin, x, axis, keepdims)


def _placed(function: Any, x: Any, axis: Any, keepdims: bool) -> Variable:
    value, axes = as_tensor_variable(x)._value, _axis(axis)
    if not isinstance(axes, tuple) or not axes:
        return _reduced(function, x, axes or None if isinstance(axes, tuple) else axes, None,
                        keepdims)
    if len(axes) == 1:
        return _reduced(function, x, axes[0], None, keepdims)
    down = sorted(a % value.ndim for a in axes)
    kept = [a for a in range(value.ndim) if a not in down]
    rows = F.reshape(F.transpose(value, (*kept, *down)), (*(value.shape[a] for a in kept), -1))
    found = function(rows, -1)
    if keepdims:
        found = F.reshape(found, tuple(1 if a in down else value.shape[a]
                                       for a in range(value.ndim)))
    return wrapped(found)


def max_and_argmax(x: Any, axis: Any = None, keepdims: bool = False) -> tuple[Variable, Variable]:
    """The largest element over axes, and where it is."""
    places = argmax(x, axis, keepdims)
    if isinstance(axis, (tuple, list)) and not axis:  # of each element by itself
        places = as_tensor_variable(x).zeros_like("int64")
    return max(x, axis, keepdims), places


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """Return whether some element is not zero."""
    return _reduced(F.any, x, axis, None, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """Return whether no element is zero."""
    return _reduced(F.all, x, axis, None, keepdims)


def smallest(*args: Any) -> Variable:
    """The smallest of the operands, elementwise."""
    found = as_tensor_variable(args[0])
    for x in args[1:]:
        found = lifted(F.minimum)(found, x)
    return found


def largest(*args: Any) -> Variable:
    """The largest of the operands, elementwise."""
    found = as_tensor_variable(args[0])
    for x in args[1:]:
        found = lifted(F.maximum)(found, x)
    return found


def ptp(a: Any, axis: Any = None) -> Variable:
    """The largest element less the smallest."""
    return max(a, axis) - min(a, axis)


def dot(a: Any, b: Any) -> Variable:
    """The product of vectors, matrices, scalars; of more axes as NumPy's."""
    return lifted(F.dot)(as_tensor_variable(a), as_tensor_variable(b))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """Sums of products over pairs of axes."""
    if isinstance(axes, (list, tuple)):
        axes = tuple(tuple(x) if isinstance(x, (list, tuple)) else x for x in axes)
    return lifted(F.tensordot)(a, b, axes=axes)


def batched_dot(a: Any, b: Any) -> Variable:
    """The product of matrices, or of a matrix or vector and a vector, for each entry of the first
    axis; what has no other axis is a number for each."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if 0 in (a.ndim, b.ndim):
        raise TypeError(at("batched_dot takes tensors with an entry for each product along the "
                           f"first axis, not {a.type} and {b.type}"))
    if 1 in (a.ndim, b.ndim):
        rank = a.ndim if a.ndim > b.ndim else b.ndim
        return a.dimshuffle(*range(a.ndim), *"x" * (rank - a.ndim)) * b.dimshuffle(
            *range(b.ndim), *"x" * (rank - b.ndim))
    if a.ndim == b.ndim == 3:
        return lifted(F.matmul)(a, b)
    return batched_tensordot(a, b, [[a.ndim - 1], [1 if b.ndim < 3 else b.ndim - 2]])


def batched_tensordot(x: Any, y: Any, axes: Any = 2) -> Variable:
    """``tensordot`` for each entry of the first axis."""
    first, second = alike(as_tensor_variable(x)._value, as_tensor_variable(y)._value)
    if isinstance(axes, (list, tuple)):
        pairs = [[n - 1 for n in (a if isinstance(a, (list, tuple)) else [a])] for a in axes]
        axes = (tuple(pairs[0]), tuple(pairs[1]))
    return wrapped(agnesi.vmap(lambda a, b: F.tensordot(a, b, axes=axes))(first, second))


def sort(x: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Variable:
    """Elements in order along an axis; all of them for None."""
    x = as_tensor_variable(x)
    return lifted(F.sort)(x.flatten() if axis is None else x, axis=-1 if axis is None else axis)


def argsort(x: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Variable:
    """Where elements are, in their order, along an axis."""
    x = as_tensor_variable(x)
    return lifted(F.argsort)(x.flatten() if axis is None else x, axis=-1 if axis is None else axis)


def topk_and_argtopk(x: Any, kth: Any, axis: int = -1, sorted: bool = True,
                     idx_dtype: Any = "int64") -> tuple[Variable, Variable]:
    """The largest elements (smallest for negative ``kth``) and where they are."""
    x = as_tensor_variable(x)
    order = argsort(-x if kth > 0 else x, axis)
    size = kth if kth > 0 else -kth
    key = [slice(None)] * x.ndim
    key[axis] = slice(0, size)
    where = order[tuple(key)]
    return lifted(F.take_along_axis)(x, where, axis=axis), cast(where, idx_dtype)


def topk(x: Any, kth: Any, axis: int = -1, sorted: bool = True) -> Variable:
    """The largest elements."""
    return topk_and_argtopk(x, kth, axis)[0]


def argtopk(x: Any, kth: Any, axis: int = -1, sorted: bool = True,
            idx_dtype: Any = "int64") -> Variable:
    """Where the largest elements are."""
    return topk_and_argtopk(x, kth, axis, idx_dtype=idx_dtype)[1]


def cumsum(x: Any, axis: Any = None) -> Variable:
    """Running sums; of all elements for None."""
    x = as_tensor_variable(x)
    found = lifted(F.cumsum)(x.flatten() if axis is None else x, axis=0 if axis is None else axis)
    return found.astype(x.dtype)


def cumprod(x: Any, axis: Any = None) -> Variable:
    """Running products; of all elements for None."""
    x = as_tensor_variable(x)
    found = lifted(F.cumprod)(x.flatten() if axis is None else x, axis=0 if axis is None else axis)
    return found.astype(x.dtype)


def bincount(x: Any, weights: Any = None, minlength: Any = None,
             assert_nonneg: bool = False) -> Variable:
    """How often each number occurs; negative ones are a ValueError, or an AssertionError."""
    x = as_tensor_variable(x)
    if assert_nonneg:
        x = Assert("Input to bincount has negative values!")(x, x.__ge__(0))
    return lifted(agnesi.bincount)(x, weights, minlength=minlength or 0)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None) -> Any:
    """The different elements, in order; optionally where they are and how often."""
    return lifted(F.unique)(as_tensor_variable(ar), return_index=return_index,
                            return_inverse=return_inverse, return_counts=return_counts, axis=axis)


class Unique:
    """The operation of :func:`unique`, made with what it shall give and then called."""

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index: bool = False, return_inverse: bool = False,
                 return_counts: bool = False, axis: int | None = None) -> None:
        self.return_index, self.return_inverse = return_index, return_inverse
        self.return_counts, self.axis = return_counts, axis

    def __call__(self, x: Any) -> Any:
        return unique(x, self.return_index, self.return_inverse, self.return_counts, self.axis)


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Variable:
    """The product of matrices, and of stacks of them."""
    found = lifted(F.matmul)(as_tensor_variable(x1), as_tensor_variable(x2))
    return found if dtype is None else cast(found, dtype)


def nonzero(a: Any, return_matrix: bool = False) -> Any:
    """Where elements are not zero: a vector for each axis, or the rows of a matrix."""
    found = lifted(F.nonzero)(a)
    return lifted(F.stack)(list(found)) if return_matrix else found


def flatnonzero(a: Any) -> Variable:
    """Where elements of the flattened tensor are not zero."""
    x = as_tensor_variable(a)
    if x.ndim == 0:
        raise ValueError(at(f"flatnonzero: a scalar has no places of elements: {x!r}"))
    return nonzero(x.flatten())[0]


def nonzero_values(a: Any) -> Variable:
    """The elements that are not zero."""
    x = as_tensor_variable(a).flatten()
    return x[flatnonzero(a)]
