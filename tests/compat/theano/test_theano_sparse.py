"""Sparse matrices in Theano's words: inputs and outputs of functions, as SciPy's matrices."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano import sparse

scipy_sparse = pytest.importorskip("scipy.sparse")
RNG = np.random.default_rng(0)
A = scipy_sparse.random(5, 4, 0.5, "csr", random_state=0)
B = scipy_sparse.random(4, 3, 0.5, "csc", random_state=1)
W = RNG.standard_normal((4, 3))


def test_products_of_any_size_and_their_gradients():
    x, w = sparse.csr_matrix("x"), T.matrix("w")
    assert (x.type, x.format, x.ndim) == (sparse.SparseType("csr", "float64"), "csr", 2)
    product = sparse.structured_dot(x, w)
    slope, there = T.grad((product ** 2).sum(), [w, x])
    f = theano.function([x, w], [product, slope, there])
    for a in (A, A[:2]):
        found, to_w, to_x = f(x=a, w=W)
        np.testing.assert_allclose(found, a @ W)
        np.testing.assert_allclose(to_w, 2 * a.T @ (a @ W))
        np.testing.assert_allclose(to_x.toarray(), (2 * (a @ W) @ W.T) * (a.toarray() != 0))
    y = sparse.csc_dmatrix("y")
    np.testing.assert_allclose(theano.function([x, y], sparse.true_dot(x, y))(A, B).toarray(),
                               (A @ B).toarray())


def test_matrices_of_parts_as_in_the_tutorial():
    x = sparse.csc_matrix("x", dtype="int64")
    data, indices, indptr, shape = sparse.csm_properties(x)
    a = scipy_sparse.csc_matrix([[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    turned = sparse.CSR(data, indices, indptr, (shape[1], shape[0]))
    same = sparse.CSC(data, indices, indptr, shape)
    found = theano.function([x], {"turned": turned, "same": same, "rows": x.shape[0]})(a)
    assert found["turned"].format == "csr" and found["rows"] == 3
    np.testing.assert_array_equal(found["turned"].toarray(), a.toarray().T)
    np.testing.assert_array_equal(found["same"].toarray(), a.toarray())


def test_functions_of_sparse_matrices():
    x, s, d = sparse.csr_matrix("x"), T.vector("s"), T.matrix("d")
    scaled = theano.function([x, s], sparse.row_scale(x, s))(A, np.arange(5.0))
    np.testing.assert_allclose(scaled.toarray(), A.toarray() * np.arange(5.0)[:, None])
    sums, whole, ones, single = theano.function([x], [
        sparse.sp_sum(x, axis=0), sparse.dense_from_sparse(x.T * 2), sparse.sp_ones_like(x),
        sparse.cast(x, "float32")])(A)
    np.testing.assert_allclose(sums, A.toarray().sum(0))
    np.testing.assert_allclose(whole, 2 * A.toarray().T)
    np.testing.assert_array_equal(ones.toarray(), A.toarray() != 0)
    assert single.dtype == np.float32
    holes = np.where(W > 0, W, 0)
    for made in (sparse.csr_from_dense(d), sparse.clean(sparse.csr_from_dense(d * (d > 0.5)))):
        found = theano.function([d], made)(holes)
        assert found.nnz == np.count_nonzero(found.toarray())


def test_matrices_that_last_and_constants():
    held, w = theano.shared(A, "held"), T.matrix("w")
    f = theano.function([w], sparse.dot(held, w))
    np.testing.assert_allclose(f(W), A @ W)
    held.set_value(A * 0 + scipy_sparse.eye(5, 4, format="csr"))
    np.testing.assert_allclose(f(W), held.get_value() @ W)
    np.testing.assert_allclose(
        theano.function([w], sparse.dot(sparse.as_sparse_variable(A), w))(W), A @ W)


def test_errors():
    x, d = sparse.csr_matrix("x"), T.matrix("d")
    f = theano.function([x], sparse.sp_sum(x))
    with pytest.raises(TypeError, match=r"x is Sparse\(float64, csr\).*scipy.sparse.csr_matrix"):
        f(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="takes no complex128"):
        f(A.astype(complex))
    with pytest.raises(ValueError, match="input x: leave it out"):
        theano.function([x, d], d * 2)
    with pytest.raises(ValueError, match="held has shape"):
        theano.shared(A, "held").set_value(A[:2])


ENTRIES = {"sqrt": np.sqrt, "sqr": np.square, "log1p": np.log1p, "rad2deg": np.rad2deg,
           "structured_exp": np.exp, "structured_sigmoid": lambda d: 1 / (1 + np.exp(-d))}


def test_functions_of_entries_comparisons_and_joins():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((4, 3)) < 0.5, rng.random((4, 3)), 0)
    a, b = scipy_sparse.csr_matrix(dense), scipy_sparse.csc_matrix(dense[::-1])
    x, y, d, v = sparse.csr_matrix("x"), sparse.csc_matrix("y"), T.dmatrix("d"), T.dvector("v")
    f = theano.function([x], [getattr(sparse, name)(x) for name in ENTRIES])
    for found, function in zip(f(a), ENTRIES.values(), strict=True):
        wanted = a.copy()
        wanted.data = function(wanted.data)
        np.testing.assert_allclose(found.toarray(), wanted.toarray(), rtol=1e-12)
    ours = theano.function([x, y, d, v], [
        sparse.hstack([x, y]), sparse.vstack([x, y], format="csr"), sparse.structured_add_s_v(x, v),
        sparse.eq(x, d), sparse.lt(x, y), sparse.structured_pow(x, 2.0),
        sparse.usmm(0.5, x, d.T, d.dot(d.T)), x.sum(axis=1), x.dot(d.T)])(
            a, b, dense[::-1], np.arange(3.0))
    for found, wanted in zip(ours, [
            np.hstack([dense, dense[::-1]]), np.vstack([dense, dense[::-1]]),
            np.where(dense, dense + np.arange(3.0), 0), dense == dense[::-1], dense < dense[::-1],
            dense**2, 0.5 * dense @ dense[::-1].T + dense[::-1] @ dense[::-1].T, dense.sum(1),
            dense @ dense[::-1].T], strict=True):
        np.testing.assert_allclose(getattr(found, "toarray", lambda f=found: f)(), wanted)
    assert ours[3].dtype == ours[4].dtype == "uint8" and ours[1].format == "csr"


def test_structured_add_of_a_number_adds_to_the_entries_alone():
    dense = np.array([[0.0, 1.0], [2.0, 0.0]])
    x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
    f = theano.function([x, y], [sparse.structured_add(x, 2), sparse.structured_add(x, y)])
    number, both = f(scipy_sparse.csr_matrix(dense), scipy_sparse.csr_matrix(dense.T))
    np.testing.assert_array_equal(number.toarray(), [[0, 3], [4, 0]])
    np.testing.assert_array_equal(both.toarray(), dense + dense.T)
    assert set(sparse.all_dtypes) >= {"int8", "float64", "complex128"}


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_blocks_rows_and_elements_of_sparse_variables(kind):
    dense = np.arange(12.0).reshape(4, 3) * (np.arange(12).reshape(4, 3) % 2)
    a, i = getattr(sparse, f"{kind}_matrix")("a"), T.lscalar("i")
    blocks = [a[1:3, 0:2], a[i:], a[:, 1:2], a[[2, 0]], a[::2, ::-1]]
    found = theano.function([a, i], [*blocks, a[i, 1], a[[0, 3], [1, 2]]])(
        getattr(scipy_sparse, f"{kind}_matrix")(dense), 2)
    expected = [dense[1:3, 0:2], dense[2:], dense[:, 1:2], dense[[2, 0]], dense[::2, ::-1]]
    for got, want in zip(found[:5], expected, strict=True):
        assert got.format == kind and got.nnz == np.count_nonzero(want)
        np.testing.assert_array_equal(got.toarray(), want)
    assert found[5] == dense[2, 1] and found[6].tolist() == [1, 11]
    with pytest.raises(NotImplementedError, match="there is no sparse vector"):
        a[1]
