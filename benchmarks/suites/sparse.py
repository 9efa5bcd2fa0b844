"""Sparse matrices by rows times vectors and dense matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "sparse matrices (CSR, float32) times a vector, and dense matrices of 1, 16, 128 columns"
THREADS = (1, 2)
#: Rows (and columns), share of elements that there are.
SIZES = ((1000, 1e-3), (1000, 1e-2), (1000, 1e-1), (10_000, 1e-3), (10_000, 1e-2),
         (100_000, 1e-4), (100_000, 1e-3))
QUICK_SIZES = ((1000, 1e-2), (1000, 1e-1), (10_000, 1e-3), (100_000, 1e-4))
COLUMNS = (0, 1, 16, 128)  # 0 is a vector
GOAL = 1.0
#: Multiply-adds from which a case takes too long to be measured.
_MOST = 200_000_000


def run(context: Context) -> list[Result]:
    return context.measure_all(_cases(QUICK_SIZES if context.quick else SIZES))


def _cases(sizes: tuple[tuple[int, float], ...]) -> Iterator[Case]:
    for n, density in sizes:
        for columns in COLUMNS:
            if n * n * density * max(columns, 1) <= _MOST:
                yield _case(n, density, columns)


def _case(n: int, density: float, columns: int) -> Case:
    from scipy.sparse import csr_array, random_array

    rng = np.random.default_rng(n)
    a = csr_array(random_array((n, n), density=density, rng=rng, dtype=np.float32))
    x = rng.standard_normal((n, columns) if columns else n).astype(np.float32)
    width = f"{columns} columns" if columns else "vector"
    return Case(
        f"{n} rows, {100 * density:g} %, {width}", _expect(a, x),
        {"agnesi": lambda: _agnesi(a, x), "scipy": lambda: Contender(a.dot, (x,)),
         "torch": lambda: _torch(a, x)},
        rtol=1e-3, atol=1e-3, goal=GOAL, flops=2 * a.nnz * max(columns, 1),
        bytes=a.data.nbytes + a.indices.nbytes + a.indptr.nbytes + 2 * x.nbytes,
    )  # fmt: skip


def _expect(a: Any, x: np.ndarray) -> Callable[[], Any]:
    return lambda: (a.astype(np.float64) @ x.astype(np.float64)).astype(np.float32)


def _agnesi(a: Any, x: np.ndarray) -> Contender:
    ag = peers.agnesi()
    return Contender(ag.jit(lambda a, x: a @ x), (ag.sparse.csr(a), ag.tensor(x)))


def _torch(a: Any, x: np.ndarray) -> Contender:
    torch = peers.torch()
    parts = map(torch.from_numpy, (a.indptr, a.indices, a.data))
    matrix = torch.sparse_csr_tensor(*parts, size=a.shape)
    return Contender(torch.matmul, (matrix, torch.from_numpy(x)))
