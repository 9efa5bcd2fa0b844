"""The tree that modules form: its walk, and its picture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

from agnesi.core.ir.dims import product
from agnesi.core.support.errors import NestingError, at
from agnesi.core.support.tree import check_ends
from agnesi.core.tensor import Tensor
from agnesi.nn.base.owned import is_parameter

#: Levels of nested modules that a picture shows.
_MAX_SHOWN_LEVELS = 50
#: Letters of a dotted name, at most.
_MAX_NAME_LETTERS = 1 << 15
#: Nested calls of modules from which a model is deep, or contains itself.
_MIN_DEEP_CALLS = 50
#: Nested containers, from how many on one may contain itself.
_MAX_UNCHECKED_LEVELS = 1000


def entries(name: str, value: Any, module: type) -> Iterator[tuple[str, Any]]:
    """Tensors and modules in the value of an attribute; lists, tuples and dicts are opened."""
    rest: Iterator[tuple[str, Any]] = iter(((name, value),))
    outer: list[Any] = []
    limit = _MAX_UNCHECKED_LEVELS
    while True:
        for name, value in rest:
            if isinstance(value, (Tensor, module)):
                yield name, value
            elif isinstance(value, (list, tuple, dict)):
                outer.append((value, rest))
                rest = _named(name, value)
                if len(outer) > limit:
                    limit *= 2
                    check_ends([nest for nest, _ in outer])
                break
        else:
            if not outer:
                return
            _, rest = outer.pop()


def containers(value: Any) -> Iterator[Any]:
    """Lists and dicts in which ``entries`` looks."""
    stack = [value]
    while stack:
        outer = stack.pop()
        for inner in outer.values() if isinstance(outer, dict) else outer:
            if isinstance(inner, (list, tuple, dict)):
                if not isinstance(inner, tuple):
                    yield inner
                stack.append(inner)


def _named(name: str, nest: Any) -> Iterator[tuple[str, Any]]:
    keyed: Iterable[Any] = nest.items() if isinstance(nest, dict) else enumerate(nest)
    return ((dotted(name, key), value) for key, value in keyed)


def named_alone(module: Any) -> set[int]:
    """Modules and tensors inside that have a name which no list, tuple or dict of Python's gives.

    Those names are PyTorch's, which looks into no such container; others count where there is
    none of them.
    """
    found: set[int] = set()
    stack = [module]
    while stack:
        for name, value in stack.pop()._entries():
            if "." not in name and id(value) not in found:
                found.add(id(value))
                if not isinstance(value, Tensor):
                    stack.append(value)
    return found


def children_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Modules directly inside, each once, by an attribute's name where it has one."""
    inside = [(n, v) for n, v in module._entries() if not isinstance(v, Tensor)]
    alone = {id(v) for n, v in inside if "." not in n}
    seen: set[int] = set()
    for name, value in inside:
        if id(value) not in seen and not ("." in name and id(value) in alone):
            seen.add(id(value))
            yield name, value


def dotted(prefix: str, name: Any) -> str:
    """The name of what is in something that has a name."""
    if len(prefix) > _MAX_NAME_LETTERS:
        raise NestingError(at(f"modules or containers lie too deep in each other to have names: "
                              f"{prefix[:40]}... would have more than {_MAX_NAME_LETTERS} letters"))
    return f"{prefix}.{name}" if prefix else str(name)


def replaced(value: Any, tensors: dict[int, Tensor], module: type) -> Any:
    """A module with other tensors, in it and in all inside; what needs no copy is shared."""
    done: dict[int, Any] = {}
    waiting: list[tuple[Any, Any]] = []

    def new(held: Any) -> Any:
        if isinstance(held, Tensor):
            return tensors.get(id(held), held)
        if not isinstance(held, module):
            return held
        if id(held) not in done:
            done[id(held)] = _empty(held, tensors)
            waiting.append((held, done[id(held)]))
        return done[id(held)]

    found = new(value)
    while waiting:
        inside, copy = waiting.pop()
        copy.__dict__.update({n: _rebuilt(v, new) for n, v in vars(inside).items()})
    return found


def _empty(inside: Any, tensors: dict[int, Tensor]) -> Any:
    """A module without attributes that is to be like another one."""
    kind: Any = type(inside)
    copy = kind.__new__(kind)
    copy._training, copy._hooks = inside._training, inside._hooks
    copy._owned, copy._learned, copy._made = inside._owned, inside._learned, inside._made
    given = frozenset(n for n, v in inside._entries() if id(v) in tensors)
    copy._borrowed = given | inside._borrowed
    return copy


def _rebuilt(value: Any, new: Callable[[Any], Any]) -> Any:
    """``new`` of a value, or of all that is in it where it is a list, tuple or dict."""
    made: list[Any] = []
    rest: Iterator[Any] = iter((value,))
    outer: list[Any] = []
    while True:
        for held in rest:
            if type(held) in (list, tuple, dict):
                outer.append((held, made, rest))
                made, rest = [], iter(held.values() if type(held) is dict else held)
                break
            made.append(new(held))
        else:
            if not outer:
                return made[0]
            inner = made
            held, made, rest = outer.pop()
            made.append(dict(zip(held, inner, strict=True)) if type(held) is dict
                        else type(held)(inner))


def table(module: Any) -> str:
    """The tree with the number of parameters of each module at the right."""
    lines = list(_lines(module))
    width = max(len(text) for text, _ in lines) + 2
    return "\n".join(f"{text:<{width}}{count:,}" if count else text for text, count in lines)


def _lines(module: Any) -> Iterator[tuple[str, int]]:
    totals = _totals(module)
    around: list[int] = []  # modules in which the one at hand is
    stack = [(0, "", module)]
    while stack:
        depth, name, value = stack.pop()
        head = "  " * depth + (f"({name}): " if name else "")
        if not hasattr(value, "_entries"):
            yield f"{head}{getattr(value, '__name__', value)}", 0
            continue
        del around[depth:]
        if id(value) in around:
            yield f"{head}{type(value).__name__} from above", 0
            continue
        around.append(id(value))
        count = totals[id(value)] if totals else _count(value)
        yield f"{head}{type(value).__name__}({value.extra_repr()})", count
        inside = [(depth + 1, n, v) for n, v in children_of(value)]
        if depth == _MAX_SHOWN_LEVELS and inside:
            yield "  " * depth + "  ...", 0
        else:
            stack += reversed(inside)


def _count(module: Any, recurse: bool = True) -> int:
    if any(m._waits for m in (_all_in(module) if recurse else (module,))):
        return 0  # none is known, or not all
    found = {id(p): p for _, p, _, _ in module._held(recurse, False, is_parameter)}
    return sum(int(product(p.shape)) for p in found.values())


def _all_in(module: Any) -> list[Any]:
    """A module and all inside, whatever its class has for ``modules``."""
    return [m for _, m in module._walk(named=False)]


def _totals(root: Any) -> dict[int, int]:
    """How many parameters each module has, with all inside; none where modules share something."""
    order = _all_in(root)
    children = [(id(m), id(child)) for m in order for _, child in children_of(m)]
    holder = {child: m for m, child in children}
    counts = {id(m): _count(m, recurse=False) for m in order}
    if len(holder) < len(children) or sum(counts.values()) != _count(root):
        return {}
    for module in reversed(order[1:]):
        counts[holder[id(module)]] += counts[id(module)]
    return counts


def refuse_depth(call: CodeType) -> None:
    """Where the stack has come to its end: say so if it is modules that call each other."""
    frame, calls = sys._getframe(1), 0
    while frame is not None:
        calls += frame.f_code is call
        frame = frame.f_back  # type: ignore[assignment]
    if calls > _MIN_DEEP_CALLS:
        raise NestingError(at(
            f"{calls} modules call each other, for which Python's stack of "
            f"{sys.getrecursionlimit()} calls is too small: give layers to a Sequential side by "
            "side, or call sys.setrecursionlimit; or a module calls itself without an end"
        )) from None
