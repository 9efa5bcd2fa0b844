"""Steps that move values and read at places."""

from __future__ import annotations

import math

from tests.fuzz.pool import Line, Pool, Value
from tests.fuzz.steps.keys import key_of, slices_of


def reshape(p: Pool, x: Value) -> Line | None:
    n = x.size
    if not n:
        return Line(f"{x}.reshape({(*x.shape, 1)})", view=True)
    a = p.one([d for d in range(1, n + 1) if n % d == 0])
    b = n // a
    c = next(d for d in range(min(b, 2 + p.below(3)), 0, -1) if b % d == 0)
    shape = p.one([(n,), (a, b), (a, c, b // c), (a, -1), (c, a, b // c), (1, *x.shape)])
    return Line(f"{x}.reshape({shape})", view=True)


def permute(p: Pool, x: Value) -> Line | None:
    order = tuple(int(a) for a in p.rng.permutation(x.ndim))
    return Line(f"ag.permute_dims({x}, {order})" if p.chance(0.6) else f"{x}.T", view=True)


def sliced(p: Pool, x: Value) -> Line | None:
    return Line(f"{x}[{slices_of(p, x)}]", view=True) if x.ndim else None


def indexed(p: Pool, x: Value) -> Line | None:
    """Any key that NumPy takes."""
    return Line(f"{x}[{key_of(p, x.shape)}]", view=True) if x.ndim else None


def flip(p: Pool, x: Value) -> Line | None:
    return Line(f"ag.flip({x}, {p.axis(x)})", view=True) if x.ndim else None


def axes(p: Pool, x: Value) -> Line | None:
    if p.chance(0.4):
        return Line(f"ag.squeeze({x})", view=True)
    return Line(f"ag.expand_dims({x}, {p.below(x.ndim + 1)})", view=True) if x.ndim < 5 else None


def broadcast(p: Pool, x: Value) -> Line | None:
    n = 2 + p.below(3)
    shape = tuple(n if m == 1 else m for m in x.shape)
    shape = (1 + p.below(3), *shape) if p.chance(0.5) and x.ndim < 5 else shape
    if shape == x.shape:
        return None
    return Line(f"ag.broadcast_to({x}, {shape})", view=True, spread=True)


def pad(p: Pool, x: Value) -> Line | None:
    widths = [(p.below(2), p.below(3)) for _ in range(x.ndim)]
    return Line(f"ag.pad({x}, {widths})") if x.ndim else None


def joined(p: Pool, x: Value) -> Line | None:
    y = p.alike(x)
    if not x.ndim:
        return Line(f"ag.stack([{x}, {y}])")
    if p.chance(0.3):
        return Line(f"ag.stack([{x}, {y}, {x}], {p.axis(x)})")
    return Line(f"ag.concat([{x}, {y}], {p.axis(x)})")


def rolled(p: Pool, x: Value) -> Line | None:
    return Line(f"ag.roll({x}, {p.below(7) - 2}, {p.axis(x)})") if x.ndim else None


def repeated(p: Pool, x: Value) -> Line | None:
    if not x.ndim:
        return None
    times = 1 + p.below(3)
    return Line(p.one([f"ag.repeat({x}, {times}, {p.axis(x)})", f"ag.tile({x}, {times})"]))


def triangle(p: Pool, x: Value) -> Line | None:
    if x.ndim < 2:
        return None
    k = p.below(3) - 1
    return Line(p.one([f"ag.tril({x}, {k})", f"ag.triu({x}, {k})",
                       f"ag.copy(ag.diagonal({x}, {k}))"]))


def places(p: Pool, n: int) -> str:
    """Numbers below ``n``, made of a value."""
    y = p.pick()
    whole = y.name if y.kind in "iu" else (
        f"({y} != 0)" if y.kind == "c" else f"ag.where({y} > 0.25, 1, 0)")
    return f"(ag.astype({whole}.reshape(-1), 'int64') + {p.below(5)}) % {n}"


def gathered(p: Pool, x: Value) -> Line | None:
    if not x.ndim or not x.size:
        return None
    axis = p.below(x.ndim)
    n = x.shape[axis]
    if p.chance(0.5):
        return Line(f"ag.take({x}, {places(p, n)}, axis={axis})")
    reach = f"ag.arange({x.size}).reshape({x.shape}) * {1 + p.below(4)} % {n}"
    return Line(f"ag.take_along_axis({x}, {reach}, axis={axis})")


def scattered(p: Pool, x: Value) -> Line | None:
    """Rows of a copy added to at places that may repeat."""
    if not x.ndim or not x.size or x.kind == "b":
        return None
    at = f"({places(p, x.shape[0])})[:12]"
    return Line(f"ag.index_add({x}, 0, {at}, {x}[{at}])")


def split(p: Pool, x: Value) -> Line | None:
    """Two parts."""
    even = [a for a in range(x.ndim) if x.shape[a] and x.shape[a] % 2 == 0]
    if not even:
        return None
    return Line(f"ag.split({x}, 2, axis={p.one(even)})", view=True, outs=2)


def rows(p: Pool, x: Value) -> Line | None:
    """Rows taken one by one and put together."""
    if not x.ndim or x.kind == "b" or not 1 < x.shape[0] < 12:
        return None
    n, k = x.shape[0], p.below(5)
    parts = ", ".join(f"{x}[{i}] + {x}[{(i * 3 + k) % n}]" for i in range(n))
    return Line(f"ag.stack([{parts}])")


def windows(p: Pool, x: Value) -> Line | None:
    """Sums or extremes over neighbours."""
    size = 1 + p.below(4)
    if not x.ndim or x.kind == "b" or x.ndim > 4 or x.shape[-1] < size:
        return None
    how = "mean" if p.smooth else "sum" if x.kind == "c" else p.one(["sum", "max", "min"])
    if how in ("max", "min") and not x.size:
        return None
    return Line(f"ag.sliding_window_view({x}, {size}, axis=-1).{how}(-1)", how != "mean")


def differences(p: Pool, x: Value) -> Line | None:
    if not x.ndim or x.kind == "b" or not math.prod(x.shape):
        return None
    return Line(f"ag.diff({x}, n={1 + p.below(2)}, axis={p.axis(x)})")


MAKERS = (reshape, permute, permute, sliced, sliced, indexed, flip, axes, broadcast, pad, joined,
          rolled, repeated, triangle, gathered, scattered, split, rows, windows, differences)
