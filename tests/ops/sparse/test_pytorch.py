"""PyTorch's words for sparse tensors, by coordinates and by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

DENSE = np.array([[0, 2.0, 0], [-1, 0, 3]])
X = ag.tensor(np.arange(6.0).reshape(3, 2))
MAKE = {"coo": lambda d: d.to_sparse_coo(), "csr": lambda d: d.to_sparse_csr(),
        "csc": lambda d: d.to_sparse_csc()}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_what_is_asked_of_a_dense_tensor_is_asked_of_a_sparse_one(make: Any) -> None:
    a = make(ag.tensor(DENSE))
    assert (a.size(), a.size(0), a.dim(), a.numel(), a.device, a.is_sparse) == (
        (2, 3), 2, 2, 6, "cpu", True)
    assert a.cpu() is a.to("cpu") is a and a.to(X).dtype == a.double().dtype == "float64"
    assert a.float().dtype == a.to(ag.float32).dtype == a.to("cpu", dtype="float32").dtype
    assert a.to(copy=True) is not a and sorted(a.values().tolist()) == [-1, 2, 3]
    np.testing.assert_array_equal(a.abs().pow(2).sqrt().to_dense(), abs(DENSE))
    a.requires_grad_()
    (a @ X).sum().backward()
    assert a.values().grad.shape == (3,)
    with pytest.raises(ValueError, match="zeros would not stay"):
        a.pow(-1)
    with pytest.raises(ValueError, match="there is one device"):
        a.cuda()


@pytest.mark.share(4)
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_products_take_them_wherever_they_take_tensors(make: Any, run: Any) -> None:
    a = make(ag.tensor(DENSE))
    for f in (ag.mm, ag.matmul, ag.sparse.mm, ag.spmm):
        np.testing.assert_array_equal(run(f)(a, X), DENSE @ X.numpy())
        np.testing.assert_array_equal(run(f)(X, a), X.numpy() @ DENSE)
    np.testing.assert_array_equal(run(ag.mv)(a, X[:, 0]), DENSE @ X.numpy()[:, 0])
    for f in (ag.addmm, ag.sparse.addmm):
        found = run(lambda a, x, f=f: f(ag.ones(2), a, x, beta=2, alpha=3))(a, X)
        np.testing.assert_array_equal(found, 2 + 3 * DENSE @ X.numpy())
    assert float(run(ag.sparse.sum)(a)) == 4
    found = run(lambda a: ag.sparse.sum(a, dim=1))(a)
    np.testing.assert_array_equal(getattr(found, "to_dense", lambda: found)(), DENSE.sum(1))


@pytest.mark.share(4)
@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_softmax_takes_what_has_a_place(run: Any) -> None:
    rng = np.random.default_rng(0)
    places = np.array([[0, 1, 0, 1, 1], [0, 2, 0, 1, 2], [1, 0, 3, 2, 3]])
    for values, shape, dims in ((rng.normal(size=5), (2, 3, 4), (0, 1)),
                                (rng.normal(size=(5, 2)), (2, 3, 4, 2), (-2,))):
        for dim in dims:
            filled = np.full(shape, -np.inf)
            filled[tuple(places)] = values

            twice = np.concatenate([places, places[:, :2]], 1)  # each of the two counts a half
            factor = ag.ones((7, *(1,) * (len(shape) - 3)), dtype="float64")
            factor[[0, 1, 5, 6]] = 0.5

            def found(v: Any, f: Any, shape: Any = shape, dim: int = dim, p: Any = twice,
                      by: Any = factor) -> Any:
                v = ag.concat([v, v[:2]]) * by
                return f(ag.sparse_coo_tensor(p, v, shape), dim).to_dense()[tuple(places)]

            def wanted(v: Any, f: Any, filled: Any = filled, dim: int = dim) -> Any:
                whole = ag.index_put(ag.tensor(filled), tuple(ag.tensor(places)), v)
                return f(whole, dim=dim)[tuple(places)]

            weight = ag.arange(5.0, dtype="float64").reshape((-1,) + (1,) * (len(shape) - 3))
            for f, g in ((ag.sparse.softmax, ag.softmax), (ag.sparse.log_softmax, ag.log_softmax)):
                one, two = (run(ag.value_and_grad(lambda v, c=c, f=f, w=weight: (c(v, f) * w).sum()
                                                  ))(ag.tensor(values))
                            for c, f in ((found, f), (wanted, g)))
                np.testing.assert_allclose(one[0], two[0], 1e-12)
                np.testing.assert_allclose(one[1], two[1], atol=1e-12)
    with pytest.raises(IndexError, match="has no places"):
        ag.sparse.softmax(ag.ones((2, 3)).to_sparse(1), 1)


def test_constructors_by_dtype_and_by_rows() -> None:
    a = ag.sparse.FloatTensor(ag.tensor([[0, 1], [1, 0]]), ag.tensor([2, 3]), ag.Size([2, 3]))
    assert a.dtype == "float32" and a.to_dense().tolist() == [[0, 2, 0], [3, 0, 0]]
    rows = ag.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [2.0, -1, 3], requires_grad=True)
    np.testing.assert_array_equal(rows.to_dense().detach(), DENSE)
    assert rows.crow_indices().tolist() == [0, 1, 3] and rows.col_indices().tolist() == [1, 0, 2]
    columns = ag.sparse_csc_tensor([0, 1, 2, 3], [1, 0, 1], [-1.0, 2, 3], (2, 3), dtype="float64")
    np.testing.assert_array_equal(columns.to_dense(), DENSE)
    assert columns.ccol_indices().tolist() == [0, 1, 2, 3] and columns.row_indices()[1] == 0
    with pytest.raises(ag.ShapeError, match="indices must be vectors"):
        ag.sparse_csr_tensor([[0]], [1], [2.0])


def test_lists_give_way_to_the_dtype_of_sparse_tensors():
    dense = ag.tensor(np.eye(2) + 0.0123456789)
    listed = dense.numpy().tolist()
    for sparse in (dense.to_sparse(), dense.to_sparse_csr()):
        for call in (lambda x, s=sparse: s @ x, lambda x, s=sparse: ag.matmul(x, s),
                     lambda x, s=sparse: s * x, lambda x, s=sparse: ag.sparse.mm(s, x),
                     lambda x, s=sparse: ag.sparse.addmm(dense, s, x)):
            exact, found = call(dense), call(listed)
            if exact.is_sparse:
                exact, found = exact.to_dense(), found.to_dense()
            np.testing.assert_allclose(found.numpy(), exact.numpy(), 1e-14)


def test_compiled_functions_find_the_elements_that_are_not_zero():
    def function(x):
        parts = [x.to_sparse(d) for d in (None, 1, 2)] + [(x > 1).to_sparse()]
        return [p.to_dense() for p in parts], ag.grad(
            lambda x: (x.to_sparse_coo(1).to_dense() ** 2).sum())(x)

    run = ag.jit(function)
    for a in ([[[0.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], np.zeros((2, 2, 2)),
              np.ones((0, 2, 2)), np.arange(12.0).reshape(3, 2, 2)[::-1]):
        x = ag.tensor(np.asarray(a))
        for y, z in zip(ag.tree.leaves(run(x)), ag.tree.leaves(function(x)), strict=True):
            np.testing.assert_array_equal(y.numpy(), z.numpy())
            assert y.dtype == z.dtype
