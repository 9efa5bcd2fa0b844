"""Products and what follows them: fewer, larger, finished where they are stored."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Product
from agnesi.nn.functional import linear

RANDOM = np.random.default_rng(0)
X, W = RANDOM.normal(size=(2, 3, 4)), RANDOM.normal(size=(5, 4))
B, R = RANDOM.normal(size=5), RANDOM.normal(size=(2, 3, 5))


def kernels(f):
    return f.plan().layout.kernels


CASES = [
    (lambda x, w, b, r: ag.relu(linear(x, w, b)), 1),
    (lambda x, w, b, r: r + linear(x, w, b), 1),
    (lambda x, w, b, r: linear(x, w, b) * r[:, :, :1] + b, 2),
    (lambda x, w, b, r: (ag.tanh(r + linear(x, w, b) * 2) * r).sum(-1), 2),
    (lambda x, w, b, r: (r - linear(x, w, b)) * linear(x, w, b), None),
    (lambda x, w, b, r: ag.where(r > 0, linear(x, w, b), r * b), 2),
    (lambda x, w, b, r: linear(x, w, b) + r[:1], None),
    (lambda x, w, b, r: ag.softmax(linear(x, w, b)), 2),
    (lambda x, w, b, r: r - (x[0, :1] @ w[:1].T).reshape(()), None),
    (lambda x, w, b, r: r - ag.einsum("ab,ab->", w[:1, :0], w[:1, :0]), None),
]


@pytest.mark.native_plans
@pytest.mark.share(4)
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_products_of_rows_are_finished_where_they_are_stored(case):
    function, count = case
    arrays = [ag.tensor(a) for a in (X, W, B, R)]
    f = ag.jit(function)
    np.testing.assert_allclose(f(*arrays).numpy(), function(*arrays).numpy(), 1e-12, 1e-14)
    assert count is None or len(kernels(f)) == count
    slope = ag.grad(lambda *xs: (function(*xs) ** 2).sum(), argnums=(0, 1, 2, 3))
    for a, b in zip(slope(*arrays), ag.jit(slope)(*arrays), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-10, 1e-12)


@pytest.mark.native_plans
def test_a_product_that_is_used_transposed_is_made_so():
    f = ag.jit(lambda w, x, y: w - 0.1 * (x.mT @ y).mT)
    w, x, y = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(7, 4)), RANDOM.normal(size=(7, 5))
    np.testing.assert_allclose(f(w, x, y).numpy(), w - 0.1 * y.T @ x, 1e-12, 1e-14)
    assert [type(k) for k in kernels(f)] == [Product]
    both = ag.jit(lambda x, y: (x @ y.mT, (x @ y.mT).mT))
    a, b = both(x[:, :3], y[:, :3])
    np.testing.assert_array_equal(a.numpy(), b.numpy().T)
    assert sum(isinstance(k, Product) for k in kernels(both)) == 1


@pytest.mark.native_plans
def test_steps_that_add_up_are_one_product():
    x, y = RANDOM.normal(size=(6, 2, 3)), RANDOM.normal(size=(6, 2, 4))
    f = ag.jit(lambda x, y: ag.matmul(x.mT, y).sum(0))
    np.testing.assert_allclose(f(x, y).numpy(), np.einsum("tbi,tbj->ij", x, y), 1e-12, 1e-14)
    assert [k.sizes for k in kernels(f)] == [(1, 3, 4, 12)]


@pytest.mark.native_plans
def test_products_that_are_added_up_are_one():
    xs = [RANDOM.normal(size=(3, 40)) for _ in range(6)]
    ys = [RANDOM.normal(size=(3, 30)) for _ in range(6)]
    more = RANDOM.normal(size=(40, 30))

    def total(more, *rows):
        found = more
        for x, y in zip(rows[:6], rows[6:], strict=True):
            found = found + x.T @ y
        return found * 2 + more[0]  # broadcast: no tree of additions that holds those above

    f = ag.jit(total)
    expected = total(more, *xs, *ys)
    np.testing.assert_allclose(f(more, *xs, *ys).numpy(), expected, 1e-12, 1e-13)
    products = [k for k in kernels(f) if isinstance(k, Product)]
    assert [k.sizes for k in products] == [(1, 40, 30, 18)]
    # Where operands are larger than the result, they are not copied.
    wide = [RANDOM.normal(size=(50, 4)) for _ in range(4)]
    g = ag.jit(lambda a, b, c, d: a.T @ b + c.T @ d)
    np.testing.assert_allclose(
        g(*wide).numpy(), wide[0].T @ wide[1] + wide[2].T @ wide[3], 1e-12, 1e-13
    )
    assert sum(isinstance(k, Product) for k in kernels(g)) == 2


@pytest.mark.native_plans
def test_an_unrolled_recurrence_updates_its_weights_once():
    cell = ag.nn.LSTMCell(24, 24, dtype="float64")
    optimizer = ag.optim.SGD(cell.parameters(), lr=0.1)

    def loss(x):
        state = None
        for row in x:
            state = cell(row, state)
        return (state[0] ** 2).sum()

    @ag.jit
    def train(x):
        optimizer.zero_grad()
        value = loss(x)
        value.backward()
        optimizer.step()
        return value

    x = ag.tensor(RANDOM.normal(size=(7, 2, 24)))
    loss(x).backward()
    expected = [p.numpy() - 0.1 * p.grad.numpy() for p in cell.parameters()]
    train(x)
    for p, e in zip(cell.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.numpy(), e, 1e-10, 1e-12)
    depths = sorted(k.sizes[3] for k in kernels(train) if isinstance(k, Product))
    assert depths[:1] != [2] and depths.count(14) + depths.count(12) >= 2


@pytest.mark.parametrize("shape", [(9, 0, 0), (0, 9, 0), (2, 3, 0)])
def test_products_without_columns_are_reshaped_to_any_number_of_rows(shape):
    rows, c = ag.ones((7, 4)), ag.ones(shape)
    found = ag.jit(lambda a, b: ag.tanh((a @ b).reshape(shape)) * c)(rows, ag.ones((4, 0)))
    assert found.shape == shape


def test_a_product_that_becomes_one_number_stands_beside_values_of_any_axes():
    x, mask = ag.ones(1), ag.ones((2, 1, 1))
    found = ag.jit(lambda a, b: ag.where(b > 0, ag.einsum("b,b,b->", a, a, a), 0))(x, mask)
    np.testing.assert_array_equal(found, ag.ones((2, 1, 1)))
