"""Matrix products of the shapes that networks have, odd ones too, in all four transpositions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "matrix products, all transpositions"
THREADS = (1, 2)
SHAPES = (  # M, K, N
    (100, 100, 100),
    (1000, 1000, 1000),
    (60, 784, 500),
    (20, 200, 800),
    (20, 650, 2600),
    (1, 784, 500),
    (61, 333, 97),
    (7, 13, 5),
    (129, 255, 63),
)
SMALL = 5_000_000  # products with at most so many multiplications have the higher goal


def run(context: Context) -> list[Result]:
    shapes = [s for s in SHAPES if not context.quick or s != (129, 255, 63)]
    dtypes = ("float32",) if context.quick else ("float32", "float64")
    return context.measure_all(_case(s, d, t) for d in dtypes for s in shapes for t in _turns())


def _turns() -> Iterator[str]:
    yield from ("NN", "NT", "TN", "TT")


def _case(shape: tuple[int, int, int], dtype: str, turns: str) -> Case:
    m, k, n = shape
    rng = np.random.default_rng(m * k * n)
    a = rng.standard_normal((k, m) if turns[0] == "T" else (m, k)).astype(dtype)
    b = rng.standard_normal((n, k) if turns[1] == "T" else (k, n)).astype(dtype)

    def product(a: Any, b: Any) -> Any:
        return (a.T if turns[0] == "T" else a) @ (b.T if turns[1] == "T" else b)

    contenders = {
        "agnesi": lambda: _agnesi(product, a, b, jit=True),
        "agnesi eager": lambda: _agnesi(product, a, b, jit=False),
        "numpy": lambda: _numpy(turns, a, b),
        "torch": lambda: _torch(turns, a, b),
        "jax": lambda: Contender(peers.jax_waiting(product), peers.jax_arrays(a, b)),
    }
    exact = product(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    return Case(
        f"{m}x{k}x{n} {turns} {dtype}",
        lambda: exact,
        contenders,
        rtol=1e-4 if dtype == "float32" else 1e-11,
        atol=1e-5 * k if dtype == "float32" else 1e-12 * k,
        bytes=(m * k + k * n + m * n) * np.dtype(dtype).itemsize,
        flops=2 * m * k * n,
        dtype=dtype,
        goal=1.15 if m * k * n <= SMALL else 1.0,
        rivals=("numpy", "torch"),
    )


def _agnesi(product: Any, a: np.ndarray, b: np.ndarray, jit: bool) -> Contender:
    ag = peers.agnesi()
    return Contender(ag.jit(product) if jit else product, (ag.tensor(a), ag.tensor(b)))


def _oriented(turns: str, a: Any, b: Any) -> tuple[Any, Any]:
    """The transposed views, made once: BLAS takes them as they are."""
    return (a.T if turns[0] == "T" else a), (b.T if turns[1] == "T" else b)


def _numpy(turns: str, a: np.ndarray, b: np.ndarray) -> Contender:
    left, right = _oriented(turns, a, b)
    out = np.empty((left.shape[0], right.shape[1]), a.dtype)
    return Contender(np.matmul, (left, right), {"out": out})


def _torch(turns: str, a: np.ndarray, b: np.ndarray) -> Contender:
    torch = peers.torch()
    left, right = _oriented(turns, torch.from_numpy(a), torch.from_numpy(b))
    return Contender(torch.mm, (left, right), {"out": torch.empty_like(left @ right)})
