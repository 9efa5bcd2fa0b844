"""Scalar expressions as text: what ``ag.elementwise("x*y + z")`` reads."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from agnesi.api import functions
from agnesi.core.support.errors import at

_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr,
    ast.BitXor, ast.LShift, ast.RShift, ast.UAdd, ast.USub, ast.Invert,
)
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def parsed(text: str, parameters: str = "", owner: str = "elementwise"
           ) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """The function that a text means, and the names of its parameters.

    The text holds assignments, parted by semicolons or lines, and ends with an expression, or
    several with commas between them.  Parameters are the names that nothing else explains, in the
    order in which they appear, unless they are listed.
    """
    reader = _Reader(parameters)
    why = ""
    try:
        module = ast.parse("\n".join(line.strip() for line in text.splitlines()))
        if not module.body or not isinstance(module.body[-1], ast.Expr):
            raise SyntaxError("it must end with an expression, the result")
        *before, last = [reader.visit(line) for line in module.body]
    except SyntaxError as error:
        why = str(error.msg)
    if why:  # raised here, where the user's line is known
        raise SyntaxError(at(f"{owner}: the expression {text!r} cannot be read: {why}"))
    names = reader.parameters
    frame: Any = ast.parse(f"def kernel({', '.join(names)}): pass")
    frame.body[0].body = [*before, ast.Return(last.value)]
    tree = ast.fix_missing_locations(frame)
    space: dict[str, Any] = {**reader.functions, **_CONSTANTS}
    # As a file of the package, so that errors and nodes have the line of the caller.
    exec(compile(tree, f"{__file__}: {text}", "exec"), space)
    return space["kernel"], names


class _Reader(ast.NodeTransformer):
    """Checks an expression, and replaces what Python cannot do on tensors."""

    def __init__(self, parameters: str) -> None:
        self.given = parameters.replace(",", " ").split()
        self.found: list[str] = []
        self.locals: set[str] = set()
        self.functions: dict[str, Any] = {}

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.given or self.found)

    def generic_visit(self, node: ast.AST) -> Any:
        allowed = (ast.Expr, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Load, *_OPERATORS)
        if not isinstance(node, allowed):
            raise SyntaxError(f"{type(node).__name__} has no place in it")
        return super().generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return super().generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        (target,) = node.targets
        if not isinstance(target, ast.Name):
            raise SyntaxError("only names can be assigned")
        node.value = self.visit(node.value)
        self.locals.add(target.id)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        known = node.id in self.locals or node.id in self.parameters
        if not known and node.id not in _CONSTANTS:
            if self.given:
                raise SyntaxError(f"{node.id!r} is not among its parameters")
            self.found.append(node.id)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise SyntaxError("functions are called by name, with operands in parentheses")
        return self._call(node.func.id, [self.visit(a) for a in node.args])

    def _call(self, name: str, args: list[Any]) -> ast.Call:
        function = _NAMES.get(name, name)
        if not hasattr(functions, function):
            raise SyntaxError(f"there is no function {name!r}")
        self.functions[f"_{function}"] = getattr(functions, function)
        return ast.Call(ast.Name(f"_{function}", ast.Load()), args, [])

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self._call("where", [self.visit(n) for n in (node.test, node.body, node.orelse)])

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return self._folded(name, [self.visit(n) for n in node.values])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self._call("logical_not", [self.visit(node.operand)])
        return super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        values = [self.visit(n) for n in (node.left, *node.comparators)]
        pairs = zip(values, node.ops, values[1:], strict=False)
        return self._folded("logical_and", [ast.Compare(a, [o], [b]) for a, o, b in pairs])

    def _folded(self, name: str, values: list[Any]) -> Any:
        total = values[0]
        for value in values[1:]:
            total = self._call(name, [total, value])
        return total


#: Names that stand for other ones: C's, and those that mean reductions of arrays elsewhere.
_NAMES = {"min": "minimum", "max": "maximum", "fmin": "minimum", "fmax": "maximum", "fabs": "abs",
          "pow": "power"}
