"""The tree that modules form: its walk, and its picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agnesi.core.dims import product
from agnesi.core.tensor import Tensor


def entries(name: str, value: Any, module: type) -> Iterator[tuple[str, Any]]:
    """Tensors and modules in the value of an attribute; lists, tuples and dicts are opened."""
    if isinstance(value, (Tensor, module)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from entries(f"{name}.{i}", inner, module)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from entries(f"{name}.{key}", inner, module)


def replaced(value: Any, tensors: dict[int, Tensor], done: dict[int, Any], module: type) -> Any:
    """A module, or what its attributes hold, with other tensors; what needs no copy is shared."""
    if isinstance(value, Tensor):
        return tensors.get(id(value), value)
    if isinstance(value, module):
        if id(value) not in done:
            inside: Any = value
            kind: Any = type(inside)
            copy = kind.__new__(kind)
            done[id(value)] = copy
            copy._training = inside._training
            copy._owned, copy._made = inside._owned, inside._made
            copy._lent = frozenset(
                n for n, v in inside._entries() if id(v) in tensors
            ) | inside._lent
            copy.__dict__.update(
                {n: replaced(v, tensors, done, module) for n, v in vars(value).items()}
            )
        return done[id(value)]
    if type(value) in (list, tuple):
        return type(value)(replaced(v, tensors, done, module) for v in value)
    if type(value) is dict:
        return {key: replaced(v, tensors, done, module) for key, v in value.items()}
    return value


def table(module: Any) -> str:
    """The tree with the number of parameters of each module at the right."""
    lines = list(_lines(module, "", ""))
    width = max(len(text) for text, _ in lines) + 2
    return "\n".join(f"{text:<{width}}{count:,}" if count else text for text, count in lines)


def _lines(module: Any, name: str, indent: str) -> Iterator[tuple[str, int]]:
    count = sum(int(product(p.shape)) for p in module.parameters())
    head = f"{indent}({name}): " if name else indent
    yield f"{head}{type(module).__name__}({module.extra_repr()})", count
    for inner, child in module._entries():
        if hasattr(child, "_entries"):
            yield from _lines(child, inner, indent + "  ")
        elif not isinstance(child, Tensor):
            yield f"{indent}  ({inner}): {getattr(child, '__name__', child)}", 0
