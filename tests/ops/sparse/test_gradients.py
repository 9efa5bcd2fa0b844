"""Derivatives of sparse matrices, compiled, symbolic and batched."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from tests.ops.sparse.samples import dense, matrix

A = ag.sparse.csr(matrix(density=0.6))
B = ag.sparse.csr(matrix((5, 4), density=0.6, seed=5))
SQUARE = ag.sparse.csr(matrix((5, 5)) + 8 * np.eye(5))


def of(a, data):
    return a.with_data(data)


CASES = {
    "rows": (lambda d, x: of(A, d) @ x, A.data, dense((5, 3))),
    "vector": (lambda d, x: of(A, d) @ x, A.data, dense(5)),
    "columns": (lambda d, x: of(A, d).T @ x, A.data, dense((6, 3))),
    "csc": (lambda d, x: of(A.tocsc(), d) @ x, A.tocsc().data, dense((5, 2))),
    "left": (lambda d, x: x @ of(A, d), A.data, dense((2, 6))),
    "turned": (lambda d, x: of(A, d).tocsc() @ x, A.data, dense((5, 2))),
    "sampled": (lambda x, y: ag.sparse.sampling_dot(x, y, A).data, dense((6, 3)), dense((5, 3))),
    "sparse product": (lambda d, e: (of(A, d) @ of(B, e)).data, A.data, B.data),
    "sparse sum": (lambda d, e: (of(A, d) + of(A.tocsc(), e)).data, A.data, A.tocsc().data),
    "sparse times": (lambda d, e: (of(A, d) * of(A.tocsc(), e)).data, A.data, A.tocsc().data),
    "dense times": (lambda d, x: (of(A, d) * x).data, A.data, dense((6, 1))),
    "dense": (lambda d, x: of(A, d).todense() * x, A.data, dense((6, 5))),
    "sums": (lambda d, x: of(A, d).sum(0) * x, A.data, dense(5)),
    "diagonal": (lambda d, x: of(SQUARE, d).diagonal() * x, SQUARE.data, dense(5)),
    "slice": (lambda d, x: of(A, d)[1:5, [3, 0, 3]] @ x, A.data, dense((3, 2))),
    "solve": (lambda d, x: ag.sparse.spsolve(of(SQUARE, d), x), SQUARE.data, dense((5, 2))),
    "solve transposed": (lambda d, x: ag.sparse.spsolve(of(SQUARE, d).T, x), SQUARE.data, dense(5)),
    "norm": (lambda d, x: ag.sparse.norm(of(A, d)) * x, A.data, dense(2)),
    "powers": (lambda d, x: (of(A, d) ** 3).data * x[0], A.data, dense(2)),
    "scaled": (lambda d, s: ag.sparse.row_scale(of(A, d), s) @ ag.ones(5), A.data, dense(6)),
    "diagonal matrix": (lambda s, x: ag.sparse.square_diagonal(s) @ x, dense(6), dense((6, 2))),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CASES)
def test_rules(name):
    function, *operands = CASES[name]
    arrays = [o.numpy() if isinstance(o, ag.Tensor) else o for o in operands]
    with_order = 1 if name in ("sparse product",) else 2
    ag.testing.check_op(function, [arrays], order=with_order)


@pytest.mark.parametrize("name", CASES)
def test_batches(name):
    function, *operands = CASES[name]
    first, second = (np.asarray(o.numpy() if isinstance(o, ag.Tensor) else o) for o in operands)
    many = np.stack([second, 2 * second, second - 1])
    found = ag.vmap(function, in_axes=(None, 0))(ag.tensor(first), ag.tensor(many))
    expect = np.stack([function(ag.tensor(first), ag.tensor(x)).numpy() for x in many])
    np.testing.assert_allclose(found.numpy(), expect, 1e-9, 1e-9)


@pytest.mark.parametrize("name", ["rows", "vector", "columns", "csc", "left", "sampled"])
def test_batches_of_both(name):
    function, *operands = CASES[name]
    arrays = [np.asarray(o.numpy() if isinstance(o, ag.Tensor) else o) for o in operands]
    for axes in ((0, 0), (0, None)):
        given = [np.stack([a, 3 * a]) if x == 0 else a for a, x in zip(arrays, axes, strict=True)]
        found = ag.vmap(function, in_axes=axes)(*map(ag.tensor, given))
        expect = [
            function(*[ag.tensor(g[i] if x == 0 else g) for g, x in zip(given, axes, strict=True)])
            for i in range(2)
        ]
        np.testing.assert_allclose(found.numpy(), np.stack([e.numpy() for e in expect]), 1e-9)


@pytest.mark.parametrize("dtype", ["complex128", "float32", "int64"])
def test_compiled_products_of_other_dtypes(dtype):
    a, x = matrix(dtype=dtype), dense((5, 3), dtype)
    for made in (ag.sparse.csr(a), ag.sparse.csc(a)):
        found = ag.jit(lambda m, x: (m @ x, m.T @ (m @ x)))(made, ag.tensor(x))
        np.testing.assert_allclose(found[0].numpy(), a @ x, 1e-5, 1e-5)
        np.testing.assert_allclose(found[1].numpy(), a.T @ (a @ x), 1e-5, 1e-4)


def test_complex_gradients():
    a, x = matrix(dtype="complex128"), dense((5, 2), "complex128")
    made = ag.sparse.csr(a)
    ag.testing.check_grads(lambda d, x: of(made, d) @ x, [made.data.numpy(), x])
    y = dense((6, 2), "complex128")
    ag.testing.check_grads(lambda d, y: of(made, d).T @ y, [made.data.numpy(), y])


def test_an_argument_of_jit_and_its_gradient():
    @ag.jit
    def step(a, x):
        return ag.grad(lambda data: ((of(a, data) @ x) ** 2).sum())(a.data)

    for seed in range(4):  # as many entries as they like
        a, x = matrix(seed=seed), dense((5, 3))
        found = step(ag.sparse.csr(a), ag.tensor(x))
        rows, cols = a.nonzero()
        np.testing.assert_allclose(found.numpy(), (2 * (a @ x) @ x.T)[rows, cols])


def test_results_of_jit():
    double = ag.jit(lambda a: a.T + a.T)
    found = double(A)
    assert isinstance(found, ag.sparse.CSC)
    np.testing.assert_allclose(found.todense().numpy(), 2 * A.todense().numpy().T)
    for run in (ag.sparse.eye, ag.jit(ag.sparse.eye)):
        one = run(ag.tensor(3), 2)
        np.testing.assert_array_equal(one.todense(), np.eye(3, 2))
        assert one.indices.dtype == one.indptr.dtype == "int32"
    b = ag.sparse.csc(matrix((6, 5), seed=3))
    for function in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: (a - b).T):
        expect, found = function(A, b), ag.jit(function)(A, b)
        np.testing.assert_allclose(found.todense().numpy(), expect.todense().numpy())
        found = ag.jit(lambda: function(A, b))()  # noqa: B023
        np.testing.assert_allclose(found.todense().numpy(), expect.todense().numpy())


@pytest.mark.parametrize("make", [ag.sparse.csr_matrix, ag.sparse.csc_matrix])
def test_symbolic(make):
    a, x, y = make("A", "float64"), T.dmatrix("x"), T.dmatrix("y")
    cost = ((a @ x) ** 2).sum() + (y @ a).sum() + a.sum()
    f = ag.function([*a.inputs, x, y], [a @ x, y @ a, cost, *T.grad(cost, [a.data, x, y])])
    for seed in (0, 1):
        made = ag.sparse.csr(matrix(seed=seed)).asformat(a.format)
        b, c = dense((5, 3)), dense((2, 6))

        def eager(data, b, c, made=made):
            m = of(made, data)
            return ((m @ b) ** 2).sum() + (c @ m).sum() + m.sum()

        grads = ag.grad(eager, argnums=(0, 1, 2))(made.data, ag.tensor(b), ag.tensor(c))
        expect = [made @ b, c @ made, eager(made.data, b, c), *grads]
        for one, other in zip(f(*made.inputs, b, c), expect, strict=True):
            np.testing.assert_allclose(one, other.numpy(), 1e-10)


@pytest.mark.parametrize("make", [ag.sparse.csr_matrix, ag.sparse.csc_matrix])
def test_symbolic_with_two_sparse_operands(make):
    a, b = make("A", "float64"), ag.sparse.csr_matrix("B", "float64")
    product, total = a @ b, (b.T @ a.T).T
    cost = (product.data**2).sum() + ((b.T + b.T) @ b).sum() + (a * a.tocsc()).sum()
    wanted = [product.todense(), total.todense(), cost, *T.grad(cost, [a.data, b.data])]
    f = ag.function([*a.inputs, *b.inputs], wanted)
    for seed in (0, 1):
        one = ag.sparse.csr(matrix(seed=seed)).asformat(a.format)
        two = ag.sparse.csr(matrix((5, 4), seed=seed + 7))

        def eager(data, other, one=one, two=two):
            first, second = of(one, data), of(two, other)
            both = ((second.T + second.T) @ second).sum()
            return ((first @ second).data**2).sum() + both + (first * first.tocsc()).sum()

        expect = [(one @ two).todense(), (one @ two).todense(), eager(one.data, two.data),
                  *ag.grad(eager, argnums=(0, 1))(one.data, two.data)]
        found = f(*one.inputs, *two.inputs)
        for given, other in zip(found, expect, strict=True):
            np.testing.assert_allclose(given, other.numpy(), 1e-10)


def test_recorded():
    data = ag.tensor(A.data.numpy(), requires_grad=True)
    x = ag.tensor(dense((5, 2)), requires_grad=True)
    (of(A, data) @ x).sum().backward()
    expect = ag.grad(lambda d, x: (of(A, d) @ x).sum(), argnums=(0, 1))(data.detach(), x.detach())
    np.testing.assert_allclose(data.grad.numpy(), expect[0].numpy())
    np.testing.assert_allclose(x.grad.numpy(), expect[1].numpy())


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_kernels(dtype, index):
    """All widths of tiles, rows without entries, and matrices without any."""

    @ag.jit
    def three(a, x, y):
        return a @ x, a.T @ y, ag.sparse.sampling_dot(y, x, a).data

    rng = np.random.default_rng(0)
    for n, density in ((40, 0.4), (21, 0.3), (5, 0.0)):
        for columns in (1, 2, 8, 17, 130):
            a = matrix((n, n + 3), density, dtype, index=index, seed=columns)
            x, y = (rng.integers(-5, 6, (m, columns)).astype(dtype) for m in (n + 3, n))
            found = three(ag.sparse.csr(a), ag.tensor(x), ag.tensor(y))
            samples = (a.toarray() * (y @ x.T))[a.nonzero()]
            for one, other in zip(found, (a @ x, a.T @ y, samples), strict=True):
                np.testing.assert_allclose(one.numpy(), other, 1e-3, 1e-3)


def test_numbers_that_are_not_finite_stay_in_their_rows():
    a = ag.sparse.CSR([np.inf, 1.0, np.nan], [0, 1, 2], [0, 1, 2, 3, 3], (4, 3))
    for x in (ag.ones(3), ag.ones((3, 5))):
        found = ag.jit(lambda a, x: a @ x)(a, x).numpy().reshape(4, -1)
        assert found[0, 0] == np.inf
        assert found[1, 0] == 1
        assert np.isnan(found[2, 0])
        assert found[3, 0] == 0


def test_no_version_for_every_number_of_entries():
    product = ag.jit(lambda a, x: a @ x)
    rng = np.random.default_rng(0)
    for n in (100, 200, 300, 411, 500, 77):
        m = np.zeros(60 * 50)
        m[rng.permutation(3000)[:n]] = rng.standard_normal(n)
        m = m.reshape(60, 50)
        x = rng.standard_normal(50)
        np.testing.assert_allclose(product(ag.sparse.csr(m), ag.tensor(x)).numpy(), m @ x)
    assert len(product.specialisations) <= 2, product.explain()
