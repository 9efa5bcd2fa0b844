"""What is added at some places of a tensor leaves all the others as they are, signs of zero too."""

import numpy as np
import pytest

import agnesi as ag

PLACE = ag.tensor([0])
ADDED = {
    "index_add": lambda x: ag.index_add(x, 0, PLACE, ag.ones((1, 2))),
    "scatter_add": lambda x: ag.scatter_add(x, 0, ag.tensor([[0, 0]]), ag.ones((1, 2))),
    "inc_subtensor": lambda x: ag.inc_subtensor(x[0], ag.ones(2)),
    "index_put": lambda x: ag.index_put(x, (PLACE,), ag.ones((1, 2)), accumulate=True),
    "slices and indices": lambda x: ag.index_put(x, (PLACE, slice(0, 2)), 1.0, accumulate=True),
    "scatter_reduce": lambda x: ag.scatter_reduce(x, 0, ag.tensor([[0, 0]]), ag.ones((1, 2)),
                                                  "sum"),
}


@pytest.mark.parametrize("name", ADDED)
def test_other_places_keep_their_sign(name):
    f, x = ADDED[name], ag.full((3, 2), -0.0, dtype="float64")
    s = ag.symbolic.tensor("float64", (None, 2))
    runs = {"eager": f, "jit": ag.jit(f), "function": ag.function([s], f(s)),
            "vmap": lambda x: ag.vmap(f)(x[None])[0]}
    for mode, run in runs.items():
        y = np.asarray(run(x))
        assert (y[0] == 1).all() and np.signbit(y[1:]).all(), mode
    np.testing.assert_array_equal(ag.grad(lambda x: (f(x) ** 2).sum())(x), 2 * np.asarray(f(x)))
