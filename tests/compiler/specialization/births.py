"""Operations whose results have sizes that data decides, and the ways that run them.

``python -m tests.compiler.specialization.births`` prints the table.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import agnesi as ag
from agnesi import symbolic as T

#: Of a vector v: each gives a floating result of which v has gradients, or numbers.
BIRTHS: dict[str, Any] = {
    "x[mask]": lambda t, v: v[v > 1],
    "nonzero": lambda t, v: v[t.nonzero(v > 1)[0]],
    "flatnonzero": lambda t, v: t.flatnonzero(v > 1),
    "argwhere": lambda t, v: t.argwhere(v > 1),
    "unique": lambda t, v: t.unique(v),
    "compress": lambda t, v: t.compress(v > 1, v),
    "extract": lambda t, v: t.extract(v > 1, v),
    "masked_select": lambda t, v: t.masked_select(v, v > 1),
    "set_subtensor": lambda t, v: _put(t, v, v > 1) * v,
    "repeat": lambda t, v: t.repeat(v, t.abs(v).astype("int64")),
    "arange(n)": lambda t, v: t.arange(t.sum(v > 1)).astype("float64"),
    "zeros((n,))": lambda t, v: t.zeros((t.sum(v > 1),), dtype="float64") + v[0],
    "concatenate": lambda t, v: t.concatenate([v[v > 1], v, v[v < 0]]),
    "x[:n]": lambda t, v: v[:t.sum(v > 1)],
    "x[n::2]": lambda t, v: v[t.argmax(v)::2],
    "repeat(x, n)": lambda t, v: t.repeat(v, t.sum(v > 1)),
    "full((n, 2))": lambda t, v: t.full((t.sum(v > 1), 2), 3.0, dtype="float64") * v[0],
}
VALUES = [np.array(v) for v in (
    [3.0, -1, 2, 0, 5, -2, 1.5], [-3.0, -1, 0, 0, -5, -2, 1], [3.0, 3, 2, 2, 5, 4, 6])]


def _put(t: Any, v: Any, mask: Any) -> Any:
    """What was selected replaced: eagerly, there is no graph that tells of what it was."""
    return ag.index_put(v, mask, 9.0) if t is ag else t.set_subtensor(v[mask], 9.0)


def _weighed(y: Any) -> Any:
    """One number of a result of any size, which tells order and values apart."""
    y = y.astype("float64")
    return (y * y).sum() + (ag.cumsum(y, 0) * 0.5).sum()


def _squares(y: Any) -> Any:
    """A plain sum: it needs no size."""
    return (y.astype("float64") ** 2).sum()


def _scan(f: Any, v: Any, reduced: Any = _squares) -> Any:
    begin = ag.tensor(0.0, dtype="float64")
    return ag.scan(lambda c, _: (c + reduced(f(ag, v + c * 0.001)), c), begin, ag.arange(3))[0]


def _while(f: Any, v: Any) -> Any:
    begin = ag.tensor(0.0, dtype="float64"), ag.tensor(0)
    return ag.while_loop(lambda c: c[1] < 3, lambda c: (
        c[0] + _squares(f(ag, v + c[0] * 0.001)), c[1] + 1), begin)[0]


#: What is made of a result in the body of a loop: with numbers of each element, and of all.
REDUCTIONS: dict[str, Any] = {
    "sum": _squares,
    "mean": lambda y: y.astype("float64").mean(),
    "max": lambda y: y.astype("float64").max(),
    "min": lambda y: (y.astype("float64") * 2 + 1).min(),
    "prod": lambda y: (ag.tanh(y.astype("float64")) * 0.5).prod(),
    "any": lambda y: (y > 2).any().astype("float64"),
    "var": lambda y: y.astype("float64").var(),
    "norm": lambda y: ag.sqrt((y.astype("float64") ** 2).sum() + 1),
    "logsumexp": lambda y: ag.logsumexp(y.astype("float64")),
}


def _stepped(f: Any, reduced: Any) -> Any:
    """The gradient of a loop whose steps reduce what they make, and its value."""
    def loss(v: Any) -> Any:
        return _scan(f, v, lambda y: reduced(y) * 0.01)
    return lambda v: ag.stack([loss(v), ag.grad(loss)(v).sum()])


def reduced_in_steps(birth: str, reduction: str) -> list[tuple[Any, Any]]:
    """Of each value what jit and eager code give, or the kinds of their errors."""
    f = BIRTHS[birth]
    run = _stepped(f, REDUCTIONS[reduction])
    compiled = ag.jit(run)
    return [(_tried(compiled, x), _tried(run, x)) for x in VALUES]


def _tried(run: Any, x: np.ndarray) -> Any:
    try:
        return run(ag.tensor(x)).numpy()
    except ValueError:
        return "ValueError"


def _summed(f: Any) -> Any:
    return lambda v: _weighed(f(ag, v))


def _jit(f: Any) -> Any:
    return ag.jit(lambda v: f(ag, v))


def _function(f: Any) -> Any:
    v = T.dvector("v")
    return ag.function([v], f(T, v))


def _inside(f: Any) -> Any:
    v, w = T.dvector("v"), T.dvector("w")
    inner = ag.OpFromGraph([v], f(T, v))
    return ag.function([w], inner(w + 0.0))


#: Each way: what makes the compiled function, and the eager one that it is compared with.
WAYS: dict[str, tuple[Any, Any]] = {
    "jit": (_jit, lambda f: lambda v: f(ag, v)),
    "function": (_function, lambda f: lambda v: f(ag, v)),
    "grad": (lambda f: ag.jit(ag.grad(_summed(f))), lambda f: ag.grad(_summed(f))),
    "scan": (lambda f: ag.jit(lambda v: _scan(f, v)), lambda f: lambda v: _scan(f, v)),
    "while_loop": (lambda f: ag.jit(lambda v: _while(f, v)),
                   lambda f: lambda v: _while(f, v)),
    "cond": (lambda f: ag.jit(lambda v: ag.cond(
        v.sum() > 0, lambda: _weighed(f(ag, v)), lambda: v.sum())),
        lambda f: lambda v: _weighed(f(ag, v)) if v.sum() > 0 else v.sum()),
    "scan unreduced": (lambda f: ag.jit(lambda v: _scan(f, v, _weighed)),
                       lambda f: lambda v: _scan(f, v, _weighed)),
    "vmap": (lambda f: ag.jit(ag.vmap(lambda v: _squares(f(ag, v)))),
             lambda f: lambda v: ag.stack([_squares(f(ag, r)) for r in v])),
    "vmap unreduced": (lambda f: ag.vmap(lambda r: f(ag, r)),
                       lambda f: lambda v: ag.stack([f(ag, r) for r in v])),
    "OpFromGraph": (_inside, lambda f: lambda v: f(ag, v)),
}


def outcome(birth: str, way: str) -> tuple[str, str]:
    """``same``, ``refused`` or ``wrong`` for one cell of the table, and why."""
    f = BIRTHS[birth]
    make, eager = WAYS[way]
    try:
        compiled = make(f)
        for x in VALUES:
            v = ag.tensor(np.stack([x, -x]) if way.startswith("vmap") else x)
            found, expected = (np.asarray(g(v)) for g in (compiled, eager(f)))
            np.testing.assert_allclose(found, expected, rtol=1e-9, strict=True)
    except AssertionError as error:
        return "wrong", str(error)
    except (ag.TraceError, TypeError, ValueError) as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}"
    return "same", ""


def main() -> None:
    """Print the table, its counts and why cells are not ``same``."""
    table = {b: {w: outcome(b, w) for w in WAYS} for b in BIRTHS}
    print(" " * 15 + " ".join(f"{w:14}" for w in WAYS))
    for b, row in table.items():
        print(f"{b:15}" + " ".join(f"{kind:14}" for kind, _ in row.values()))
    kinds = [kind for row in table.values() for kind, _ in row.values()]
    print({k: kinds.count(k) for k in sorted(set(kinds))})
    if "-v" in sys.argv:
        for b, row in table.items():
            for w, (kind, why) in row.items():
                if kind != "same":
                    print(f"-- {b} / {w}: {kind}\n   {why[:700]}")


if __name__ == "__main__":
    main()
