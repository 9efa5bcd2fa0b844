"""The density that a distribution's docstring states is the one that it computes."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import agnesi as ag
from agnesi import distributions as D

PARAMETERS: dict[str, dict[str, Any]] = {
    "Bernoulli": {"probs": 0.3}, "Beta": {"concentration1": 2.5, "concentration0": 1.5},
    "Binomial": {"total_count": 5, "probs": 0.3}, "Categorical": {"probs": [0.2, 0.5, 0.3]},
    "Cauchy": {"loc": 0.4, "scale": 1.7}, "Chi2": {"df": 3.5},
    "ContinuousBernoulli": {"probs": 0.3},
    "Dirichlet": {"concentration": [1.5, 2.0, 0.7]}, "Exponential": {"rate": 1.7},
    "FisherSnedecor": {"df1": 3.0, "df2": 4.5}, "Gamma": {"concentration": 2.5, "rate": 1.7},
    "GeneralizedPareto": {"loc": 0.4, "scale": 1.7, "concentration": 0.3},
    "Geometric": {"probs": 0.3}, "Gumbel": {"loc": 0.4, "scale": 1.7},
    "HalfCauchy": {"scale": 1.7}, "HalfNormal": {"scale": 1.7},
    "InverseGamma": {"concentration": 2.5, "rate": 1.7},
    "Kumaraswamy": {"concentration1": 2.5, "concentration0": 1.5},
    "Laplace": {"loc": 0.4, "scale": 1.7}, "LogNormal": {"loc": 0.4, "scale": 0.7},
    "LowRankMultivariateNormal": {"loc": [0.1, 0.2], "cov_factor": [[1.0], [0.5]],
                                  "cov_diag": [0.3, 0.4]},
    "Multinomial": {"total_count": 5, "probs": [0.2, 0.5, 0.3]},
    "MultivariateNormal": {"loc": [0.1, 0.2], "covariance_matrix": [[1.0, 0.5], [0.5, 2.0]]},
    "NegativeBinomial": {"total_count": 4, "probs": 0.3}, "Normal": {"loc": 0.4, "scale": 1.7},
    "OneHotCategorical": {"probs": [0.2, 0.5, 0.3]}, "Pareto": {"scale": 1.7, "alpha": 2.5},
    "Poisson": {"rate": 1.7}, "StudentT": {"df": 3.5, "loc": 0.4, "scale": 1.7},
    "Uniform": {"low": 0.4, "high": 1.7}, "VonMises": {"loc": 0.4, "concentration": 1.7},
    "Weibull": {"scale": 1.7, "concentration": 2.5},
    "Wishart": {"df": 4.0, "covariance_matrix": [[1.0, 0.5], [0.5, 2.0]]},
}
STATED = {name: found for name, cls in vars(D).items() if inspect.isclass(cls) and cls.__doc__ and (
    found := re.search(r"^(Density|Probability|Covariance): ``(.*?)``\.$", cls.__doc__,
                       re.MULTILINE | re.DOTALL))}
FUNCTIONS = {**vars(np), **{name: getattr(special, name) for name in (
    "gamma", "beta", "binom", "i0", "multigammaln")}, "det": np.linalg.det, "inv": np.linalg.inv}


def test_every_stated_density_is_tried() -> None:
    assert STATED.keys() == PARAMETERS.keys()


@pytest.mark.parametrize("name", STATED)
def test_what_is_stated_is_computed(name: str) -> None:
    ag.manual_seed(0)
    with ag.config(default_float="float64"):
        made = getattr(D, name)(**{k: ag.tensor(v) for k, v in PARAMETERS[name].items()})
        x = made.sample((6,))
        found = np.exp(made.log_prob(x).numpy())
    given = {k: np.asarray(v) for k, v in PARAMETERS[name].items()}
    kind, formula = (" ".join(part.split()) for part in STATED[name].groups())
    if kind == "Covariance":
        found, x = made.covariance_matrix.numpy()[None], x[:1]
    stated = [eval(formula, {**FUNCTIONS, **given, "x": each, "p": len(np.atleast_1d(each))})
              for each in x.numpy()]
    np.testing.assert_allclose(found, stated, rtol=1e-9)
