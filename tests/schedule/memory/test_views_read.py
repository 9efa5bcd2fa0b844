"""Views of operands in compiled code: what can read strides reads them where they lie."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

N = 24
X = ag.asarray(np.random.default_rng(0).random((N, N)))
W = ag.asarray(np.random.default_rng(1).random((N, 3)))
PIXELS = ag.ones((1, 1, 3, 3), dtype="float64")


class Running(ag.Op):
    """Sums so far: an operation of a user's, in NumPy's words."""

    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        return np.cumsum(x, 0)


def _called(x):
    t = T.matrix("t")
    return ag.function([t], ag.exp(t).sum(0))(x)


READERS = {
    "elementwise": lambda v: ag.exp(v),
    "reduction": lambda v: (v * v).sum(1),
    "product": lambda v: v @ W,
    "product from the right": lambda v: W.T @ v.T,
    "vector": lambda v: v @ W[:, 0],
    "einsum": lambda v: ag.einsum("ij,jk->ki", v, W),
    "convolution": lambda v: ag.nn.functional.conv2d(v[None, None], PIXELS),
    "rows": lambda v: v[ag.tensor([0, 2])[0]],
    "norm": lambda v: ag.linalg.norm(v),
    "a compiled function": _called,
    "another jit": lambda v: ag.jit(lambda t: ag.exp(t).sum(0))(v) * 2,
    "an operation of a user's": Running(),
}


@pytest.mark.native_plans
@pytest.mark.parametrize(("reader", "optimizer"), [
    *((reader, "fast_run") for reader in READERS), ("product", "fast_compile"),
    ("product", "None"),
])
def test_no_copy_is_made_for_what_reads_strides(reader, optimizer):
    def run(x):
        return READERS[reader](x[::-1].T[::2])

    compiled = ag.jit(run, optimizer=optimizer)
    np.testing.assert_allclose(compiled(X), run(X), rtol=1e-12)
    plan = compiled.plan()
    assert plan.peak_bytes <= 8, plan  # the flag of a check


@pytest.mark.parametrize("view", [
    lambda x: x[::-1, ::-2], lambda x: ag.broadcast_to(x[:1], (4, N)), lambda x: x[:0],
    lambda x: ag.diagonal(x)[:, None], lambda x: x.T.reshape(-1, 1), lambda x: (x * 2)[1::2].T,
])
def test_an_operation_of_a_users_gets_any_view(view):
    compiled = ag.jit(lambda x: Running()(view(x)))
    for x in (X, X.T):
        np.testing.assert_array_equal(compiled(x), Running()(view(x)))
    w = ag.nn.Parameter(X.numpy().T)
    state = ag.jit(lambda: Running()(view(w)))
    np.testing.assert_array_equal(state().detach(), Running()(view(w)).detach())
