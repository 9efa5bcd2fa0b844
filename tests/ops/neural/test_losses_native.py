"""Losses of labels as compiled code, once an eager program wants them often."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import eager


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 0)


def gradient(x: np.ndarray, labels: np.ndarray, **how: object) -> tuple[np.ndarray, np.ndarray]:
    scores = ag.tensor(x, requires_grad=True)
    loss = ag.cross_entropy(scores, ag.tensor(labels), **how)  # type: ignore[arg-type]
    loss.sum().backward()
    return loss.numpy(), scores.grad.numpy()


@pytest.mark.share(2)
@pytest.mark.parametrize("shape", [(1, 3), (7, 10), (2, 5, 3)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients_are_those_of_numpys_way(
        at_once: None, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], reduction: str,
        dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) * 30).astype(dtype)
    x.flat[0] = -np.inf
    labels = rng.integers(1, shape[-1], shape[:-1])
    found = gradient(x, labels, reduction=reduction, axis=-1)
    with ag.config(compile=False):
        wanted = gradient(x, labels, reduction=reduction, axis=-1)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6 if dtype == "float32" else 1e-14, atol=1e-7)


@pytest.mark.parametrize("label", [-2, 3])
def test_a_label_out_of_range_is_named(at_once: None, label: int) -> None:
    with pytest.raises(IndexError, match=f"label {label} is out of range for 3 classes"):
        gradient(np.ones((2, 3), "float32"), np.array([0, label]))
