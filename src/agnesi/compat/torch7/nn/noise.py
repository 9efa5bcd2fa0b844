"""Modules of random numbers, which :func:`manualSeed` starts again."""

from __future__ import annotations

from typing import Any

import agnesi as ag
from agnesi.compat.torch7.maths import RANDOM
from agnesi.compat.torch7.nn.transfer import With
from agnesi.core.support.errors import at

__all__ = ["Dropout", "RReLU", "SpatialDropout", "VolumetricDropout", "WhiteNoise"]


class _Dropping(With):
    """Base: ``p`` is a share."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if not 0 <= self.p < 1:
            raise ValueError(at(f"{type(self).__name__}: p must be in [0, 1), not {self.p}"))


class Dropout(_Dropping):
    """A share of the elements set to zero in training, the others divided by what is left of 1."""

    names, defaults = ("p", "v1", "inplace", "stochasticInference"), (0.5, False, False, False)

    def updateOutput(self, input: Any) -> Any:
        shape = input.array.shape
        drops = self.train or self.stochasticInference
        self.noise = (RANDOM[0].random(shape) >= self.p) / (1.0 if self.v1 else 1 - self.p) \
            if drops else 1 - self.p if self.v1 else 1.0
        return super().updateOutput(input)

    def compute(self, x: Any) -> Any:
        return x * ag.asarray(self.noise, dtype=x.dtype)


class SpatialDropout(_Dropping):
    """A share of the planes of images set to zero in training; all are scaled in use."""

    names, defaults = ("p", "stochasticInference"), (0.5, False)
    axes = 2

    def updateOutput(self, input: Any) -> Any:
        shape = (*input.array.shape[:-self.axes], *(1,) * self.axes)
        drops = self.train or self.stochasticInference
        self.noise = RANDOM[0].random(shape) >= self.p if drops else 1 - self.p
        return super().updateOutput(input)

    def setp(self, p: float) -> None:
        """Another share."""
        self.p = p

    def compute(self, x: Any) -> Any:
        return x * ag.asarray(self.noise, dtype=x.dtype)


class VolumetricDropout(SpatialDropout):
    """A share of the planes of volumes set to zero in training; all are scaled in use."""

    axes = 3


class WhiteNoise(With):
    """The input and normal numbers in training, and their mean in use."""

    names, defaults = ("mean", "std"), (0, 0.1)

    def updateOutput(self, input: Any) -> Any:
        self.noise = RANDOM[0].normal(self.mean, self.std, input.array.shape) if self.train else (
            self.mean)
        return super().updateOutput(input)

    def compute(self, x: Any) -> Any:
        return x + ag.asarray(self.noise, dtype=x.dtype)


class RReLU(With):
    """x, or below zero a share of it that is random between two numbers; their mean in use."""

    names, defaults = ("lower", "upper", "inplace"), (1 / 8, 1 / 3, False)

    def updateOutput(self, input: Any) -> Any:
        self.noise = RANDOM[0].uniform(self.lower, self.upper, input.array.shape) if self.train \
            else (self.lower + self.upper) / 2
        return super().updateOutput(input)

    def compute(self, x: Any) -> Any:
        return ag.where(x > 0, x, x * ag.asarray(self.noise, dtype=x.dtype))
