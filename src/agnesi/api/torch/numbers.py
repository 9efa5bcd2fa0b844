"""Functions of elements and of rows that PyTorch has beside NumPy's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.api import functions as F
from agnesi.api.tensor import folds
from agnesi.api.torch.texts import torch
from agnesi.core import shapes
from agnesi.core.options import NotNegative, NotNegativeBound
from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import at_once
from agnesi.core.support import dtypes
from agnesi.core.support.tracing import is_number_of_trace
from agnesi.core.tensor import Tensor
from agnesi.ops.base import select
from agnesi.ops.base.convert import as_tensor, cast, floating
from agnesi.ops.elementwise.explog import logaddexp
from agnesi.ops.neural import likelihoods
from agnesi.ops.numerics import statistics
from agnesi.ops.reductions.vector_norms import norm
from agnesi.ops.sorting.sort import searchsorted, sort
from agnesi.ops.special import incomplete
from agnesi.ops.special.gammas import multigammaln

__all__ = ["aminmax", "bucketize", "clamp_max", "clamp_min", "detach", "fill", "frac", "histc",
           "igamma", "igammac", "is_complex", "is_floating_point", "is_nonzero", "is_same_size",
           "is_signed", "is_tensor", "logcumsumexp", "logit", "msort", "mvlgamma", "numel",
           "renorm", "resolve_conj", "resolve_neg", "rsub", "scalar_tensor", "sgn", "std_mean",
           "var_mean"]

_LIKE = "Tensor | Of the shape of ``x``."
_BROADCAST = "ShapeError | If the shapes do not broadcast."


class MinMax(NamedTuple):
    """The smallest and the greatest elements."""

    min: Tensor
    max: Tensor


# -- elements ---------------------------------------------------------------------------------
@torch(_LIKE, "trunc, modf",
       ">>> ag.frac(ag.tensor([1.5, -2.25]))\ntensor([ 0.5 , -0.25])")
def frac(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Return the fractional part, with the number's sign."""
    x = as_tensor(x)
    return x - select.trunc(x)


@torch(_LIKE,
       "sign, angle", ">>> ag.sgn(ag.tensor([-2.0, 0.0]))\ntensor([-1.,  0.])")
def sgn(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The sign; of a complex number the number of its direction with modulus 1."""
    return F.sign(x)


@torch("Tensor | Of the broadcast shape and promoted dtype.", "clip, clamp_max, maximum",
       ">>> ag.clamp_min(ag.tensor([-1.0, 2.0]), 0)\ntensor([0., 2.])", _BROADCAST,
       min="array_like | The bound.")
def clamp_min(x: TensorLike, min: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Elements, and ``min`` in the place of smaller ones."""
    return F.clip(x, min=min)


@torch("Tensor | Of the broadcast shape and promoted dtype.", "clip, clamp_min, minimum",
       ">>> ag.clamp_max(ag.tensor([-1.0, 2.0]), 0)\ntensor([-1.,  0.])", _BROADCAST,
       max="array_like | The bound.")
def clamp_max(x: TensorLike, max: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Elements, and ``max`` in the place of greater ones."""
    return F.clip(x, max=max)


@torch(_LIKE, "sigmoid, special.expit",
       ">>> ag.logit(ag.tensor([0.5]))\ntensor([0.])", x="array_like | Probabilities.",
       eps="float, optional | Probabilities are clipped to [eps, 1 - eps].")
def logit(x: TensorLike, eps: NotNegative | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the odds ``x / (1 - x)``."""
    x = floating(x)
    if eps is not None:
        x = select.where(x < eps, eps, select.where(x > 1 - eps, 1 - eps, x))
    return likelihoods.logit(x)


@torch(_LIKE, "special.multigammaln, lgamma",
       ">>> ag.mvlgamma(ag.tensor([1.0]), 1)\ntensor([0.])", "ValueError | If ``p`` is no positive "
       "integer.", p="int | The number of dimensions.")
def mvlgamma(x: TensorLike, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function."""
    return multigammaln(x, p)


@torch("Tensor | Of the broadcast shape.",
       "special.gammainc, igammac", ">>> ag.igamma(ag.tensor([1.0]), ag.tensor([0.0]))\n"
       "tensor([0.])", _BROADCAST, x="array_like | The exponent; positive.",
       other="array_like | The bound; not negative.")
def igamma(x: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""
    return incomplete.gammainc(x, other)


@torch("Tensor | Of the broadcast shape.",
       "special.gammaincc, igamma", ">>> ag.igammac(ag.tensor([1.0]), ag.tensor([0.0]))\n"
       "tensor([1.])", _BROADCAST, x="array_like | The exponent; positive.",
       other="array_like | The bound; not negative.")
def igammac(x: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function."""
    return incomplete.gammaincc(x, other)


@torch(_LIKE,
       "full_like, Tensor.fill_", ">>> ag.fill(ag.ones(2), 5)\ntensor([5., 5.])",
       value="number or Tensor | What each element is.")
def fill(x: TensorLike, value: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A tensor of the same shape and dtype, filled with one number."""
    x = as_tensor(x)
    return F.broadcast_to(as_tensor(value, x.dtype), x.shape).clone()


@torch("Tensor | In the same memory.", "Tensor.detach, no_grad, clone",
       ">>> ag.detach(ag.ones(2, requires_grad=True)).requires_grad\nFalse")
def detach(x: TensorLike) -> Tensor:
    """The same values, to which no gradient flows."""
    return as_tensor(x).detach()


@torch("Tensor | The tensor itself.", "conj, resolve_neg",
       ">>> ag.resolve_conj(ag.tensor([1j]))\ntensor([0.+1.j])")
def resolve_conj(x: TensorLike) -> Tensor:
    """The values of a conjugate in memory of their own, where they are at once."""
    return as_tensor(x)


@torch("Tensor | The tensor itself.", "negative, resolve_conj",
       ">>> ag.resolve_neg(ag.tensor([1.0]))\ntensor([1.])")
def resolve_neg(x: TensorLike) -> Tensor:
    """The values of a negative in memory of their own, where they are at once."""
    return as_tensor(x)


@torch("Tensor | Of the broadcast shape and promoted dtype.", "subtract",
       ">>> ag.rsub(ag.tensor([1.0]), 5)\ntensor([4.])", _BROADCAST,
       other="array_like | What is subtracted from.", alpha="number | The factor of ``x``.")
def rsub(x: TensorLike, other: TensorLike, *, alpha: TensorLike = 1) -> Tensor:
    """``other - alpha * x``."""
    return F.subtract(other, F.multiply(x, alpha))


@torch("Tensor | Without axes.", "tensor, full",
       ">>> ag.scalar_tensor(5)\ntensor(5.)", s="number | The value.",
       dtype="dtype, optional | ``config.default_float`` by default.")
def scalar_tensor(s: TensorLike, *, dtype: DTypeLike = None, device: str | None = None,
                  requires_grad: bool = False) -> Tensor:
    """A tensor of one number, which is a float where no dtype is given."""
    return F.full((), s, dtype=dtypes.config.float_dtype if dtype is None else dtype,
                  device=device, requires_grad=requires_grad)


# -- questions --------------------------------------------------------------------------------
def _is_usual(obj: Any = None, *more: Any) -> Any:
    """Return True for a tensor with a value, in the usual call."""
    return True if type(obj) is Tensor and not more and obj.array is not None else NotImplemented


def _count(x: Any = None, *more: Any) -> Any:
    """The number of elements of a tensor with a value, in the usual call."""
    usual = type(x) is Tensor and not more and x.array is not None
    return x.array.size if usual else NotImplemented


@at_once(_is_usual)
@torch("bool | For anything else False.", "numel, is_complex",
       ">>> ag.is_tensor(ag.ones(2)), ag.is_tensor([1])\n(True, False)",
       obj="object | Anything.")
def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(obj, Tensor) and not is_number_of_trace(obj)


@at_once(_count)
@torch("int | The product of the sizes.", "size, Tensor.numel",
       ">>> ag.numel(ag.ones(2, 3))\n6")
def numel(x: TensorLike) -> Any:
    """How many elements there are."""
    return as_tensor(x).numel()


@torch("bool | True or False.", "is_floating_point, iscomplexobj",
       ">>> ag.is_complex(ag.ones(2))\nFalse")
def is_complex(x: TensorLike) -> bool:
    """Return whether the dtype is complex."""
    return as_tensor(x).dtype.kind == "c"


@torch("bool | True or False.", "is_complex, is_signed",
       ">>> ag.is_floating_point(ag.ones(2))\nTrue")
def is_floating_point(x: TensorLike) -> bool:
    """Return whether the dtype is one of floats."""
    return as_tensor(x).dtype.kind in "fV"


@torch("bool | True or False.", "is_floating_point",
       ">>> ag.is_signed(ag.ones(2))\nTrue")
def is_signed(x: TensorLike) -> bool:
    """Return whether the dtype has negative numbers."""
    return as_tensor(x).dtype.kind not in "bu"


@torch("bool | True or False.",
       "Tensor.item, count_nonzero", ">>> ag.is_nonzero(ag.tensor([2]))\nTrue",
       "ValueError | If there are several elements.",
       x="array_like | Of one element.")
def is_nonzero(x: TensorLike) -> bool:
    """Return whether the only element is not zero."""
    return bool(as_tensor(x).item())


@torch("bool | True or False.", "numel, array_equal",
       ">>> ag.is_same_size(ag.ones(2), ag.ones(3))\nFalse", other="array_like | Another one.")
def is_same_size(x: TensorLike, other: TensorLike) -> bool:
    """Return whether two tensors have the same shape."""
    return as_tensor(x).shape == as_tensor(other).shape


# -- rows -------------------------------------------------------------------------------------
_DIVISOR = {"correction": "float | What is taken from the number of elements before it divides; "
            "1 by default, as in PyTorch; also written ``unbiased``.",
            "axis": "int or tuple of int, optional | The axes; all by default; also ``dim``."}


@torch("pair of Tensor | Both without the axes.",
       "std, mean, var_mean", ">>> ag.std_mean(ag.tensor([1.0, 3.0]), correction=0)\n"
       "(tensor(1.), tensor(2.))", "IndexError | If an axis is out of range.", **_DIVISOR)
def std_mean(x: TensorLike, axis: Axis = None, *, correction: float | None = 1,
             keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
    x = as_tensor(x)
    correction = 1 if correction is None else correction
    return (F.std(x, axis, correction=correction, keepdims=keepdims),
            F.mean(x, axis, keepdims=keepdims))


@torch("pair of Tensor | Both without the axes.",
       "var, mean, std_mean", ">>> ag.var_mean(ag.tensor([1.0, 3.0]))\n(tensor(2.), tensor(2.))",
       "IndexError | If an axis is out of range.", **_DIVISOR)
def var_mean(x: TensorLike, axis: Axis = None, *, correction: float | None = 1,
             keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
    x = as_tensor(x)
    correction = 1 if correction is None else correction
    return (F.var(x, axis, correction=correction, keepdims=keepdims),
            F.mean(x, axis, keepdims=keepdims))


@torch("min, max : Tensor | Without the axis.", "min, max, amin, amax",
       ">>> ag.aminmax(ag.tensor([3, 1, 2])).max\ntensor(3)",
       "ValueError | If there is no element.", axis="int, optional | The axis; also ``dim``.")
def aminmax(x: TensorLike, *, axis: int | None = None, keepdims: bool = False) -> MinMax:
    """The smallest and the greatest element, of all or of an axis."""
    x = as_tensor(x)
    return MinMax(F.amin(x, axis, keepdims=keepdims), F.amax(x, axis, keepdims=keepdims))


@torch(_LIKE,
       "logsumexp, cumsum, logaddexp",
       ">>> ag.logcumsumexp(ag.zeros(2), 0).exp().round()\n"
       "tensor([1., 2.])", "IndexError | If the axis is out of range.")
def logcumsumexp(x: TensorLike, axis: int, *, out: Tensor | None = None) -> Tensor:
    """Running logarithms of the sums of exponentials along an axis."""
    x = as_tensor(x)
    found: Tensor = folds.accumulate(logaddexp, x, shapes.axis_of(axis, x.ndim))
    return found


@torch("Tensor | int64 (or int32), of the shape of ``x``.", "searchsorted, digitize",
       ">>> ag.bucketize(ag.tensor([2.0]), ag.tensor([1.0, 2.0, 3.0]))\ntensor([1])",
       boundaries="array_like | A vector in order.",
       out_int32="bool | Whether the places are int32.",
       right="bool | Whether it is the first one that is greater.")
def bucketize(x: TensorLike, boundaries: TensorLike, *, out_int32: bool = False,
              right: bool = False, out: Tensor | None = None) -> Tensor:
    """For each element, the index of the first boundary that is not smaller than it."""
    found = searchsorted(boundaries, x, side="right" if right else "left")
    return cast(found, dtypes.int32) if out_int32 else found


@torch("Tensor | A vector of ``bins`` counts, of the dtype of ``x``.", "histogram, bincount",
       ">>> ag.histc(ag.tensor([0.1, 0.2, 0.9]), 2, 0, 1)\ntensor([2., 1.])",
       "ValueError | If ``max`` is smaller than ``min``.", bins="int | How many.",
       min="float | Where the first one begins.",
       max="float | Where the last one ends; where both are equal, they are those of the elements.")
def histc(x: TensorLike, bins: int = 100, min: float = 0, max: float = 0, *,
          out: Tensor | None = None) -> Tensor:
    """How many elements there are in each of some bins of equal width."""
    x = as_tensor(x)
    if max < min:
        raise ValueError(f"max must not be smaller than min, but {max} is smaller than {min}")
    limits = None if min == max else (min, max)
    return cast(statistics.histogram(x, bins, limits)[0], x.dtype)


@torch(_LIKE, "sort",
       ">>> ag.msort(ag.tensor([2, 1]))\ntensor([1, 2])")
def msort(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The rows of the first axis in order, each column by itself."""
    return sort(x, axis=0)


@torch(_LIKE,
       "nn.utils.clip_grad_norm_, norm",
       ">>> ag.renorm(ag.tensor([[3.0, 4.0]]), 2, 0, 1).round(3)\n"
       "tensor([[0.6, 0.8]])", "IndexError | If the axis is out of range.",
       p="float | Which norm.", maxnorm="float | The greatest norm.")
def renorm(x: TensorLike, p: NotNegativeBound, axis: int, maxnorm: float, *,
           out: Tensor | None = None) -> Tensor:
    """Slices of an axis, those of a greater norm scaled to the greatest that is allowed."""
    x = as_tensor(x)
    kept = shapes.axis_of(axis, x.ndim)
    norms = norm(x, p, tuple(a for a in range(x.ndim) if a != kept), keepdims=True)
    factors = select.where(norms > maxnorm, maxnorm / (norms + 1e-7), np.ones((), x.dtype))
    return x * factors
