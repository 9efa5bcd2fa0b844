"""Sparse tensors by coordinates: places, values, products, gradients."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag

PLACES = np.array([[0, 2, 0, 1], [1, 0, 1, 2]])
VALUES = np.array([1.0, 2.0, 3.0, 4.0])
DENSE = np.array([[0, 4.0, 0], [0, 0, 4], [2, 0, 0]])


def sparse(values: Any = VALUES, places: Any = PLACES, size: Any = (3, 3)) -> Any:
    return ag.sparse_coo_tensor(places, values, size)


def test_conversions() -> None:
    a = sparse()
    assert (a.shape, a.nnz, a.dtype, a.ndim, a.sparse_dim(), a.dense_dim()) == (
        (3, 3), 4, np.float64, 2, 2, 0)
    np.testing.assert_array_equal(a.to_dense().numpy(), DENSE)
    whole = a.coalesce()
    assert whole.is_coalesced() and whole.coalesce() is whole
    assert whole.indices().tolist() == [[0, 1, 2], [1, 2, 0]]
    assert whole.values().tolist() == [4, 4, 2]
    assert a.totals().tolist() == [4, 2, 4, 4]
    back = ag.tensor(DENSE).to_sparse()
    assert back.indices().tolist() == whole.indices().tolist()
    assert ag.sparse_coo_tensor(PLACES, VALUES).shape == (3, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).to_dense().numpy(), DENSE)
    rows = ag.tensor(DENSE).to_sparse(1)
    assert rows.sparse_dim() == rows.dense_dim() == 1 and rows.nnz == 3
    np.testing.assert_array_equal(rows.to_dense().numpy(), DENSE)
    np.testing.assert_array_equal(a.T.to_dense().numpy(), DENSE.T)


@pytest.mark.share(4)
@pytest.mark.parametrize("f", [
    lambda a: a @ ag.arange(3.0, dtype="float64"), lambda a: a @ ag.tensor(DENSE) + 1,
    lambda a: ag.tensor(DENSE) @ a, lambda a: (a * 2 - a / 4).to_dense(), lambda a: a + DENSE,
    lambda a: ag.tensor(DENSE) - a, lambda a: (a * ag.tensor(DENSE)).to_dense(), lambda a: a.sum(),
    lambda a: a.sum(0).to_dense(), lambda a: (a + a.t()).coalesce().to_dense(),
    lambda a: ag.sparse.mm(a.coalesce(), ag.tensor(DENSE)), lambda a: (-a).astype("float32").sum(1)
    .to_dense(),
])
def test_functions_are_those_of_dense_matrices(f: Any) -> None:
    """Values and gradients, eagerly and compiled; what is done to the dense matrix is the same."""

    class Whole:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __getattr__(self, name: str) -> Any:
            found = getattr(self.x, name)
            return (lambda *a: Whole(found(*a))) if callable(found) else found

    values = ag.tensor(VALUES)

    def loss(values: ag.Tensor) -> ag.Tensor:
        y = f(sparse(values))
        return (y * ag.cos(y + ag.arange(float(y.size)).reshape(y.shape))).sum()

    eager = loss(values)
    assert ag.jit(loss)(values).item() == pytest.approx(eager.item(), rel=1e-6)
    slope = ag.grad(loss)(values).numpy()
    np.testing.assert_allclose(ag.jit(ag.grad(loss))(values).numpy(), slope, rtol=1e-5)
    step = 1e-4 if "astype" not in f.__code__.co_names else 1e-2
    for k in range(4):
        moved = [loss(ag.tensor(VALUES + s * step * np.eye(4)[k])).item() for s in (1, -1)]
        assert slope[k] == pytest.approx((moved[0] - moved[1]) / 2 / step, rel=1e-3, abs=1e-3)


def test_values_are_those_of_dense_matrices() -> None:
    a, x = sparse(), np.arange(6.0).reshape(3, 2)
    for found, wanted in (
        (a @ x, DENSE @ x), (a @ x[:, 0], DENSE @ x[:, 0]), (x.T @ a, x.T @ DENSE),
        ((a * 2 - a / 4).to_dense(), DENSE * 1.75), (a + DENSE, DENSE * 2), (DENSE - a, 0 * DENSE),
        ((a * DENSE).to_dense(), DENSE**2), (a.sum(), DENSE.sum()), (a.sum(np.int64(-1)).to_dense(),
                                                                     DENSE.sum(1)),
        ((a - a.t()).to_dense(), DENSE - DENSE.T), (ag.tensor(DENSE) + a, 2 * DENSE),
    ):
        np.testing.assert_allclose(np.asarray(found), wanted)


def test_jit_takes_and_gives_them() -> None:
    @ag.jit
    def f(a: Any) -> Any:
        return (a * 3).coalesce()

    found = f(sparse())
    np.testing.assert_allclose(found.to_dense().numpy(), 3 * DENSE)
    leaf = ag.sparse_coo_tensor(PLACES, VALUES, requires_grad=True)
    (leaf @ ag.ones(3, dtype="float64")).sum().backward()
    assert leaf.requires_grad and leaf.grad.values().tolist() == [1, 1, 1, 1]
    assert leaf.detach().grad is None


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: sparse(size=(3, 2)), IndexError, "indices run from 0 to 2 on an axis of size 2"),
    (lambda: sparse(VALUES[:3]), ag.ShapeError, r"indices must be \(axes, values\)"),
    (lambda: sparse(places=PLACES * 1.0), TypeError, "must be integers"),
    (lambda: sparse(size=(3,)), ag.ShapeError, "do not make a tensor of shape"),
    (lambda: sparse() @ np.ones(4), ag.ShapeError, "inner sizes differ: 3 .* and 4"),
    (lambda: sparse() * np.ones(3), ag.ShapeError, "shapes must be equal"),
    (lambda: sparse() + sparse(size=(4, 4)), ag.ShapeError, "add: sparse tensors of shapes"),
    (lambda: sparse().sum(2), IndexError, "axis 2"),
    (lambda: sparse().sum((0, -3)), IndexError, "axis -3"),
    (lambda: sparse().sum((0, 0)), ValueError, "(twice|more than once)"),
    (lambda: sparse().transpose(0, 3), IndexError, "axes 0 and 3"),
    (lambda: bool(sparse()), TypeError, "neither true nor false"),
    (lambda: ag.ones(3).to_sparse(2), ValueError, "sparse_dim must be between 1 and 1"),
])
def test_what_does_not_fit_is_told(make: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_what_a_trace_finds_out_about_a_tensor_outside_serves_eager_products_too() -> None:
    a = sparse()
    for run in (ag.jit(lambda x: a @ x), lambda x: a @ x):
        np.testing.assert_array_equal(run(ag.ones(3)), DENSE.sum(1))


BOTH = [ag.tensor(m) for m in (DENSE, np.array([[0, 1.0, 0], [2, 0, 3], [0, 4, 0]]))]
CUBE = ag.tensor(np.array([DENSE, np.zeros((3, 3)), DENSE.T * 2]))


@pytest.mark.parametrize(("f", "dense"), [
    (lambda a, b: a @ b, lambda a, b: a @ b), (lambda a, b: ag.mm(a, b), lambda a, b: a @ b),
    (lambda a, b: a * b, lambda a, b: a * b), (lambda a, b: (a + b) * b, lambda a, b: (a + b) * b),
    (lambda a, b: ag.cat([a, b]), lambda a, b: ag.cat([a, b])),
    (lambda a, b: ag.cat([a, b, a], dim=-1), lambda a, b: ag.cat([a, b, a], dim=1)),
    (lambda a, b: (a - b).sum((0, 1)), lambda a, b: (a - b).sum()),
    (lambda a, b: a.tanh().mul(2) + b.expm1().neg(), lambda a, b: a.tanh() * 2 - b.expm1()),
    (lambda a, b: a.norm() * b.norm(), lambda a, b: (a**2).sum().sqrt() * (b**2).sum().sqrt()),
])
def test_what_two_sparse_tensors_make(f: Any, dense: Any) -> None:
    """Values and gradients are those of dense tensors; those of places without a value are left."""

    def loss(whole: Any, function: Any, a: Any, b: Any) -> Any:
        found = function(a, b)
        return (whole(found) ** 2).sum()

    def of_sparse(x: Any, y: Any) -> Any:
        a, b = (m.to_sparse().with_values(v) for m, v in zip(BOTH, (x, y), strict=True))
        return loss(lambda r: r.to_dense() if hasattr(r, "to_dense") and r.is_sparse else r,
                    f, a, b)

    values = [m.to_sparse().values() for m in BOTH]
    found, grads = ag.value_and_grad(of_sparse, (0, 1))(*values)
    wanted, others = ag.value_and_grad(lambda a, b: loss(lambda r: r, dense, a, b), (0, 1))(*BOTH)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for m, g, other in zip(BOTH, grads, others, strict=True):
        np.testing.assert_allclose(g, other[m.numpy().nonzero()], rtol=1e-6, atol=1e-12)


def test_batches_and_orders_of_axes() -> None:
    x = ag.tensor(np.arange(18.0).reshape(3, 3, 2))
    a = CUBE.to_sparse()
    for product in (ag.bmm, lambda p, q: p @ q, ag.jit(lambda p, q: p.bmm(q))):
        np.testing.assert_allclose(product(a, x), ag.bmm(CUBE, x))
    turned = a.permute(2, 0, 1).to_dense()
    np.testing.assert_allclose(turned, CUBE.permute(2, 0, 1))
    np.testing.assert_allclose(ag.sparse.sum(a, (0, 2)).to_dense(), CUBE.sum((0, 2)))
    joined = ag.jit(lambda p, q: ag.cat([p, q], dim=1).to_dense())(a, a)
    np.testing.assert_allclose(joined, ag.cat([CUBE, CUBE], dim=1))


def test_errors_of_two_sparse_tensors() -> None:
    a, b, wide = BOTH[0].to_sparse(), BOTH[1].to_sparse(), ag.ones((2, 3)).to_sparse()
    for wrong, told in (
        (lambda: a @ wide, r"inner sizes differ: 3 .* and 2"),
        (lambda: a * wide, r"multiply: sparse tensors of shapes \(3, 3\) and \(2, 3\)"),
        (lambda: ag.cat([a, wide], dim=1), r"cat: shapes differ"),
        (lambda: ag.bmm(CUBE.to_sparse(), ag.ones((2, 3, 1))), "batches or inner sizes differ"),
    ):
        with pytest.raises(ag.ShapeError, match=told):
            wrong()
    with pytest.raises(TypeError, match="cat takes sparse tensors or dense ones"):
        ag.cat([a, BOTH[1]])
    with pytest.raises(ag.TraceError, match=r"as many values as their places say.*b.to_dense"):
        ag.jit(lambda p, q: p @ q)(a, b)
