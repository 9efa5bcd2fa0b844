"""Views that loops and branches read, and others, too: nobody copies them."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

X = ag.tensor(np.random.default_rng(0).normal(size=(64, 96)))
VIEWS = {"rows": lambda x: x.T[::2], "slice": lambda x: x[3:40], "flip": lambda x: ag.flip(x, (0,))}
READERS = {
    "scan": lambda a: ag.scan(lambda c, r: (c * 0.5 + r, c.sum()), a[0] * 0, a)[1],
    "cond": lambda a: ag.cond(a[0, 0] > 0, lambda b: b.sum(), lambda b: b.max(), a),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("reader", READERS)
def test_control_beside_other_readers(view, reader):
    def f(x):
        return READERS[reader](VIEWS[view](x))

    compiled = ag.jit(f)
    np.testing.assert_allclose(compiled(X).numpy(), f(X).numpy())
    assert compiled.plan().arena_bytes < VIEWS[view](X).numpy().nbytes / 4
