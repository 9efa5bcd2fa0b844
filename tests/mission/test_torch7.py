"""What Torch7's paper states, row by row."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import agnesi as ag

TYPES = ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_l1_every_type_has_every_operation(dtype, compiled):
    run: Any = ag.jit if compiled else (lambda f: f)
    x = np.arange(6).reshape(2, 3).astype(dtype)
    t = ag.tensor(x)
    assert ag.empty((2, 3), dtype).fill_(7).tolist() == [[7] * 3] * 2
    np.testing.assert_array_equal(run(lambda a: a + a)(t).numpy(), x + x)
    np.testing.assert_array_equal(run(lambda a: ag.mm(a, a.T))(t).numpy(), x @ x.T)
    assert run(lambda a: a.sum())(t).item() == x.sum()


@pytest.mark.parametrize("compiled", [False, True])
def test_l1_bytes_wrap_at_256(compiled):
    run: Any = ag.jit if compiled else (lambda f: f)
    x = ag.tensor([250, 3], dtype="uint8")
    assert run(lambda a: a + 10)(x).tolist() == [4, 13]
    assert run(lambda a: a * a)(x).tolist() == [36, 9]
    assert run(lambda a: ag.mm(a.reshape((1, 2)), a.reshape((2, 1))))(x).tolist() == [[45]]


def test_l2_the_default_float_is_chosen_at_run_time():
    assert ag.rand(2).dtype == ag.float32
    before = ag.zeros(2)
    with ag.config(default_float="float64"):
        assert ag.rand(2).dtype == ag.tensor([1.0]).dtype == ag.zeros(2).dtype == ag.float64
        assert before.dtype == ag.float32 and ag.tensor([1]).dtype == ag.int64
    assert ag.rand(2).dtype == ag.float32


def test_l3_conversions_and_mixed_types():
    t, whole = ag.tensor([1.5, 2.5], dtype="float32"), ag.tensor([3, 4])
    assert t.double().dtype == ag.float64 and whole.float().dtype == ag.float32
    assert t.long().tolist() == [1, 2] and t.byte().dtype == ag.uint8
    mixed = t.double() + whole / 2
    assert mixed.dtype == ag.float64 and mixed.tolist() == [3, 4.5]
    assert (t + whole / 2).dtype == ag.float32
    assert ag.zeros(2, "int32").copy_(t).tolist() == [1, 2]


def test_l6_the_listing_of_functions():
    r = np.random.default_rng(0).random((5, 5)) + 0.1
    t, s = ag.tensor(r), ag.tensor(r.T.copy())
    np.testing.assert_allclose(ag.log(ag.exp(-t) + 10).numpy(), np.log(np.exp(-r) + 10))
    for found, expected in [
        (ag.addcmul(t, t, s, value=2), r + 2 * r * r.T), (t.addcdiv(t, s), r + r / r.T),
        (ag.atan2(t, s), np.arctan2(r, r.T)), (ag.log1p(t), np.log1p(r)),
        (t.clamp(0.3, 0.6), r.clip(0.3, 0.6)), (ag.sign(t - 0.5), np.sign(r - 0.5)),
        (abs(t - 0.5), abs(r - 0.5)), (t.pow(3), r**3), (t.gt(s), r > r.T), (t.div(s), r / r.T),
    ]:
        np.testing.assert_allclose(found.numpy(), expected)


def test_l7_changes_in_place_take_no_memory():
    r, t = ag.ones((300, 300)), ag.full((300, 300), 4.0)
    memory, place = r.array, r.array.ctypes.data
    changes = [lambda: r.add_(1), lambda: r.mul_(t), lambda: r.exp_(), lambda: r.sqrt_(),
               lambda: r.clamp_(0.0, 2.0), lambda: r.fill_(3.0), lambda: r.copy_(t)]
    r.add_(t, alpha=0.5)
    assert r[0, 0].item() == 3
    for change in changes:
        change()
        tracemalloc.start()
        change()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100_000  # the tensor has 360000 bytes
    assert r.array is memory and r.array.ctypes.data == place


def test_l29_the_jacobian_tester_and_the_diagonal_of_the_hessian():
    def f(x: Any) -> Any:
        return (ag.sin(x) * x[::-1] ** 2).sum()

    x = np.array([0.3, -1.2, 0.8, 2.0])
    ag.testing.check_grads(f, [x])
    with pytest.raises(AssertionError, match="derivative is"):
        ag.testing.check_grads(lambda v: ag.stop_gradient(ag.exp(v)) * v, [x])
    found = np.diag(ag.hessian(f)(ag.tensor(x)).numpy())

    def value(v: Any) -> float:
        return float(f(ag.tensor(v)).item())

    e = np.eye(4) * 1e-4
    expected = [(value(x + d) - 2 * value(x) + value(x - d)) / 1e-8 for d in e]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


GRID = np.arange(1.0, 13.0).reshape(3, 4)
ROW = np.array([3.0, 1.0, 2.0])
#: Torch7's words: agnesi's function, arguments, and what NumPy says.
MATLAB = {
    "zeros": (ag.zeros, ((2, 3),), np.zeros((2, 3))),
    "ones": (ag.ones, ((2, 3),), np.ones((2, 3))),
    "eye": (ag.eye, (3,), np.eye(3)),
    "range": (ag.arange, (2.0, 9.0, 2.0), np.arange(2.0, 9.0, 2.0)),
    "linspace": (ag.linspace, (0.0, 1.0, 5), np.linspace(0, 1, 5)),
    "logspace": (ag.logspace, (0.0, 1.0, 5), np.logspace(0, 1, 5)),
    "cat": (ag.cat, ([GRID, GRID],), np.concatenate([GRID, GRID])),
    "diag": (ag.diag, (ROW,), np.diag(ROW)),
    "tril": (ag.tril, (GRID,), np.tril(GRID)),
    "triu": (ag.triu, (GRID, 1), np.triu(GRID, 1)),
    "reshape": (ag.reshape, (GRID, (4, 3)), GRID.reshape(4, 3)),
    "squeeze": (ag.squeeze, (GRID[:, None],), GRID),
    "sort": (ag.sort, (-GRID,), np.sort(-GRID)),
    "cross": (ag.cross, (ROW, ROW[::-1]), np.cross(ROW, ROW[::-1])),
    "cumsum": (ag.cumsum, (GRID, 0), GRID.cumsum(0)),
    "cumprod": (ag.cumprod, (GRID, 1), GRID.cumprod(1)),
    "norm": (ag.norm, (GRID,), np.linalg.norm(GRID)),
    "dist": (ag.norm, (GRID - 1.5,), np.linalg.norm(GRID - 1.5)),
    "trace": (ag.trace, (GRID,), np.trace(GRID)),
    "std": (ag.std, (GRID, 0), GRID.std(0)),
    "var": (ag.var, (GRID, 1), GRID.var(1)),
    "histc": (lambda x, out=None: ag.positive(ag.histogram(x, 3)[0], out=out), (ROW,),
              np.histogram(ROW, 3)[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", MATLAB)
def test_l5_with_and_without_a_result_argument(name):
    function, args, expected = MATLAB[name]
    given = [ag.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    kind = function(*given).dtype
    np.testing.assert_allclose(function(*given).numpy(), expected, 1e-6)
    out = ag.zeros(expected.shape, dtype=kind)
    assert function(*given, out=out) is out
    np.testing.assert_allclose(out.numpy(), expected, 1e-6)


@pytest.mark.parametrize("draw", [
    lambda **k: ag.random.rand(40, 50, **k), lambda **k: ag.random.randn(40, 50, **k),
    lambda **k: ag.random.permutation(2000, **k),
])  # fmt: skip
def test_l5_random_results_in_place(draw):
    ag.manual_seed(3)
    expected = draw()
    out = ag.zeros(expected.shape, dtype=expected.dtype)
    ag.manual_seed(3)
    assert draw(out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected.numpy())
