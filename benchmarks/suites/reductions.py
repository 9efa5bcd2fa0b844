"""Reductions, running sums, sorts, gathers and scatters over the axes of arrays of many sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "sum, mean, var, cumsum, argmax, sort, gather, scatter-add; float32"
THREADS = (1,)
SHAPES = ((25, 40), (100, 100), (250, 400), (1000, 1000), (2500, 4000))
QUICK_SHAPES = ((25, 40), (250, 400), (1000, 1000))
AXES: tuple[int | None, ...] = (None, 0, -1)
GOAL, MEAN = 1.0, 1.3  # of each row, of all together

#: How a library says it; ``xp`` is its namespace, ``i`` the places where there are any.
Call = Callable[..., Any]
OF_NUMPY: dict[str, Call] = {
    "sum": lambda xp, x, i, axis: xp.sum(x, axis=axis),
    "mean": lambda xp, x, i, axis: xp.mean(x, axis=axis),
    "var": lambda xp, x, i, axis: xp.var(x, axis=axis),
    "cumsum": lambda xp, x, i, axis: xp.cumsum(x, axis=axis),
    "argmax": lambda xp, x, i, axis: xp.argmax(x, axis=axis),
    "sort": lambda xp, x, i, axis: xp.sort(x, axis=axis),
    "gather": lambda xp, x, i, axis: xp.take(x, i, axis=axis),
}
OF_TORCH: dict[str, Call] = {
    "sum": lambda xp, x, i, axis: xp.sum(x) if axis is None else xp.sum(x, axis),
    "mean": lambda xp, x, i, axis: xp.mean(x) if axis is None else xp.mean(x, axis),
    "var": lambda xp, x, i, axis: xp.var(x, axis, correction=0),
    "cumsum": lambda xp, x, i, axis: xp.cumsum(*_flat(x, axis)),
    "argmax": lambda xp, x, i, axis: xp.argmax(x, axis),
    "sort": lambda xp, x, i, axis: xp.sort(*_flat(x, axis)).values,
    "gather": lambda xp, x, i, axis: xp.index_select(_flat(x, axis)[0], _flat(x, axis)[1], i),
    "scatter-add": lambda xp, x, i, axis: xp.zeros_like(_flat(x, axis)[0]).index_add(
        _flat(x, axis)[1], i, _flat(x, axis)[0]
    ),
}


def run(context: Context) -> list[Result]:
    results = context.measure_all(_cases(QUICK_SHAPES if context.quick else SHAPES))
    return [*results, *Result.mean(context, results, MEAN)]


def _flat(x: Any, axis: int | None) -> tuple[Any, int]:
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _cases(shapes: tuple[tuple[int, int], ...]) -> Iterator[Case]:
    for name in OF_TORCH:
        for shape in shapes:
            for axis in AXES:
                rng = np.random.default_rng(shape[0])
                x = rng.standard_normal(shape).astype(np.float32)
                n = x.size if axis is None else shape[axis]
                places = rng.integers(0, n, n)
                expected = _expected(name, x, places, axis)
                over = "all" if axis is None else f"axis {axis}"
                yield Case(
                    f"{name} {shape[0]}x{shape[1]} {over}", lambda e=expected: e,
                    _contenders(name, x, places, axis),
                    rtol=1e-3, atol=1e-3 * max(n, 100) ** 0.5, goal=GOAL,
                    bytes=x.nbytes + np.asarray(expected).nbytes,
                )  # fmt: skip


def _expected(name: str, x: np.ndarray, places: np.ndarray, axis: int | None) -> np.ndarray:
    if name == "scatter-add":
        flat, axis = _flat(x, axis)
        added = np.zeros(flat.shape)
        np.add.at(np.moveaxis(added, axis, 0), places, np.moveaxis(flat, axis, 0))
        return added.astype(np.float32)
    wide = x.astype(np.float64) if name in ("sum", "mean", "var", "cumsum") else x
    found = np.asarray(OF_NUMPY[name](np, wide, places, axis))
    return found if found.dtype.kind == "i" else found.astype(np.float32)


def _contenders(
    name: str, x: np.ndarray, places: np.ndarray, axis: int | None
) -> dict[str, Callable[[], Contender]]:
    found: dict[str, Callable[[], Contender]] = {
        "agnesi": lambda: _agnesi(name, x, places, axis),
        "torch": lambda: _torch(name, x, places, axis),
        "jax": lambda: _jax(name, x, places, axis),
    }
    if name != "scatter-add":  # np.add.at is no contender
        found["numpy"] = lambda: Contender(lambda x, i: OF_NUMPY[name](np, x, i, axis), (x, places))
    return found


def _agnesi(name: str, x: np.ndarray, places: np.ndarray, axis: int | None) -> Contender:
    ag = peers.agnesi()

    def added(x: Any, i: Any) -> Any:
        flat, place = _flat(x, axis)
        return ag.index_add(ag.zeros_like(flat), place, i, flat)

    if name == "scatter-add":
        function = ag.jit(added)
    else:
        function = ag.jit(lambda x, i: OF_NUMPY[name](ag, x, i, axis))
    return Contender(function, (ag.tensor(x), ag.tensor(places)))


def _torch(name: str, x: np.ndarray, places: np.ndarray, axis: int | None) -> Contender:
    torch = peers.torch()
    return Contender(
        lambda x, i: OF_TORCH[name](torch, x, i, axis),
        (torch.from_numpy(x), torch.from_numpy(places)),
    )


def _jax(name: str, x: np.ndarray, places: np.ndarray, axis: int | None) -> Contender:
    jax = peers.jax()

    def added(x: Any, i: Any) -> Any:
        flat, place = _flat(x, axis)
        if place == 0:
            return jax.numpy.zeros_like(flat).at[i].add(flat)
        return jax.numpy.zeros_like(flat).at[:, i].add(flat)

    call = peers.jax_waiting(added if name == "scatter-add" else
                             lambda x, i: OF_NUMPY[name](jax.numpy, x, i, axis))
    return Contender(call, peers.jax_arrays(x, places))
