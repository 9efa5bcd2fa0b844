"""Branches that known sizes do not fit: only the one that is taken raises."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as sy

X, M = np.arange(5.0) + 1, np.ones((2, 3))

UNFIT = {
    "index": (lambda x, m: x[100] * m.sum(), IndexError, "index 100 is out of range"),
    "matmul": (lambda x, m: (m @ x).sum(), ag.ShapeError, "inner sizes differ"),
    "reshape": (lambda x, m: x.reshape((2, 3)).sum(), ag.ShapeError, "do not fit the shape"),
    "broadcast": (lambda x, m: (x + m[0]).sum(), ag.ShapeError, "sizes 5 and 3 differ"),
    "max": (lambda x, m: x[5:].max(), ag.ShapeError, "has no elements"),
    "concat": (lambda x, m: ag.concat([m, x[None]]).sum(), ag.ShapeError, "3 and 5 differ"),
    "inv": (lambda x, m: ag.linalg.inv(m).sum(), ag.ShapeError, "must be square"),
    "nested": (lambda x, m: sy.ifelse(x[0] > 100, x[7], x[8]), IndexError, "index 8"),
}

FORMS = {
    "ifelse": (lambda c, x, m, bad: sy.ifelse(c > 0, (x**2).sum(), bad(x, m)), 55.0),
    "swapped": (lambda c, x, m, bad: sy.ifelse(c <= 0, bad(x, m), (x**2).sum()), 55.0),
    "cond": (lambda c, x, m, bad: ag.cond(c > 0, lambda: (x**2).sum(), lambda: bad(x, m)), 55.0),
    "scan": (lambda c, x, m, bad: ag.scan(
        lambda s, _: (s + ag.cond(c > 0, lambda: (x**2).sum(), lambda: bad(x, m)), None),
        ag.tensor(0.0, dtype="float64"), None, length=2)[0], 110.0),
    "grad": (lambda c, x, m, bad: sy.grad(sy.ifelse(c > 0, (x**2).sum(), bad(x, m)), x), 2 * X),
    "grad of the other's": (
        lambda c, x, m, bad: sy.grad(sy.ifelse(c <= 0, bad(x, m), (x**2).sum()), m), 0 * M),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unfit", UNFIT)
def test_only_the_branch_that_is_taken_raises(unfit, form):
    bad, error, told = UNFIT[unfit]
    make, expected = FORMS[form]
    c = sy.scalar("c", dtype="int64")
    x, m = sy.vector("x", dtype="float64"), sy.matrix("m", dtype="float64")
    if form == "grad of the other's" and unfit in ("reshape", "max", "nested"):
        bad = lambda x, m, bad=bad: bad(x, m) * m.sum()  # noqa: E731
    f = ag.function([x, m, c], make(c, x, m, bad), on_unused_input="ignore")
    np.testing.assert_allclose(f(X, M, 1), expected)
    if not form.startswith("grad"):  # what a derivative does not read it does not check
        with pytest.raises(error, match=told):
            f(X, M, 0)
