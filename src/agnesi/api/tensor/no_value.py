"""Advice in errors for Python code that needs the value of a symbolic or deleted tensor.

The advice follows from the use of the value in the user's line, read from its syntax, and from who
runs the line: ``jit``, ``vmap``, a loop's body, or nothing but the user, in a declared graph.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from typing import Any, NamedTuple

from agnesi.api.tensor import show
from agnesi.api.tensor.scipy_calls import counterpart
from agnesi.core.storage.leaves import left_over
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import LIBRARY_FILES, TraceError, at, location, ours
from agnesi.core.support.tracing import caught_errors, current_trace, is_tracing
from agnesi.core.tensor import Tensor

_CHOOSE = ("ag.where(condition, a, b) chooses between values, ag.cond(condition, then, otherwise) "
           "between computations")
#: What to write for a use of a value; the name of a method ends with its parenthesis.
_INSTEAD = {
    "if": _CHOOSE,
    "and": "for `and`, `or`, `not` write a & b, a | b, ~a, with each comparison in parentheses",
    "chain": "for a < x < b write (a < x) & (x < b)",
    "assert": "for `assert` write y = ag.ensure(y, condition, message), which raises when it runs",
    "while": "for `while` write ag.while_loop(condition, body, init)",
    "in": "for `x in y` write (x == y).any()",
    "max(": "for max() of two write ag.maximum(a, b), of a tensor x.max()",
    "min(": "for min() of two write ag.minimum(a, b), of a tensor x.min()",
    "sorted(": "for sorted() write ag.sort(x)",
    "any(": "for any() write x.any()",
    "all(": "for all() write x.all()",
    "range(": "for a loop over range(n) write ag.fori_loop(0, n, body, init) or "
              "ag.scan(step, init, xs)",
    "int(": "for int() write x.astype('int64')",
    "math.": "for functions of `math` write those of ag, as ag.sqrt(x)",
    "print(": "to print a value when it is there write ag.print('{}', x)",
    "numpy": "use functions of ag in the place of NumPy's, or ag.callback(function, like, x)",
    "out": "return the tensor and read it outside",
    "index": "sizes and Python's indices must be numbers: give them as Python ints or sizes "
             "(x.shape[0]), or mask what lies beyond, and index a tensor, ag.asarray(array)[i]",
}
#: Descriptions of uses that do not show in Python's syntax.
_USES = {"tolist()": "out", "numpy()": "out", "item()": "out",
         "conversion to a NumPy array": "numpy", "pickle": "out", "deepcopy": "out",
         "format()": "print("}


def no_value(x: Tensor, use: str) -> TraceError:
    """The error that says why ``use`` cannot have the value behind a tensor, and what to write."""
    node = x.node
    made = f" (made by {node.op.name} at {location(node.where)})" if node and node.op else ""
    function, own = counterpart(sys._getframe(1))
    needed = f"{function or use} needs the value of {show.symbolic(x)}{made}"
    if not is_tracing() and STATE.examples is None:
        if hasattr(x, "get_value"):
            return TraceError(at(f"{use} is for tensors with a value; {show.symbolic(x)} is a "
                                 "shared variable, whose value is x.get_value()"))
        if left_over(x):
            return TraceError(at(
                f"{needed}: its trace is over, and what was computed there is gone. Return it, or "
                "keep it in a tensor that is changed in place (state.copy_(x))"))
    error = TraceError(at(f"{needed}, which {_situation(_advice(use, own))}"))
    if (caught := caught_errors()) is not None:
        caught.unanswered.append(error)
    return error


def _situation(advice: str) -> str:
    """Why there is no value, what to write instead, and how to get one all the same."""
    trace = current_trace()
    if trace is None and STATE.examples is None:
        return (f"is a symbol of a declared graph: values exist when a compiled function runs, as "
                f"ag.function(inputs, x)(...), or x.eval({{input: value}}). {advice}")
    body = trace is not None and not hasattr(trace, "title")
    if body or STATE.examples is not None:
        what = "body of a loop or branch" if body else "function in ag.vmap"
        many = "steps" if body else "examples"
        return (f"does not exist yet: the {what} runs once, for all {many}. {advice}. To let "
                "Python decide, write a Python loop in its place")
    return (f"does not exist yet: {trace.title} is being traced by ag.jit. {advice}. To let Python "
            "decide, do it outside of the compiled function, or pass the value as a Python int, "
            "bool or str, which is static: each new value gets a version of its own")


#: What to write where a condition has many elements, by the same keys.
_OF_MANY = {"and": "and", "chain": "chain", "max(": "max(", "min(": "min(", "sorted(": "sorted("}


def of_many(use: str) -> str:
    """Return the advice where one value is needed and a tensor has more or fewer, as the end of a
    message.
    """
    if use != "bool()":
        return "; index it first, or reduce it, as with .sum() or .mean()"
    advice = _INSTEAD.get(_OF_MANY.get(_syntax(is_condition=True), ""), "")
    return f"; {advice}" if advice else "; reduce it first with .any() or .all()"


# -- what the user's line does -----------------------------------------------------------------
def _advice(use: str, own: str) -> str:
    """Return, as a sentence, the code to write for such a use of a value: what of ours does the
    same, if that is known.
    """
    if own:
        return f"Write {own}, or ag.callback(function, like, x)"
    found = _INSTEAD.get(_USES.get(use) or _syntax(use == "bool()"), "")
    if not found:
        found = {"bool()": _CHOOSE, "use as an index": _INSTEAD["index"]}.get(
            use, "keep it a tensor, and compute with functions of ag")
    return found if found.startswith("ag.") else found[0].upper() + found[1:]


def _syntax(is_condition: bool) -> str:
    """Return how the user's line uses the value or the condition: a key of ``_INSTEAD``, or "".

    What Python evaluates is the condition itself, its parent decides; calls are those whose
    argument it is.
    """
    found = _expression()
    if found is None:
        return ""
    part, around = found
    kinds = map(_kind, (part, *around[:2]) if is_condition else (part,))
    return next((kind for kind in kinds if kind), "")


_KINDS: dict[type[ast.AST], str] = {
    ast.BoolOp: "and", ast.Assert: "assert", ast.While: "while", ast.If: "if", ast.IfExp: "if",
    ast.comprehension: "if",
}


def _kind(node: Any) -> str:
    if isinstance(node, ast.Compare):
        contains = isinstance(node.ops[0], (ast.In, ast.NotIn))
        return "in" if contains else "chain" if len(node.ops) > 1 else ""
    if isinstance(node, ast.UnaryOp):
        return "and" if isinstance(node.op, ast.Not) else ""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        return "math." if name.startswith("math.") else f"{name}("
    return _KINDS.get(type(node), "")


class _Place(NamedTuple):
    """Where an expression stands: lines from 1, columns in bytes from 0."""

    line: int
    end_line: int
    column: int
    end_column: int


def _expression() -> tuple[ast.AST, list[ast.AST]] | None:
    """The expression that the user's code is computing, and those around it from inside."""
    frame: Any = sys._getframe(2)
    while frame is not None and (
            frame.f_code.co_filename in LIBRARY_FILES or ours(frame.f_code.co_filename)):
        frame = frame.f_back
    if frame is None:
        return None
    places = list(frame.f_code.co_positions())
    place = places[frame.f_lasti // 2]
    if None in place:
        return None
    tree = _parsed(frame.f_code.co_filename)
    return None if tree is None else _at(tree, _Place(*place))


@functools.lru_cache(8)
def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


def _at(tree: ast.AST, place: _Place) -> tuple[ast.AST, list[ast.AST]] | None:
    """The outermost node at a place, and those around it from inside."""
    around: list[ast.AST] = []
    node = tree
    while True:
        inner = next((c for c in ast.iter_child_nodes(node) if _covers(c, place)), None)
        if inner is None:
            return None
        around.insert(0, node)
        if hasattr(inner, "lineno") and _place(inner) == place:
            return inner, around
        node = inner


def _place(node: Any) -> _Place:
    return _Place(node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


def _covers(node: Any, place: _Place) -> bool:
    if not hasattr(node, "lineno"):  # a comprehension, which has no place of its own
        return any(_covers(child, place) for child in ast.iter_child_nodes(node))
    own = _place(node)
    return (own.line, own.column) <= (place.line, place.column) and (
        place.end_line, place.end_column) <= (own.end_line, own.end_column)
