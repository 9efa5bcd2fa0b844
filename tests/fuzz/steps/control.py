"""Steps with functions in them: branches, loops, scans over random programs; changes in place."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value
from tests.fuzz.steps import (
    elementwise,
    folded,
    inplace,
    library,
    masks,
    movement,
    rearranged,
    reductions,
)
from tests.fuzz.steps.keys import key_of, slices_of

SIMPLE = (*elementwise.MAKERS, *movement.MAKERS, *reductions.MAKERS, *rearranged.MAKERS,
          *folded.MAKERS, *library.MAKERS, masks.guarded, masks.selected)
CONTRACTED = {"f": "ag.tanh({x})", "c": "{x}", "b": "{x}", "i": "ag.clip({x}, -8, 8)",
              "u": "ag.clip({x}, 0, 8)"}


def inner(p: Pool, parameters: list[Value], steps: int) -> Pool:
    """A program of some steps over parameters and what is around it."""
    q = Pool(p.rng, p.kind, p.most, p.count + 100 * (1 + p.functions))
    q.values = [*p.values[-3:], *parameters]
    for _ in range(steps):
        q.add(p.one(SIMPLE)(q, q.pick()))
    return q


def _same_type(q: Pool, x: Value) -> Value | None:
    """The last new value of the type of another."""
    fit = [v for v in q.values if not v.number and (v.shape, v.dtype) == (x.shape, x.dtype)]
    return fit[-1] if fit else None


def branch(p: Pool, x: Value) -> Line | None:
    """One of two functions of a value, by what a third one holds."""
    asked = p.pick()
    if asked.kind == "c":
        return None
    functions = []
    for _ in range(2):
        t = Value(f"v{p.count + 90 + p.functions}", x.data, x.exact)
        q = inner(p, [t], p.below(4))
        y = _same_type(q, x)
        assert y is not None
        functions.append(p.function([t.name], q.steps, [y.name], "{0} * 1" if x.kind != "b"
                                    else "ag.copy({0})"))
    exact = all(s.exact for f in functions for s in f.steps)
    return Line(f"ag.cond({asked}.sum() > 0, {functions[0].name}, {functions[1].name}, {x})",
                exact, functions=tuple(functions))


def again(p: Pool, x: Value) -> Line | None:
    """A few turns of a loop."""
    t = Value(f"v{p.count + 90}", x.data, x.exact)
    q = inner(p, [t], 1 + p.below(4))
    y = _same_type(q, x)
    assert y is not None
    f = p.function([f"v{p.count + 91}", t.name], q.steps, [y.name], CONTRACTED[x.kind].format(
        x="{0}") + ("" if x.kind != "b" else " | False"))
    return Line(f"ag.fori_loop(0, {p.below(4)}, {f.name}, {x})",
                x.kind != "f" and all(s.exact for s in q.steps), functions=(f,))


def scanned(p: Pool, x: Value) -> Line | None:
    """The rows of a value with something carried along."""
    if not x.ndim or not 0 < x.shape[0] < 20 or x.size > 2000:
        return None
    carry = p.pick()
    row = Value(f"v{p.count + 90}", x.data[0], x.exact)
    c = Value(f"v{p.count + 91}", carry.data, carry.exact)
    q = inner(p, [row, c], 1 + p.below(6))
    new, seen = _same_type(q, carry), q.pick()
    assert new is not None
    form = f"({CONTRACTED[carry.kind].format(x='{0}')}, {{1}})"
    f = p.function([c.name, row.name], q.steps, [new.name, seen.name], form)
    back = p.chance(0.3)
    exact = carry.kind not in "f" and all(s.exact for s in q.steps)
    return Line(f"ag.scan({f.name}, {carry}, {x}{', reverse=True' * back})", exact, outs=2,
                functions=(f,))


def until(p: Pool, x: Value) -> Line | None:
    """Halved until nothing is large; what is infinite stays so."""
    if x.kind != "f" or not x.size or p.kind == "wild":
        return None
    body = "v / 2" if p.smooth else "ag.trunc(v / 2)"
    first = f"ag.tanh({x}) * 4" if p.smooth else f"{x}"
    return Line("ag.while_loop(lambda v: (ag.max(ag.abs(v)) > 2) & ag.isfinite(v).all(), "
                f"lambda v: {body}, {first})", not p.smooth)


def each(p: Pool, x: Value) -> Line | None:
    """A function of each row."""
    if not x.ndim or x.kind == "b" or not 0 < x.shape[0] < 20:
        return None
    body = "ag.tanh(r) * r.sum()" if p.smooth else "r * 2 - r.sum()"
    return Line(f"ag.map(lambda r: {body}, {x})", not p.smooth)


# -- changes in place ---------------------------------------------------------------------------
def copied(p: Pool, x: Value) -> Line | None:
    """A copy, to be changed."""
    return Line(f"ag.copy({x})")


def changed(p: Pool, x: Value) -> Line | None:
    """A value, or what it looks into, changed."""
    if x.spread or x.kind in "b" or (p.smooth and not x.name.startswith("v")):
        return None
    text, y = p.fitting(x)
    if y.number or y.dtype != x.dtype or y.ndim > x.ndim:  # `number *= vector` makes a vector
        text = str(1 + p.below(3))
    form = p.one(["{x} += {y}", "{x} *= {y}", "{x} -= {y}", "{x}.mul_({y})", "{x}.add_({y})",
                  "{x}.copy_({y})" if text == y.name else "{x}.fill_(2)"])
    return Line(form.format(x=x, y=text), statement=True)


def written(p: Pool, x: Value) -> Line | None:
    """A part of a value, changed."""
    if x.spread or not x.ndim or (p.smooth and not x.name.startswith("v")):
        return None
    key = slices_of(p, x) if p.chance(0.6) else key_of(p, x.shape)
    if x.kind == "b":
        return Line(f"{x}[{key}] = {p.chance(0.5)}", statement=True)
    y = p.alike(x)
    return Line(p.one([f"{x}[{key}] = {p.below(3)}", f"{x}[{key}] += {y}[{key}]",
                       f"{x}[{key}] *= 2", f"{x}[{key}] = {y}[{key}] * 2"]), statement=True)


def masked(p: Pool, x: Value) -> Line | None:
    """A value, written where another one is positive."""
    if x.spread or x.kind in "bc" or p.smooth:
        return None
    return Line(f"{x}[{p.alike(x)} > 0] = {p.below(5)}", statement=True)


def several(p: Pool, x: Value) -> Line | None:
    """Results of operations that have more than one."""
    if not x.ndim or x.kind in "bc" or not x.size:
        return None
    if x.kind == "f" and p.smooth:
        return Line(f"(ag.max({x}, axis=0) * 0.5, ag.mean({x}, axis=-1))", False, outs=2)
    return Line(f"(ag.sum({x}, axis=0), ag.max({x}, axis={p.axis(x)}))", outs=2)


LOOPS = (branch, again, scanned, scanned, until, each)
CHANGES = (copied, changed, written, written, masked, *inplace.MAKERS, *inplace.MAKERS)
MAKERS = (*LOOPS, *CHANGES, several)
