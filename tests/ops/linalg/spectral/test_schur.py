"""Derivatives of Schur's form: beside differences, of both orders, and where there are none."""

import numpy as np
import pytest

import agnesi as ag

L = ag.linalg
RNG = np.random.default_rng(3)
U, V = RNG.normal(size=(2, 4, 4))
REAL = RNG.normal(size=(4, 4))
MATRICES = {
    "pairs": REAL, "real eigenvalues": np.diag(np.arange(1.0, 5.0)) + 0.2 * REAL,
    "complex": REAL + 1j * V, "two": np.array([[1.0, 2.0], [-3.0, 0.5]]), "one": REAL[:1, :1],
}


def loss(output):
    """What depends neither on phases nor on how LAPACK turns a block, which may jump."""
    def f(x):
        t, z = L.schur(x, output)
        n = t.shape[-1]
        own = ag.real(t) * np.eye(n) * U[:n, :n]
        if t.dtype.kind == "c":
            return (ag.abs(t) ** 2 * V[:n, :n]).sum() + (ag.abs(z) ** 2 * U[:n, :n] + own).sum()
        first, beside = z[:, :2] @ z[:, :2].T, t[:2, 2:] ** 2
        cross = (t[:1, 1:2] + t[1:2, :1]) ** 2
        return (first * V[:n, :n] + own).sum() + beside.sum() + cross.sum()
    return f


def slope(f, a, d, h=1e-6):
    return (float(f(ag.tensor(a + h * d))) - float(f(ag.tensor(a - h * d)))) / (2 * h)


@pytest.mark.share(4)
@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("name", MATRICES)
def test_derivatives_beside_differences(name, output):
    a, f = MATRICES[name], loss(output)
    d = RNG.normal(size=a.shape) * (1 + 1j if a.dtype.kind == "c" else 1)
    grad = ag.grad(f)
    second = lambda x: (ag.abs(grad(x)) ** 2).sum()  # noqa: E731
    for g, run in ((f, lambda h: h), (f, ag.jit), (second, lambda h: h)):
        found = run(ag.grad(g))(ag.tensor(a)).numpy()
        np.testing.assert_allclose((found.conj() * d).sum().real, slope(g, a, d), 1e-5, 1e-6)
    pushed = ag.jvp(f, (ag.tensor(a),), (ag.tensor(d),))[1]
    np.testing.assert_allclose(float(pushed), slope(f, a, d), 1e-5, 1e-6)


def test_blocks_keep_equal_diagonals():
    seen = 0
    for _ in range(20):
        a, d = RNG.normal(size=(2, 4, 4))
        forms = [[x.numpy() for x in L.schur(ag.tensor(a + 1e-6 * k * d))] for k in (-1, 0, 1)]
        before, here, after = [np.concatenate(f) for f in forms]
        if max(abs(x - here).max() for x in (after, before)) < 1e-3:  # no block was turned
            pushed = ag.jvp(lambda x: ag.concat(list(L.schur(x))), (ag.tensor(a),), (ag.tensor(d),))
            np.testing.assert_allclose(pushed[1].numpy(), (after - before) / 2e-6, 1e-4, 1e-5)
            seen += np.diagonal(here[:4], -1).any()
    assert seen > 2


def test_stacks_may_have_other_blocks_in_each_matrix():
    stack = np.array([MATRICES["pairs"], MATRICES["real eigenvalues"]])
    f = ag.grad(loss("real"))
    found = ag.vmap(f)(ag.tensor(stack)).numpy()
    np.testing.assert_allclose(found, [f(ag.tensor(a)).numpy() for a in stack], 1e-9)


@pytest.mark.parametrize("a, why", [
    (np.eye(3), "only where all eigenvalues differ"),
    (np.array([[1.0, 1.0], [0.0, 1.0]]), "only where all eigenvalues differ"),
    (np.array([[0.0, -1.0], [1.0, 0.0]]), "a multiple of a rotation"),
])
def test_there_are_none_where_the_basis_is_free(a, why):
    for run in (lambda h: h, ag.jit):
        with pytest.raises(np.linalg.LinAlgError, match=why):
            run(ag.grad(lambda x: L.schur(x).Z.sum()))(ag.tensor(a))
