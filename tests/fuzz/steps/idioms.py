"""Steps that are whole algorithms: loops of Python that are written out, and what people compute.

They are exact where the numbers are whole and the text only adds, multiplies and compares.
"""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value


def _turns(first: str, again: str, count: int) -> str:
    """Python that does something to ``t`` again and again."""
    return f"(lambda t: [t := {again} for i in range({count})][-1])({first})"


def relaxed(p: Pool, x: Value) -> Line | None:
    """Values pulled towards neighbours, means of lines, or another value, some times."""
    if not p.smooth or not x.ndim or not x.size:
        return None
    text, y = p.fitting(x)
    axis = p.axis(x)
    mean = f"ag.mean(t, axis={axis}, keepdims=True)"
    forms = [
        f"ag.tanh(0.9 * t + {text})", f"t - {mean}", f"0.5 * (t + ag.roll(t, 1, {axis}))",
        f"t + 0.1 * (ag.roll(t, 1, {axis}) + ag.roll(t, -1, {axis}) - 2 * t)",
        f"t / ag.sqrt(1 + ag.sum(t * t, axis={axis}, keepdims=True))",
        f"ag.where(t > 0, t * 0.5, t + {mean})", "t - 0.1 * (t**3 - t)", f"t * 0.5 + i * {x}",
        "ag.concat([t[1:], t[:1]]) * 0.9 + t[::-1] * 0.1", "t - t.sum() / (1 + t.size)",
    ]
    same = y.number or all(n == 1 for n in y.shape)
    form = p.one(forms if same else forms[1:])
    return Line(_turns(x.name, form, 2 + p.below(9)), False)


def balanced(p: Pool, x: Value) -> Line | None:
    """Rows and columns normalised in turn, as Sinkhorn does; double centring."""
    if not p.smooth or x.ndim < 2 or not x.size:
        return None
    a, b = (int(n) - x.ndim for n in p.rng.permutation(x.ndim)[:2])
    def of(form: str, axis: int, value: str) -> str:
        return form.format(t=value, axis=axis)

    form = p.one(["({t}) / ag.sum({t}, axis={axis}, keepdims=True)",
                  "({t}) - ag.logsumexp({t}, axis={axis}, keepdims=True)",
                  "({t}) - ag.mean({t}, axis={axis}, keepdims=True)"])
    first = f"ag.exp(ag.tanh({x}))" if "sum(" in form and "log" not in form else x.name
    turn = f"(lambda t: {of(form, b, 't')})({of(form, a, 't')})"
    return Line(_turns(first, turn, 1 + p.below(4)), False)


def shares(p: Pool, x: Value) -> Line | None:
    """Quotients by sums of exponentials, along any axis, that stand anywhere beside the matrix."""
    if not p.smooth or x.ndim != 2 or not 0 < x.size <= 400:
        return None
    aside = "({r}, axis={a}, keepdims=True)"
    places = [aside, "({r}, axis={a})", "({r}, axis={a})[:, None]", aside + ".T"]
    place = p.one(places if x.shape[0] == x.shape[1] else [aside])

    def of(name: str, form: str, value: str) -> str:
        return f"ag.{name}" + form.format(r=value, a=p.below(2))

    e = f"ag.exp({p.one(['t', 't - ' + of('max', p.one([place, aside]), 't')])})"
    w = p.one([e, e, f"ag.cos({p.alike(x)}) * {e}", f"ag.where({p.alike(x)} > 0, {e}, 0.5)"])
    total = of(p.one(["sum", "sum", "sum", "mean", "max"]), place, p.one([e, w]))
    form = p.one(["{w} / {s}", "{w} / {s}", "{w} * (1 / {s})", "ag.log(0.1 + {w} / {s})",
                  "t - ag.log({s})", "{w} * {e} / {s}", "{s} / (1 + {w})"])
    if "cos" in total:
        form = "{w} / (1 + {s} * {s})"
    return Line(f"(lambda t: {form.format(w=w, s=total, e=e)})(ag.tanh({x}))", False)


def distances(p: Pool, x: Value) -> Line | None:
    """Between all rows, and what is made of them."""
    if x.ndim != 2 or x.kind in "bcu" or x.size * x.shape[0] > 20_000 or not x.size:
        return None
    d = f"ag.sum(({x}[:, None] - {x}[None])**2, axis=-1)"
    if not p.smooth:
        return Line(p.one([d, f"ag.argsort({d}, axis=1, stable=True)", f"ag.max({d}, axis=0)",
                           f"ag.argmin({d} + ag.eye({x.shape[0]}).astype({x.dtype.name!r}) * 64, "
                           "axis=1)"]))
    return Line(p.one([f"ag.exp(-0.1 * {d})", f"ag.softmax(-{d}, axis=1) @ {x}",
                       f"ag.sqrt({d} + 0.1).mean(1)",
                       f"{d} / (1 + {d}.sum(0) + {d}.sum(1, keepdims=True))",
                       f"ag.logsumexp(-{d}, axis=0)"]), False)


def attention(p: Pool, x: Value) -> Line | None:
    """Softmax of products, with a mask, summed both ways."""
    if not p.smooth or x.ndim < 2 or not x.size or x.shape[-2] > 40:
        return None
    y, n = p.alike(x), x.shape[-2]
    scores = f"({x} @ ag.swapaxes({y}, -1, -2)) / {max(x.shape[-1], 1) ** 0.5:.3f}"
    mask = f"ag.where(ag.arange({n})[:, None] >= ag.arange({n})[None], {scores}, -1e9)"
    form = p.one(["ag.softmax({s}, axis=-1) @ {y}", "ag.softmax({s}, axis=-2).sum(-1)",
                  "ag.softmax({s}, axis=-1).mean(-2)", "ag.log_softmax({s}, axis=-1).max(-2)"])
    return Line(form.format(s=p.one([scores, mask]), y=y), False)


def recurrence(p: Pool, x: Value) -> Line | None:
    """Rows computed from the rows before, in a list that becomes one value."""
    if x.kind in "bcu" or not x.ndim or not 1 < x.shape[0] < 14 or x.ndim > 3:
        return None
    if p.smooth:
        step = p.one(["ag.tanh(r[-1] + {x}[i])", "0.5 * r[-1] + {x}[i] * r[0]",
                      "ag.logaddexp(r[-1], {x}[i])", "r[-1] * 0.9 + r[len(r) // 2] * {x}[i]"])
    else:
        step = p.one(["ag.maximum(r[-1], {x}[i])", "r[-1] + {x}[i]", "{x}[i] - r[-1]",
                      "ag.where({x}[i] > r[-1], {x}[i], r[-1] - 1)"])
    rows = f"[r.append({step.format(x=x)}) for i in range(1, {x.shape[0]})]"
    return Line(f"(lambda r: ({rows}, {p.one(['ag.stack(r)', 'ag.stack(r)[-1]', 'sum(r)'])})[1])"
                f"([{x}[0]])", not p.smooth)


def matrix_loop(p: Pool, x: Value) -> Line | None:
    """Powers of a matrix, shortest paths, elimination."""
    if x.ndim != 2 or x.kind in "bcu" or x.shape[0] != x.shape[1] or not 0 < x.shape[0] < 9:
        return None
    n = x.shape[0]
    if not p.smooth:
        return Line(_turns(x.name, "ag.minimum(t, t[:, i:i + 1] + t[i:i + 1])", n))
    return Line(p.one([
        _turns(f"{x}[0]", f"ag.tanh({x} @ t)", 3),
        _turns(f"ag.tanh({x})", f"(t @ t) / {2 * n}", 3),
        _turns(f"{x} + {3 * n} * ag.eye({n}).astype({x.dtype.name!r})",
               "t - t[:, i:i + 1] * t[i:i + 1] / t[i, i]", n - 1 or 1)]), False)


def descent(p: Pool, x: Value) -> Line | None:
    """Some steps of gradient descent."""
    if not p.smooth or x.dtype.name not in ("float32", "float64") or not x.size:
        return None
    text, _ = p.fitting(x)
    loss = p.one([f"((w - {text}) ** 2).sum()", f"ag.log(1 + ((w * {text}) ** 2).sum())",
                  f"(ag.tanh(w) * {text}).mean() + (w * w).sum()"])
    return Line(_turns(x.name, f"t - 0.1 * ag.grad(lambda w: ({loss}).astype('float64'))(t)",
                       1 + p.below(3)), False)


def histogram(p: Pool, x: Value) -> Line | None:
    """One-hot rows, counts, cells of an automaton."""
    if p.smooth or x.kind not in "iu" or not x.size or not x.ndim:
        return None
    hot = f"({x}.reshape(-1)[:, None] % 5 == ag.arange(5))"
    live = f"({x} % 2)"
    near = f"(ag.roll({live}, 1, 0) + ag.roll({live}, -1, -1) + ag.roll({live}, 1, -1))"
    return Line(p.one([f"{hot}.sum(0)", f"ag.argmax({hot}.astype('int32'), axis=1)",
                       f"ag.cumsum({hot}, axis=0)[-1]", f"({near} == 2) | ({live} > 0)",
                       f"ag.where({near} > 1, {x}, 0).sum(axis=-1)",
                       f"{hot}.astype('float64').T @ {hot}.astype('float64')"]))


MAKERS = (relaxed, relaxed, balanced, shares, distances, attention, recurrence, matrix_loop,
          descent, histogram)
