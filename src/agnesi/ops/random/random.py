"""Random numbers: generators, and distributions made from the bits of ``philox``."""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, assign
from agnesi.core.ir.dims import Dim, Shape, Size, is_static, product
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import axis_of
from agnesi.core.storage.leaves import COPY
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError, TraceError, at
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.movement import reshape, reshaped, sized
from agnesi.ops.base.parameter_checks import demanded, interval, not_negative, probability, weights
from agnesi.ops.base.select import minimum, where
from agnesi.ops.base.slices import Slice
from agnesi.ops.elementwise.bitwise import mulhi
from agnesi.ops.elementwise.complexes import view_as_complex
from agnesi.ops.elementwise.explog import log
from agnesi.ops.indexing.index import take
from agnesi.ops.random.generators import Generator, default_generator, is_planning
from agnesi.ops.random.philox import MOST_WORDS
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import argsort, searchsorted, topk

_UINT32 = dtypes.uint32
#: How far the sum of probabilities may be from 1: they may have been rounded to float16.
_MAX_OFF = 1e-2



def _range(x: Tensor, start: Any, stop: Any) -> Tensor:
    return apply(Slice(((start, stop, 1),)), x)


def words(size: Size, generator: Generator | None) -> Tensor:
    """``size`` random uint32."""
    return (generator or default_generator()).bits(size)


def noise(kind: str, sizes: Shape, dtype: np.dtype, generator: Generator | None) -> Tensor:
    """Random numbers of a kind that ``ops.random.noise`` has."""
    drawn = (generator or default_generator()).noise(kind, product(sizes), dtype)
    if is_known(drawn):  # nothing else has its memory
        return wrap(drawn.array.reshape(sizes))
    found = reshaped(drawn, sizes)
    return apply(COPY, found) if is_planning() and len(sizes) != 1 else found


def is_float(dtype: np.dtype) -> bool:
    """Return whether numbers of a dtype are real and have fractions."""
    return dtypes.is_inexact(dtype) and dtype.kind != "c"


def float_of(dtype: Any) -> np.dtype:
    """A dtype for random floats; by default that of Python's."""
    found = dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)
    if not is_float(found):
        raise DTypeError(f"random floats have a float dtype, not {found}")
    return found


def _scaled(x: Tensor, by: Any, plus: Any, dtype: np.dtype) -> Tensor:
    """``x * by + plus`` in the dtype."""
    by, plus = _parameter(by), _parameter(plus)
    if isinstance(by, Tensor) or by != 1:
        x = x * (cast(by, dtype) if isinstance(by, Tensor) else by)
    if isinstance(plus, Tensor) or plus != 0:
        x = x + (cast(plus, dtype) if isinstance(plus, Tensor) else plus)
    return x


def _parameter(p: Any) -> Tensor | float:
    """A parameter as a number of Python's or a tensor."""
    if isinstance(p, (int, float)):
        return float(p)
    found = as_tensor(p)
    if found.dtype.kind == "c":
        raise DTypeError(f"parameters of distributions are real numbers, not {typed(p)}")
    return found


# -- distributions ----------------------------------------------------------------------------
@planned
@public
def uniform(shape: Any = (), low: Any = 0.0, high: Any = 1.0, *, dtype: Any = None,
            generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [low, high).

    :param shape: Shape of the result.
    :type shape: int or tuple of int
    :param low, high: The bounds, of which ``high`` is never drawn; they broadcast to the shape, and
        gradients flow to them.
    :type low, high: float or Tensor
    :param dtype: A float type; ``config.default_float`` by default.
    :type dtype: dtype, optional
    :returns: Of that shape.
    :raises ValueError: If ``low`` is greater than ``high``, or they are infinite.
    :see: random.uniform, rand, nn.init.uniform_

    >>> from agnesi.ops.random.random import uniform
    >>> uniform((2, 3)).shape
    (2, 3)
    """
    sizes, kind = checked_sizes(shape), float_of(dtype)
    low, high = interval("uniform", _parameter(low), _parameter(high))
    return _scaled(noise("unit", sizes, kind, generator), high - low, low, kind)


@planned
@public
def normal(shape: Any = (), mean: Any = 0.0, std: Any = 1.0, *, dtype: Any = None,
           generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Normal numbers (by the transformation of Box and Muller).

    :like: uniform
    :param mean, std: Mean and standard deviation; they broadcast to the shape, and gradients flow
        to them.
    :type mean, std: float or Tensor
    :raises ValueError: If ``std`` is negative, in compiled code too.
    :see: random.normal, randn, nn.init.normal_

    >>> from agnesi.ops.random.random import normal
    >>> normal(5).shape
    (5,)
    """
    sizes, kind = checked_sizes(shape), float_of(dtype)
    (std,) = not_negative("normal", std=std)
    return _scaled(noise("normal", sizes, kind, generator), std, mean, kind)


def unit(shape: Any, dtype: Any, generator: Generator | None) -> Tensor:
    """Uniform numbers in [0, 1); complex ones have two such parts."""
    return _in_parts("unit", shape, dtype, generator, 1.0)


def standard(shape: Any, dtype: Any, generator: Generator | None) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of which a complex number's parts have half."""
    return _in_parts("normal", shape, dtype, generator, math.sqrt(0.5))


def _in_parts(kind: str, shape: Any, dtype: Any, generator: Generator | None,
              scale: float) -> Tensor:
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    sizes = checked_sizes(shape)
    if wanted is None or wanted.kind != "c":
        return noise(kind, sizes, float_of(wanted), generator)
    return view_as_complex(noise(kind, (*sizes, 2), dtypes.real_of(wanted), generator) * scale)


@planned
@public
def exponential(shape: Any = (), scale: Any = 1.0, *, dtype: Any = None,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Exponentially distributed numbers with mean ``scale``.

    >>> from agnesi.ops.random.random import exponential
    >>> bool((exponential(9) >= 0).all())
    True
    """
    sizes, kind = checked_sizes(shape), float_of(dtype)
    (scale,) = not_negative("exponential", scale=scale)
    return _scaled(noise("exponential", sizes, kind, generator), scale, 0, kind)


@planned
@public
def gumbel(shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, *, dtype: Any = None,
           generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Gumbel numbers; the argmax of logits plus standard ones is a draw of their softmax.

    >>> from agnesi.ops.random.random import gumbel
    >>> gumbel(3).shape
    (3,)
    """
    kind = float_of(dtype)
    (scale,) = not_negative("gumbel", scale=scale)
    return _scaled(-log(exponential(shape, dtype=kind, generator=generator)), scale, loc, kind)


@planned
@public
def bernoulli(p: TensorLike, shape: ShapeLike | None = None, *, dtype: DTypeLike = None,
              generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Ones with probability ``p``, else zeros.

    :param p: The probabilities.
    :type p: float or Tensor
    :param shape: By default that of ``p``.
    :param dtype: By default that of ``p``.
    :returns: Of that shape.
    :raises ValueError: If ``p`` is not in [0, 1], in compiled code too.
    :see: random.binomial, random.dropout_mask, random.uniform

    >>> ag.random.bernoulli(1.0, 3)
    tensor([1., 1., 1.])
    """
    (p,) = map(as_tensor, probability("bernoulli", p=p))
    kind = float_of(p.dtype if is_float(p.dtype) and not p.weak else None)
    sizes = p.shape if shape is None else checked_sizes(shape)
    drawn = uniform(sizes, dtype=kind, generator=generator) < cast(p, kind)
    return cast(drawn, kind if dtype is None else dtypes.as_dtype(dtype))


@planned
@public
def dropout_mask(shape: ShapeLike, p: TensorLike, *, dtype: DTypeLike = None,
                 generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Zeros with probability ``p``, else ``1 / (1 - p)``: the factor of dropout.

    :param shape: Shape of the result.
    :param p: Chance of a zero.
    :type p: float or Tensor
    :param dtype: A float type; ``config.default_float`` by default.
    :returns: Of that shape; its mean is 1.
    :raises ValueError: If ``p`` is not in [0, 1].
    :see: nn.functional.dropout, random.bernoulli

    >>> sorted(set(ag.random.dropout_mask(99, 0.5).tolist()))
    [0.0, 2.0]
    """
    (p,) = probability("dropout_mask", p=p)
    return where(survivors(shape, p, generator), growth(p, float_of(dtype)), 0)


def survivors(shape: Any, p: Any, generator: Generator | None = None) -> Tensor:
    """True with probability ``1 - p``."""
    sizes = checked_sizes(shape)
    bits = reshape(words(product(sizes), generator), sizes)
    if isinstance(p, Tensor):
        whole = cast(cast(p, dtypes.float64) * MOST_WORDS, dtypes.int64)
        return bits >= cast(minimum(whole, MOST_WORDS - 1), _UINT32)
    return bits >= as_tensor(min(int(p * MOST_WORDS), MOST_WORDS - 1), _UINT32)


def growth(p: Any, dtype: np.dtype) -> Tensor:
    """By what survivors are multiplied: ``1 / (1 - p)``; 0 where there are none."""
    if isinstance(p, Tensor):
        return cast(where(p < 1, 1.0 / (1.0 - p), 0.0), dtype)
    return as_tensor(1.0 / (1.0 - p) if p < 1 else 0.0, dtype)


@planned
@public
def dropout(x: TensorLike, p: float = 0.5, training: bool = True, *,
            generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """``x`` with a share ``p`` of its elements zero and the others divided by ``1 - p``.

    :param p: Chance of an element to become zero.
    :type p: float or Tensor
    :param training: Otherwise ``x`` is given back as it is.
    :returns: Of the shape and dtype of ``x``.
    :raises ValueError: If ``p`` is not in [0, 1].
    :see: nn.Dropout, nn.functional.dropout2d, random.dropout_mask

    >>> ag.nn.functional.dropout(ag.ones(2), 0.9, training=False)
    tensor([1., 1.])
    """
    x = as_tensor(x)
    (p,) = probability("dropout", p=p)
    if not training or (not isinstance(p, Tensor) and p == 0):
        return x
    return where(survivors(x.shape, p, generator), x * growth(p, x.dtype), 0)


@planned
@public
def randint(low: TensorLike, high: TensorLike | None = None, shape: ShapeLike = (), *,
            dtype: DTypeLike = "int64", generator: Generator | None = None,
            out: Tensor | None = None) -> Tensor:
    """Integers in [low, high), or in [0, low).

    :param low, high: At most 2**32 - 1 apart.  A number's chance is off by less than 2**-32.
    :type low, high: int or array_like of int
    :param shape: Shape of the result; without it that of ``low`` and ``high``.
    :param dtype: A type of integers, or of floats for whole numbers among them.
    :returns: Of that shape and dtype.
    :raises ValueError: If there is no integer in the range, or it has more than 2**32 - 1.
    :raises ShapeError: If the bounds do not broadcast to ``shape``.
    :raises DTypeError: If ``dtype`` is bool or complex.
    :raises TypeError: If a bound is no integer.
    :see: random.integers, rand, random.choice

    >>> set(ag.random.randint(3, shape=99).tolist()) == {0, 1, 2}
    True
    """
    sizes_of = high if isinstance(high, (tuple, list)) else None
    if sizes_of is not None:  # PyTorch's order, without the lowest number
        high, shape = None, sizes_of
    bounds: tuple[Any, Any] = (0, low) if high is None else (low, high)
    least, most = map(several, bounds)
    for name, bound in (("low", least), ("high", most)):
        if not isinstance(bound, Dim) and as_tensor(bound).dtype.kind not in "iu":
            raise TypeError(f"{name} must be an integer, not {bound}")
    span = most - least
    if isinstance(span, int) and not 0 < span < MOST_WORDS:
        more = "" if sizes_of is None else (
            f"; {sizes_of} is the shape, as in PyTorch: give several bounds in a tensor")
        raise ValueError(f"the range [{least}, {most}) must hold 1 to 2**32 - 1 integers{more}")
    sizes, kind = checked_sizes(shape), dtypes.as_dtype(dtype)
    if kind.kind not in "iufV":
        raise DTypeError(f"random integers have a dtype of integers or floats, not {kind}")
    if isinstance(span, Tensor):
        least, most = demanded("randint", "low < high must hold", lambda low, high: low < high,
                               low=least, high=most)
        span = most - least
        sizes = sizes or span.shape
        span = broadcast_to(span, sizes) if span.ndim else span
    bits = reshape(words(product(sizes), generator), sizes)
    drawn = cast(mulhi(bits, as_tensor(span, _UINT32)), dtypes.int64)
    return cast(drawn + least if isinstance(least, (Dim, Tensor)) or least else drawn, kind)


def several(bound: Any) -> Any:
    """A tensor of several bounds, in a list or an array; what is one, as it is."""
    return as_tensor(bound) if isinstance(bound, (list, tuple, np.ndarray)) else bound


@planned
@public
def permutation(x: TensorLike, axis: int = 0, *, generator: Generator | None = None,
                out: Tensor | None = None) -> Tensor:
    """The numbers below ``x`` in random order, or a tensor with an axis in random order.

    :param x: How many numbers, or what to put into random order.
    :type x: int, Dim or array_like
    :param axis: The axis of a tensor whose entries change their order; also written ``dim``.
    :returns: int64 of shape (x,), or a copy of the shape and dtype of ``x``.
    :raises ShapeError: If ``x`` is a tensor without axes.
    :raises IndexError: If the axis is out of range.
    :see: random.shuffle, random.permuted, random.choice

    >>> sorted(ag.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, (int, np.integer, Dim)):
        axis_of(axis, 1)
    if isinstance(x, Dim):
        return argsort(words(x, generator))
    if isinstance(x, (int, np.integer)):
        return argsort(words(max(operator.index(x), 0), generator))
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("a scalar tensor has no axis to put into random order; pass an int")
    axis = axis_of(axis, x.ndim)
    return take(x, argsort(words(x.shape[axis], generator)), axis)


@public
def shuffle(x: Tensor | np.ndarray | MutableSequence[Any], axis: int = 0, *,
            generator: Generator | None = None) -> None:
    """Put an axis of a tensor or array into random order, or the items of a list, in place.

    :param x: At least one axis; it is changed.
    :type x: Tensor, numpy.ndarray or list
    :param axis: The axis of a tensor or array whose entries change their order; also written
        ``dim``.
    :raises TypeError: If ``x`` cannot be changed in place.
    :raises ShapeError: If ``x`` has no axis.
    :raises IndexError: If the axis is out of range.
    :raises TraceError: If ``x`` is a list or an array, in a compiled function.
    :see: random.permutation, random.permuted

    >>> x = ag.arange(4)
    >>> ag.random.shuffle(x)
    >>> sorted(x.tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, Tensor):
        assign(x, permutation(x, axis, generator=generator))
    elif isinstance(x, np.ndarray):
        order = _order(x.shape[axis_of(axis, x.ndim)], generator)
        x[...] = np.take(x, order, axis)
    elif isinstance(x, MutableSequence):
        x[:] = [x[k] for k in _order(len(x), generator).tolist()]
    else:
        raise TypeError(f"what is shuffled in place is a tensor, an array or a list, not "
                        f"{typed(x)}; ag.random.permutation(x) gives a tensor in random order")


def _order(n: int, generator: Generator | None) -> np.ndarray:
    """A random permutation of the integers below ``n``, by which Python reorders a sequence."""
    drawn = permutation(n, generator=generator)
    if not is_known(drawn):
        raise TraceError(at("shuffle: a compiled function moves no items of lists or NumPy arrays: "
                            "shuffle a tensor, or take ag.random.permutation(x)"))
    return drawn.array


@public
def choice(n: TensorLike, shape: ShapeLike | None = (), replace: bool = True,
           p: TensorLike | None = None, axis: int = 0, *, generator: Generator | None = None,
           out: Tensor | None = None) -> Tensor:
    """Numbers below ``n``, or entries of a tensor, drawn with equal or given probabilities.

    :param n: How many numbers, or a tensor whose rows are drawn.
    :type n: int, Dim or array_like
    :param shape: Shape of the draw; also written ``size``.
    :param replace: Whether the same may be drawn again.
    :param p: A probability for each number.
    :param axis: The axis along which a tensor's entries are drawn; also written ``dim``.
    :returns: int64 of that shape; or of the dtype of ``n``, with that shape in the place of the
        axis.
    :raises ValueError: If the probabilities do not fit, or more are drawn without replacement than
        there are.
    :raises ShapeError: If ``p`` has another shape than there are numbers.
    :raises DTypeError: If elements are no numbers.
    :see: random.integers, random.permutation, random.categorical

    >>> ag.random.choice(3, 4, p=[0.0, 1.0, 0.0])
    tensor([1, 1, 1, 1])
    """
    if isinstance(n, np.integer):
        n = int(n)
    if not isinstance(n, (int, Dim)):
        x = _drawn_from(n)
        axis = axis_of(axis, max(x.ndim, 1))
        if not x.ndim or x.shape[axis] == 0:
            raise ValueError(f"n must be a number, or elements of which there is one or "
                             f"more, not {typed(x)}")
        drawn = choice(x.shape[axis], shape, replace, p, generator=generator)
        return take(x, drawn, axis)
    axis_of(axis, 1)
    sizes = () if shape is None else checked_sizes(shape)
    if not replace:
        return _without_replacement(n, sizes, p, generator)
    if p is None:
        return randint(n, shape=sizes, generator=generator)
    edges = cumsum(_probabilities(p, n), 0)
    drawn = uniform(sizes, dtype=dtypes.float64, generator=generator) * edges[-1]
    return searchsorted(edges, drawn, side="right")


def _drawn_from(x: Any) -> Tensor:
    """What elements are drawn from, as a tensor."""
    try:
        return as_tensor(x)
    except DTypeError as error:
        raise DTypeError(f"{error}; draw indices: [x[i] for i in ag.random.choice(len(x), "
                         "3).tolist()]") from None


def _probabilities(p: Any, n: Any) -> Tensor:
    probabilities = as_tensor(p, dtypes.float64)
    if probabilities.shape != (n,) and is_static((*probabilities.shape, n)):
        raise ShapeError(
            f"p has shape {probabilities.shape}; it must have one probability for each of {n}"
        )
    probabilities = sized(probabilities, 0, n)
    found = weights("choice", probabilities)
    if not is_known(probabilities):
        return demanded("choice", "the probabilities p must sum to 1",
                        lambda p: abs(p.sum() - 1) <= _MAX_OFF, p=found)[0]
    if abs((total := float(probabilities.array.sum())) - 1) > _MAX_OFF:
        raise ValueError(f"the probabilities p sum to {total:g}, not to 1; for weights divide them "
                         "by their sum, p / p.sum()")
    return found


def _without_replacement(n: Any, sizes: Shape, p: Any, generator: Generator | None) -> Tensor:
    count = product(sizes)
    if is_static((n, count)) and count > n:
        raise ValueError(f"{count} different numbers cannot be drawn from {n}")
    if p is not None:
        # As if drawn one after the other: Vieira, Gumbel-max trick and weighted sampling, 2014.
        noise = gumbel(n, dtype=dtypes.float64, generator=generator)
        probabilities = log(_probabilities(p, n)) + noise
        return reshape(topk(probabilities, int(count)).indices, sizes)
    return reshape(_range(permutation(n, generator=generator), 0, count), sizes)
