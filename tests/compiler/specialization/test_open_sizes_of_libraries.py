"""Linear algebra, networks and signals in declared functions whose sizes are all open."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import agnesi as ag
from agnesi import symbolic as T

F, L = ag.nn.functional, ag.linalg
RNG = np.random.default_rng(7)


def given(*shape):
    return RNG.uniform(0.2, 1.0, shape) + np.eye(*shape[-2:]) if len(shape) > 1 else (
        RNG.uniform(0.2, 1.0, shape))


def opened(*arrays):
    return [T.tensor(a.dtype, (None,) * a.ndim) for a in arrays]


def cost(results):
    results = results if isinstance(results, tuple | list) else [results]
    return sum((ag.sin(y) * y).sum() for y in results if y.dtype.kind == "f")


def with_gradient(f, x):
    t = ag.tensor(x, requires_grad=True)
    cost(f(t)).backward()
    return t.grad.numpy()


def agrees(f, *cases):
    """Values and gradients by one function of open sizes are eager ones."""
    (x,) = opened(cases[0])
    y = f(x)
    first = y[0] if isinstance(y, tuple | list) else y
    made = ag.function([x], [first, T.grad(cost(y), x)])
    for case in cases:
        value, grad = made(case)
        expected = f(ag.tensor(case))
        expected = expected[0] if isinstance(expected, tuple | list) else expected
        assert_allclose(value, expected.numpy(), rtol=1e-7, atol=1e-9, strict=True)
        assert_allclose(grad, with_gradient(f, case), rtol=1e-6, atol=1e-7)


#: Whose rules compare sizes in Python.
ASKING = {
    "qr": (L.qr, ((4, 3), (3, 3), (2, 5))), "rq": (L.rq, ((3, 3), (4, 4))),
    "lu": (L.lu, ((4, 3), (3, 5))), "lu_factor": (lambda x: L.lu_factor(x)[0], ((4, 3), (3, 5))),
    "polar": (lambda x: L.polar(x)[0], ((5, 3), (3, 3), (2, 4))),
    "svd": (lambda x: L.svd(x)[1], ((4, 3), (3, 3))),
    "svd of full matrices": (lambda x: abs(L.svd(x)[0]), ((3, 3), (4, 4))),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ASKING)
def test_rules_that_compare_sizes_are_put_off(name):
    f, shapes = ASKING[name]
    agrees(f, *(given(*s) for s in shapes))


def test_tangents_of_rules_that_compare_sizes():
    x, v = T.matrix("x"), T.matrix("v")
    found = ag.function([x, v], T.Rop(L.qr(x)[1], x, v))
    for shape in ((4, 3), (2, 5)):
        a, b = given(*shape), given(*shape)
        _, expected = ag.jvp(lambda t: L.qr(t)[1], (ag.tensor(a),), (ag.tensor(b),))
        assert_allclose(found(a, b), expected.numpy(), rtol=1e-7, atol=1e-9)
    second = T.grad((T.grad((L.qr(x)[1] ** 2).sum(), x) ** 2).sum(), x)
    a = given(4, 3)
    assert_allclose(ag.function([x], second)(a), 8 * a, rtol=1e-6)


def test_rules_that_have_no_derivative_still_say_so():
    x = T.matrix("x")
    f = ag.function([x], T.grad(L.qr(x, "complete")[0].sum(), x))
    assert np.isfinite(f(given(3, 3))).all()
    with pytest.raises(ag.GradientError, match="mode='reduced'"):
        f(given(4, 3))
    with pytest.raises(ag.GradientError, match="no derivative"):
        T.grad(L.lu_factor(x)[1].sum() * 1.0 + ag.round(x).sum() + x.sum() * 0 + ag.special.yv(
            x, 1.0).sum(), x)


@pytest.mark.share(4)
@pytest.mark.parametrize("f", [
    lambda x: L.svd(x, full_matrices=False)[1], L.eigvalsh, lambda x: L.eigh(x)[0],
    lambda x: L.solve_banded((1, 1), ag.stack([s := x.sum(0), s + 9, s]), s),
    lambda x: L.lu_factor_ex(x).LU, lambda x: ag.histogram(x, 3)[1],
    lambda x: L.inv_ex(x)[0],
])
def test_of_no_elements(f):
    agrees(lambda x: f(x + ag.swapaxes(x, -1, -2)) if x.ndim > 1 else f(x),
           np.array([[4.0, 1.0, 0.0], [1.0, 7.0, 2.0], [0.0, 2.0, 11.0]]))
    x = T.matrix("x")
    assert ag.function([x], f(x))(np.zeros((0, 0))).size in (0, 4)


TREE = ag.nn.BinaryHierarchicalSoftmax(6, [0, [1, 2]], "none", dtype="float64")
GRU = ag.nn.GRU(3, 2, dtype="float64")
#: Functions, operands that fit and others that do not.
CHECKED = {
    "companion": (L.companion, [(3,)], [(1,)]),
    "convolution_matrix": (lambda x: L.convolution_matrix(x, 2), [(3,)], [(0,)]),
    "leslie": (L.leslie, [(3,), (2,)], [(3,), (1,)]),
    "orthogonal_procrustes": (lambda a, b: L.orthogonal_procrustes(a, b)[0], [(3, 2)] * 2,
                              [(3, 2), (3, 4)]),
    "pinvh": (L.pinvh, [(3, 3)], [(3, 1)]),
    "issymmetric": (L.issymmetric, [(3, 3)], [(1, 3)]),
    "cholesky_ex": (lambda a: L.cholesky_ex(a @ a)[1], [(3, 3)], None),
    "solve_ex": (lambda a, b: L.solve_ex(a, b)[0], [(3, 3), (3,)], [(1, 3), (3,)]),
    "csr": (lambda d: ag.sparse.CSR(d, [0, 1], [0, 1, 2], (2, 2)).to_dense(), [(2,)], [(3,)]),
    "row_scale": (lambda d: ag.sparse.row_scale(ag.sparse.eye(2), d).data, [(2,)], [(3,)]),
    "sparse product": (lambda d: ag.sparse.eye(4) @ d, [(4, 2)], [(1, 2)]),
    "sampling_dot": (lambda a, b: ag.sparse.sampling_dot(a, b, ag.sparse.eye(2)).data,
                     [(2, 3), (2, 3)], [(2, 3), (2, 1)]),
    "spsolve": (lambda b: ag.sparse.spsolve(ag.sparse.eye(2), b), [(2,)], [(3,)]),
    "affine_grid": (lambda t: F.affine_grid(t, (2, 1, 3, 4)), [(2, 2, 3)], [(2, 3, 3)]),
    "lstm": (lambda c, x: F.lstm(c, x)[0], [(2, 3), (2, 12)], [(2, 3), (2, 11)]),
    "split": (lambda x: ag.split_with_sizes(x, [1, 2])[1], [(3, 2)], [(4, 2)]),
    "polyfit": (lambda x, y: ag.polyfit(x, y, 2, w=np.arange(1.0, 6.0)), [(5,), (5,)],
                [(5,), (4,)]),
    "average": (lambda x: ag.average(x, 1, np.arange(1.0, 4.0)), [(2, 3)], [(2, 4)]),
    "gradient": (lambda x: ag.gradient(x, np.array([0.0, 1.0, 3.0])), [(3,)], [(4,)]),
    "coo": (lambda v: ag.sparse_coo_tensor([[0, 1], [2, 0]], v, (2, 3)).to_dense(), [(2,)],
            [(3,)]),
    "svd_lowrank": (lambda x: abs(ag.svd_lowrank(x, 2, niter=6)[1]), [(5, 2)], [(5, 1)]),
    "normal": (lambda m, s: ag.distributions.MultivariateNormal(m, s).log_prob(m + 1),
               [(3,), (3, 3)], [(2,), (3, 3)]),
    "hierarchy": (lambda x, t: TREE(x, (t * 2).astype("int64")), [(4, 6), (4,)],
                  [(4, 6), (3,)]),
    "parallel": (ag.nn.Parallel(1, 1, ag.nn.Tanh(), ag.nn.Sigmoid()), [(3, 2, 4)], [(3, 3, 4)]),
    "gru": (lambda x, h: GRU(x, h)[0], [(4, 2, 3), (1, 2, 2)], [(4, 2, 3), (1, 1, 2)]),
    "ctc": (lambda x, t: F.ctc_loss(F.log_softmax(x, -1), t.astype("int64") + 1, [4, 4, 4],
                                    [1, 1, 1]), [(4, 3, 3), (3, 1)], [(4, 3, 3), (1, 1)]),
    "pool": (lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=ag.full((1, 1, 2), 0.3)),
             [(1, 1, 7, 6)], [(1, 1, 7, 3)]),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CHECKED)
def test_sizes_that_must_fit_are_compared_in_the_call(name):
    f, good, bad = CHECKED[name]
    arrays = [given(*s) for s in good]
    inputs = opened(*arrays)
    made = ag.function(inputs, f(*inputs))
    if name == "normal":
        arrays[1] = arrays[1] @ arrays[1].T
    expected = f(*map(ag.tensor, arrays))
    assert_allclose(made(*arrays), expected.numpy(), rtol=1e-6, atol=1e-9, strict=True)
    if bad is not None:
        wrong = [np.ones(s) for s in bad]
        for call in (made, lambda *xs: f(*map(ag.tensor, xs))):
            with pytest.raises((ValueError, ag.ShapeError)):
                call(*wrong)


def test_ranks_are_found_by_the_sizes_of_the_run():
    """The least singular value that counts follows from them, also where they are not known."""
    x, b = T.matrix("x"), T.vector("b")
    outputs = [L.pinv(x), L.lstsq(x, b).x, L.matrix_rank(x), L.lstsq(x, b).rank]
    f, g = ag.function([x, b], outputs), ag.jit(lambda x, b: [L.pinv(x), L.lstsq(x, b).x])
    for m, n in ((5, 4), (9, 7), (30, 20), (3, 8)):
        a, v = given(m, 1) @ given(1, n), given(m)
        first, second, *ranks = f(a, v)
        found = [first, second, *(t.numpy() for t in g(ag.tensor(a), ag.tensor(v)))]
        expected = [L.pinv(ag.tensor(a)).numpy(), L.lstsq(ag.tensor(a), ag.tensor(v)).x.numpy()]
        for k, value in enumerate(found):
            assert_allclose(value, expected[k % 2], rtol=1e-9, atol=1e-12)
        assert ranks == [1, 1]


def test_frames_of_an_open_number_of_frequencies():
    frames = ag.stft(given(24), 8, return_complex=True).numpy()
    x = T.tensor("complex128", (None, None))
    f = ag.function([x], ag.istft(x, 8))
    assert_allclose(f(frames), ag.istft(frames, 8).numpy(), rtol=1e-7)
    with pytest.raises(ValueError, match="frequencies"):
        f(frames[:4])


def test_running_combinations_of_an_open_length():
    x, m = T.vector("x"), T.matrix("m")
    product = ag.associative_scan(ag.multiply, x)
    f = ag.function([x], [product, T.grad(product.sum(), x)])
    backwards = ag.function([m], ag.associative_scan(ag.maximum, m, reverse=True, axis=1))
    for n in (0, 1, 2, 5):
        a, b = given(n), given(2, n)
        values, grad = f(a)
        assert_allclose(values, np.cumprod(a))
        assert_allclose(grad, with_gradient_of_cumprod(a))
        assert_allclose(backwards(b), np.maximum.accumulate(b[:, ::-1], 1)[:, ::-1])


def with_gradient_of_cumprod(a):
    t = ag.tensor(a, requires_grad=True)
    ag.cumprod(t).sum().backward()
    return t.grad.numpy()


def test_bases_whose_size_is_the_rank():
    a = given(4, 3)
    a[:, 2] = a[:, 0] + a[:, 1]
    x = T.matrix("x")
    for f in (L.orth, L.null_space):
        for found in (ag.function([x], f(x))(a), ag.jit(f)(ag.tensor(a)).numpy()):
            assert_allclose(abs(found), abs(f(ag.tensor(a)).numpy()), atol=1e-9, strict=True)


@pytest.mark.parametrize("after", [
    lambda y: y.reshape(-1), lambda y: ag.ravel(y.T), lambda y: y[1:, None],
    lambda y: y.T.reshape(6),
])
def test_guesses_of_sizes_that_do_not_fit_together(after):
    """An open size that broadcasts to a fixed one was guessed to be another."""
    x, fixed = T.matrix("x"), ag.tensor(np.arange(6.0).reshape(3, 2))
    for before in (lambda v: v, lambda v: v[::-1]):
        y = after(ag.broadcast_arrays(before(x), fixed)[0])
        f = ag.function([x], y)
        for shape in ((3, 2), (1, 2), (1, 1)):
            a = given(*shape)
            expected = after(ag.broadcast_arrays(before(ag.tensor(a)), fixed)[0])
            assert_allclose(f(a), expected.numpy(), strict=True)


def test_sums_of_nothing_are_zero_whatever_they_are_divided_by():
    x, t = T.matrix("x"), T.lvector("t")
    loss = ag.nn.MultiMarginLoss(reduction="sum")
    f = ag.function([x, t], loss(x, t))
    assert f(np.zeros((0, 0)), np.zeros(0, np.int64)) == 0.0
    assert f(np.zeros((0, 3)), np.zeros(0, np.int64)) == 0.0
