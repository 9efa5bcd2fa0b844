"""Normalization: against formulas written out, by its gradients, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4, 3, 2))
W, B = RANDOM.normal(size=4), RANDOM.normal(size=4)


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def spread(v):
    return v[:, None, None]


def test_formulas():
    np.testing.assert_allclose(
        functional.batch_norm(X, None, None, W, B).numpy(),
        standard(X, (0, 2, 3)) * spread(W) + spread(B), atol=1e-12,
    )
    np.testing.assert_allclose(
        functional.instance_norm(X, W, B).numpy(),
        standard(X, (2, 3)) * spread(W) + spread(B), atol=1e-12,
    )
    grouped = standard(X.reshape(3, 2, 2, 3, 2), (2, 3, 4)).reshape(X.shape)
    np.testing.assert_allclose(
        functional.group_norm(X, 2, W, B).numpy(), grouped * spread(W) + spread(B), atol=1e-12
    )
    np.testing.assert_allclose(
        functional.layer_norm(X, (3, 2)).numpy(), standard(X, (2, 3)), atol=1e-12
    )
    np.testing.assert_allclose(functional.layer_norm(X, 2).numpy(), standard(X, (3,)), atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_local_response(size):
    expected = np.empty_like(X)
    for c in range(4):
        near = X[:, max(c - size // 2, 0): c + (size - 1) // 2 + 1]
        expected[:, c] = X[:, c] / (2 + 0.3 * (near**2).sum(1)) ** 0.75
    found = functional.local_response_norm(X, size, 0.3)
    np.testing.assert_allclose(found.numpy(), expected)
    check_op(lambda x: functional.local_response_norm(x, size, 0.3), [[X]])


def test_rules():
    check_op(lambda x, w, b: functional.batch_norm(x, None, None, w, b), [[X, W, B]])
    check_op(lambda x, w, b: functional.batch_norm(x, b, w * w, w, b), [[X, W, B]])
    check_op(lambda x, w, b: functional.instance_norm(x, w, b), [[X, W, B]], order=1)
    check_op(lambda x: functional.layer_norm(x, (3, 2)), [[X]])

    def grouped(x, w, b):
        return functional.group_norm(x, 2, w, b)

    ag.testing.check_grads(grouped, [X, W, B])
    np.testing.assert_allclose(
        ag.jit(grouped)(*map(ag.tensor, (X, W, B))).numpy(), grouped(X, W, B).numpy(), atol=1e-12
    )


def test_running_statistics_move_towards_the_batch_and_are_used_in_evaluation():
    for jitted in (False, True):
        norm = nn.BatchNorm2d(4, dtype="float64")
        call = ag.jit(norm) if jitted else norm
        for _ in range(2):
            call(ag.tensor(X))
        mean, var = X.mean((0, 2, 3)), X.var((0, 2, 3), ddof=1)
        np.testing.assert_allclose(norm.running_mean.numpy(), mean * 0.19)
        np.testing.assert_allclose(norm.running_var.numpy(), 0.81 + var * 0.19)
        norm.eval()
        scale = np.sqrt(norm.running_var.numpy() + 1e-5)
        expected = (X - spread(norm.running_mean.numpy())) / spread(scale)
        np.testing.assert_allclose(call(ag.tensor(X)).numpy(), expected)


def test_layers_and_errors():
    for layer in (nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LocalResponseNorm(),
                  nn.BatchNorm2d(4, affine=False)):
        assert layer(ag.tensor(X.astype("float32"))).shape == X.shape
        assert type(layer).__name__ in repr(layer)
    for call, words in (
        (lambda: functional.batch_norm(X, None, None, W[:3]), "one number per channel"),
        (lambda: functional.group_norm(X, 3), "3 groups"),
        (lambda: nn.GroupNorm(3, 4), "do not fall"),
        (lambda: functional.layer_norm(X, (3,)), "last axes"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
