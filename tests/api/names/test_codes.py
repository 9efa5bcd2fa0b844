"""What hints name of languages and libraries that are not installed here runs as it is written."""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Iterator
from typing import Any

import agnesi as ag
from agnesi import nn, optim
from agnesi.compat.hints import keras, languages, scipy_names
from agnesi.core.support import migration_hints

X = ag.arange(12.0).reshape(3, 4) + 1
NAMES: dict[str, Any] = {
    "ag": ag, "nn": nn, "optim": optim, "math": math, "x": X, "y": X[::-1] + 1, "n": 3,
    "s": ag.eye(3) * 2 + 1, "v": ag.ones(4), "f": lambda *a: sum(t.sum() for t in a),
    "A": ag.eye(3) + 1, "b": ag.ones(3), "X": ag.ones((3, 2)), "shape": (3, 4),
    "group": ag.tensor([0, 1, 0]), "i": ag.tensor([1, 2]), "condition": ag.tensor(True),
    "image": ag.ones((3, 6, 6)), "model": nn.Linear(4, 2), "layer": nn.Linear(4, 2),
    "w": ag.ones((4, 4), requires_grad=True), "xp": ag.arange(4.0), "fp": ag.arange(4.0),
}


def codes() -> Iterator[str]:
    """Expressions that compute with nothing but such names."""
    texts = [text for module in (languages, keras, scipy_names)
             for name, text in vars(module).items() if name.isupper()]
    found = dict.fromkeys(code for text in texts for _, advice in migration_hints.lines(text)
                          for code in re.findall("`([^`]+)`", advice))
    for code in found:
        try:
            nodes = list(ast.walk(ast.parse(code, mode="eval")))
        except SyntaxError:
            continue
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if any(isinstance(node, (ast.Call, ast.BinOp)) for node in nodes) and not (
                names - set(NAMES) - set(dir(builtins))) and "..." not in code:
            yield code


def test_codes_run() -> None:
    """On operands of two axes, which some refuse: by their sizes, and by nothing else."""
    ran = 0
    for code in codes():
        try:
            eval(code, dict(NAMES))
            ran += 1
        except (ag.ShapeError, ag.GradientError, ValueError, IndexError):
            pass
    assert ran > 140
