"""Golden texts where Python asks a tensor for a value that is not there: why, and what to write."""

from __future__ import annotations

import math
import queue
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

WHERE = ("ag.where(condition, a, b) chooses between values, ag.cond(condition, then, otherwise) "
         "between computations")
LOGIC = "For `and`, `or`, `not` write a & b, a | b, ~a, with each comparison in parentheses"
INDEX = ("Sizes and Python's indices must be numbers: give them as Python ints or sizes "
         "(x.shape[0]), or mask what lies beyond, and index a tensor, ag.asarray(array)[i]")
KEEP = "Keep it a tensor, and compute with functions of ag"
OUT = "Return the tensor and read it outside"


def checked(x: Any) -> Any:
    assert x.sum() > 0
    return x


def repeated(x: Any) -> Any:
    while x.sum() < 9:
        x = x * 2
    return x


CASES: list[tuple[Any, str, str, str]] = [
    (lambda x: 1 if x.sum() > 0 else 2, "bool()", "greater", WHERE),
    (lambda x: x.sum() > 0 and x.sum() < 2, "bool()", "greater", LOGIC),
    (lambda x: 1 if x.sum() > 0 or x.sum() < -2 else 2, "bool()", "greater", LOGIC),
    (lambda x: not x.any(), "bool()", "any", LOGIC),
    (lambda x: 0 < x.sum() < 1, "bool()", "greater", "For a < x < b write (a < x) & (x < b)"),
    (lambda x: 3 in x, "bool()", "any", "For `x in y` write (x == y).any()"),
    (lambda x: [v for v in x if v > 0], "bool()", "greater", WHERE),
    (checked, "bool()", "greater", "For `assert` write y = ag.ensure(y, condition, message), which "
     "raises when it runs"),
    (repeated, "bool()", "less", "For `while` write ag.while_loop(condition, body, init)"),
    (lambda x: max(x.sum(), 0), "bool()", "less", "For max() of two write ag.maximum(a, b), of a "
     "tensor x.max()"),
    (lambda x: float(x.sum()), "float()", "sum", KEEP),
    (lambda x: math.sqrt(x.sum()), "float()", "sum", "For functions of `math` write those of ag, "
     "as ag.sqrt(x)"),
    (lambda x: int(x.sum()), "int()", "sum", "For int() write x.astype('int64')"),
    (lambda x: range(x.sum().astype(int)), "use as an index", "astype", "For a loop over range(n) "
     "write ag.fori_loop(0, n, body, init) or ag.scan(step, init, xs)"),
    (lambda x: "ab".center(x.sum().astype(int)), "use as an index", "astype", INDEX),
    (lambda x: f"{x.sum():.3f}", "format()", "sum", "To print a value when it is there write "
     "ag.print('{}', x)"),
    (lambda x: x.sum().item(), "item()", "sum", OUT),
    (lambda x: (x * 2).tolist(), "tolist()", "multiply", OUT),
    (lambda x: np.asarray(x.exp()), "conversion to a NumPy array", "exp", "Use functions of ag in "
     "the place of NumPy's, or ag.callback(function, like, x)"),
]
BEFORE = "which does not exist yet: "
SITUATIONS: dict[str, tuple[Any, str, str]] = {
    "jit": (lambda f: ag.jit(f)(ag.ones(3)), BEFORE + "{0} is being traced by ag.jit. ",
            ". To let Python decide, do it outside of the compiled function, or pass the value as "
            "a Python int, bool or str, which is static: each new value gets a version of its own"),
    "vmap": (lambda f: ag.vmap(f)(ag.ones((2, 3))), BEFORE + "the function in ag.vmap runs once, "
             "for all examples. ", ". To let Python decide, write a Python loop in its place"),
    "body": (lambda f: ag.jit(lambda x: ag.map(f, x))(ag.ones((2, 3))), BEFORE + "the body of a "
             "loop or branch runs once, for all steps. ",
             ". To let Python decide, write a Python loop in its place"),
    "symbolic": (lambda f: f(T.fvector("x", shape=(3,))), "which is a symbol of a declared graph: "
                 "values exist when a compiled function runs, as ag.function(inputs, x)(...), or "
                 "x.eval({{input: value}}). ", ""),
}


#: What ``jit`` refuses, too; by all else Python decides there.
ARRAYS = ("format()", "conversion to a NumPy array")


@pytest.mark.parametrize(("call", "use", "op", "advice", "situation"), [
    (*case, s) for s in SITUATIONS for case in CASES if s != "jit" or case[1] in ARRAYS])
def test_what_to_write_instead(call: Any, use: str, op: str, advice: str, situation: str) -> None:
    run, before, behind = SITUATIONS[situation]
    with pytest.raises(ag.TraceError) as caught:
        run(call)
    told, _, place = str(caught.value).rpartition("\n  at ")
    before = before.format(call.__name__)
    start = f"{use} needs the value of <"
    assert told.startswith(start)
    made, _, rest = told[len(start):].partition("), ")
    assert f"(made by {op} at {__file__}:" in made
    assert rest == f"{before}{advice}{behind}"
    first = call.__code__.co_firstlineno
    assert place.startswith(f"{__file__}:") and first <= int(place.rpartition(":")[2]) <= first + 3


def test_code_without_its_text_is_told_what_fits_most() -> None:
    f = eval("lambda x: 1 if x.sum() > 0 and x.max() > 0 else 2")
    with pytest.raises(ag.TraceError, match=r"for all examples\. ag\.where"):
        ag.vmap(f)(ag.ones((2, 3)))


KEPT: queue.SimpleQueue[Any] = queue.SimpleQueue()  # into which no trace looks


def kept(x: Any) -> Any:
    KEPT.put(x)
    KEPT.put(x * 2)
    return x


@pytest.mark.parametrize(("run", "owner"), [
    (lambda: ag.vmap(kept)(ag.ones(2)), "a function in ag.vmap"),
    (lambda: ag.map(kept, T.fmatrix()), "the body of a loop or branch"),
    (lambda: ag.jit(lambda x: ag.vmap(kept)(x))(ag.ones(2)), "a function in ag.vmap"),
    (lambda: ag.jit(kept)(ag.ones(2)), "kept, a jitted function,"),
])
def test_what_was_kept_from_a_trace_tells_it(run: Any, owner: str) -> None:
    run()
    for x in (KEPT.get(), KEPT.get()):
        assert repr(x).endswith(f", kept from {owner} without a value>")
        with pytest.raises(ag.TraceError, match=r"its trace is over, .* Return it, or keep it"):
            float((x + 1).sum())


def test_symbols_are_told_as_ever() -> None:
    x = T.fvector("x", shape=(3,))
    ag.jit(lambda y: y + 1)(ag.ones(3))
    assert repr(x * 2) == "<vector multiply: float32[3]>"
    with pytest.raises(ag.TraceError, match=r"shared variable, whose value is x.get_value\(\)"):
        bool(ag.shared(np.ones(1)))
