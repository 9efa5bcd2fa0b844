"""Functions of every distribution, of their values and parameters, with a call each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi import distributions as D

A, B, P = np.array([1.4, 2.7]), np.array([2.5, 0.9]), np.array([0.2, 0.7])
M, X = np.array([-0.3, 1.2]), np.array([0.15, 0.85])
SHARES = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
W = np.array([[1.0, 0.3], [-0.2, 0.7]])
LOWER = np.array([[1.1, 0.0], [0.4, 0.8]])
CORRELATED = np.array([[1.0, 0.0], [0.6, 0.8]])
COVARIANCE = W @ W.T + np.eye(2)
ONE_HOT = np.eye(3)[[2, 0]]
#: Class, parameters, a value.
FAMILIES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "Bernoulli": ((P,), np.array([1.0, 0.0])), "Beta": ((A, B), X),
    "Binomial": ((5, P), np.array([2.0, 5.0])), "Categorical": ((SHARES,), np.array([2, 0])),
    "Cauchy": ((M, A), X), "Chi2": ((A,), X), "ContinuousBernoulli": ((P,), X),
    "Dirichlet": ((SHARES * 5,), SHARES[::-1]), "Exponential": ((A,), X),
    "FisherSnedecor": ((A, A + 5), X), "Gamma": ((A, B), X),
    "GeneralizedPareto": ((M, A, np.array([0.2, -0.3])), M + X),
    "Geometric": ((P,), np.array([2.0, 0.0])), "Gumbel": ((M, A), X), "HalfCauchy": ((A,), X),
    "HalfNormal": ((A,), X), "InverseGamma": ((A + 2, B), X), "Kumaraswamy": ((A, B), X),
    "LKJCholesky": ((2, 1.5), CORRELATED), "Laplace": ((M, A), X), "LogNormal": ((M, A), X),
    "LogisticNormal": ((M, A), SHARES[0]),
    "LowRankMultivariateNormal": ((M, W, A), X), "Multinomial": ((4, SHARES[0]),
                                                                 np.array([1.0, 1.0, 2.0])),
    "MultivariateNormal": ((M, None, None, LOWER), X),
    "NegativeBinomial": ((A, P), np.array([2.0, 3.0])), "Normal": ((M, A), X),
    "OneHotCategorical": ((SHARES,), ONE_HOT),
    "OneHotCategoricalStraightThrough": ((SHARES,), ONE_HOT), "Pareto": ((A, B), A + X),
    "Poisson": ((A,), np.array([2.0, 0.0])), "RelaxedBernoulli": ((0.7, P), X),
    "RelaxedOneHotCategorical": ((0.7, SHARES), SHARES[::-1]), "StudentT": ((A + 3, M, B), X),
    "Uniform": ((M - 1, M + 2), X), "VonMises": ((M, A), X), "Weibull": ((A, B), X),
    "Wishart": ((4.5, None, None, LOWER), COVARIANCE),
}
#: Those that are made of others.
COMPOSED = {"Distribution", "Independent", "MixtureSameFamily", "TransformedDistribution"}
OF_VALUES, OF_PARAMETERS = ("log_prob", "cdf"), ("entropy", "mean", "variance", "stddev", "mode")


#: Families whose support depends on parameters.
NARROW = {"Uniform", "Pareto"}


def tensors(args: Any) -> Any:
    return tuple(ag.tensor(a) if isinstance(a, np.ndarray) else a for a in args)


def functions_of(name: str) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """The functions of a distribution, each with operands."""
    kind, (args, value) = getattr(D, name), FAMILIES[name]
    def asked(what: str) -> Any:
        def function(*xs: Any) -> Any:
            found = getattr(kind(*xs[:len(args)], validate_args=False), what)
            return found(*xs[len(args):]) if callable(found) else found
        return function

    given = tensors(args)
    for what in OF_VALUES:
        yield what, asked(what), (*given, ag.tensor(value))
    yield "icdf", asked("icdf"), (*given, ag.tensor(X))
    for what in OF_PARAMETERS:
        yield what, asked(what), given
    count = len(args)

    def divergence(*xs: Any) -> Any:
        return D.kl_divergence(kind(*xs[:count], validate_args=False),
                               kind(*xs[count:], validate_args=False))

    other = [a * 1.1 if isinstance(a, ag.Tensor) and name not in NARROW else a for a in given]
    yield "divergence", divergence, (*given, *other)
