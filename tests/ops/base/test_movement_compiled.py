"""Movement, indexing, changes in place and random numbers mean the same compiled."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

X = np.random.default_rng(0).normal(size=(6, 8)).astype("float32")
ROWS = [0, 5, -1]


def in_place(x):
    y = x * 1
    y[1:3] = 0
    v = y[:, 2]
    v += 5
    y[0, 0] = x[1, 1]
    y[ROWS] *= 2
    y[y > 4] = -1
    return y


def gradient(x):
    return ag.grad(lambda q: (ag.concat([q[ROWS], q[2:5] * q[0:3]]) ** 2).sum())(x)


def gradient_through_a_loop(x):
    def total(q):
        rows = ag.zeros((4, 8))
        for i in range(1, 4):
            rows[i] = rows[i - 1] * 0.5 + q[i]
        return (rows * rows).sum()

    return ag.grad(total)(x)


PROGRAMS = {
    "slice": lambda x: x[1:4, ::-2] * 2,
    "take": lambda x: x[ROWS] + 1,
    "both": lambda x: x[1:, [2, -1], None],
    "concat": lambda x: ag.concat([x, x * 2], 1) + 1,
    "pad": lambda x: ag.pad(x, 1) + 1,
    "pad reflect": lambda x: ag.pad(x, 2, "reflect"),
    "roll": lambda x: ag.roll(x, 3, 1) * x,
    "set": lambda x: ag.set_subtensor(x[1:3], 0.0) + x,
    "increase": lambda x: ag.index_put(x, [0, 0], 1.0, accumulate=True),
    "tril": ag.tril,
    "diagonal": lambda x: ag.diag(ag.diagonal(x, 1), -1),
    "reshape": lambda x: (x.reshape(8, 6).T + 1).reshape(-1),
    "counted": lambda x: x + ag.arange(8) + ag.linspace(0, 1, 8) + ag.eye(6, 8),
    "sort": lambda x: ag.sort(x, 1) * 2,
    "convolution": lambda x: ag.conv2d(x.reshape(1, 1, 6, 8), ag.ones((2, 1, 3, 3))),
    "pool": lambda x: ag.max_pool(x.reshape(1, 1, 6, 8), 2),
    "in place": in_place,
    "gradient": gradient,
    "gradient through a loop": gradient_through_a_loop,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_is_eager(name):
    f = PROGRAMS[name]
    expected = f(ag.tensor(X))
    result = ag.jit(f)(ag.tensor(X))
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


DRAWS = {
    "uniform": lambda: ag.random.uniform(size=(6, 7)),
    "double": lambda: ag.random.uniform(size=9, dtype="float64"),
    "integers": lambda: ag.random.randint(0, 10, 11),
    "mask": lambda: ag.random.dropout_mask((5, 3), 0.5),
    "permutation": lambda: ag.random.permutation(9),
    "normal": lambda: ag.random.normal(size=(5, 3)),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", DRAWS)
def test_compiled_draws_are_eager_draws_and_advance_the_stream(name):
    draw = DRAWS[name]
    ag.random.manual_seed(1)
    expected = [draw().numpy() for _ in range(3)]
    ag.random.manual_seed(1)
    compiled = ag.jit(draw)
    for value in (compiled(), draw(), compiled()):
        if name == "normal":
            np.testing.assert_allclose(value.numpy(), expected.pop(0), rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(value.numpy(), expected.pop(0))
