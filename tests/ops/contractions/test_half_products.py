"""Products of bfloat16 matrices in compiled code, by the processor's own instruction or not."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir import foreign
from agnesi.ops.contractions import halves

RNG = np.random.default_rng(4)
SHAPES = (
    ((100, 130), (130, 70)), ((101, 513), (513, 97)), ((64, 1200), (1200, 20)),
    ((3, 40, 101), (3, 101, 50)), ((3, 40, 101), (101, 77)), ((300, 7), (7, 300)),
    ((16, 4), (4, 9000)),
)


def _half(shape: tuple[int, ...]) -> ag.Tensor:
    return ag.asarray(RNG.standard_normal(shape).astype("float32")).astype("bfloat16")


def _exact(x: ag.Tensor) -> np.ndarray:
    return x.astype("float64").numpy()


@pytest.mark.share(7)
@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products(left: tuple[int, ...], right: tuple[int, ...], has: bool,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    if not has:  # as on a processor without the instruction
        monkeypatch.setattr(foreign, "there", lambda symbol: False)
    x, w = _half(left), _half(right)
    turned = ag.asarray(np.ascontiguousarray(w.numpy().swapaxes(-1, -2)))
    wanted = _exact(x) @ _exact(w)
    scale = np.abs(wanted).max()
    for f, other in ((lambda x, w: x @ w, w), (lambda x, w: x @ w.mT, turned)):
        found = ag.jit(f)(x, other)
        assert found.dtype == "bfloat16"
        np.testing.assert_allclose(_exact(found) / scale, wanted / scale, 0, 2.0**-8)
        wide = ag.jit(lambda x, w, f=f: f(x, w).astype("float32") * 2 + 1)(x, other)
        np.testing.assert_allclose(_exact(wide) / scale, (2 * wanted + 1) / scale, 0, 2.0**-7)


def test_infinite_and_undefined_numbers() -> None:
    x, w = np.ones((64, 64), "float32"), np.ones((64, 256), "float32")
    x[3, 4], x[5, 6], w[7, 9] = np.inf, np.nan, -np.inf
    a, b = (ag.asarray(v).astype("bfloat16") for v in (x, w))
    with np.errstate(invalid="ignore"):
        expected = x @ w
    np.testing.assert_array_equal(_exact(ag.jit(lambda a, b: a @ b)(a, b)), expected)


def test_gradients_and_threads() -> None:
    x, w = _half((96, 80)), _half((80, 160))
    gradient = ag.grad(lambda x, w: (x @ w).astype("float32").sum(), argnums=(0, 1))
    for threads in (1, 2):
        before = ag.get_num_threads()
        ag.set_num_threads(threads)
        try:
            for found, wanted in zip(ag.jit(gradient)(x, w), gradient(x, w), strict=True):
                np.testing.assert_allclose(_exact(found), _exact(wanted), 0.02, 0.1)
        finally:
            ag.set_num_threads(before)


def test_values_are_those_of_compiled_code() -> None:
    x, w = _half((33, 65)), _half((65, 50))
    op = halves.HalfProduct(False, 2)
    if foreign.address(op.symbol) is not None:
        found = op.perform(x.numpy(), w.numpy())
        np.testing.assert_allclose(found, _exact(x) @ _exact(w), 1e-4, 1e-4)
