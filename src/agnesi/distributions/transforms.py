"""Smooth functions with inverses, and those that take real numbers to what a constraint allows."""

from __future__ import annotations

from typing import Any

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at as _at
from agnesi.distributions import constraints as _constraints
from agnesi.distributions.constraints import Constraint as _Constraint
from agnesi.distributions.scalar_transforms import AffineTransform as AffineTransform
from agnesi.distributions.scalar_transforms import ComposeTransform as ComposeTransform
from agnesi.distributions.scalar_transforms import ExpTransform as ExpTransform
from agnesi.distributions.scalar_transforms import PowerTransform as PowerTransform
from agnesi.distributions.scalar_transforms import SigmoidTransform as SigmoidTransform
from agnesi.distributions.scalar_transforms import SoftplusTransform as SoftplusTransform
from agnesi.distributions.scalar_transforms import TanhTransform as TanhTransform
from agnesi.distributions.scalar_transforms import Transform as Transform
from agnesi.distributions.scalar_transforms import (
    TransformedDistribution as TransformedDistribution,
)
from agnesi.distributions.vector_transforms import AbsTransform as AbsTransform
from agnesi.distributions.vector_transforms import CatTransform as CatTransform
from agnesi.distributions.vector_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from agnesi.distributions.vector_transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from agnesi.distributions.vector_transforms import IndependentTransform as IndependentTransform
from agnesi.distributions.vector_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from agnesi.distributions.vector_transforms import (
    PositiveDefiniteTransform as PositiveDefiniteTransform,
)
from agnesi.distributions.vector_transforms import ReshapeTransform as ReshapeTransform
from agnesi.distributions.vector_transforms import SoftmaxTransform as SoftmaxTransform
from agnesi.distributions.vector_transforms import StackTransform as StackTransform
from agnesi.distributions.vector_transforms import StickBreakingTransform as StickBreakingTransform
from agnesi.distributions.vector_transforms import identity_transform as identity_transform

#: Which transforms reach what is no interval.
_SHAPED: dict[int, type[Transform]] = {
    id(_constraints.simplex): StickBreakingTransform,
    id(_constraints.lower_cholesky): LowerCholeskyTransform,
    id(_constraints.corr_cholesky): CorrCholeskyTransform,
    id(_constraints.positive_definite): PositiveDefiniteTransform,
    id(_constraints.positive_semidefinite): PositiveDefiniteTransform,
}


def biject_to(constraint: _Constraint) -> Transform:
    """The transform that takes all real numbers, one to one, to those that a constraint allows.

    :param constraint: One of ``distributions.constraints``.
    :type constraint: Constraint
    :returns: From real numbers.
    :raises NotImplementedError: If there is none.
    :see: distributions.transform_to

    >>> ag.distributions.biject_to(ag.distributions.constraints.positive)(0.0)
    tensor(1.)
    """
    if constraint in (_constraints.real, _constraints.real_vector):
        return identity_transform
    if id(constraint) in _SHAPED:
        return _SHAPED[id(constraint)]()
    if constraint.base is not None:
        inner, count = constraint.base
        return IndependentTransform(biject_to(inner), count)
    if constraint.bounds is None:
        raise NotImplementedError(_at(f"no transform reaches what is {constraint!r}"))
    low, high = constraint.bounds
    if high is None:
        return _moved(ExpTransform(), low, 1)
    if low is None:
        return _moved(ExpTransform(), high, -1)
    return _moved(SigmoidTransform(), low, high - low)


def _moved(first: Transform, loc: Any, scale: Any) -> Transform:
    plain = isinstance(loc, (int, float)) and isinstance(scale, (int, float))
    return first if plain and (loc, scale) == (0, 1) else ComposeTransform(
        [first, AffineTransform(loc, scale)])


def transform_to(constraint: _Constraint) -> Transform:
    """The transform that takes all real numbers to those that a constraint allows.

    :like: biject_to
    :returns: As of :func:`biject_to`; to a simplex, by ``softmax`` of as many numbers.
    :see: distributions.biject_to

    >>> ag.distributions.transform_to(ag.distributions.constraints.simplex)(ag.zeros(2))
    tensor([0.5, 0.5])
    """
    if constraint is _constraints.simplex:
        return SoftmaxTransform()
    return biject_to(constraint)


_strictly(__name__)
