"""Distributions whose numbers are vectors."""

from __future__ import annotations

from typing import Any

from agnesi.api.control.loops import scan
from agnesi.api.draws.common import Draw
from agnesi.api.draws.counts import binomial_of, marked
from agnesi.autodiff.recording import no_grad, stop_gradient
from agnesi.core import shapes
from agnesi.core.ir.dims import Shape
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.parameter_checks import countable, demanded, integral, of_shape, probability
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import clip, maximum, where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.cholesky import cholesky
from agnesi.ops.linalg.spectral.eigh import eigh
from agnesi.ops.random.generators import Generator


def _vector(x: Any, name: str) -> Tensor:
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError(f"{name} needs an axis: it is a number for each element of a vector")
    return x


def _sizes(size: Any, *parts: Shape) -> Shape:
    """The shape of a result without its last axis."""
    return shapes.broadcast(*parts) if size is None else checked_sizes(size)


def _root(cov: Tensor, method: str) -> Tensor:
    """A matrix that times its transpose is ``cov``."""
    if method == "cholesky":
        return cholesky(cov)
    if method != "eigh":
        raise ValueError(f"method must be 'cholesky' or 'eigh', not {method!r}")
    values, vectors = eigh(cov)
    return vectors * reshape(sqrt(maximum(values, 0.0)), (*values.shape[:-1], 1, values.shape[-1]))

#: By how much rounding may let chances sum to more than 1.
_SUM_TOLERANCE = 1e-5


@planned
@public
def multivariate_normal(mean: TensorLike, cov: TensorLike, size: ShapeLike | None = None, *,
                        method: str = "cholesky", dtype: DTypeLike = None,
                        generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Normal vectors of a mean and covariances.

    :param mean: Of shape (..., n).
    :type mean: array_like
    :param cov: Symmetric matrices of shape (..., n, n).
    :type cov: array_like
    :param size: Shape of the result without its last axis; by default that of the parameters.
    :type size: int or tuple of int, optional
    :param method: How covariances are taken apart: the first is faster and has gradients
        everywhere, the second takes singular ones, too.
    :type method: {"cholesky", "eigh"}
    :param dtype: A float type; by default that of the parameters, else ``config.default_float``.
    :returns: Of shape (\\*size, n).
    :raises ShapeError: If ``cov`` does not fit ``mean``.
    :raises ValueError: If there is no such method.
    :see: random.normal, linalg.cholesky

    >>> import agnesi as ag
    >>> ag.random.multivariate_normal([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]], 3).shape
    (3, 2)
    """
    mean, cov = _vector(mean, "mean"), as_tensor(cov)
    n = mean.shape[-1]
    cov = of_shape("multivariate_normal", cov, (*cov.shape[:-2], n, n),
                   f"cov must have shape (..., {n}, {n}) for mean {typed(mean)}, not {cov.shape}")
    sizes = _sizes(size, mean.shape[:-1], cov.shape[:-2])
    d = Draw((*sizes, n), dtype, generator, mean, cov)
    center, spread = map(as_tensor, d.params)
    x = reshape(d.normal(), (*sizes, n, 1))
    return d.give(center + reshape(matmul(_root(spread, method), x), (*sizes, n)))


@planned
@public
def multinomial(n: TensorLike, pvals: TensorLike, size: ShapeLike | None = None, *,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """How often each of k things comes up in ``n`` trials: binomial numbers, one after the other.

    :param n: Of shape (...).
    :type n: int or array_like
    :param pvals: Chances, of shape (..., k); the last one is what the others leave.
    :type pvals: array_like
    :param size: Shape of the result without its last axis; by default that of the parameters.
    :type size: int or tuple of int, optional
    :returns: int64, of shape (\\*size, k).
    :raises ShapeError: If ``pvals`` is a number.
    :raises ValueError: If a chance is not in [0, 1], all but the last sum to more than 1, or ``n``
        is negative or too large for an integer, in compiled code too.
    :see: random.binomial, random.categorical, random.dirichlet

    >>> import agnesi as ag
    >>> ag.random.multinomial(9, [0.0, 1.0, 0.0], 2)
    tensor([[0, 9, 0],
            [0, 9, 0]])
    """
    (n,) = integral("multinomial", n=countable("multinomial", n=n)[0])
    (chances,) = probability("multinomial", pvals=_vector(pvals, "pvals"))
    (chances,) = demanded("multinomial", "the sum of pvals without the last must be at most 1",
                        lambda p: p[..., :-1].sum(-1) <= 1 + _SUM_TOLERANCE, pvals=chances)
    n = as_tensor(n)
    sizes = _sizes(size, n.shape, chances.shape[:-1])
    d = Draw(sizes, None, generator, exact=True)
    with no_grad():
        p = cast(stop_gradient(chances), d.wide)
        rows = moveaxis(broadcast_to(p, (*sizes, p.shape[-1])), -1, 0)

        def step(state: Any, chance: Tensor) -> Any:
            left, rest = state
            share = where(rest > 0.0, clip(chance / where(rest > 0.0, rest, 1.0), 0.0, 1.0), 0.0)
            count = binomial_of(d, left, share)
            return (left - count, rest - chance), count

        whole = broadcast_to(cast(n, d.wide), sizes), d.full(1.0)
        (left, _), counts = scan(step, whole, rows[:-1])
        return _with_last(counts, left)


def _with_last(counts: Tensor, left: Tensor) -> Tensor:
    """Counts along the first axis and what is left for the last one, along the last axis."""
    last = reshape(left, (*left.shape, 1))
    return cast(concat([moveaxis(counts, 0, -1), last], -1), dtypes.int64)


@planned
@public
def multivariate_hypergeometric(colors: TensorLike, nsample: TensorLike,
                                size: ShapeLike | None = None, *,
                                generator: Generator | None = None, out: Tensor | None = None
                                ) -> Tensor:
    """How many things of each kind are among ``nsample``, drawn from ``colors`` of each.

    :like: multinomial
    :param colors: Numbers of things, of shape (..., k).
    :type colors: array_like
    :param nsample: Of shape (...).
    :type nsample: int or array_like
    :raises ShapeError: If ``colors`` is a number.
    :raises ValueError: If a number is negative, or ``nsample`` greater than all together, in
        compiled code too.
    :see: random.hypergeometric, random.multinomial

    >>> import agnesi as ag
    >>> ag.random.multivariate_hypergeometric([3, 0, 2], 5)
    tensor([3, 0, 2])
    """
    (drawn,) = countable("multivariate_hypergeometric", nsample=nsample)
    (balls,) = countable("multivariate_hypergeometric", colors=_vector(colors, "colors"))
    balls, drawn = demanded(
        "multivariate_hypergeometric", "nsample must be at most the sum of colors",
        lambda colors, nsample: nsample <= colors.sum(-1), colors=balls, nsample=drawn,
    )
    drawn = as_tensor(drawn)
    sizes = _sizes(size, drawn.shape, balls.shape[:-1])
    d = Draw(sizes, None, generator, exact=True)
    with no_grad():
        kinds = cast(balls, d.wide)
        rows = moveaxis(broadcast_to(kinds, (*sizes, kinds.shape[-1])), -1, 0)

        def step(state: Any, good: Tensor) -> Any:
            left, others = state
            count = marked(d, good, others - good, left)
            return (left - count, others - good), count

        start = broadcast_to(cast(drawn, d.wide), sizes), sum_(rows, 0)
        (left, _), counts = scan(step, start, rows[:-1])
        return _with_last(counts, left)
