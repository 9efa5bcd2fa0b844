"""Calls of all public functions, as the examples in their docstrings make them."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.api.lazy_names import NAMES
from agnesi.core.support import dtypes

PLACES = {
    "": ag, "linalg.": ag.linalg, "fft.": ag.fft, "special.": ag.special,
    "nn.functional.": ag.nn.functional, "sparse.": ag.sparse,
}
#: The places' own modules.
HOMES = {place.__name__ for place in PLACES.values()} - {ag.__name__}
#: Calls for functions whose examples have none: those of one dimension stand in their class's.
FURTHER: dict[str, Callable[[Any], Any]] = {
    f"nn.functional.{kind}_pool{n}d": lambda f, n=n: f(
        ag.reshape(ag.arange(4.0**n), (1, 1, *(4,) * n)), 2)
    for kind in ("avg", "max", "sum", "adaptive_avg", "adaptive_max") for n in (1, 2, 3)
} | {
    f"nn.functional.lp_pool{n}d": lambda f, n=n: f(
        ag.reshape(ag.arange(4.0**n) + 1, (1, 1, *(4,) * n)), 2, 2) for n in (1, 2, 3)
} | {
    f"nn.functional.max_unpool{n}d": lambda f, n=n: f(
        ag.ones((1, 1, *(2,) * n)), ag.zeros((1, 1, *(2,) * n), dtype="int64") + 1, 2)
    for n in (1, 2, 3)
} | {
    "clone": lambda f: f(ag.tensor([1.0, 2.0])),
    "eq": lambda f: f(ag.tensor([1.0, 2.0]), ag.tensor([1.0, 3.0])),
}
#: Public names that compute nothing with tensors of floats.
WITHOUT = frozenset("""
    callback function jit print nn.functional.NoReturn nn.functional.no_attribute
    nn.functional.public nn.functional.reduced_loss sparse.csm_indices sparse.csm_indptr
    sparse.csm_shape
""".split())
Call = tuple[tuple[Any, ...], dict[str, Any]]
#: Where an operand stands in a call: 0 and its place or 1 and its name, then places in nests.
Path = tuple[Any, ...]


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions with their names; those of several names once, those of no values never.

    What the library offers under a name of another place, too, has the name of that place.
    """
    seen = set()
    for prefix, place in PLACES.items():
        for name in sorted(n for n in dir(place) if n[0] != "_"):
            f = getattr(place, name)
            home = NAMES.get(name, "").partition(":")[0] if not prefix else ""
            known = isinstance(f, types.ModuleType | type) or id(f) in seen or home in HOMES
            if callable(f) and not known and f.__doc__ and name not in ("empty", "empty_like"):
                seen.add(id(f))
                yield prefix + name, f


class _Told(ast.NodeTransformer):
    """Lets every call pass through ``call__``, which classes do not mangle."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        return ast.Call(ast.Name("call__", ast.Load()), [node.func, *node.args], node.keywords)


def call_of(name: str, f: Callable[..., Any]) -> Call | None:
    """The first call of a function on values, in its example."""
    found: list[Call] = []

    def called(g: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        if not found and (g is f or (getattr(g, "__doc__", "") == f.__doc__ is not None)):
            with contextlib.suppress(ValueError):
                found.append((copied(args), copied(keywords)))
        return g(*args, **keywords)

    if name in FURTHER:
        FURTHER[name](lambda *args: called(f, *args))
        return found[0]
    names = {"call__": called}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(f.__doc__ or ""):
            tree = ast.fix_missing_locations(_Told().visit(ast.parse(example.source)))
            exec(compile(tree, f"<example of {name}>", "exec"), names)
            if found:
                break
    return found[0] if found else None


def copied(x: Any) -> Any:
    """Arguments with doubles in memory of their own."""
    if isinstance(x, ag.Tensor):
        if x.array is None:
            raise ValueError("a symbol has no value")
        return ag.tensor(_wide(x.array))
    if isinstance(x, np.ndarray):
        return _wide(x)
    if hasattr(x, "with_data"):
        return x.with_data(copied(x.data))
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    return type(x)(map(copied, x)) if type(x) in (list, tuple) else x


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype({"f": "f8", "c": "c16"}.get(x.dtype.kind, x.dtype))


def operands(f: Callable[..., Any], call: Call) -> list[tuple[Path, np.ndarray]]:
    """What may be a tensor of floats: tensors, arrays, numbers, lists of them; and defaults."""
    args, keywords = call
    found = [((0, i, *path), v) for i, x in enumerate(args) for path, v in _inside(x)]
    found += [((1, k, *path), v) for k, x in keywords.items() for path, v in _inside(x)]
    with contextlib.suppress(ValueError, TypeError):  # no signature, or other spellings
        given = inspect.signature(f).bind(*args, **keywords).arguments
        found += [((1, name), np.asarray(p.default, np.float64))
                  for name, p in inspect.signature(f).parameters.items()
                  if type(p.default) in (int, float) and name not in given
                  and p.kind != p.POSITIONAL_ONLY]
    return found


def _inside(x: Any) -> Iterator[tuple[Path, np.ndarray]]:
    if isinstance(x, ag.Tensor | np.ndarray | np.floating):
        if dtypes.is_inexact(x.dtype):
            yield (), np.asarray(x.array if isinstance(x, ag.Tensor) else x)
    elif hasattr(x, "with_data"):
        yield ("data",), np.asarray(x.data.array)
    elif _is_numbers(x):
        yield (), np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)
    elif isinstance(x, dict):
        for k, v in x.items():
            yield from (((k, *path), a) for path, a in _inside(v))
    elif type(x) in (list, tuple):
        for i, v in enumerate(x):
            yield from (((i, *path), a) for path, a in _inside(v))


def _is_numbers(x: Any) -> bool:
    """Whether it is a number, or a list of lists of them that an array may be made of."""
    if type(x) in (list, tuple):
        with contextlib.suppress(ValueError):
            return len(x) > 0 and np.asarray(x).dtype.kind in "iufc" and _all_numbers(x)
        return False
    return type(x) in (int, float, complex)


def _all_numbers(x: Any) -> bool:
    return all(map(_all_numbers, x)) if type(x) in (list, tuple) else type(x) in (
        int, float, complex)


def put(call: Any, path: Path, value: Any) -> Any:
    """The call with a value at a place."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if hasattr(call, "with_data"):
        return call.with_data(value)
    if isinstance(call, dict):
        return call | {first: put(call.get(first), rest, value)}
    return type(call)(put(x, rest, value) if i == first else x for i, x in enumerate(call))


def instance_call(kind: type) -> tuple[Callable[..., Any], Call] | None:
    """The first instance of a class that its example calls on values, and the call."""
    found: list[tuple[Callable[..., Any], Call]] = []

    def called(g: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        if not found and isinstance(g, kind):
            with contextlib.suppress(ValueError):
                found.append((g, (copied(args), copied(keywords))))
        return g(*args, **keywords)

    names = {"call__": called}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(kind) or ""):
            tree = ast.fix_missing_locations(_Told().visit(ast.parse(example.source)))
            exec(compile(tree, f"<example of {kind.__name__}>", "exec"), names)
            if found:
                break
    return found[0] if found else None
