"""Sums that elements are compared with, or subtracted from, are computed once."""

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


SUMS = {
    "squares": lambda x: (x * x).sum(-1), "exponentials": lambda x: ag.exp(x).sum(0),
    "norms": lambda x: ag.linalg.norm(x, axis=-1), "deviations": lambda x: x.std(-1),
    "products": lambda x: (x * x + 1).prod(-1), "logsumexp": lambda x: ag.logsumexp(x, -1),
}
DIFFERENCES = {
    "to the largest": lambda s: s - s.max(), "to the first": lambda s: s - s[0],
    "pairs": lambda s: s[:, None] - s[:1], "floor": lambda s: ag.floor(s / s.max()),
    "root": lambda s: ag.sqrt(s.max() - s), "logarithm": lambda s: ag.log(s - s.min()),
    "clip": lambda s: ag.clip(s, s.min(), s.max()) - s, "whole": lambda s: s // s[0],
    "remainder": lambda s: s % s[0], "larger": lambda s: ag.maximum(s, s[0]) - s[0],
    "sign": lambda s: ag.sign(s - s[0]), "negative": lambda s: s + -s[0],
    "place": lambda s: ag.argmax(s - s.max()), "sorted": lambda s: ag.sort(s)[-1] - s.max(),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_differences_of_a_sum_and_itself_are_nothing(difference):
    """Exactly where eager ones are."""
    random = np.random.default_rng(2)
    for sums in SUMS.values():
        def f(x, sums=sums):
            return DIFFERENCES[difference](sums(x))

        run = ag.jit(f)
        for n in (3, 5, 8, 17):
            for rows in (2, 6):
                x = ag.tensor(random.normal(size=(rows, n)), dtype="float64")
                expected, found = np.asarray(f(x)), np.asarray(run(x))
                np.testing.assert_array_equal(found == 0, expected == 0)
                np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
