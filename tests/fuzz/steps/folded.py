"""Steps that reduce, order and contract in the ways that are used less often."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value


def crossed(p: Pool, x: Value) -> Line | None:
    """Rows normalised and then reduced over columns, and what comes out of it put back."""
    if x.ndim < 2 or x.kind in "bc" or not x.size:
        return None
    a, b = (int(n) - x.ndim for n in p.rng.permutation(x.ndim)[:2])
    if p.smooth:
        rows = p.one([f"ag.softmax({x}, axis={a})", f"ag.log_softmax({x}, axis={a})",
                      f"({x} - ag.mean({x}, axis={a}, keepdims=True))",
                      f"{x} / (1 + ag.sum({x} * {x}, axis={a}, keepdims=True))"])
        fold = p.one(["sum", "mean", "logsumexp", "var"])
        form = p.one(["ag.{fold}({rows}, axis={b})",
                      "{x} * ag.{fold}({rows}, axis={b}, keepdims=True)",
                      "ag.sum({rows} * ag.{fold}({x}, axis={b}, keepdims=True), axis={a})"])
        return Line(form.format(x=x, a=a, b=b, rows=rows, fold=fold), False)
    rows = p.one([f"({x} - ag.max({x}, axis={a}, keepdims=True))",
                  f"({x} * ag.sum({x}, axis={a}, keepdims=True))",
                  f"ag.cumsum({x}, axis={a})", f"ag.sort({x}, axis={a})"])
    form = p.one(["ag.{fold}({rows}, axis={b})", "ag.argmax({rows}, axis={b})",
                  "{rows} - ag.{fold}({rows}, axis={b}, keepdims=True)"])
    return Line(form.format(x=x, b=b, rows=rows, fold=p.one(["sum", "max", "min"])))


def where_true(p: Pool, x: Value) -> Line | None:
    """Reductions of the elements that a mask names, or from a number on."""
    if p.smooth or x.kind in "bc" or not x.ndim:
        return None
    axis, y = p.axis(x), p.alike(x)
    return Line(p.one([f"ag.sum({x}, axis={axis}, where={y} > 0)",
                       f"ag.max({x}, axis={axis}, initial=1)",
                       f"ag.min({x}, axis={axis}, initial=1, where={y} > 1)",
                       f"ag.sum({x}, axis={axis}, initial=2)",
                       f"ag.max({x}, axis=(), keepdims=True)", f"ag.sum({x}, axis=())"]))


def running(p: Pool, x: Value) -> Line | None:
    """Products, extremes and sums so far."""
    if not x.ndim or x.kind in "bc":
        return None
    axis = p.axis(x)
    back = f"ag.flip(ag.cumsum(ag.flip({x}, {axis}), {axis}), {axis})"
    if p.smooth:
        return Line(p.one([f"ag.cumprod(ag.tanh({x}) + 0.5, axis={axis})", back,
                           f"ag.log(1 + ag.cumsum({x} * {x}, axis={axis}))"]), False)
    small = f"ag.clip({x}, {0 if x.kind == 'u' else -1}, 1)"
    forms = [f"ag.cumprod({small}, axis={axis})", back,
             f"ag.cumulative_sum({x}, axis={axis}, include_initial=True)"]
    if x.size:
        forms += [f"ag.cummin({x}, axis={axis}).values", f"ag.cummax({x}, axis={axis}).indices"]
    return Line(p.one(forms))


def centre(p: Pool, x: Value) -> Line | None:
    """Averages with weights, ranges, norms, quantiles."""
    if x.kind != "f" or not x.ndim or not x.size:
        return None
    axis = p.below(x.ndim)
    if not p.smooth:
        return Line(p.one([f"ag.ptp({x}, axis={axis})", f"ag.nanmax({x}, axis={axis})",
                           f"ag.nanmin({x}, axis={axis})"]))
    forms = [f"ag.average({x}, axis={axis}, weights=1 + {x} * {x})",
             f"ag.sqrt(ag.var({x}, axis={axis}, keepdims=True) + 1) * {x}",
             f"ag.linalg.norm({x} + 3, axis={axis})",
             f"ag.quantile({x}, {p.one([0.25, 0.5, 0.9])}, axis={axis})"]
    return Line(p.one(forms), False)


def ordered(p: Pool, x: Value) -> Line | None:
    """Ranks, bins, the largest, what is sorted by something else."""
    if p.smooth or not x.ndim or x.kind in "bc" or not x.size:
        return None
    axis, y = p.axis(x), p.alike(x)
    k = 1 + p.below(x.shape[-1])
    rank = f"ag.argsort({y}, axis={axis}, stable=True)"
    return Line(p.one([
        f"ag.argsort({x}, axis={axis}, descending=True, stable=True)",
        f"ag.take_along_axis({x}, {rank}, axis={axis})", f"ag.argsort({rank}, axis={axis})",
        f"ag.topk({x}, {k}, -1)[0]", f"ag.sort({x}.reshape(-1))[::-1]",
        f"ag.sort(ag.partition({x}, {k - 1}, axis=-1)[..., :{k}], axis=-1)",
        f"ag.searchsorted(ag.sort({y}.reshape(-1)), {x}, side='left')",
        f"ag.digitize({x}, np.array([-1, 0, 1]).astype({x.dtype.name!r}))"
        if x.kind != "u" else f"ag.digitize({x}, np.array([0, 1], {x.dtype.name!r}))",
        f"ag.isin({x}, {y}[:1])"]))


def contracted(p: Pool, x: Value) -> Line | None:
    """Sums over products with repeated, missing and broadcast axes, of one to three values."""
    if not 0 < x.ndim < 4 or x.kind == "b":
        return None
    scale = f" / {max(x.size, 1)}" if p.smooth else ""
    y = p.alike(x)
    letters = "abc"[: x.ndim]
    forms = [f"ag.einsum('...a,a->...', {x}, {x}[{', '.join(['0'] * (x.ndim - 1))}])"
             if x.ndim > 1 and x.size else f"ag.einsum('{letters}->', {x})",
             f"ag.einsum('{letters}->{letters[::-1]}', {x})",
             f"ag.einsum('{letters},{letters},{letters}->{letters[:1]}', {x}, {y}, {x})",
             f"ag.inner({x}, {y})"]
    if x.ndim == 2:
        forms += [f"ag.einsum('ab,cb->ac', {x}, {y})", f"ag.einsum('ab,ac->cb', {x}, {y})",
                  f"ag.einsum('ab,cb,cd->ad', {x}, {y}, {x})", f"ag.einsum('ab,b->a', {x}, {y}[0])"
                  if x.size else f"ag.kron({x}, {y})", f"ag.tensordot({x}, {y}, axes=2)",
                  f"ag.tensordot({x}, {y}, axes=([0], [0]))"]
    if x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        rest = letters[:-2]
        forms += [f"ag.einsum('{rest}zz->{rest}z', {x})", f"ag.einsum('{rest}zz->', {x})",
                  f"ag.einsum('{rest}zz,{rest}az->a', {x}, {y})"]
    if x.ndim == 1:
        forms += [f"ag.einsum('a,b->ba', {x}, {y})", f"ag.einsum('a,b,a->b', {x}, {y}, {x})",
                  f"ag.kron({x}, {y}[:3])"]
    return Line(p.one(forms) + scale, not p.smooth)


def solved(p: Pool, x: Value) -> Line | None:
    """Systems of equations that are well conditioned."""
    if not p.smooth or x.dtype.name not in ("float32", "float64") or x.ndim < 2:
        return None
    n = x.shape[-1]
    if x.shape[-2] != n or not 0 < n < 12:
        return None
    good = f"(ag.eye({n}).astype({x.dtype.name!r}) * {n + 1} + ag.tanh({x}))"
    return Line(p.one([f"ag.linalg.solve({good}, {x})", f"ag.linalg.inv({good})",
                       f"ag.linalg.det({good} / {n + 1})", f"{good}[..., 0, :] @ {x}",
                       f"ag.linalg.cholesky({good} @ ag.swapaxes({good}, -1, -2))"]), False)


MAKERS = (crossed, crossed, crossed, where_true, running, centre, ordered, contracted, contracted,
          solved)
