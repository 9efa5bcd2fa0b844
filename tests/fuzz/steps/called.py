"""Steps that hand functions to transforms: jit, checkpoint, vmap, gradients inside of programs."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value
from tests.fuzz.program import Body
from tests.fuzz.steps.control import inner

#: What calls a function as it is.
PLAIN = ("ag.jit({f})({x}, {y})", "ag.checkpoint({f}, {x}, {y})", "ag.jit(ag.jit({f}))({x}, {y})")


def _two(p: Pool, x: Value, y: Value, steps: int, form: str) -> tuple[Body, Pool, Value]:
    """A function of two values, and of what is around it, that returns one."""
    names = [f"v{p.count + 90 + i}" for i in range(2)]
    given = [Value(n, v.data, v.exact) for n, v in zip(names, (x, y), strict=True)]
    q = inner(p, given, steps)
    seen = q.pick()
    return p.function(names, q.steps, [seen.name], form), q, seen


def wrapped(p: Pool, x: Value) -> Line | None:
    """A function in a jit or checkpoint of its own, perhaps of one value twice."""
    y = p.pick()
    f, q, _ = _two(p, x, y, 1 + p.below(6), "ag.copy({0})")
    return Line(p.one(PLAIN).format(f=f.name, x=x, y=y), all(s.exact for s in q.steps),
                functions=(f,))


def batched(p: Pool, x: Value) -> Line | None:
    """A function of each line along some axis, put together along another one."""
    if not x.ndim or not 0 < x.size < 200:
        return None
    axis = p.below(x.ndim)
    other = p.one([v for v in p.values if not v.number])
    key = ", ".join([":"] * axis + ["0"])
    row = Value("row", x.data[tuple([slice(None)] * axis + [0])], x.exact)
    f, q, seen = _two(p, row, other, 1 + p.below(5), "ag.copy({0})")
    if seen.ndim > 3 or not key:
        return None
    out = p.below(seen.ndim + 1)
    return Line(f"ag.vmap({f.name}, in_axes=({axis}, None), out_axes={out})({x}, {other})",
                all(s.exact for s in q.steps), functions=(f,))


def derived(p: Pool, x: Value) -> Line | None:
    """The gradient of a function by one of its values or both, as a step."""
    if x.kind != "f" or not x.size or x.dtype.name not in ("float32", "float64"):
        return None
    y = p.alike(x)
    f, _, seen = _two(p, x, y, 1 + p.below(4), "ag.sum({0} * {0}).astype('float64')")
    if seen.kind != "f":
        return None
    return Line(p.one([
        f"ag.grad({f.name})({x}, {y})", f"sum(ag.grad({f.name}, (0, 1))({x}, {y}))",
        f"ag.value_and_grad({f.name}, 1)({x}, {y})[1]",
        f"ag.jvp({f.name}, ({x}, {y}), ({y}, {x}))[1]",
        f"ag.jit(ag.grad({f.name}))({x}, {y})"]), False, functions=(f,))


MAKERS = (wrapped, wrapped, batched, derived)
