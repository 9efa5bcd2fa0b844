"""Running products in vectors: in the range of the dtype they are as one after the other."""

import numpy as np
import pytest

import agnesi as ag


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reverse", [False, True])
def test_products_leave_the_range_only_where_they_do_in_order(dtype, reverse):
    far = 1e20 if dtype == "float32" else 1e200
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (40, 90)) * rng.choice([1, far, 1 / far], (40, 90))
    x[:8] = rng.choice([0.0, 1.0, -2.0], (8, 90))
    x[8:12, 30], x[12:16, 40] = np.nan, np.inf
    x = x.astype(dtype)[:, ::-1 if reverse else 1]
    with np.errstate(all="ignore"):
        wanted = np.cumprod(x.astype("longdouble"), 1)
    run = ag.jit(lambda x: ag.flip(ag.cumprod(ag.flip(x, 1), 1), 1) if reverse
                 else ag.cumprod(x, 1))
    given = x[:, ::-1] if reverse else x
    found = run(ag.tensor(np.ascontiguousarray(given))).numpy()
    found = found[:, ::-1] if reverse else found
    limits = np.finfo(dtype)
    # Until a product has left the range of the dtype, or has lost digits at its lower end.
    size = abs(wanted)
    inside = ~((size > limits.max) | ((size < limits.tiny) & (size > 0)))
    inside = np.logical_and.accumulate(inside, 1)
    assert inside.mean() > 0.2
    np.testing.assert_allclose(found[inside], wanted[inside].astype(dtype), rtol=1e-4)
