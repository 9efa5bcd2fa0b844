"""Writes ``core/tensor.pyi``: what editors and type checkers know of Tensor.

Methods are bound from the table in ``agnesi.api.tensor.methods``; this prints the same table as a
stub. Run ``python tools/tensor_stub.py`` after a change of the table; a test holds both together.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from agnesi.api.tensor import methods
from agnesi.api.tensor.matrices import Late
from agnesi.core import tensor

_HEAD = '''"""Typing surface of core/tensor.py, written by tools/tensor_stub.py."""
# ruff: noqa: E501, N802

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from agnesi.autodiff.recording import Apply
from agnesi.core import devices
from agnesi.core.ir.dims import Size, Sizes
from agnesi.core.ir.node import Node
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike

Axis = builtins.int | Sequence[builtins.int] | None

'''
_CLASS = '''class Absent:
    def __init__(self, name: str) -> None: ...

class NearMiss(Absent):
    def __init__(self, name: str, meant: str) -> None: ...

class Called:
    def __init__(self, method: Callable[..., Any]) -> None: ...

class Tensor:
    array: Any  # np.ndarray, or None for a symbolic tensor
    node: Node | None
    requires_grad: builtins.bool
    name: str | None
    _grad: Any
    _requires_grad: builtins.bool
    _lazy: builtins.bool
    _is_number: builtins.bool
    _placed: builtins.bool
    _view: Any
    _element: Any
    _version: list[Any] | None
    _name: str | None
    @property
    def shape(self) -> Sizes: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def ndim(self) -> builtins.int: ...
    @property
    def weak(self) -> builtins.bool: ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, grad: Tensor | None) -> None: ...
'''
_TAIL = '''
CONSUMED: Any

def alike(a: Tensor, b: Tensor) -> builtins.bool: ...
def wrap(data: np.ndarray) -> Tensor: ...
def as_kind(kind: Any, t: Tensor) -> Any: ...
def symbol(node: Node) -> Tensor: ...
def leaf_of(t: Tensor) -> Node: ...
def keep(t: Tensor, node: Node) -> None: ...
def register(family: list[Any], t: Tensor | Node) -> None: ...
'''


def _annotation(text: Any) -> str:
    """An annotation, with the builtins that methods of Tensor hide written in full."""
    shown = "Any" if text is inspect.Parameter.empty else str(text)
    shown = re.sub(r"\b(NotNegative|NotNegativeBound|Share)\b", "float", shown)
    shown = re.sub(r"\b(int|float|bool)\b", r"builtins.\1", shown)
    shown = shown.replace("Callable[..., Any]", "Any")
    return re.sub(r"\b(Ordered|Parted|SlogdetResult|MinMax|Generator|Hook|Handle)\b", "Any", shown)


def _default(value: Any) -> str:
    return repr(value) if value is None or type(value) in (bool, int, float, str) else "..."


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    default = "" if p.default is p.empty else f" = {_default(p.default)}"
    return f"{stars}{p.name}: {_annotation(p.annotation)}{default}"


def _parameters(signature: inspect.Signature) -> list[str]:
    """Parameters after ``self``, with ``dim`` and its kin beside ``axis``."""
    rest = list(signature.parameters.values())[1:]
    shown: list[str] = []
    marked = False
    positional_only = bool(rest) and rest[0].kind is rest[0].POSITIONAL_ONLY
    for p in rest:
        if positional_only and p.kind is not p.POSITIONAL_ONLY:
            shown.append("/")
            positional_only = False
        if p.kind is p.VAR_POSITIONAL:
            marked = True
        if p.kind is p.KEYWORD_ONLY and not marked:
            shown.append("*")
            marked = True
        shown.append(_parameter(p))
    if positional_only:
        shown.append("/")
    return shown


def _aliases(signature: inspect.Signature) -> list[str]:
    names = signature.parameters
    pairs = {"axis": "dim: Axis = ...", "keepdims": "keepdim: builtins.bool = ...",
             "correction": "ddof: builtins.float = ..."}
    return [
        text for name, text in pairs.items()
        if name in names and text.partition(":")[0] not in names
    ] if "axis" in names else []


def _method(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    parameters = _parameters(signature)
    extra = [] if function in vars(methods.shaping).values() else _aliases(signature)
    if extra and "*" not in parameters and not any(p.startswith("*") for p in parameters):
        parameters.append("*")
    parameters += extra
    result = _annotation(signature.return_annotation)
    if name in _RESULTS:
        result = _RESULTS[name]
    if re.fullmatch(r"__i[a-z]+__", name) and name not in ("__int__", "__index__", "__iter__"):
        parameters = ["other: TensorLike"]
    inner = ", ".join(["self", *parameters])
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return f"    def {name}({inner}) -> {result}: ...{ignore}\n"


_RESULTS = {
    name: "Tensor"
    for form in ("__{}__", "__r{}__", "__i{}__")
    for name in (form.format(n) for n in (*methods.BINARY, *methods.COMPARISONS, *methods.UNARY))
}


def stub() -> str:
    """The text of the stub."""
    lines = [_HEAD, _CLASS]
    for name, entry in sorted(methods.table().items()):
        if f"    {name}: " in _CLASS:
            continue
        if name == "__hash__":
            lines.append("    def __hash__(self) -> builtins.int: ...\n")
        elif isinstance(entry, property):
            result = _annotation(inspect.signature(entry.fget).return_annotation)
            lines.append(f"    @property\n    def {name}(self) -> {result}: ...\n")
            if entry.fset is not None:
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n")
        else:
            lines.append(_method(name, entry.found() if isinstance(entry, Late) else entry))
    return "".join([*lines, _TAIL])


def path() -> Path:
    """Where the stub lives: beside the module."""
    return Path(str(tensor.__file__)).with_suffix(".pyi")


if __name__ == "__main__":
    path().write_text(stub())
