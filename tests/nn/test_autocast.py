"""``amp.autocast``: which functions compute in fewer bits, eagerly and compiled, as PyTorch's."""

from contextlib import nullcontext

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F

X = ag.tensor(np.linspace(-1, 1, 16, dtype="f4").reshape(4, 4))
IMAGES = ag.tensor(np.linspace(-1, 1, 96, dtype="f4").reshape(1, 2, 6, 8))
LABELS = ag.tensor([0, 1, 2, 3])
Y, LAYER = X.bfloat16(), nn.Linear(4, 3)
ONE = ag.ones(4)

#: What PyTorch 2 computes in on processors: "bfloat16", "float32", or as operands are, here Y.
LOWER = {
    "@": lambda: X @ X, "linear": lambda: LAYER(X), "einsum": lambda: ag.einsum("ij,jk", X, X),
    "conv": lambda: F.conv2d(IMAGES, IMAGES[:, :, :2, :2]), "bmm": lambda: X[None].bmm(X[None]),
    "attention": lambda: F.scaled_dot_product_attention(X[None], X[None], X[None]),
    "addmm": lambda: ag.addmm(X, X, X), "baddbmm": lambda: ag.baddbmm(X[None], X[None], X[None]),
    "transposed": lambda: nn.ConvTranspose2d(2, 3, 3)(IMAGES), "prelu": lambda: F.prelu(X, ONE[:1]),
    "exp": lambda: ag.exp(Y), "sum": lambda: Y.sum(), "softmax": lambda: F.softmax(Y, dim=-1),
    "norm": lambda: F.layer_norm(Y, (4,), ONE, ONE), "batch_norm": lambda: nn.BatchNorm1d(4)(Y),
    "pool": lambda: F.avg_pool2d(IMAGES.bfloat16(), 2), "gelu": lambda: F.gelu(Y),
}
FLOAT32 = {
    "mse": lambda: F.mse_loss(Y, Y), "entropy": lambda: F.cross_entropy(Y, LABELS),
    "prod": lambda: Y.prod(), "cdist": lambda: ag.cdist(Y, Y), "inv": lambda: ag.linalg.inv(
        Y @ Y.T + 4 * ag.eye(4).bfloat16()), "fft": lambda: ag.fft.rfft(Y).real,
    "mv": lambda: ag.mv(X, X[0]), "dot": lambda: ag.dot(X[0], X[0]), "add": lambda: LAYER(X) + 1.0,
    "outer": lambda: ag.einsum("i,j->ij", X[0], X[0]), "cat": lambda: ag.cat([X, Y]),
    "pool": lambda: F.max_pool3d(IMAGES[None].bfloat16(), 2), "ctc": lambda: F.ctc_loss(
        F.log_softmax(Y[:, None], -1), ag.tensor([[1, 2]]), ag.tensor([4]), ag.tensor([2])),
    "pad": lambda: F.pad(Y[None], (1, 1), mode="reflect"), "lstm": lambda: nn.LSTM(4, 3)(Y)[0],
    "double": lambda: X.double() @ X.double(),
}


def _dtypes(cases):
    return {name: str(case().dtype) for name, case in cases.items()}


def test_functions_of_the_lists():
    with ag.autocast("cpu"):  # bfloat16 by default
        lower, float32 = _dtypes(LOWER), _dtypes(FLOAT32)
        with ag.autocast("cpu", enabled=False):
            assert (X @ X).dtype == ag.float32
            assert not ag.is_autocast_enabled("cpu")
        assert ag.is_autocast_enabled("cpu")
        with ag.autocast("cuda", dtype=ag.float16):  # of another device
            assert (X @ X).dtype == ag.bfloat16
    assert lower == dict.fromkeys(LOWER, "bfloat16")
    others = {"add": "bfloat16", "double": "float64"}
    assert float32 == {**dict.fromkeys(FLOAT32, "float32"), **others}
    assert (X @ X).dtype == ag.float32
    with pytest.warns(UserWarning, match="must be bfloat16 or float16, not float32"):
        block = ag.autocast("cpu", dtype=ag.float32)
    with block:
        assert (X @ X).dtype == ag.float32


def _steps(compiled, inside):
    """Losses, and dtypes of what was computed, of some steps of a little net."""
    ag.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4))
    optimizer = ag.optim.SGD(model.parameters(), 0.1)

    region = ag.autocast("cpu", dtype=ag.float16)

    def step(x):
        with region if inside else nullcontext():
            y = model(x)
            loss = F.cross_entropy(y, LABELS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, y

    run = ag.jit(step) if compiled else step
    found = []
    for _ in range(4):
        with nullcontext() if inside else region:
            loss, y = run(X)
        found.append(loss.item())
        assert (y.dtype, loss.dtype) == (ag.float16, ag.float32)
    assert all(p.dtype == ag.float32 for p in model.parameters())
    return found


def test_steps_within_and_around_regions():
    eager = _steps(False, True)
    np.testing.assert_allclose(_steps(True, True), eager, rtol=3e-3)
    np.testing.assert_allclose(_steps(False, False), eager, rtol=3e-3)
    np.testing.assert_allclose(_steps(True, False), eager, rtol=3e-3)


def test_one_compiled_function_in_and_out_of_a_region():
    product = ag.jit(lambda x: x @ x)
    for _ in range(20):  # plans and native calls come in
        outside = product(X), X @ X
        with ag.autocast("cpu"):
            within = product(X), X @ X
        assert [str(t.dtype) for t in (*outside, *within)] == ["float32"] * 2 + ["bfloat16"] * 2
    assert "autocast was entered or left" in str(product.explain())


def test_second_runs_cast_as_the_first():
    w = ag.tensor(np.eye(4, dtype="f4"), requires_grad=True)
    results = []

    def segment(x):
        y = x @ w
        results.append(str(y.dtype))
        return ag.exp(y)

    with ag.autocast("cpu"):
        again = ag.checkpoint(segment, X).sum()
        recorded = ag.jit(segment)(X).sum()
    again.backward()
    first, w.grad = w.grad, None
    recorded.backward()
    assert set(results) == {"bfloat16"}
    assert first.dtype == ag.float32
    np.testing.assert_allclose(first.numpy(), w.grad.numpy(), rtol=0.02)


def test_functions_of_users():
    class Square(ag.autograd.Function):
        @staticmethod
        @ag.amp.custom_fwd(device_type="cpu", cast_inputs=ag.float32)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @ag.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            found.append(str((g @ x.T).dtype))
            return g @ x.T + x.T @ g

    found = []
    x = X.clone().requires_grad_()
    with ag.autocast("cpu"):
        y = Square.apply(x)
    y.sum().backward()
    assert (y.dtype, found) == (ag.float32, ["float32"])
    assert x.grad.dtype == ag.float32
