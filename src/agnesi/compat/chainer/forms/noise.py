"""Noise, drawn by NumPy's generator, as in Chainer."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.variable import as_variable
from agnesi.core.support.errors import at

__all__ = ["dropout", "gaussian"]


def dropout(x: Any, ratio: float = 0.5, train: bool = True) -> Any:
    """A share of the elements set to zero, the others divided by what is left of 1."""
    if not 0 <= ratio < 1:
        raise ValueError(at(f"dropout: ratio must be in [0, 1), not {ratio!r}"))
    x = as_variable(x)
    if not train:
        return x
    mask = (np.random.rand(*x.data.shape) >= ratio).astype(x.data.dtype) / (1 - ratio)
    mask = np.asarray(mask, x.data.dtype)
    return applied("Dropout", lambda x: x * mask, x)


def gaussian(mean: Any, ln_var: Any) -> Any:
    """Samples of normal distributions, through which gradients flow."""
    mean, ln_var = as_variable(mean), as_variable(ln_var)
    drawn = np.random.standard_normal(ln_var.data.shape).astype(mean.data.dtype)
    return applied("Gaussian", lambda m, v: m + ag.exp(v * 0.5) * drawn, mean, ln_var)
