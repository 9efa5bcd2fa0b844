"""Random tensors in PyTorch's words: like another tensor, of probabilities, orders."""

from __future__ import annotations

from typing import Any

from agnesi.api.draws import counts
from agnesi.api.draws.choices import categorical
from agnesi.api.torch.texts import torch
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.movement import moveaxis
from agnesi.ops.elementwise.explog import log
from agnesi.ops.random import random
from agnesi.ops.random.generators import Generator
from agnesi.ops.sorting.sort import topk

__all__ = ["bernoulli", "binomial", "multinomial", "poisson", "rand_like", "randint_like",
           "randn_like", "randperm"]


def _float(x: Tensor, dtype: DTypeLike = None) -> Any:
    return x.dtype if dtype is None else dtypes.as_dtype(dtype)


@planned
@torch("Tensor | Of the shape of ``x``.", "rand, randn_like, random.uniform",
       ">>> ag.rand_like(ag.ones(2, 3)).shape\n(2, 3)",
       "DTypeError | If ``x`` has integers or bools and no dtype is given.",
       x="array_like | Gives shape and dtype.")
def rand_like(x: TensorLike, *, dtype: DTypeLike = None, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [0, 1), of the shape and dtype of a tensor."""
    x = as_tensor(x)
    return random.unit(x.shape, _float(x, dtype), generator)


@planned
@torch("Tensor | Of the shape of ``x``.", "randn, rand_like, random.normal",
       ">>> ag.randn_like(ag.ones(2, 3)).shape\n(2, 3)",
       "DTypeError | If ``x`` has integers or bools and no dtype is given.",
       x="array_like | Gives shape and dtype.")
def randn_like(x: TensorLike, *, dtype: DTypeLike = None, generator: Generator | None = None,
               out: Tensor | None = None) -> Tensor:
    """Normal numbers of mean 0 and deviation 1, of the shape and dtype of a tensor."""
    x = as_tensor(x)
    return random.standard(x.shape, _float(x, dtype), generator)


@planned
@torch("Tensor | Of the shape of ``x``.", "randint, rand_like, random.integers",
       ">>> int(ag.randint_like(ag.ones(9), 2).max()) < 2\nTrue",
       "ValueError | If there is no integer in the range.", x="array_like | Gives shape and dtype.",
       low="int | The smallest number; alone it is ``high``, and 0 the smallest.",
       high="int, optional | Above the largest number.")
def randint_like(x: TensorLike, low: TensorLike = 0, high: TensorLike | None = None, *,
                 dtype: DTypeLike = None,
                 generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Whole numbers in [low, high), of the shape and dtype of a tensor."""
    x = as_tensor(x)
    low, high = (0, low) if high is None else (low, high)
    return cast(random.randint(low, high, x.shape, generator=generator), _float(x, dtype))


@planned
@torch("Tensor | A vector of ``n`` numbers.",
       "random.permutation, random.shuffle", ">>> ag.randperm(3).sort(dim=0).values\n"
       "tensor([0, 1, 2])", "ValueError | If ``n`` is negative.",
       n="int | How many.", dtype="dtype | int64 by default.")
def randperm(n: int, *, dtype: DTypeLike = "int64", generator: Generator | None = None,
             out: Tensor | None = None) -> Tensor:
    """The whole numbers below ``n`` in a random order."""
    if isinstance(n, int) and n < 0:
        raise ValueError(f"n must not be negative, not {n}")
    return cast(random.permutation(n, generator=generator), dtypes.as_dtype(dtype))


@planned
@torch("Tensor | Of the shape and dtype of ``x``.", "random.bernoulli, binomial, multinomial",
       ">>> ag.bernoulli(ag.tensor([0.0, 1.0]))\ntensor([0., 1.])",
       "ValueError | If a probability is not in [0, 1], in compiled code too.",
       x="array_like | Probabilities.", p="float, optional | The probability of all; then ``x`` "
       "gives the shape only.")
def bernoulli(x: TensorLike, p: TensorLike | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    """Ones with the probabilities that a tensor holds, else zeros."""
    x = as_tensor(x)
    chances = x if p is None else p
    return random.bernoulli(chances, x.shape, dtype=x.dtype, generator=generator)


@planned
@torch("Tensor | Of the shape and dtype of ``x``.", "random.poisson, binomial",
       ">>> ag.poisson(ag.zeros(2))\ntensor([0., 0.])",
       "ValueError | If a rate is negative, in compiled code too.", x="array_like | Rates.")
def poisson(x: TensorLike, *, generator: Generator | None = None, out: Tensor | None = None
            ) -> Tensor:
    """Numbers of Poisson's distribution with the rates that a tensor holds."""
    x = as_tensor(x)
    return cast(counts.poisson(x, x.shape, generator=generator), x.dtype)


@planned
@torch("Tensor | Of the broadcast shape, of the dtype of ``prob``.",
       "random.binomial, bernoulli, poisson",
       ">>> ag.binomial(ag.tensor([3.0, 4.0]), ag.tensor([0.0, 1.0]))\ntensor([0., 4.])",
       "ValueError | If a probability is not in [0, 1], in compiled code too.",
       count="array_like | Numbers of trials.", prob="array_like | Probabilities.")
def binomial(count: TensorLike, prob: TensorLike, *, generator: Generator | None = None,
             out: Tensor | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``."""
    prob = as_tensor(prob)
    trials = cast(as_tensor(count), dtypes.int64)
    return cast(counts.binomial(trials, prob, generator=generator), prob.dtype)


@planned
@torch("Tensor | int64, of shape (..., num_samples).",
       "random.categorical, random.multinomial",
       ">>> ag.multinomial(ag.tensor([0.0, 3.0, 0.0]), 1)\ntensor([1])",
       "ValueError | If a weight is negative, or a row has too few that are not zero, in "
       "compiled code too.\nShapeError | If there are more samples than places, without "
       "replacement.",
       x="array_like | Weights, of shape (n,) or (rows, n); they need not sum up to 1.",
       num_samples="int | How many of each row.",
       replacement="bool | Whether a place may be drawn several times.")
def multinomial(x: TensorLike, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Places of each row, drawn with the weights that the row holds."""
    weights = _weights(as_tensor(x), num_samples, replacement)
    logits = log(weights)
    if replacement:
        return moveaxis(categorical(logits, (num_samples,), generator=generator), 0, -1)
    noise = random.gumbel(weights.shape, dtype=weights.dtype, generator=generator)
    return topk(logits + noise, num_samples).indices


def _weights(x: Tensor, count: int, replacement: bool) -> Tensor:
    if x.ndim not in (1, 2) or x.dtype.kind not in "fV":
        raise ValueError(f"weights are one or more rows of floats, not {typed(x)}")
    if not replacement and isinstance(x.shape[-1], int) and count > x.shape[-1]:
        raise ValueError(f"{count} places cannot be drawn of {x.shape[-1]} without replacement")
    least = 1 if replacement else count
    return ensure(x, (x >= 0).all() & ((x > 0).sum(-1) >= least).all(),
                  f"multinomial: weights must not be negative, and {least} or more of each row "
                  "positive")
