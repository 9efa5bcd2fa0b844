"""Steps over axes of one size, and one value as several operands: what looks alike is not the same.

Axes, flags and operands that are matched by their size or identity, not by their position, meet
others here that fit as well.
"""

from __future__ import annotations

import re

from tests.fuzz.pool import Line, Pool, Value

#: Functions of a row ``r``, what stands beside it, ``m``, and a value from outside.
ROWS = (
    "r * m", "r - m", "ag.softmax(r, axis=-1) * m", "r.sum() - m", "ag.cumsum(r, axis=0) * m",
    "ag.where(r > m, r, m * 0.5)", "r * {y}", "(r - {y}).sum(-1)", "ag.sort(r, axis=0) - m",
    "ag.vmap(lambda q: q * r.sum() - q.sum(), {a}, {a})(m)", "m[0] * r", "{y}[0] - m * r.sum()",
    "ag.vmap(lambda q, w: (q * w).sum(), (0, None), 0)(r, m)",
)
#: Those that loop or choose, where some of what a step gives is the same for all rows.
LOOPS = (
    "ag.while_loop(lambda s: s[0] < {n}, lambda s: (s[0] + 1, {c}), "
    "(0 * ag.isfinite(r.sum()), {b} * r))[1]",  # once at least: body and start have one type
    "ag.while_loop(lambda s: (s[0] < 1) | ((s[0] < {n}) & (ag.sum(s[1]) > {b})), "
    "lambda s: (s[0] + 1, {c}), (0, {b} * r))[1]",
    "ag.fori_loop(0, {n}, lambda i, s: ({c0}), {b} * r)",
    "ag.scan(lambda s, q: ({c0}, s * q), {b} * r, {y})[{w}]",
    "ag.scan(lambda s, q: ({c0}, s.sum()), {b} * r, m)[{w}]",
    "ag.cond(r.sum() > m.sum(), lambda s: {c1}, lambda s: {b} * s, {b} * r)",
    "ag.map(lambda q: q * r - m, {y})",
)
CARRIED = ("s[1] * 0.5", "ag.tanh(s[1]) + r", "ag.tanh({y}[0])", "{y}[1] * 1", "ag.zeros_like(r)",
           "s[1] * 0.5 + {y}[0]", "ag.tanh(m) + 0 * s[1]", "s[1][::-1] * 0.5")
#: The same of whole numbers.
WHOLE = ("s[1] - r", "ag.minimum({y}[0], 3)", "{y}[1] * 1", "ag.zeros_like(r)", "s[1] - {y}[0]",
         "s[1][::-1] - m", "ag.clip(s[1] * r, -3, 3)")


def alike(x: Value) -> bool:
    """Whether all axes of a value have one size, of which results stay small."""
    return 0 < x.ndim < 4 and len(set(x.shape)) == 1 and 1 < x.shape[0] < 7


def seen(p: Pool, x: Value) -> str:
    """What broadcasts with a value, and is the value with axes or elements exchanged or folded."""
    a, b = p.below(x.ndim), p.below(x.ndim)
    kind = p.below(3)
    if kind == 0 or x.kind == "b":
        return p.one([x.name, f"ag.swapaxes({x}, {a}, {b})", f"ag.flip({x}, {a})",
                      f"ag.roll({x}, 1, {a})", f"{x}[{p.below(x.shape[0])}]",
                      f"{x}[..., {p.below(x.shape[0])}]", f"{x}[..., :1]",
                      f"ag.diagonal({x})" if x.ndim == 2 else f"ag.moveaxis({x}, 0, -1)"])
    of = p.one([x.name, x.name, f"ag.swapaxes({x}, 0, -1)"])
    if kind == 1:
        how = ["cumsum"] + ["sort"] * (x.kind != "c") + ["softmax", "log_softmax"] * p.smooth
        return f"ag.{p.one(how)}({of}, axis={a})"
    how = ["sum"] if x.kind == "c" else ["mean", "sum", "logsumexp", "max", "var"
                                         ] if p.smooth else ["sum", "max", "min"]
    place = ["({0}, axis={1})", "({0}, axis={1}, keepdims=True)"]
    if x.ndim > 1:
        place += ["({0}, axis={1})[:, None]", "({0}, axis={1})[..., None]", "({0}, axis={1})[None]"]
    return f"ag.{p.one(how)}" + p.one(place).format(of, a)


def beside(p: Pool, x: Value) -> Line | None:
    """A value and two others made of it, element by element."""
    if not alike(x):
        return None
    parts = [f"({seen(p, p.one([x, x, p.alike(x)]))})" for _ in range(3)]
    if x.kind in "bc":
        return Line(p.one(["{0} * {1}", "{0} == {1}", "{0} + {1} * {2}"]).format(*parts))
    if not p.smooth:
        return Line(p.one(["{0} * {1} - {2}", "{0} + {1}", "ag.maximum({0}, {1}) - {2}",
                           "ag.where({0} > {1}, {1}, {2})", "({0} == {1}) * {2}",
                           "{0} % 3 + {1} * {2}"]).format(*parts))
    return Line(p.one(["{0} * {1} - {2}", "{0} / (1 + {1} * {1})", "ag.tanh({0}) * {1} + {2}",
                       "ag.where({0} > {1}, {1} * {1}, ag.tanh({2}))",
                       "ag.exp(ag.tanh({0}) - ag.tanh({1})) * {2}",
                       "ag.exp(ag.tanh({0})) / (1 + ag.exp(ag.tanh({1})) + {2} * {2})",
                       ]).format(*parts), False)


def pairs(p: Pool, x: Value) -> Line | None:
    """All rows beside all rows, or elements, folded along any axis."""
    if not alike(x) or x.kind == "b" or x.ndim > 2:
        return None
    y = p.one([x, x, p.alike(x)])
    places = ["[:, None]", "[None]"] + ["[..., None]", ".T[None]", ".T[:, None]"] * (x.ndim > 1)
    form = p.one(["{0} - {1}", "{0} * {1}"] + (["ag.tanh({0} - {1})"] if p.smooth else []))
    text = "(" + form.format(x.name + p.one(places), y.name + p.one(places)) + ")"
    if p.chance(0.7):
        how = p.one(["mean", "logsumexp", "softmax"] if p.smooth else
                    ["sum"] if x.kind == "c" else ["sum", "max", "cumsum"])
        text = f"ag.{how}({text}, axis={p.below(x.ndim + 1)})"
    return Line(text, not p.smooth)


def summed_products(p: Pool, x: Value) -> Line | None:
    """A value with itself in ``einsum``: any letters, which have one size."""
    if not alike(x) or x.kind == "b":
        return None
    letters = "abcd"[: min(x.ndim + 1, 3 if x.shape[0] > 4 else 4)]
    count = 1 + p.below(3)
    words = ["".join(p.one(letters) for _ in range(x.ndim)) for _ in range(count)]
    used = p.rng.permutation(sorted(set("".join(words))))
    kept = "".join(c for c in used if p.chance(0.5))
    operands = ", ".join(p.one([x, x, p.alike(x)]).name for _ in range(count))
    text = f"ag.einsum('{','.join(words)}->{kept}', {operands})"
    summed = x.shape[0] ** (len(used) - len(kept))
    return Line(f"{text} / {summed}" if p.smooth and summed > 1 else text, not p.smooth)


def products(p: Pool, x: Value) -> Line | None:
    """Products of matrices and vectors that are one value, turned or not."""
    if not alike(x) or x.kind == "b":
        return None
    a, b = p.below(x.ndim), p.below(x.ndim)
    parts = [p.one([x.name, x.name, f"ag.swapaxes({x}, {a}, {b})", p.alike(x).name,
                    f"ag.cumsum({x}, axis={a})", f"{x}[::-1]"]) for _ in range(3)]
    forms = ["{0} @ {1}", "ag.tensordot({0}, {1}, axes=([{a}], [{b}]))", "ag.inner({0}, {1})",
             "ag.vecdot({0}, {1}, axis={a})", "ag.outer({0}, {1})"][: 4 if x.ndim > 1 else 5]
    if x.ndim > 1:
        forms += ["{0} @ ({1} @ {2})", "({0} @ {1}) * {2}", "{0} @ {1}[0]", "{0}[{i}] @ {1}",
                  "{0}[:, {i}] @ {1}", "({0} * {1}[..., :1]) @ {2}", "({0} * {1}[0]) @ {2}",
                  "ag.tril({0}) @ ag.triu({1})", "({0} @ {1}) - ({0} @ {2})"]
    if x.ndim == 2:
        forms += ["ag.kron({0}, {1})[::2]", "ag.diag({0}[{i}]) @ {1}", "ag.trace({0} @ {1}) * {2}"]
        if p.smooth:
            forms += ["ag.linalg.solve({0} @ {0}.T + 3 * ag.eye({n}), {1})",
                      "ag.linalg.inv({0} @ {0}.T + 3 * ag.eye({n})) * {1}"]
    text = p.one(forms).format(*parts, a=a, b=b, i=p.below(x.shape[0]), n=x.shape[0])
    return Line(f"({text}) / {x.shape[0]}" if p.smooth else text, not p.smooth)


def gathered(p: Pool, x: Value) -> Line | None:
    """Rows and elements by indices that were found along another axis, of the same size."""
    if not alike(x) or x.kind in "bc":
        return None
    a, b, y = p.below(x.ndim), p.below(x.ndim), p.one([x, x, p.alike(x)])
    order = f"ag.argsort({y}, axis={a}, stable=True)"
    top = f"ag.{p.one(['argmax', 'argmin'])}({y}, axis={a})" if x.ndim > 1 else order
    forms = ["ag.take_along_axis({x}, {order}, axis={b})", "{x}[{top}]", "{x}[..., {top}]",
             "ag.take({x}, {top}, axis={b})", "{x}[{order}[::-1]]" if x.ndim < 3 else "{x}[{top}]"]
    if x.ndim > 1:
        forms += ["{x}[:, {top}]", "{x}[{top}, {top}]", "{x}[ag.arange({n}), {top}]",
                  "{x}[{top}, ag.arange({n})]", "{x}[{top}].sum({b})", "{x}[{top}] * {y}[0]"]
    return Line(p.one(forms).format(x=x, y=y, a=a, b=b, order=order, top=top, n=x.shape[0]))


def _body(p: Pool, x: Value, y: Value) -> str:
    """A function of a row of a value and of what stands beside it."""
    table = CARRIED if p.smooth else WHOLE
    carried, branch = p.one(table), p.one([c for c in table if not re.search(r"\bm\b", c)])
    form = p.one((*ROWS, *LOOPS, *LOOPS)).format(
        y=y, a=p.below(max(x.ndim - 1, 1)), n=1 + p.below(3), b=1 + p.below(3), w=p.below(2),
        c=carried, c0=carried.replace("s[1]", "s"), c1=branch.replace("s[1]", "s"))
    return form.format(y=y)


def mapped(p: Pool, x: Value) -> Line | None:
    """``vmap`` along any axis of one value or of two, results along any axis."""
    if not alike(x) or x.ndim < 2 or x.kind in "bc" or x.size > 150:
        return None
    y = p.one([x, x, p.alike(x)])
    second = p.one([None, p.below(x.ndim), p.below(x.ndim)])
    axes = f"({p.below(x.ndim)}, {second})"
    text = f"ag.vmap(lambda r, m: {_body(p, x, y)}, {axes}, {p.below(2)})({x}, {p.alike(x)})"
    text += ".contiguous()"  # its memory order, on which views by reshape depend, is no promise
    return Line(text, not p.smooth)


def derived(p: Pool, x: Value) -> Line | None:
    """Jacobians and gradients of a function of rows that reads the whole value, too."""
    if not p.smooth or not alike(x) or x.ndim != 2 or x.dtype.name not in ("float32", "float64"):
        return None
    a, i = p.below(2), p.below(x.shape[0])
    row = p.one([f"{x}[{i}]", f"{x}[:, {i}]", f"ag.diagonal({x})"])
    inner = p.one(["r @ {x}", "{x} @ r", "r * {x}.sum({a})", "ag.softmax(r * {x}, axis={a}).sum(0)",
                   "r[:, None] * {x}[{i}] @ r", "ag.cumsum(r * {x}, axis={a})[-1]",
                   "ag.sort({x} * r, axis={a})[0]"]).format(x=x, a=a, i=i)
    f = f"lambda r: ag.tanh({inner})"
    whole = p.one(["w @ w", "w @ w.T", "w * w.T", "w[:, None] * w[None]", "ag.softmax(w, axis=0) @ "
                   "ag.softmax(w, axis=1)", "w.sum(0) * w", "w.sum(1) * w"])
    return Line(p.one([
        f"ag.jacrev({f})({row})", f"ag.jacfwd({f})({row})", f"ag.jvp({f}, ({row},), ({row},))[1]",
        f"ag.hessian(lambda r: (ag.tanh({inner}) * r).sum())({row})",
        f"ag.grad(lambda w: ag.tanh({whole}).sum())({x})",
        f"ag.jvp(lambda w: ag.tanh({whole}), ({x},), ({x}.T,))[1]",
        f"ag.vmap(ag.grad(lambda r: (ag.tanh({inner}) * r).sum()), {a}, {1 - a})({x})",
        f"ag.vmap(ag.jacrev({f}), {a}, {a})({x})"]), False)


MAKERS = (beside, beside, pairs, summed_products, products, products, gathered, mapped, mapped,
          derived)
