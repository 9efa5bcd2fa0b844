"""Which numbers parameters and values of distributions may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.api import functions as F
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.options import Size
from agnesi.core.support.exports import shown as _shown
from agnesi.core.tensor import Tensor


class Constraint:
    """A condition on numbers, or on vectors and matrices of them.

    :param told: The condition, as errors tell it.
    :param check: Takes a tensor and gives where the condition holds.
    :type check: callable
    :param event_dim: How many axes at the end belong to one value.
    :see: distributions.Distribution

    >>> ag.distributions.constraints.positive.check(ag.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, told: str, check: Callable[[Tensor], Tensor], event_dim: Size = 0) -> None:
        self.told, self.check, self.event_dim = told, check, event_dim

    def __repr__(self) -> str:
        return self.told


def _whole(x: Tensor) -> Tensor:
    return F.floor(x) == x


real = Constraint("real", lambda x: x == x)
real_vector = Constraint("a vector of real numbers", lambda x: (x == x).all(-1), 1)
positive = Constraint("positive", lambda x: x > 0)
nonnegative = Constraint("not negative", lambda x: x >= 0)
unit_interval = Constraint("in [0, 1]", lambda x: (x >= 0) & (x <= 1))
boolean = Constraint("0 or 1", lambda x: (x == 0) | (x == 1))
nonnegative_integer = Constraint("a whole number, not negative", lambda x: (x >= 0) & _whole(x))
simplex = Constraint("a vector of numbers that are not negative and sum up to 1",
                     lambda x: (x >= 0).all(-1) & (F.abs(x.sum(-1) - 1) < 1e-6), 1)
one_hot = Constraint("a vector of one 1 and zeros",
                     lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1)
nonnegative_vector = Constraint("a vector of numbers that are not negative",
                                lambda x: (x >= 0).all(-1), 1)
positive_definite = Constraint(
    "a symmetric matrix", lambda x: (F.abs(x - x.mT) < 1e-6).all((-2, -1)), 2)
lower_cholesky = Constraint(
    "a lower triangle with a positive diagonal",
    lambda x: (F.tril(x) == x).all((-2, -1)) & (F.diagonal(x, 0, -2, -1) > 0).all(-1), 2)


def interval(low: Any, high: Any) -> Constraint:
    """Numbers between two bounds, both included.

    :param low, high: The bounds.
    :type low, high: number or Tensor
    :returns: Of numbers.
    :see: Constraint

    >>> ag.distributions.constraints.interval(0, 2).check(ag.tensor(3.0))
    tensor(False)
    """
    return Constraint("within its bounds", lambda x: (x >= low) & (x <= high))


def __dir__() -> list[str]:
    return _shown(__name__)


_strictly(__name__)
