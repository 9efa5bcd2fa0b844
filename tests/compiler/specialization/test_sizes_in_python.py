"""Sizes that change as Python's numbers: factors and places."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from tests.compiler.specialization.sizes import agree, rows


def test_quotients_of_sizes_are_as_precise_as_numbers():
    f = ag.jit(lambda x: (x * (1 / x.shape[0]), ag.ones(2) * (x.shape[0] / 3)))
    for n in (5, 6, 9):
        agree(f, f.function, rows(n, dtype="float64"), tolerance=1e-15)
    assert len(f.specialisations) == 2


def test_places_that_sizes_name_are_views():
    def function(x):
        y = x * 1
        for at in (x.shape[0] - 1, x.shape[0] - 3, 8 % x.shape[0]):
            part = y[at]
            part += 1
        y[x.shape[0] - 2, 1] = 5
        return y, y[None, x.shape[0] - 2, :2], y[x.shape[0] - 2, [1, 0]]

    f = ag.jit(function)
    for n in (5, 4, 9, 3, 17, 2):
        agree(f, function, rows(n, 3))
    with pytest.raises(IndexError):
        f(rows(1, 3))


def test_all_arithmetic_of_sizes_that_are_not_known_is_pythons():
    """A size where that is a whole number of sizes, else a tensor; a condition in Python is an
    error."""
    texts = ["n + 2", "3 - n", "-n", "+n", "n * n", "n // 2", "17 // n", "17 % n", "n % 2", "n**2",
             "n**0.5", "2**n", "n * 0.5", "1.5 - n", "n / 2", "3 / n", "n // 1.5", "n % 1.5"]
    x, s = ag.symbolic.tensor("float64", (None,)), ag.shared(np.ones(7))
    for size, call in ((x.shape[0], lambda f: f(np.ones(7))), (s.shape[0], lambda f: f())):
        results = [ag.asarray(0.0, dtype="float64") + eval(t, {"n": size}) for t in texts]
        given = [x] if size is x.shape[0] else []
        for text, found in zip(texts, call(ag.function(given, results)), strict=True):
            assert found == pytest.approx(eval(text, {"n": 7}), rel=1e-15), text
        for text in ("n > 2", "2 >= n", "n < n", "max(n, 2)"):
            with pytest.raises(ag.TraceError, match=r"bool\(\) needs the value"):
                bool(eval(text, {"n": size}))


@pytest.mark.parametrize("name", ["delete", "insert", "partition", "resize", "gradient", "repeat"])
def test_functions_that_must_know_a_size_wait_for_it(name):
    x, f = ag.symbolic.tensor("float64", (None,)), getattr(ag, name)
    rest = {"delete": (1,), "insert": (1, 2), "partition": (1,), "resize": ((3,),),
            "repeat": ([1, 2],)}.get(name, ())
    declared = ag.function([x], f(x, *rest))
    for n in (2,) if name == "repeat" else (2, 5):
        a = np.arange(n)[::-1] ** 2.0
        np.testing.assert_array_equal(declared(a), f(ag.tensor(a), *rest))


def test_one_count_in_a_list_is_for_all_elements():
    x = ag.symbolic.tensor("float64", (None,))
    np.testing.assert_array_equal(ag.function([x], ag.repeat(x, [2]))(np.arange(2.0)), [0, 0, 1, 1])


def test_an_axis_that_may_be_empty_is_rolled():
    x = ag.symbolic.tensor("float64", (None, 2))
    f = ag.function([x], [ag.roll(x, 2, 0), ag.roll(x, -1)])
    for n in range(4):
        a = np.arange(2.0 * n).reshape(n, 2)
        for found, expected in zip(f(a), (np.roll(a, 2, 0), np.roll(a, -1)), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_bounds_of_either_sign():
    v = T.dvector("v")
    for bound in (lambda n: -(n // 3), lambda n: 2 - n, lambda n: -2 * n + 3, lambda n: n - 3):
        b = bound(v.shape[0])
        parts = [v[b:], v[:b], v[b::-1]]
        f = ag.function([v], [*parts, *(y.shape[0] for y in parts), T.grad(v[b:].sum(), v)])
        for n in (2, 3, 7):
            x = np.arange(1.0, n + 1)
            expected = [x[bound(n):], x[:bound(n)], x[bound(n)::-1]]
            *found, slope = f(x)
            for y, wanted in zip(found, [*expected, *map(len, expected)], strict=True):
                np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(slope, np.isin(x, expected[0]))


def test_sizes_of_shared_variables_are_numbers_of_the_call():
    held = ag.shared(np.ones((3, 2)))
    twice = held * 2.0

    def function(m):
        rows = held.shape[0] if held.shape[0] > 2 else 1
        return (ag.zeros((held.shape[0], 3), dtype="float64") + m[0], m * rows * len(twice),
                T.set_subtensor(held[:1], m[0] * ag.ones((1, held.shape[1]))), held.T + m[:1],
                twice[twice > 1.0] * m[0])

    f = ag.jit(function)
    m = ag.tensor(np.array([2.0, 5.0]))
    for shape in ((3, 2), (1, 4), (3, 2)):
        held.set_value(value := np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape))
        found, pull = ag.vjp(f, m)
        changed = value.copy()
        changed[0] = 2
        rows = shape[0] if shape[0] > 2 else 1
        expected = (np.full((shape[0], 3), 2.0), np.array([2.0, 5.0]) * rows * shape[0], changed,
                    value.T + 2, value.ravel() * 4)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
        gradient, = pull(tuple(ag.ones(a.shape, dtype="float64") for a in found))
        first = 3 * shape[0] + rows * shape[0] + shape[1] + value.size + 2 * value.sum()
        np.testing.assert_allclose(gradient.numpy(), [first, rows * shape[0]])
    assert len(f.specialisations) == 2
