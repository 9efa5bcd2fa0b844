"""Declared programs: expressions never change, sizes are compared when they run, numbers fit."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def test_augmented_assignment_makes_a_new_expression():
    x = T.vector("x")
    y = x
    y += 1
    h = T.tanh(x)
    z = h
    z *= 2
    w = ag.shared([1.0, 2.0])
    reg = w
    reg *= 0.5
    grad = T.grad((reg**2).sum(), w)
    found = ag.function([x], [x, y, h, z, w, grad])([0.5])
    t = np.tanh(0.5)
    for a, b in zip(found, [[0.5], [1.5], [t], [2 * t], [1.0, 2.0], [0.5, 1.0]], strict=True):
        np.testing.assert_allclose(a, b)

    def step(row, total):
        row += 1  # the rows are expressions, too
        total += row
        return total

    sums, _ = T.scan(step, x, outputs_info=T.zeros(()))
    np.testing.assert_allclose(sums.eval({x: [1.0, 2.0]}), [2.0, 5.0])


def test_what_is_traced_for_values_changes_in_place_as_before():
    def f(x):
        y = x * 1
        z = y
        z += 1
        return y

    assert ag.jit(f)(ag.ones(2)).tolist() == f(ag.ones(2)).tolist() == [2.0, 2.0]
    assert ag.vmap(f)(ag.ones((2, 1))).tolist() == [[2.0], [2.0]]


def _keyed(x):
    x[0] = 5


@pytest.mark.parametrize("change", [
    _keyed, lambda x: x.add_(1), lambda x: x.zero_(), lambda x: x[1:].mul_(2),
])
@pytest.mark.parametrize("make", [lambda: T.vector("x"), lambda: ag.shared(np.ones(3), "x")])
def test_inputs_and_shared_variables_cannot_be_changed(change, make):
    x = make()
    with pytest.raises((TypeError, ag.TraceError), match=r"(?s)x of a symbolic.*set_subtensor"):
        change(x)
    with pytest.raises((TypeError, ag.TraceError), match="set_subtensor"):
        T.scan(lambda row: change(x) or row, T.vector())
    h = T.exp(x)
    change(h)  # what is computed is an array like others
    given = [x] if x.node.handle is None else []
    assert ag.function(given, h)(*[np.ones(3)] * len(given)).shape == (3,)


def test_sizes_are_compared_when_the_function_runs():
    v, m = T.vector("v"), T.matrix("m")
    n = v.shape[0]
    tests = {
        "eq": n == 3, "ne": n != 3, "lt": n < 3, "le": n <= 3, "gt": n > 2.5, "ge": n >= 3,
        "two": m.shape[0] == m.shape[1], "with": n == m.shape[0],
    }
    f = ag.function([v, m], {k: t * 1 for k, t in tests.items()})
    for a, shape in ((2, (2, 2)), (3, (2, 3)), (4, (4, 1))):
        expect = {
            "eq": a == 3, "ne": a != 3, "lt": a < 3, "le": a <= 3, "gt": a > 2.5, "ge": a >= 3,
            "two": shape[0] == shape[1], "with": a == shape[0],
        }
        found = f(np.ones(a), np.ones(shape))
        assert {k: bool(t) for k, t in found.items()} == expect
    chosen = ag.function([v], [T.switch(n == 3, 1.0, 0.0), ag.ensure(v, n == 3).sum()])
    assert [float(x) for x in chosen([1.0, 2.0, 3.0])] == [1.0, 6.0]
    with pytest.raises(ValueError, match="condition"):
        chosen([1.0])
    for use in (lambda: bool(n == 3), lambda: v.shape == (3,), lambda: 1 if n > 2 else 0):
        with pytest.raises(ag.TraceError, match="needs the value"):
            use()
    assert (n == n, n != n, v.shape == v.shape) == (True, False, True)
    assert n is not None and n != "n"


def test_arithmetic_of_sizes():
    v, w = T.vector("v"), ag.shared(np.ones(4))
    n = v.shape[0]
    results = [0.5 * n, -n, n**2, 2**n, n / 2, 7 // n, 7 % n, abs(n - 9), np.float64(0.5) * n,
               np.int64(2) + n, np.ones(2) * n, T.sqrt(n), n * v.sum(), n, w.shape[0] * 0.5,
               T.switch(w.shape[0] == 4, 1, 2)]
    found = ag.function([v], results)([1.0, 2.0, 3.0])
    expect = [1.5, -3, 9, 8, 1.5, 2, 1, 6, 1.5, 5, [3.0, 3.0], 3**0.5, 18.0, 3, 2.0, 1]
    for a, b in zip(found, expect, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
    assert ag.function([v], n)([1.0, 2.0]) == 2
    assert [str(x.dtype) for x in found[:2]] == ["float64", "int64"]


FITS = [
    ("iscalar", 4), ("iscalar", 4.0), ("bvector", [3, -128]), ("ivector", [1.0, 2.0]),
    ("fscalar", 0.1), ("dscalar", 2**53), ("zscalar", 3), ("dvector", []),
    ("ivector", []), ("fvector", [True, 2]), ("lscalar", True), ("fvector", [np.nan, -np.inf]),
]
UNFIT = [
    ("iscalar", 4.5), ("iscalar", 2**40), ("bvector", [300]), ("ivector", [1, 1.5]),
    ("fscalar", 1e300), ("fscalar", 2**24 + 1), ("dscalar", 2**53 + 1), ("dscalar", 1j),
    ("ivector", [np.nan]), ("lscalar", 2**63), ("fvector", [[1.0], [1.0, 2.0]]),
]


@pytest.mark.parametrize(("kind", "value"), FITS)
def test_python_numbers_go_where_they_fit(kind, value):
    x = getattr(T, kind)("x")
    found = ag.function([x], x)(value)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.asarray(value).astype(found.dtype))


@pytest.mark.parametrize(("kind", "value"), UNFIT)
def test_python_numbers_that_do_not_fit_are_refused(kind, value):
    x = getattr(T, kind)("x")
    with pytest.raises((ag.DTypeError, ag.ShapeError), match="input x of function"):
        ag.function([x], x)(value)
    if kind[1:] == "scalar" and kind != "lscalar":
        w = ag.shared(np.zeros((), x.dtype))
        with pytest.raises(ag.DTypeError):
            w.set_value(value)
        with pytest.raises(ag.DTypeError):
            ag.function([], [], updates={w: value})
