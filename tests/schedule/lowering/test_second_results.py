"""A value that is written to several places is computed once, by loops that write all of them."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.tree import flatten as tree_flatten

X = np.random.default_rng(0).normal(size=(3, 5))


def kept(value, *targets):
    for t in targets:
        t.copy_(value)


CASES = {  # and how many kernels
    "elements": (lambda x, a, b: kept(x * 2 + a, a, b), 1),
    "returned too": (lambda x, a, b: (kept(x + b, a, b), a * 1)[1], 1),
    "sums": (lambda x, a, b: kept(x.sum(0, keepdims=True) + ag.zeros_like(x), a, b), None),
    "pieces": (lambda x, a, b: kept(ag.concat([x[1:], x[:1]]), a, b), None),
    "another shape": (lambda x, a, b: (kept(x * 3, a), (x * 3).reshape((5, 3)), (x * 3).T), None),
    "products": (lambda x, a, b: kept(x @ ag.ones((5, 5), dtype="float64"), a, b), None),
}


@pytest.mark.parametrize("name", CASES)
def test_all_places_have_the_value(name):
    function, count = CASES[name]
    found = []
    for f in (function, ag.jit(function)):
        x, a, b = (ag.tensor(X + i) for i in range(3))
        ys = [y for y in tree_flatten(f(x, a, b))[0] if y is not None]
        found.append([t.numpy() for t in (x, a, b, *ys)])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-12)
    if count is not None:
        assert len(f.plan().layout.kernels) == count
