"""Compiled functions called by their address, from C's side."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.integrate

import agnesi as ag

W = ag.tensor(np.random.default_rng(0).normal(size=(40, 40)), dtype="float64")


def density(x: Any) -> Any:
    return -(ag.tanh(W @ x) ** 2).sum() - 0.5 * (x * x).sum()


def pointer(a: np.ndarray) -> Any:
    return a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def test_value_and_gradient_from_several_threads() -> None:
    f = ag.value_and_grad(density)
    made = ag.jit(f).c_function(np.zeros(40))
    xs = np.random.default_rng(1).normal(size=(64, 40))
    expected = [f(x) for x in xs]
    values, gradients, codes = np.zeros(64), np.zeros((64, 40)), np.ones(64)

    def work(first: int) -> None:
        for _ in range(20):
            for i in range(first, 64, 4):
                codes[i] = made.ctypes(pointer(xs[i]), pointer(values[i:]), pointer(gradients[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not codes.any()
    np.testing.assert_allclose(values, [v.item() for v, _ in expected], 1e-12)
    np.testing.assert_allclose(gradients, [g.numpy() for _, g in expected], 1e-11, 1e-12)


def test_address_outlives_the_function() -> None:
    made = ag.jit(lambda x: ag.exp(x).sum()).c_function(np.zeros(5))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(made.address)
    x, y = np.arange(5.0), np.zeros(())
    assert call(x.ctypes.data, y.ctypes.data) == 0
    np.testing.assert_allclose(y, np.exp(x).sum())


def test_tensors_are_read_where_they_are_now() -> None:
    scale = ag.tensor(2.0, dtype="float64")
    made = ag.jit(lambda x: x * scale).c_function(1.0, form="values")
    assert made.signature == "double (double)" and made.ctypes(3.0) == 6.0
    scale.copy_(ag.tensor(5.0, dtype="float64"))
    assert made.ctypes(3.0) == 15.0


def test_scipy_integrates_it() -> None:
    value = ag.jit(lambda x: ag.exp(-x * x)).c_function(0.0, form="values")
    found, _ = scipy.integrate.quad(scipy.LowLevelCallable(value.ctypes), 0, 1)
    np.testing.assert_allclose(found, scipy.integrate.quad(lambda x: np.exp(-x * x), 0, 1)[0])
    plane = ag.jit(lambda v: v[0] * ag.cos(v[1])).c_function(np.zeros(2), form="vector")
    assert plane.signature == "double (int, double *)"
    found, _ = scipy.integrate.nquad(scipy.LowLevelCallable(plane.ctypes), [[0, 1], [0, 2]])
    np.testing.assert_allclose(found, 0.5 * np.sin(2))


def test_nests_and_types() -> None:
    made = ag.jit(lambda p, n: {"a": p["w"] * n, "b": n + 1}).c_function(
        {"w": np.zeros((2, 3), "float32")}, np.int32(0))
    w, n = np.arange(6, dtype="float32").reshape(2, 3), np.array(2, "int32")
    a, b = np.zeros((2, 3), made.outputs[0][0]), np.zeros((), made.outputs[1][0])
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(made.address)
    assert call(*(x.ctypes.data for x in (w, n, a, b))) == 0
    np.testing.assert_array_equal(a, w * 2)
    assert b == 3


@pytest.mark.parametrize(("function", "kind", "text", "form"), [
    (lambda x: x + ag.random.uniform(dtype="float64"), ag.TraceError, "in place", "pointers"),
    (lambda x: (x, 1), TypeError, "must return tensors", "pointers"),
    (lambda x: x, TypeError, "functions of one vector", "vector"),
    (lambda x: ag.stack([x, x]), TypeError, "functions of scalars", "values"),
    (lambda x: x, ValueError, "form must be", "other"),
])
def test_errors(function: Any, kind: Any, text: str, form: str) -> None:
    with pytest.raises(kind, match=text):
        ag.jit(function).c_function(1.0, form=form)


def test_checks_are_told() -> None:
    made = ag.jit(lambda x: ag.ensure(x, x > 0)).c_function(1.0, form="values")
    assert made.ctypes(2.0) == 2.0 and np.isnan(made.ctypes(-2.0))
