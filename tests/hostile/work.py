"""What processes compile while they are attacked, and the values that it must have."""

from __future__ import annotations

import numpy as np

import agnesi as ag

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def check(seed: int) -> int:
    """Compile functions with constants that follow from ``seed``, run them; how many there were."""
    c = 1.0 + seed / 1e7
    x = ag.tensor(X, requires_grad=True)
    total = ag.tensor(np.zeros(3))

    @ag.jit
    def step(x):
        x.grad = None
        loss = ((x * c).tanh() @ ag.ones((4, 2), dtype="float64")).sum()
        loss.backward()
        total.add_(c)
        return loss, x.grad

    for turn in (1, 2):
        loss, slope = step(x)
        np.testing.assert_allclose(loss.numpy(), 2 * np.tanh(X * c).sum(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(slope.numpy(), 2 * c / np.cosh(X * c) ** 2, rtol=1e-9)
        np.testing.assert_allclose(total.numpy(), np.full(3, c * turn))
    found = ag.jit(lambda x: ag.sort(x * -c, 1) + 1)(ag.tensor(X))
    np.testing.assert_allclose(found.numpy(), np.sort(X * -c, 1) + 1)
    return 2
