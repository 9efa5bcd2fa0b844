"""Which numbers parameters and values of distributions may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.api import functions as F
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.options import Size
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import renamed as _renamed
from agnesi.core.tensor import Tensor
from agnesi.ops.linalg.cholesky import cholesky_ex
from agnesi.ops.linalg.spectral.eigh import eigvalsh


class Constraint:
    """A condition on numbers, or on vectors and matrices of them.

    :param condition: The condition, as errors state it.
    :param check: Takes a tensor and gives where the condition holds.
    :param event_dim: How many axes at the end belong to one value.
    :see: distributions.Distribution

    >>> ag.distributions.constraints.positive.check(ag.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    #: The smallest and the largest number, where these are the condition; None for none.
    bounds: tuple[Any, Any] | None = None
    #: The condition on each number, and how many axes belong to one value, where it is such a one.
    base: tuple[Constraint, int] | None = None

    def __init__(self, condition: str, check: Callable[[Tensor], Tensor],
                 event_dim: Size = 0) -> None:
        self.condition, self.check, self.event_dim = condition, check, event_dim

    def __repr__(self) -> str:
        return self.condition


def _whole(x: Tensor) -> Tensor:
    return F.floor(x) == x


def _range(condition: str, low: Any, high: Any) -> str:
    """Two bounds in words, where they are numbers."""
    ends = [x.array.item() if isinstance(x, Tensor) and x.array is not None and x.shape == () else x
            for x in (low, high)]
    if not all(isinstance(x, (int, float)) for x in ends):
        return condition
    return f"in [{', '.join(f'{x:g}' for x in ends)}]"


def _between(condition: str, check: Callable[[Tensor], Tensor], low: Any, high: Any) -> Constraint:
    found = Constraint(condition, check)
    found.bounds = (low, high)
    return found


real = Constraint("real", lambda x: x == x)
real_vector = Constraint("a vector of real numbers", lambda x: (x == x).all(-1), 1)
positive = _between("positive", lambda x: x > 0, 0.0, None)
nonnegative = _between("not negative", lambda x: x >= 0, 0.0, None)
unit_interval = _between("in [0, 1]", lambda x: (x >= 0) & (x <= 1), 0.0, 1.0)
positive_integer = Constraint("a whole number above 0", lambda x: (x >= 1) & _whole(x))
boolean = Constraint("0 or 1", lambda x: (x == 0) | (x == 1))
nonnegative_integer = Constraint("a whole number, not negative", lambda x: (x >= 0) & _whole(x))
simplex = Constraint("a vector of numbers that are not negative and sum up to 1",
                     lambda x: (x >= 0).all(-1) & (F.abs(x.sum(-1) - 1) < 1e-6), 1)
one_hot = Constraint("a vector of one 1 and zeros",
                     lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1)
nonnegative_vector = Constraint("a vector of numbers that are not negative",
                                lambda x: (x >= 0).all(-1), 1)
positive_definite = Constraint(
    "a symmetric positive definite matrix",
    lambda x: (F.abs(x - x.mT) < 1e-6).all((-2, -1)) & (cholesky_ex(x)[1] == 0), 2)
lower_cholesky = Constraint(
    "a lower triangle with a positive diagonal",
    lambda x: (F.tril(x) == x).all((-2, -1)) & (F.diagonal(x, 0, -2, -1) > 0).all(-1), 2)


lower_triangular = Constraint("a lower triangle", lambda x: (F.tril(x) == x).all((-2, -1)), 2)
square = Constraint("a square matrix",
                    lambda x: F.full(x.shape[:-2], x.shape[-1] == x.shape[-2]), 2)
symmetric = Constraint("a symmetric matrix", lambda x: (F.abs(x - x.mT) < 1e-6).all((-2, -1)), 2)
positive_semidefinite = Constraint(
    "a symmetric matrix without negative eigenvalues",
    lambda x: symmetric.check(x) & (eigvalsh(x) >= -1e-6).all(-1), 2)
corr_cholesky = Constraint(
    "the Cholesky factor of a matrix of correlations",
    lambda x: lower_cholesky.check(x) & (F.abs((x * x).sum(-1) - 1) < 1e-5).all(-1), 2)


@_renamed(lower_bound="low", upper_bound="high")
def interval(low: TensorLike, high: TensorLike) -> Constraint:
    """Numbers between two bounds, both included.

    :param low, high: The bounds.
    :type low, high: number or Tensor
    :returns: Of numbers.
    :see: Constraint

    >>> ag.distributions.constraints.interval(0, 2).check(ag.tensor(3.0))
    tensor(False)
    """
    return _between(_range("within its bounds", low, high),
                    lambda x: (x >= low) & (x <= high), low, high)


@_renamed(lower_bound="low", upper_bound="high")
def half_open_interval(low: TensorLike, high: TensorLike) -> Constraint:
    """Numbers between two bounds, of which the first is included.

    :like: interval
    :see: Constraint

    >>> ag.distributions.constraints.half_open_interval(0, 2).check(ag.tensor(2.0))
    tensor(False)
    """
    return _between("within its bounds", lambda x: (x >= low) & (x < high), low, high)


@_renamed(lower_bound="low", upper_bound="high")
def integer_interval(low: TensorLike, high: TensorLike) -> Constraint:
    """Whole numbers between two bounds, both included.

    :like: interval
    :see: Constraint

    >>> ag.distributions.constraints.integer_interval(0, 2).check(ag.tensor(1.5))
    tensor(False)
    """
    return Constraint(f"a whole number {_range('within its bounds', low, high)}",
                      lambda x: (x >= low) & (x <= high) & _whole(x) if x.dtype.kind in "fcV"
                      else (x >= low) & (x <= high))


@_renamed(lower_bound="low")
def greater_than(low: TensorLike) -> Constraint:
    """Numbers above a bound.

    :param low: The bound.
    :type low: number or Tensor
    :returns: Of numbers.
    :see: Constraint

    >>> ag.distributions.constraints.greater_than(2).check(ag.tensor(2.0))
    tensor(False)
    """
    return _between("above its bound", lambda x: x > low, low, None)


@_renamed(lower_bound="low")
def greater_than_eq(low: TensorLike) -> Constraint:
    """Numbers that are not below a bound.

    :like: greater_than
    :see: Constraint

    >>> ag.distributions.constraints.greater_than_eq(2).check(ag.tensor(2.0))
    tensor(True)
    """
    return _between("not below its bound", lambda x: x >= low, low, None)


@_renamed(upper_bound="high")
def less_than(high: TensorLike) -> Constraint:
    """Numbers below a bound.

    :param high: The bound.
    :type high: number or Tensor
    :returns: Of numbers.
    :see: Constraint

    >>> ag.distributions.constraints.less_than(2).check(ag.tensor(2.0))
    tensor(False)
    """
    return _between("below its bound", lambda x: x < high, None, high)


def independent(base_constraint: Constraint, reinterpreted_batch_ndims: Size) -> Constraint:
    """A condition on each number of a value with axes.

    :param base_constraint: The condition.
    :param reinterpreted_batch_ndims: How many axes, the last ones.
    :returns: Of values.
    :see: Constraint

    >>> positive = ag.distributions.constraints.positive
    >>> ag.distributions.constraints.independent(positive, 1).check(ag.tensor([1.0, -1.0]))
    tensor(False)
    """
    axes = tuple(range(-reinterpreted_batch_ndims, 0))
    found = Constraint(f"with all numbers {base_constraint.condition}",
                       lambda x: base_constraint.check(x).all(axes) if axes
                       else base_constraint.check(x),
                       base_constraint.event_dim + reinterpreted_batch_ndims)
    found.base = (base_constraint, reinterpreted_batch_ndims)
    return found


_strictly(__name__)
