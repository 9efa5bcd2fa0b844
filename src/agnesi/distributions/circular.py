"""Distributions of directions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.ops.special.bessel import i0e, i1e

_LOG_2PI = math.log(2 * math.pi)


@described(">>> ag.distributions.VonMises(0.0, 0.0).log_prob(1.0)\ntensor(-1.837877)",
           loc="array_like\n    The mean direction, in radians.",
           concentration="array_like\n    How close directions are to it; not negative.")
class VonMises(Distribution):
    """Von Mises distribution of angles from -pi to pi; its variance is the circular one.

    Density: ``exp(concentration * cos(x - loc)) / (2 * pi * i0(concentration))``.
    """

    arg_constraints: ClassVar = {"loc": C.real, "concentration": C.nonnegative}
    support: Any = C.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: TensorLike, concentration: TensorLike, validate_args: bool | None = None
                 ) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return random.vonmises(self.loc.detach(), self.concentration.detach(),
                               self._extended_shape(sample_shape), dtype=self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _length(self) -> Tensor:
        """The length of the mean of unit vectors."""
        return i1e(self.concentration) / i0e(self.concentration)

    @property
    def variance(self) -> Tensor:
        return 1 - self._length()

    def log_prob(self, value: Any) -> Tensor:
        off = F.cos(self._value(value) - self.loc) - 1
        return self.concentration * off - _LOG_2PI - F.log(i0e(self.concentration))

    def entropy(self) -> Tensor:
        scaled = F.log(i0e(self.concentration))
        return _LOG_2PI + scaled + self.concentration * (1 - self._length())
