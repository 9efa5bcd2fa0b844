"""Steps that reduce, scan, sort and contract."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value


def summed(p: Pool, x: Value) -> Line | None:
    axes, keep = p.axes(x), p.chance(0.5)
    mean = p.smooth and x.size
    how = "mean" if mean else p.one(["sum", "sum", "sum", "nansum"] if x.kind == "f" else ["sum"])
    return Line(f"ag.{how}({x}, axis={axes}, keepdims={keep})", not mean)


def both_ways(p: Pool, x: Value) -> Line | None:
    """Several reductions of one value over different axes."""
    if x.ndim < 2 or x.kind == "b" or not x.size:
        return None
    a, b = (p.axis(x) for _ in range(2))
    if p.smooth:
        how = [p.one(["mean", "logsumexp", "mean"]) for _ in range(2)]
    else:
        how = [p.one(["sum"] if x.kind == "c" else ["sum", "max", "min"]) for _ in range(2)]
    parts = [f"ag.{h}({x}, axis={c}, keepdims=True)" for h, c in zip(how, (a, b), strict=True)]
    form = p.one(["{0} + {1}", "{x} * {0} - {1}", "({x} - {0}) * ({x} - {1})"])
    return Line(form.format(*parts, x=x), not p.smooth)


def extreme(p: Pool, x: Value) -> Line | None:
    axes, keep = p.axes(x), p.chance(0.5)
    if not x.size or x.kind == "c":
        return None
    if p.smooth:
        return Line(f"ag.logsumexp({x}, axis={axes}, keepdims={keep})", False)
    if x.kind == "b":
        return Line(f"ag.{p.one(['any', 'all'])}({x}, axis={axes})")
    if x.kind == "f" and p.kind == "wild" and p.chance(0.3):
        return Line(f"ag.{p.one(['logsumexp', 'mean', 'var'])}({x}, axis={axes})", False)
    return Line(f"ag.{p.one(['max', 'min'])}({x}, axis={axes}, keepdims={keep})")


def argument(p: Pool, x: Value) -> Line | None:
    if not x.size or not x.ndim or p.smooth or x.kind == "c":
        return None
    return Line(f"ag.{p.one(['argmax', 'argmin'])}({x}, axis={p.axis(x)})")


def product(p: Pool, x: Value) -> Line | None:
    if not x.ndim or x.kind in "bc":
        return None
    least = 0 if x.kind == "u" else -1
    small = f"ag.tanh({x})" if p.smooth else f"ag.clip({x}, {least}, 1)"
    return Line(f"ag.prod({small}, axis={p.axis(x)}, keepdims={p.chance(0.5)})", not p.smooth)


def running(p: Pool, x: Value) -> Line | None:
    if not x.ndim or x.kind == "b":
        return None
    if x.kind == "c" or p.smooth or not x.size or p.chance(0.6):
        return Line(f"ag.cumsum({x}, axis={p.axis(x)})")
    return Line(f"ag.cummax({x}, axis={p.axis(x)}).values")


def row(p: Pool, x: Value) -> Line | None:
    """A value of each row that goes back into it."""
    if not x.ndim or not x.size or x.kind in "bc":
        return None
    axis = p.axis(x)
    top = f"ag.max({x}, axis={axis}, keepdims=True)"
    if not p.smooth and (x.kind != "f" or p.chance(0.5)):
        return Line(f"ag.where({x} == {top}, ag.sum({x}, axis={axis}, keepdims=True), {x})")
    centred = f"({x} - ag.mean({x}, axis={axis}, keepdims=True))"
    forms = [
        f"ag.softmax({x}, axis={axis})", f"ag.log_softmax({x}, axis={axis})",
        f"{centred} / ag.sqrt(ag.mean({centred}**2, axis={axis}, keepdims=True) + 0.1)",
        f"ag.exp(ag.tanh({x})) / ag.sum(ag.exp(ag.tanh({x})), axis={axis}, keepdims=True)",
        f"{x} - ag.logsumexp({x}, axis={axis}, keepdims=True)",
    ]
    if not p.smooth:
        forms += [f"ag.exp({x}) / ag.sum(ag.exp({x}), axis={axis}, keepdims=True)",
                  f"ag.exp({x} - {top})", f"{x} / ag.sum({x}, axis={axis}, keepdims=True)"]
    return Line(p.one(forms), False)


def spread(p: Pool, x: Value) -> Line | None:
    """Medians of whole numbers are halves; variances of smooth values."""
    if x.kind != "f" or not x.size:
        return None
    axes, keep = p.axes(x), p.chance(0.5)
    if not p.smooth:
        return Line(f"ag.median({x}, axis={axes}, keepdims={keep}) * 2")
    return Line(p.one([f"ag.var({x}, axis={axes}, keepdims={keep})",
                       f"ag.sqrt(ag.var({x}, axis={axes}) + 1)"]), False)


def ordered(p: Pool, x: Value) -> Line | None:
    if not x.ndim or x.kind in "bc" or (p.smooth and p.chance(0.5)):
        return None
    axis = p.axis(x)
    forms = [f"ag.sort({x}, axis={axis})", f"ag.flip(ag.sort({x}, axis={axis}), {axis})"]
    if not p.smooth:
        forms += [f"ag.argsort({x}, axis={axis}, stable=True)",
                  f"ag.searchsorted(ag.sort({p.alike(x)}.reshape(-1)), {x}, side='right')"]
    return Line(p.one(forms))


def counted(p: Pool, x: Value) -> Line | None:
    if p.smooth or x.kind in "bc":
        return None
    whole = x.name if x.kind in "iu" else f"ag.where({x} > 0, 1, 0)"
    return Line(p.one([f"ag.count_nonzero({x}, axis={p.axes(x)})",
                       f"ag.bincount(({whole}).reshape(-1).astype('int64') % 5, length=5)"]))


def matmul(p: Pool, x: Value) -> Line | None:
    if x.kind == "b" and p.chance(0.5):
        return None
    matrices = [v for v in p.values if v.ndim > 1 and x.ndim and v.shape[-2] == x.shape[-1]]
    turned = [v for v in p.values if v.ndim > 1 and x.ndim and v.shape[-1] == x.shape[-1]]
    y = f"{p.one(matrices)}" if matrices and p.chance(0.6) else (
        f"ag.swapaxes({p.one(turned)}, -1, -2)" if turned else None)
    if y is None:
        return Line(f"{x} @ {x}") if x.ndim == 1 else None
    scale = f" / {max(x.shape[-1], 1) ** 0.5:.3f}" if p.smooth else ""
    return Line(f"({x} @ {y}){scale}" if scale else f"{x} @ {y}", not p.smooth)


def contracted(p: Pool, x: Value) -> Line | None:
    if x.ndim > 3 or not x.ndim:
        return None
    y = p.alike(x)
    scale = f" * {1 / max(x.size, 1):.4f}" if p.smooth else ""
    letters = "abc"[: x.ndim]
    order = "".join(str(c) for c in p.rng.permutation(list(letters)))
    kept = "".join(c for c in order if p.chance(0.5))
    if p.chance(0.3):
        return Line(f"ag.outer({x}.reshape(-1)[:20], {p.pick()}.reshape(-1)[:3])")
    if p.chance(0.2):
        return Line(f"ag.vdot({x}, {y}){scale}", not p.smooth)
    return Line(f"ag.einsum('{letters},{letters}->{kept}', {x}, {y}){scale}", not p.smooth)


def traced(p: Pool, x: Value) -> Line | None:
    if x.ndim < 2 or x.kind == "b":
        return None
    return Line(f"ag.trace({x}, offset={p.below(3) - 1}, axis1=-2, axis2=-1)")


MAKERS = (summed, summed, summed, both_ways, both_ways, extreme, extreme, argument, product,
          running, row, row, spread, ordered, counted, matmul, matmul, contracted, traced)
