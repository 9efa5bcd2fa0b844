"""Sparse matrices against SciPy: all formats and dtypes, empty rows, repeated indices."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import agnesi as ag
from tests.ops.sparse.samples import dense, matrix

DTYPES = ("int32", "int64", "float32", "float64", "complex64", "complex128")


def messy(format):
    """One with unsorted and repeated indices."""
    kind = sp.csr_array if format == "csr" else sp.csc_array
    return kind((np.arange(1.0, 7.0), [3, 0, 3, 1, 1, 0], [0, 3, 3, 6]),
                shape=(3, 4) if format == "csr" else (4, 3))


def close(found, expect):
    if isinstance(found, ag.sparse.SparseTensor):
        found.sum_duplicates()
        assert found.format in ("csr", "csc")
        assert found.to_scipy().check_format() is None
        found = found.todense()
    if sp.issparse(expect):
        expect = expect.toarray()
    found = found.numpy() if isinstance(found, ag.Tensor) else found
    assert found.shape == expect.shape
    assert found.dtype == expect.dtype
    tolerance = 1e-4 if expect.dtype.name in ("float32", "complex64") else 1e-11
    np.testing.assert_allclose(found, expect, tolerance, tolerance)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_products_with_dense_operands(format, dtype, index):
    a = matrix(dtype=dtype, format=format, index=index)
    found = ag.sparse.from_scipy(a)
    assert found.indices.dtype == np.dtype(index)
    for x in (dense(5, dtype), dense((5, 1), dtype), dense((5, 3), dtype), dense((5, 0), dtype)):
        close(found @ ag.tensor(x), a @ x)
        close(found @ x, a @ x)
    for x in (dense(6, dtype), dense((1, 6), dtype), dense((3, 6), dtype)):
        close(ag.tensor(x) @ found, x @ a)
        close(x @ found, x @ a)


@pytest.mark.parametrize("first", ["csr", "csc"])
@pytest.mark.parametrize("second", ["csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_sparse_operands(first, second, dtype):
    a, b = matrix(dtype=dtype, format=first), matrix(dtype=dtype, format=second, seed=3)
    c = matrix((5, 4), dtype=dtype, format=second, seed=4)
    x, y, z = map(ag.sparse.from_scipy, (a, b, c))
    close(x + y, a + b)
    close(x - y, a - b)
    close(x * y, a.multiply(b))
    close(x @ z, a @ c)
    assert (x + y).format == (x * y).format == (x @ z).format == first


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_unsorted_and_repeated_indices(format):
    a = messy(format)
    x = ag.sparse.from_scipy(a)
    whole = a.toarray()
    close(x, whole)
    close(x.T, whole.T)
    close(x.tocsr(), whole)
    close(x.tocsc(), whole)
    close(x @ np.ones(a.shape[1]), whole.sum(1))
    close(np.ones(a.shape[0]) @ x, whole.sum(0))
    close(x + x, 2 * whole)
    close(x * x, whole * whole)
    close(x**2, whole**2)
    close(abs(-x), abs(whole))
    close(x.T @ x, whole.T @ whole)
    close(x @ x.T, whole @ whole.T)
    close(x.sum(0), whole.sum(0))
    close(x.diagonal(), whole.diagonal())
    close(ag.sparse.norm(x), np.asarray(np.linalg.norm(whole)))
    once = x.sum_duplicates()
    assert once.nnz < x.nnz
    assert once.to_scipy().has_canonical_format
    assert once.sum_duplicates() is once


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4), (1, 1)])
def test_without_entries(format, shape):
    a = sp.csr_array(shape).asformat(format)
    x = ag.sparse.from_scipy(a)
    n, m = shape
    for found, expect in ((x @ dense((m, 2)), np.zeros((n, 2))), (x @ dense(m), np.zeros(n)),
                          (dense((2, n)) @ x, np.zeros((2, m))), (x, a), (x + x, a), (x * x, a),
                          (x @ x.T, a @ a.T), (x.sum(0), np.zeros(m)), (x.sum(1), np.zeros(n)),
                          (x.T, a.T), (x.tocsc(), a), (x.tocsr(), a), (-x, a),
                          (x.diagonal(), np.zeros(min(shape)))):
        close(found, expect)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_elementwise_and_sums(format, dtype):
    a = matrix(dtype=dtype, format=format)
    x, whole = ag.sparse.from_scipy(a), a.toarray()
    close(x * 3, whole * 3)
    close(3 * x, whole * 3)
    close(-x, -whole)
    close(abs(x), abs(whole))
    close(x.conj(), whole.conj())
    close(x.T, whole.T)
    for shape in ((6, 5), (1, 5), (5,), (6, 1)):
        other = dense(shape, dtype)
        close(x * ag.tensor(other), whole * other)
        close(other * x, whole * other)
        close(x + ag.tensor(other), whole + other)
        close(ag.tensor(other) - x, other - whole)
        if dtype != "int64":
            close(x / ag.tensor(other), whole / other)
    close(x.sum(), np.asarray(whole.sum()))
    close(x.sum(0), whole.sum(0))
    close(x.sum(axis=1), whole.sum(1))
    if dtype != "int64":
        close(x.mean(1), whole.mean(1))
    close(x.diagonal(), whole.diagonal())
    s = dense(6, dtype)
    close(ag.sparse.row_scale(x, s), whole * s[:, None])
    close(ag.sparse.col_scale(x, s[:5]), whole * s[:5])
    close(x.astype("complex128"), whole.astype("complex128"))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("key", [
    2, -1, slice(1, 4), slice(None, None, 2), [3, 0, 3], (slice(None), 3), (slice(None), [4, 0, 0]),
    (slice(2, 5), slice(1, None)), ([5, 1], slice(3)), (3, 1), (0, -1), slice(4, 1),
    np.array([True, False, True, True, False, True]),
], ids=str)
def test_slices(format, key):
    a = matrix(format=format, density=0.7)
    found, expect = ag.sparse.from_scipy(a)[key], a.toarray()[key]
    close(found, np.asarray(expect))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
def test_solve(format, dtype):
    a = sp.csr_array(matrix((5, 5), dtype=dtype) + 30 * sp.eye_array(5, dtype=dtype))
    x = ag.sparse.from_scipy(a.asformat(format))
    whole = a.toarray().astype("float64" if dtype == "int32" else dtype)
    for b in (dense(5, dtype), dense((5, 2), dtype)):
        close(ag.sparse.spsolve(x, b), np.linalg.solve(whole, b.astype(whole.dtype)))


def test_constructors():
    whole = matrix().toarray()
    rows, cols = np.nonzero(whole)
    for make in (ag.sparse.csr, ag.sparse.csc):
        close(make(whole), whole)
        close(make(ag.tensor(whole)), whole)
        close(make((whole[rows, cols], (rows, cols)), whole.shape), whole)
        close(make((whole[rows, cols][::-1], (rows[::-1], cols[::-1])), shape=(6, 5)), whole)
        for format in ("csr", "csc", "coo", "lil", "dok", "bsr"):
            close(make(sp.csr_array(whole).asformat(format)), whole)
        close(make(make(whole), dtype="float32"), whole.astype("float32"))
    close(ag.sparse.coo(whole[rows, cols], (rows, cols), (6, 5)), whole)
    close(ag.sparse.eye(3, 2, dtype="int64"), np.eye(3, 2, dtype="int64"))
    close(ag.sparse.square_diagonal(ag.tensor([1.0, 2.0])), np.diag(np.float32([1, 2])))
    a = ag.sparse.CSC(*(p.numpy() for p in ag.sparse.csc(whole).parts), (6, 5))
    close(a, whole)


def test_theano_words():
    sparse = ag.sparse
    a = sparse.csr(matrix())
    data, indices, indptr, shape = sparse.csm_properties(a)
    close(sparse.CSR(data, indices, indptr, shape), matrix())
    assert sparse.csm_data(a) is data
    assert sparse.csm_indices(a) is indices
    assert sparse.csm_indptr(a) is indptr
    assert sparse.csm_shape(a) == shape == (6, 5)
    whole = a.todense()
    close(sparse.dense_from_sparse(sparse.csc_from_dense(whole)), matrix())
    close(sparse.csr_from_dense(whole), matrix())
    for name, expect in (("add", whole + whole), ("sub", whole - whole), ("mul", whole * whole)):
        close(getattr(sparse, name)(a, a), expect.numpy())
    close(sparse.mul(whole, a), (whole * whole).numpy())
    close(sparse.neg(a), -whole.numpy())
    close(sparse.transpose(a), whole.numpy().T)
    close(sparse.sp_sum(a, 0), whole.numpy().sum(0))
    close(sparse.diag(a), whole.numpy().diagonal())
    for dot in (sparse.dot, sparse.structured_dot, sparse.true_dot):
        close(dot(a, whole.T), whole.numpy() @ whole.numpy().T)
    x, y = dense((6, 3)), dense((5, 3))
    for pattern in (a, a.tocsc()):
        close(sparse.sampling_dot(x, y, pattern), whole.numpy() * (x @ y.T))
    assert sparse.remove0(a * 0).nnz == 0
    close(sparse.structured(ag.exp)(a), np.where(whole.numpy(), np.exp(whole.numpy()), 0))


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.matmul])
def test_dtypes_are_promoted(op):
    a, b = matrix((5, 5), dtype="float32"), matrix((5, 5), dtype="complex128", seed=2)
    close(op(ag.sparse.csr(a), ag.sparse.csr(b)), op(a.toarray().astype("complex128"), b.toarray()))
    close(op(ag.sparse.csr(a), ag.tensor(b.toarray())), op(a.toarray(), b.toarray()))


def test_norms():
    a = matrix()
    for order in (None, "fro", 1, np.inf):
        expect = np.asarray(scipy.sparse.linalg.norm(a, order or "fro"))
        close(ag.sparse.norm(ag.sparse.csr(a), order), expect)
    c = matrix(dtype="complex128")
    close(ag.sparse.norm(ag.sparse.csc(c)), np.asarray(scipy.sparse.linalg.norm(c)))


def test_indices_cannot_be_changed():
    indices = np.array([0, 1], np.int32)
    a = ag.sparse.CSR([1.0, 2.0], indices, [0, 1, 2], (2, 2))
    indices[:] = 5
    assert a.indices.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        a.indices[0] = 1
