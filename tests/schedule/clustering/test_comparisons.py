"""Sums that elements are compared with are computed once."""

import numpy as np
import pytest

import agnesi as ag

FORMS = {
    "min of sums": lambda x: abs(x).sum(-1).min(), "max of sums": lambda x: (x * x).sum(-1).max(),
    "max of means": lambda x: ag.sin(x).mean(-1).max(),
    "roots of sums": lambda x: ag.sqrt((x * x).sum(-1)).max(),
    "norm inf": lambda x: ag.linalg.matrix_norm(x, ord=np.inf),
    "norm -inf": lambda x: ag.linalg.matrix_norm(x, ord=-np.inf),
    "norm of rows": lambda x: ag.linalg.vector_norm(x, axis=-1).min(),
    "none below the largest": lambda x: (
        (s := (x * x).sum(-1)) * s * (s >= s.max())).sum(),
    "but those below the largest": lambda x: ag.where(
        (s := abs(x).sum(-1)) < s.max(), 0, s * s).sum(),
    "place of the largest": lambda x: ((s := ag.exp(x).sum(-1)) * (s == s.max())).sum(),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_element_equals_the_extreme_of_sums(form):
    random = np.random.default_rng(0)
    for n in (2, 3, 5, 7, 8, 9, 12, 17, 40):
        for rows in (2, 6):
            x = ag.tensor(random.normal(size=(rows, n)))
            slope = ag.grad(FORMS[form])
            np.testing.assert_allclose(ag.jit(slope)(x).numpy(), slope(x).numpy(), rtol=1e-9)
