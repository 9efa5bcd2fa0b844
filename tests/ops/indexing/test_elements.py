"""Elements are numbers as in NumPy, and methods write where they were taken from."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


def _flat(value):
    nest = isinstance(value, (tuple, list))
    return [v for part in value for v in _flat(part)] if nest else [value]


def _swap(x):
    y = x * 1
    y[0], y[-1] = y[-1], y[0]
    kept = y[1]
    y[1] = y[2]
    y[2] = kept
    kept += 5
    return y, kept


def _insertion_sort(x):
    y = x.copy()
    for i in range(1, len(y)):
        key, j = y[i], i - 1
        while j >= 0 and bool(y[j] > key):
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = key
    return y


def _running(x):
    y, total = x.copy(), x[0]
    before = y[0]
    for i in range(1, len(y)):
        total += y[i]
        now = y[i]
        y[i] = now + before
        before = now
    return y, total, x * 1


def _unpacked(x):
    y = x * 1
    a, b, *rest = y
    y[:] = y[::-1]
    y += 1
    return a * b, rest, y


def _rows(x):
    m = x.reshape(2, 2) * 1
    row, corner, inner = m[1], m[0, 0], m[0][1]
    row[0] = 9
    m[0, 0] += corner * inner
    m *= 2
    return m, row, corner, inner, m[-1][-1]


PROGRAMS = [_swap, _insertion_sort, _running, _unpacked, _rows]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_numpy(program):
    x = np.array([0.5, -1.0, 2.0, 0.25])
    expected = _flat(program(x))

    def loss(x):
        return sum((ag.tanh(v) * 0.5).sum() for v in _flat(program(x)))

    for compile_ in (lambda f: f, ag.jit):
        for found, e in zip(_flat(compile_(program)(ag.tensor(x))), expected, strict=True):
            np.testing.assert_array_equal(found.numpy(), e)
        g = compile_(ag.grad(loss))(ag.tensor(x)).numpy()
        steps = np.eye(4) * 1e-6
        differences = [
            sum(np.sum(np.tanh(a) - np.tanh(b)) * 0.5 for a, b in zip(
                _flat(program(x + s)), _flat(program(x - s)), strict=True)) / 2e-6
            for s in steps
        ]
        np.testing.assert_allclose(g, differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("compile_", [lambda f: f, ag.jit])
def test_methods_write_where_an_element_was_taken(compile_):
    def f(x):
        x[0, 0].mul_(3)
        x[1][0].copy_(x[0, 1])
        x[0][1][...] = 4
        v = x[0, 2]
        v.zero_()
        w = v
        v += 1
        return v, w

    x = ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert [v.tolist() for v in compile_(f)(x)] == [1.0, 0.0]
    assert x.tolist() == [[3, 4, 0], [2, 5, 6]]


def test_gradients_of_what_was_written_by_an_element():
    p = ag.tensor([1.0, 2.0], requires_grad=True)
    with ag.no_grad():
        p[0].add_(1)
    y = p * 2
    y[0].mul_(3)
    assert ag.grad((y * y).sum(), p).tolist() == [144, 16] and p.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="no_grad"):
        p[0].add_(1)
