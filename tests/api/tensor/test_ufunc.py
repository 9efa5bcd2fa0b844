"""NumPy's universal functions and operators meet tensors."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import GradientError


def test_universal_functions_give_tensors() -> None:
    x = ag.tensor([0.0, 1.0], requires_grad=True)
    for f, g in ((np.sin, ag.sin), (np.arctan, ag.atan), (np.exp, ag.exp)):
        y = f(x)
        assert isinstance(y, ag.Tensor) and y.requires_grad
        np.testing.assert_array_equal(y.numpy(), g(x).numpy())
    assert ag.grad(lambda v: np.tanh(v).sum())(ag.tensor([0.0])).numpy() == [1.0]


def test_arrays_beside_tensors() -> None:
    a, t = np.arange(3.0), ag.tensor([1.0, 2.0, 3.0], dtype="float64")
    for made in (a + t, a * t, a / t, a - t, a < t, a**t, np.eye(3) @ t):
        assert isinstance(made, ag.Tensor)
    np.testing.assert_array_equal((a - t).numpy(), a - t.numpy())
    a += t
    assert isinstance(a, np.ndarray) and a.tolist() == [1.0, 3.0, 5.0]


def test_other_functions_run_on_the_values() -> None:
    assert np.add.reduce(ag.ones(3)) == 3.0
    own = np.frompyfunc(lambda x: x + 1, 1, 1)
    assert own(ag.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(GradientError, match=r"would lose the gradient of float32\[2\]"):
        own(ag.ones(2, requires_grad=True))
    assert isinstance(np.spacing(ag.ones(2)), ag.Tensor)


def test_under_jit() -> None:
    x = ag.tensor([0.5, 1.0])
    np.testing.assert_allclose(ag.jit(lambda v: np.exp(v) * 2)(x).numpy(), 2 * np.exp(x.numpy()))


def test_the_sum_of_nothing_is_plain_zero() -> None:
    total = ag.jit(lambda x: x.sum())(ag.ones((0, 3)))
    assert total.numpy() == 0 and not np.signbit(total.numpy())
