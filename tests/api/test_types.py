"""Parameters of public functions have types: those that say ``Any`` are counted, and only fall."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import agnesi as ag
from agnesi.core import parameter_types
from agnesi.core.tensor import Tensor

#: How many may say Any, for want of a type: nests, conditions, what only documents can tell.
MOST = 259
MODULES = ("agnesi", *(f"agnesi.{name}" for name in (
    "fft", "func", "inspect", "linalg", "nn", "nn.functional", "nn.init", "optim",
    "optim.lr_scheduler", "random", "rewrite", "sparse", "special", "symbolic", "testing", "tree")))


def parameters() -> Iterator[tuple[str, str, str]]:
    """Function, parameter and annotation of everything public."""
    seen: dict[int, Any] = {}  # which are held, so that no other object gets their identity
    for module in map(importlib.import_module, MODULES):
        for name in dir(module):
            found: Any = getattr(module, name)
            if name.startswith("_") or not callable(found) or id(found) in seen:
                continue
            seen[id(found)] = found
            function = inspect.unwrap(found.__init__ if isinstance(found, type) else found)
            code = getattr(function, "__code__", None)
            if code is None:
                continue
            kinds = dict(function.__annotations__)
            for kind in getattr(found, "__mro__", ()):  # of a record, whose fields it takes
                kinds = {**vars(kind).get("__annotations__", {}), **kinds}
            for p in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
                if p != "self":
                    yield name, p, str(kinds.get(p, "Any"))


def test_few_parameters_are_any() -> None:
    rows = list(parameters())
    untyped = [f"{name}({p})" for name, p, text in rows if text == "Any"]
    assert len(rows) > 3500
    assert len(untyped) <= MOST, untyped


def test_operands_dtypes_and_shapes_are_declared_by_their_names() -> None:
    words = {text for _, _, text in parameters()}
    assert {"TensorLike", "DTypeLike", "ShapeLike", "PerAxis", "TensorLike | None"} <= words
    assert not [row for row in parameters() if row[1] == "dtype" and row[2] == "Any"
                and row[0] != "geomspace"]
    for name in ("TensorLike", "DTypeLike", "ShapeLike", "PerAxis"):
        assert hasattr(parameter_types, name)


def test_methods_are_typed_in_the_stub() -> None:
    source = inspect.getsourcefile(Tensor)
    assert source is not None
    with open(source.replace(".py", ".pyi"), encoding="utf-8") as stub:
        text = stub.read()
    operators = re.findall(r"def (__(?:add|mul|lt|rsub|imatmul)__)\(self, other: (\w+)", text)
    assert operators and all(word == "TensorLike" for _, word in operators)
    assert inspect.signature(ag.exp).parameters["x"].annotation == "TensorLike"
