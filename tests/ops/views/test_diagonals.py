"""Diagonals are views that may be written to, as PyTorch's are; ``diag`` of a matrix is a copy."""

from typing import Any

import numpy as np
import pytest

import agnesi as ag


def changed(x: Any, v: Any) -> Any:
    y = x * 2
    y.diagonal(dim1=-2, dim2=-1).add_(v)
    y.diagonal(1, -2, -1).mul_(3)
    ag.diagonal(y, -1, -2, -1)[..., 0] = 9
    return y


def expected(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    y, n = x * 2, min(x.shape[-2:])
    y[..., range(n), range(n)] += v
    for i in range(min(x.shape[-2], x.shape[-1] - 1)):
        y[..., i, i + 1] *= 3
    y[..., 1, 0] = 9
    return y


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 2), (2, 2, 4)])
def test_writes_and_their_gradients_eagerly_compiled_and_in_batches(shape: Any) -> None:
    data, v = np.random.default_rng(0).standard_normal(shape), np.arange(1.0, 1 + min(shape[-2:]))
    found = []
    for way in (changed, ag.jit(changed)):
        x, w = ag.tensor(data, requires_grad=True), ag.tensor(v, requires_grad=True)
        y = way(x, w)
        np.testing.assert_allclose(y.detach().numpy(), expected(data, v))
        (y * y).sum().backward()
        found.append((x.grad.numpy(), w.grad.numpy()))
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(eager, compiled)
    x, w = ag.tensor(data, requires_grad=True), ag.tensor(v, requires_grad=True)
    assert ag.autograd.gradcheck(changed, (x, w), check_forward_ad=True)
    batch = np.stack([data, data + 1])
    for way in (lambda f: f, ag.jit):
        many = way(ag.vmap(lambda x: changed(x, ag.tensor(v))))(ag.tensor(batch))
        np.testing.assert_allclose(many.numpy(), [expected(x, v) for x in batch])


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_the_matrix_itself_is_changed_and_read_only_memory_is_not(way: Any) -> None:
    x = ag.ones(3, 3)
    way(lambda x: x.T.diagonal().fill_(5))(x)
    way(lambda x: ag.linalg.diagonal(x, offset=1).zero_())(x)
    assert x.tolist() == [[5, 0, 1], [1, 5, 0], [1, 1, 5]]
    way(lambda x: ag.diag(x).fill_(7))(x)
    assert x[0, 0] == 5 and not np.shares_memory(ag.diag(x).numpy(), x.numpy())
    with pytest.raises(ValueError, match="read-only memory"):
        way(lambda x: ag.broadcast_to(x, (2, 2)).diagonal().fill_(9))(ag.ones(2))
