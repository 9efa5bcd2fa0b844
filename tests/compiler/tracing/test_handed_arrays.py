"""NumPy arrays that jitted code hands on: tensors compute with what is there at each call, and
what NumPy or Python computes of them once is compared.
"""

import functools
import gc
import pickle
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import agnesi as ag

pytestmark = pytest.mark.usefixtures("little_to_collect")

A = np.zeros(4)


class Holder:
    pass


def _as_attribute(f, a):
    held = Holder()
    held.a = a
    return lambda x: f(x, held.a)


def _in_list(f, a):
    held = [a, {"a": (a, 2)}]
    return lambda x: f(x, held[0]) + f(x, held[1]["a"][0])


def _as_default(f, a):
    def g(x, b=a, *, c=a):
        return f(x, b) + f(x, c)

    return g


WAYS = [
    lambda f, a: lambda x: f(x, a), _as_attribute, _in_list, _as_default,
    lambda f, a: functools.partial(lambda b, x, c: f(x, b) + f(x, c[0]), a, c=(a, 3))]


def _calls(f, way, a, n=4):
    found = []
    for wrap in (lambda g: g, ag.jit):
        b = a.copy()
        g = wrap(way(f, b))
        found.append([])
        for _ in range(n):
            found[-1].append(np.asarray(g(ag.arange(4.0))).tolist())
            b[1] += 1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    return g


@pytest.mark.share(3)
@pytest.mark.parametrize("way", WAYS)
def test_operands_of_tensors_are_read_at_each_call(way):
    g = _calls(lambda x, a: (x * a).sum() + ag.where(a > 2, x, a.T[:4] * 2).sum() * len(a),
               way, np.arange(4.0))
    assert len(g.specialisations) == 1
    large = np.zeros((4, 1 << 15 | 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(_calls(lambda x, a: x @ a, way, large, 2).specialisations) == 1


@pytest.mark.share(3)
@pytest.mark.parametrize("f", [
    lambda x, a: (x * a).sum() + np.linalg.norm(a),
    lambda x, a: x.sum() * (a > 3).sum() + (x * a).sum(),
    lambda x, a: x * min(a) + x * sum(a) + x * a,
    lambda x, a: x * a.mean() + x * a,
    lambda x, a: x * [v for v in a][1] + x * a,
    lambda x, a: x * np.asarray(a)[1] + x * a,
    lambda x, a: x * a.tolist()[1] + x * a,
    lambda x, a: x[a.astype(int) % 4] + x * a,
    lambda x, a: x * (3 if a[1] > 2 else 4) + x * a,
])
def test_what_is_computed_once_is_compared(f):
    _calls(f, WAYS[0], np.arange(4.0), 3)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_global_array_and_results_that_are_views_of_it():
    step = ag.jit(lambda x: (x * A, A[1:]))
    for i in range(3):
        A[:] = i
        y, rest = step(ag.ones(4))
        assert y.tolist() == [i] * 4 and rest.base is A


def test_parts_of_a_partial_that_are_set():
    p = functools.partial(lambda a, x, k=1.0: (x * a * k).sum(), 2.0, k=3.0)
    f = ag.jit(lambda x: p(x))
    assert f(ag.ones(3)) == 18
    p.__setstate__((p.func, (5.0,), {"k": 1.0}, {}))
    assert f(ag.ones(3)) == 15


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_what_only_a_weak_reference_knows_is_not_kept():
    held = [ag.ones(3) * 2, np.ones(3), lambda x: x.sum(), Holder()]
    compiled = []
    for reference in map(weakref.ref, held):
        compiled.append(ag.jit(
            lambda x, r=reference: x.sum() if r() is None else -x.sum()))
        assert compiled[-1](ag.ones(3)) == -3
    held.clear()
    gc.collect()
    assert [float(f(ag.ones(3))) for f in compiled] == [3, 3, 3, 3]


def test_a_weak_proxy_of_what_is_gone():
    held = Holder()
    held.v = 2.0
    proxy = weakref.proxy(held)

    def f(x):
        try:
            return x * proxy.v
        except ReferenceError:
            return -x

    step = ag.jit(f)
    assert step(ag.ones(1)).tolist() == [2]
    del held
    gc.collect()
    assert step(ag.ones(1)).tolist() == [-1]


def _looks():
    return (A.sum(), A[1], len(A), repr(A), np.dot(A, A), (A * 2).tolist(), sorted(A), A.shape,
            A.T.tolist(), np.sort(A)[::-1].tolist(), f"{A}", np.stack([A]).tolist(),
            pickle.loads(pickle.dumps(A)).tolist(), (A + ag.ones(4)).tolist())


def test_other_threads_are_given_the_array_meanwhile():
    expected, wrong, over, interval = _looks(), [], threading.Event(), sys.getswitchinterval()

    def look() -> None:
        while not over.is_set():
            try:
                if (found := _looks()) != expected:
                    wrong.append(found)
            except Exception as error:
                wrong.append(error)

    thread = threading.Thread(target=look)
    sys.setswitchinterval(1e-5)
    try:
        thread.start()
        for k in range(12):
            assert ag.jit(lambda x, k=k: (x * A).sum() + k)(ag.ones(4)) == expected[0] + k
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert wrong == []
