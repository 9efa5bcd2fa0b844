"""Inputs of programs: shapes, dtypes, layouts, values, memory that two of them share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.program import Input

REAL = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool", "bfloat16")
DTYPES = (*REAL, "complex64", "complex128")
#: The size of axes that are to grow.
GROWING = 96
#: Sizes of axes, by how large the values of a program are.
SIZES = {
    "tiny": (0, 1, 1, 1, 2, 2, 3, 3), "small": (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33),
    "large": (1, 3, 64, 100, 257), "growing": (GROWING,), "equal": (2, 3, 3, 3, 4, 5),
}
LARGE = ("large", "growing")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5)
EXTREME = (1000.0, -1000.0, 1e30, 1e-30, -30.0, 90.0)


def is_float(dtype: Any) -> bool:
    """Whether a dtype is one of real floats."""
    name = np.dtype(dtype).name
    return name.startswith(("float", "bfloat"))


class Draw:
    """Random choices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def below(self, n: int) -> int:
        return int(self.rng.integers(max(n, 1)))

    def one(self, of: Any) -> Any:
        return of[self.below(len(of))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)


def inputs(d: Draw, kind: str, size: str, dtypes: Any, first: str = "") -> tuple[Input, ...]:
    """One to four inputs, whose axes have few sizes, so that shapes fit together, or one."""
    equal = size == "equal"
    palette = [d.one(SIZES[size])] if equal else [d.one(SIZES[size]) for _ in range(2)] + [1]
    chosen = [d.one(dtypes) for _ in range(2)]
    made: list[Input] = []
    for i in range(1 + d.below(3 if size in LARGE else 4)):
        if made and d.chance(0.12):
            made.append(_view(d, f"x{i + 1}", d.one([x for x in made if not x.number])))
            continue
        dtype = first if first and not made else d.one(chosen)
        rank = d.one([1, 2, 2, 2, 3] if equal else [0, 1, 1, 2, 2, 2, 3, 4] if size == "tiny"
                     else [0, 1, 2, 2, 3])
        shape = tuple(d.one(palette) for _ in range(rank))
        while np.prod(shape) > (300_000 if size in LARGE else 3000):
            shape = shape[1:]
        made.append(_input(d, f"x{i + 1}", shape, dtype, kind, bool(made)))
    return tuple(made)


def inputs_of(x: Input, n: int) -> Input:
    """The input with other numbers, and axes of another size where they are to grow."""
    if x.number or x.of:
        return x
    shape = [s // GROWING * n if s >= GROWING else s for s in x.array.shape]
    new = np.random.default_rng(n).normal(size=shape).astype(x.array.dtype)
    return Input(x.name, new, x.view)


def _view(d: Draw, name: str, of: Input) -> Input:
    """An input that is another one, or looks into it."""
    rank = np.ndim(eval(of.seen("y"), {"y": of.array, "np": np})) if not of.of else 0
    views = ["", "[:1]", "[1:]", "[::-1]", "[::2]"][: 5 if rank else 1] + [".T"] * (rank > 1)
    return Input(name, of.array, d.one(views), of.name)


def _input(d: Draw, name: str, shape: tuple[int, ...], dtype: str, kind: str,
           numbers: bool) -> Input:
    if not shape and numbers and dtype in ("float64", "int64", "bool") and d.chance(0.6):
        return Input(name, values(d, (), dtype, kind), number=True)
    view = _layout(d, shape)
    if view in (".T", ".T.copy().T"):
        shape = shape[::-1]
    if view in ("[::2]", "[::-2]"):
        shape = (2 * shape[0], *shape[1:])
    if view == "[..., 0]":
        shape = (*shape, 2)
    if "@" in view:
        axis = d.below(len(shape))
        shape = (*shape[:axis], 1, *shape[axis + 1:])
    if np.prod(shape) > 400:
        made = _made(d, shape, dtype, kind)
        return Input(name, eval(made, {"np": np}), view, made=made)
    return Input(name, values(d, shape, dtype, kind), view)


def _layout(d: Draw, shape: tuple[int, ...]) -> str:
    """A view under which values lie otherwise than row after row, or a row is all rows."""
    if not shape or d.chance(0.6):
        return ""
    if d.chance(0.12):
        return f"np.broadcast_to(@, {shape})"
    return d.one([".T", "[::-1]", "[::2]", "[..., ::-1]", "[::-2]", ".T.copy().T", "[..., 0]"])


def _made(d: Draw, shape: tuple[int, ...], dtype: str, kind: str) -> str:
    """Python that makes a large array."""
    rng = f"np.random.default_rng({d.below(1000)})"
    if kind == "smooth":
        return f"{rng}.normal(size={shape}).astype({dtype!r})"
    least = 0 if dtype[0] in "ub" else -3
    return f"{rng}.integers({least}, {2 if dtype == 'bool' else 4}, {shape}).astype({dtype!r})"


def values(d: Draw, shape: tuple[int, ...], dtype: str, kind: str) -> np.ndarray:
    """Numbers of a dtype: small whole ones, any, or any with special ones among them."""
    if dtype == "bool":
        return d.rng.random(shape) < 0.5
    whole = d.rng.integers(0 if dtype[0] == "u" else -3, 4, shape)
    if dtype[0] in "iu" and kind != "smooth" and d.chance(0.12):
        limits = np.iinfo(dtype)
        ends = np.array([limits.min, limits.max, limits.max - 1], dtype)
        return np.where(d.rng.random(shape) < 0.3, d.rng.choice(ends, shape), whole.astype(dtype))
    if dtype[0] in "iu":
        return np.asarray(whole.astype(dtype))
    if kind != "smooth" and (kind == "whole" or d.chance(0.4)):
        found = np.asarray(whole + 0.0)
    else:
        found = np.asarray(d.rng.normal(size=shape).round(3))
    if dtype.startswith("complex"):
        found = found + 1j * d.rng.integers(-3, 4, shape)
    elif kind == "wild":
        pool = SPECIAL if d.chance(0.7) else EXTREME
        found = np.where(d.rng.random(shape) < 0.3, d.rng.choice(pool, shape), found)
    with np.errstate(over="ignore"):
        return np.asarray(found.astype(dtype))
