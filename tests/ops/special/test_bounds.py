"""SciPy's functions that take as many steps as an operand says are called within bounds: one call
holds the interpreter's lock, and no signal ends it."""

import os
import signal

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.node import toposort

S = ag.special
HUGE = 9e17
#: A function and its operands, the huge one last in a list.
CALLS = [
    (S.eval_hermite, [10**17], 0.5), (S.eval_hermitenorm, [10**17], 0.5),
    (S.eval_laguerre, [10**17], 0.5), (S.eval_laguerre, [-HUGE / 1e9], 0.5),
    (S.eval_genlaguerre, [10**17], 1.0, 0.5), (S.eval_genlaguerre, [-HUGE / 1e9], 1.0, 0.5),
    (S.zeta, 2.0, [-HUGE / 1e6 + 0.5]), (S.hyperu, [1e9], 1.0, 0.5), (S.hyperu, 1.0, [1e9], 0.5),
    (S.lpmv, [1e9], 2.0, 0.5),
    (S.lpmv, 2.0, [1e9], 0.5), (S.mathieu_a, [1e9], 0.5), (S.mathieu_cem, [1e9], 0.5, 0.5),
    (S.mathieu_modsem2, [1e9], 0.5, 0.5), (S.nctdtrinc, 0.5, 0.5, [1e9]),
    (S.nctdtrit, 0.5, [1e9], 0.5), (S.chndtrinc, [HUGE], 2.0, 0.3), (S.chndtrix, 0.5, 2.0, [HUGE]),
    (S.pbdv, [1e9], 0.5), (S.pbvv, [-1e9], 0.5),
]


@pytest.fixture(autouse=True)
def watchdog():
    """End the process where a call does not end: no exception reaches it."""
    if hasattr(signal, "SIGVTALRM"):
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_VIRTUAL, 60)
        yield
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    else:
        yield


def first(found):
    return np.asarray(found[0] if isinstance(found, tuple) else found)


@pytest.mark.skipif(os.name == "nt", reason="this system has no timers")
@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[0].__name__)
def test_beyond_the_bound_is_nan(call):
    """Also beside an operand within it, whose value is unchanged; numbers and tensors alike."""
    f, *given = call
    k = next(i for i, x in enumerate(given) if isinstance(x, list))
    (huge,) = given[k]
    usual = 2 if isinstance(huge, int) else 2.0
    both = [ag.tensor(np.array([usual, huge])) if i == k else ag.tensor(np.full(2, x))
            for i, x in enumerate(given)]
    alone = first(f(*[usual if i == k else ag.tensor(x, dtype="float64") if i != k else x
                      for i, x in enumerate(given)]))
    for g in (f, ag.jit(f)):
        found = first(g(*both))
        np.testing.assert_array_equal(found[0], alone)
        assert np.isnan(found[1])
    assert np.isnan(first(f(*[huge if i == k else x for i, x in enumerate(given)])))


def test_other_sizes_are_scipys():
    scipy = pytest.importorskip("scipy.special")
    assert float(S.zeta(ag.tensor(2.0, dtype="float64"), 10**8)) == scipy.zeta(2.0, 10**8)
    n = np.array([0, 5, 999])
    x = np.array([0.3, -2.0, 1.5])
    np.testing.assert_array_equal(S.eval_laguerre(n, ag.tensor(x)).numpy(),
                                  scipy.eval_laguerre(n, x))


def test_what_is_within_bounds_is_only_looked_at():
    """Eagerly; in a graph a selection stays, for other values may follow."""
    n, x = ag.tensor([2, 3]), ag.tensor([0.5, 0.25])
    x.requires_grad_()
    assert "where" not in {node.op.name for node in toposort([ag.special.eval_hermite(n, x).node])
                           if node.op is not None}
    f = ag.jit(lambda n: ag.special.eval_hermite(n, x.detach()))
    many = ag.tensor([2, 10**12])
    for given in (n, many, n):
        np.testing.assert_array_equal(f(given), ag.special.eval_hermite(given, x.detach()))
    assert np.isnan(f(many).array).tolist() == [False, True]
