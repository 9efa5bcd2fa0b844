"""Loops over every dtype that makes sense, odd and empty sizes, any layout; kept on disk."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import agnesi as ag
from tests.compiler.ways import interpreted


def ways(f, *args):
    tensors = [ag.tensor(a) for a in args]
    found = [f(*tensors), ag.jit(f)(*tensors)]
    with interpreted():
        found.append(ag.jit(f)(*tensors))
    return [[np.asarray(v) for v in way] for way in found]


def same(f, *args, rtol=1e-12):
    eager, *others = ways(f, *args)
    for other in others:
        for a, b in zip(eager, other, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol, rtol)


def step(c, r):
    return c * 2 + r, c - r


@pytest.mark.parametrize("dtype", [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
])
def test_dtypes(dtype):
    x = np.arange(12).reshape(4, 3).astype(dtype)
    x = x * (1 + 0.5j) if x.dtype.kind == "c" else x
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    same(lambda x: ag.scan(step, x[0], x.astype(dtype)), x.astype(dtype), rtol=tolerance)


def test_bools():
    x = np.array([[True, False], [True, True], [False, True]])
    same(lambda x: ag.scan(lambda c, r: (c ^ r, c & r), x[0], x), x)
    same(lambda x: (ag.while_loop(lambda c: ~c.all(), lambda c: c | ~c, x),), x)


def test_gradients_of_complex_loops():
    z = np.array([[0.3 + 0.2j, 1j], [0.5, -0.4j], [0.1 - 0.1j, 0.2]])
    w = np.array([[0.5, 0.1j], [0.2 + 0.1j, -0.3]])

    def loss(z, w):
        h, ys = ag.scan(lambda h, r: (ag.tanh(h @ w + r), ag.abs(h + r)), z[0], z)
        return ag.abs(h).sum() + ys.sum()

    def unrolled(z, w):
        h, total = z[0], 0.0
        for r in z:
            total = total + ag.abs(h + r).sum()
            h = ag.tanh(h @ w + r)
        return ag.abs(h).sum() + total

    expected = ag.grad(unrolled, argnums=(0, 1))(ag.tensor(z), ag.tensor(w))
    for found in ways(ag.grad(loss, argnums=(0, 1)), z, w):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-10)


@pytest.mark.share(2)
@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1), (3, 17), (5, 2, 0), (2, 3, 5, 7)])
def test_sizes(shape):
    x = np.random.default_rng(0).normal(size=shape)
    start = np.zeros(shape[1:])
    same(lambda x, c: ag.scan(lambda c, r: (ag.tanh(c + r), c.sum()), c, x), x, start)

    def slope(x, c):
        total = lambda x, c: sum(v.sum() for v in ag.scan(step, c, x))  # noqa: E731
        return ag.grad(total, argnums=(0, 1))(x, c)

    same(slope, x, start)


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a[1:, 1:],
    lambda a: np.broadcast_to(a[:1], a.shape), lambda a: np.asfortranarray(a),
])
def test_layouts(view):
    x = view(np.random.default_rng(0).normal(size=(6, 6)))
    same(lambda x: ag.scan(step, x[0] * 0, x), x)
    same(lambda x: ag.scan(step, x[:, 0] * 0, x.T[::-1]), x)


def test_one_step_in_many_dimensions():
    same(lambda x: ag.map(lambda m: (m @ m.T, m.max(0), m[0, 0]), x),
         np.random.default_rng(0).normal(size=(3, 4, 4)))


def test_threads():
    f = ag.jit(lambda x: ag.scan(lambda c, r: (ag.tanh(c + r), c), x[0] * 0, x))
    x = [ag.tensor(np.random.default_rng(i).normal(size=(50, 8))) for i in range(4)]
    expected = [np.asarray(f(v)[1]) for v in x]
    wrong = []

    def work(i):
        for _ in range(50):
            if not np.array_equal(f(x[i])[1], expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


PROGRAM = """
import agnesi as ag
w = ag.tensor([[0.5, 0.1], [0.2, 0.3]], requires_grad=True)

@ag.jit
def step(x):
    w.grad = None
    h, _ = ag.scan(lambda h, r: (ag.tanh(h @ w + r), None), x[0], x)
    n = ag.while_loop(lambda n: n * n < h.sum() * 9, lambda n: n + 1, 0.0)
    loss = ag.cond(n > 2, lambda: (h * h).sum(), lambda: h.sum())
    loss.backward()
    return loss, w.grad

print([v.tolist() for v in step(ag.ones((5, 2)))], sorted(step.specialisations[0].seconds))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    env = dict(os.environ, AGNESI_CACHE_DIR=str(tmp_path))
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True,
                       text=True).stdout
        for _ in range(2)
    ]
    first, second = (r.partition("] [")[0] for r in runs)
    assert first == second
    assert "rewrite" in runs[0] and "rewrite" not in runs[1] and "recall" in runs[1]
