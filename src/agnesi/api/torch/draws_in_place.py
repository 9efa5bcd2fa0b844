"""Tensors filled with random numbers in place: ``x.normal_()`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.draws import basic, choices, plain
from agnesi.api.tensor.inplace import taking
from agnesi.api.torch.texts import docstring
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import explain_errors, planned
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.random import random
from agnesi.ops.random.generators import Generator

Draw = Callable[..., Tensor]

_WORDS = {
    "mean": "float or array_like | The mean; of log_normal_ that of the logarithms.",
    "std": "float or array_like | The standard deviation; of log_normal_ that of the logarithms.",
    "low": "float or array_like | Where the numbers begin; PyTorch's ``from``.",
    "high": "float or array_like | Where they end; PyTorch's ``to``.",
    "p": "float or array_like | The probability of success.",
    "lambd": "float or array_like | The rate, which is 1 / mean.",
    "median": "float or array_like | The middle.", "sigma": "float or array_like | The width.",
}


def _wide(x: Tensor) -> Any:
    """The dtype in which numbers for a tensor are drawn."""
    return x.dtype if x.dtype.kind in "fV" else dtypes.float64


def _method(words: str, raises: str = "ValueError | If a parameter is out of range."
            ) -> Callable[[Draw], Draw]:
    """The method that writes draws into the tensor; ``words`` are PyTorch's for its parameters."""

    def decorate(function: Draw) -> Draw:
        drawn = planned(function)

        def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
            found = keywords and {_OURS.get(word, word): v for word, v in keywords.items()}
            return taking(self, drawn(self, *args, **found))

        function.__doc__ = docstring(
            function, "Tensor | The tensor itself.", "", "",
            raises + "\nGradientError | If the tensor is a leaf that requires grad, outside of "
            ":class:`agnesi.no_grad`.", _WORDS, 1)
        method.__name__ = method.__qualname__ = function.__name__
        method.__doc__, method.__module__ = function.__doc__, __name__
        method.__wrapped__ = function  # type: ignore[attr-defined]
        return explain_errors(method)

    return decorate


#: Parameters that are called otherwise there.
_OURS = {"from": "low", "to": "high", "a": "low", "b": "high"}


@_method("mean std")
def normal_(self: Tensor, mean: TensorLike = 0.0, std: TensorLike = 1.0, *,
            generator: Generator | None = None) -> Tensor:
    """Fill the tensor with normal numbers; complex ones have parts of half the variance."""
    if self.dtype.kind == "c":
        return random.standard(self.shape, self.dtype, generator) * std + mean
    return basic.normal(mean, std, self.shape, dtype=_wide(self), generator=generator)


@_method("low high")
def uniform_(self: Tensor, low: TensorLike = 0.0, high: TensorLike = 1.0, *,
             generator: Generator | None = None) -> Tensor:
    """Fill the tensor with uniform numbers in [low, high)."""
    return basic.uniform(low, high, self.shape, dtype=_wide(self), generator=generator)


@_method("p")
def bernoulli_(self: Tensor, p: TensorLike = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with ones of a probability, else zeros."""
    return random.bernoulli(p, self.shape, dtype=self.dtype, generator=generator)


@_method("lambd")
def exponential_(self: Tensor, lambd: TensorLike = 1.0, *, generator: Generator | None = None
                 ) -> Tensor:
    """Fill the tensor with exponential numbers."""
    rate: Any = lambd
    return basic.exponential(1.0 / rate, self.shape, dtype=_wide(self), generator=generator)


@_method("median sigma")
def cauchy_(self: Tensor, median: TensorLike = 0.0, sigma: TensorLike = 1.0, *,
            generator: Generator | None = None) -> Tensor:
    """Fill the tensor with numbers of Cauchy's distribution."""
    return plain.cauchy(median, sigma, self.shape, dtype=_wide(self), generator=generator)


@_method("p")
def geometric_(self: Tensor, p: TensorLike, *, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with numbers of trials up to the first success, 1 at least."""
    return plain.geometric(p, self.shape, generator=generator)


@_method("mean std")
def log_normal_(self: Tensor, mean: TensorLike = 1.0, std: TensorLike = 2.0, *,
                generator: Generator | None = None) -> Tensor:
    """Fill the tensor with numbers whose logarithms are normal."""
    return plain.lognormal(mean, std, self.shape, dtype=_wide(self), generator=generator)


@_method("low high", "ValueError | If there is no integer in the range.")
def random_(self: Tensor, low: TensorLike = 0, high: TensorLike | None = None, *,
            generator: Generator | None = None) -> Tensor:
    """Fill the tensor with whole numbers in [low, high); alone, ``low`` is ``high``.

    Without bounds they are all that the dtype holds from 0 on, of floats all up to the first gap.
    """
    if high is None and low == 0:
        digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(self.dtype.name)
        high = 2**digits + 1 if digits else 2 if self.dtype.kind == "b" else (
            int(np.iinfo(self.dtype).max))
    elif high is None:
        low, high = 0, low
    return choices.integers(low, high, self.shape, generator=generator)
