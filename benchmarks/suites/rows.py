"""Softmax, layer norm and sum of squares over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "softmax, layer norm, sum of squares over rows, 64 to 4096 columns"
THREADS = (1, 2)
ROWS = 256
COLUMNS = (64, 127, 256, 512, 1000, 1024, 2048, 4096)
QUICK_COLUMNS = (64, 127, 1000, 4096)
GOAL = 1.3
EPSILON = 1e-5


def run(context: Context) -> list[Result]:
    return context.measure_all(_cases(QUICK_COLUMNS if context.quick else COLUMNS))


def _cases(columns: tuple[int, ...]) -> Iterator[Case]:
    for name, maker in (("softmax", _softmax), ("layer norm", _layer_norm), ("sum x²", _squares)):
        for cols in columns:
            rng = np.random.default_rng(cols)
            x = rng.standard_normal((ROWS, cols)).astype(np.float32)
            expect, contenders, written = maker(x)
            yield Case(
                f"{name} {ROWS}x{cols}", expect, contenders,
                rtol=1e-4, atol=1e-5, bytes=x.nbytes + 4 * written, goal=GOAL,
            )  # fmt: skip


Made = tuple[Callable[[], Any], Mapping[str, Callable[[], Contender]], int]


def _softmax(x: np.ndarray) -> Made:
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    out = np.empty_like(x)

    def with_numpy(x: np.ndarray) -> np.ndarray:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    contenders = {
        "agnesi": lambda: _agnesi(x, lambda ag, x: ag.softmax(x, axis=-1)),
        "numpy": lambda: Contender(with_numpy, (x,)),
        "torch": lambda: _torch(x, lambda torch: torch.softmax, (1,)),
        "jax": lambda: _jax(x, lambda jax, x: jax.nn.softmax(x, axis=-1)),
        **_pytensor_pair(x, lambda pt, x: pt.special.softmax(x, axis=-1)),
    }
    return (
        lambda: (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32),
        contenders,
        x.size,
    )


def _layer_norm(x: np.ndarray) -> Made:
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + EPSILON)
    out, mean_square = np.empty_like(x), np.empty(len(x), np.float32)

    def with_numpy(x: np.ndarray) -> np.ndarray:
        np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
        np.vecdot(out, out, out=mean_square)
        scale = 1 / np.sqrt(mean_square / np.float32(x.shape[1]) + np.float32(EPSILON))
        return np.multiply(out, scale[:, None], out=out)

    def written(x: Any, sqrt: Any, **dtype: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True, **dtype)
        variance = (centred * centred).mean(axis=-1, keepdims=True, **dtype)
        return centred / sqrt(variance + EPSILON)

    contenders = {
        "agnesi": lambda: _agnesi(x, lambda ag, x: written(x, ag.sqrt)),
        "numpy": lambda: Contender(with_numpy, (x,)),
        "torch": lambda: _torch(
            x, lambda torch: torch.nn.functional.layer_norm, ((x.shape[1],), None, None, EPSILON)
        ),
        "jax": lambda: _jax(x, lambda jax, x: written(x, jax.numpy.sqrt)),
        **_pytensor_pair(x, lambda pt, x: written(x, pt.sqrt, dtype="float32")),
    }
    return lambda: exact.astype(np.float32), contenders, x.size


def _squares(x: np.ndarray) -> Made:
    exact = np.square(x.astype(np.float64)).sum(axis=1)
    out = np.empty(len(x), np.float32)
    contenders = {
        "agnesi": lambda: _agnesi(x, lambda ag, x: ag.sum(x * x, axis=1)),
        "numpy vecdot": lambda: Contender(np.vecdot, (x, x), {"out": out}),
        "numpy einsum": lambda: Contender(np.einsum, ("ij,ij->i", x, x), {"out": out}),
        "torch": lambda: _torch(x, lambda torch: lambda x: (x * x).sum(1)),
        "torch norm": lambda: _torch(
            x, lambda torch: lambda x: torch.linalg.vector_norm(x, dim=1).square_()
        ),
        "jax": lambda: _jax(x, lambda jax, x: jax.numpy.sum(x * x, axis=1)),
        **_pytensor_pair(x, lambda pt, x: (x * x).sum(axis=1)),
    }
    return lambda: exact.astype(np.float32), contenders, len(x)


def _agnesi(x: np.ndarray, write: Callable[[Any, Any], Any]) -> Contender:
    ag = peers.agnesi()
    return Contender(ag.jit(lambda x: write(ag, x)), (ag.tensor(x),))


def _torch(x: np.ndarray, choose: Callable[[Any], Any], more: tuple[Any, ...] = ()) -> Contender:
    torch = peers.torch()
    return Contender(choose(torch), (torch.from_numpy(x), *more))


def _jax(x: np.ndarray, write: Callable[[Any, Any], Any]) -> Contender:
    return Contender(peers.jax_waiting(lambda x: write(peers.jax(), x)), peers.jax_arrays(x))


def _pytensor_pair(
    x: np.ndarray, write: Callable[[Any, Any], Any]
) -> dict[str, Callable[[], Contender]]:
    """Both of PyTensor's back ends."""

    def build(linker: str) -> Contender:
        pt = peers.pytensor().tensor
        matrix = pt.fmatrix("x")
        return Contender(peers.pytensor_function([matrix], write(pt, matrix), linker), (x,))

    return {
        "pytensor numba": lambda: build("numba"),
        "pytensor c": lambda: build("cvm"),
    }
