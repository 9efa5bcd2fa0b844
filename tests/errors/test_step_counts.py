"""Counts of steps that a function takes one by one are refused where they would not end."""

import pytest

import agnesi as ag

X = ag.tensor([[2.0, 3.0], [4.0, 6.5]])
CALLS = {
    "mvlgamma": lambda n: ag.mvlgamma(X, n),
    "multigammaln": lambda n: ag.special.multigammaln(X, n),
    "polyint": lambda n: ag.polyint(X[0], n),
    "svd_lowrank": lambda n: ag.svd_lowrank(X, 1, n),
    "pca_lowrank": lambda n: ag.pca_lowrank(X, 1, niter=n),
    "bernoulli": ag.special.bernoulli,
    "euler": ag.special.euler,
    "erf_zeros": ag.special.erf_zeros,
    "jn_zeros": lambda n: ag.special.jn_zeros(1, n),
    "gegenbauer": lambda n: ag.special.roots_gegenbauer(n, 0.5),
    "jacobi": lambda n: ag.special.roots_jacobi(n, 0.5, 1.5),
} | {name: getattr(ag.special, f"roots_{name}") for name in (
    "legendre", "sh_legendre", "chebyt", "chebyu", "chebyc", "chebys", "hermite", "hermitenorm",
    "laguerre")}


@pytest.mark.parametrize("count", [2**31, 2**63, 10**30])
def test_counts_without_bound_are_refused(count):
    for name, call in CALLS.items():
        with pytest.raises(ValueError, match=rf"{name}.* must be at most \d+, not {count}"):
            call(count)
