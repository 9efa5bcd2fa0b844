"""What a public function's docstring leaves out: the rules behind ``test_docstrings``."""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator
from opcode import opmap
from types import CodeType
from typing import Any

import numpy as np

import agnesi
from tests.docstrings.numpydoc import SECTIONS, Doc, parse

_RAISE = opmap["RAISE_VARARGS"]


def complaints(name: str, value: Any, *, method: bool = False, static: bool = False) -> list[str]:
    """All that is wrong with the docstring of a function, class or method."""
    doc = parse(inspect.getdoc(value) or "")
    wanted = parameters(value, method and not static)
    found = [*_parameters(doc, wanted), *_kinds(doc, value), *_sections(doc),
             *_raises(doc, value, name.rpartition(".")[0])]
    if not inspect.isclass(value):
        found += _returns(doc, value)
    return [*found, *_kin(doc, name, value, not method)]


def _sections(doc: Doc) -> Iterator[str]:
    names = list(doc.sections)
    if names != [s for s in SECTIONS if s in names]:
        yield f"sections in another order: {', '.join(names)}"
    for section in ("Parameters", "Returns", "Raises"):
        for entry in doc.entries(section):
            if not entry.text:
                yield f"{section}: nothing is said of {', '.join(entry.names)}"


def _parameters(doc: Doc, wanted: list[str]) -> Iterator[str]:
    entries = doc.entries("Parameters")
    told = [name for entry in entries for name in entry.names]
    if told != wanted:
        missing = [n for n in wanted if n not in told]
        strange = [n for n in told if n not in wanted]
        if missing:
            yield f"Parameters: without {', '.join(missing)}"
        if strange:
            yield f"Parameters: there is no {', '.join(strange)}"
        if not missing and not strange:
            yield f"Parameters: in another order, or twice: {', '.join(told)}"
    for entry in entries:
        if not entry.kind:
            yield f"Parameters: no type of {', '.join(entry.names)}"


def _kinds(doc: Doc, value: Any) -> Iterator[str]:
    """Types that a signature contradicts."""
    for entry in doc.entries("Parameters"):
        for name in entry.names:
            found = inspect.signature(value).parameters.get(name)
            if found is None or hasattr(value, "_fields"):
                continue
            if entry.kind.endswith(", optional") and found.default is found.empty:
                yield f"Parameters: {name} is not optional"
            kind = getattr(found.annotation, "__name__", found.annotation)
            strange = "tuple" in entry.kind or entry.kind.startswith(("object", "dtype"))
            if kind in ("int", "bool", "str", "float") and strange:
                yield f"Parameters: {name} is {kind}, not {entry.kind}"


def parameters(value: Any, method: bool = False) -> list[str]:
    """Names of a signature, as numpydoc writes them; without the object of a method."""
    if hasattr(value, "_fields"):  # a record
        return list(value._fields)
    if inspect.isclass(value):
        made = _constructor(value)
        if made is None or inspect.isbuiltin(made):
            return []
        found = parameters(made, True)
        return [] if found == ["*args", "**keywords"] else found
    signature = inspect.signature(value)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + name for name, p in signature.parameters.items()]
    return [n for n in names[method:] if n[0] != "_"]


def _constructor(kind: type) -> Any:
    """What takes a class's arguments: ``__init__`` or ``__new__``, whichever was written last."""
    return next((vars(base).get("__init__", vars(base).get("__new__")) for base in kind.__mro__[:-1]
                 if {"__init__", "__new__"} & vars(base).keys()), None)


def _returns(doc: Doc, value: Any) -> Iterator[str]:
    nothing = inspect.signature(value).return_annotation in (None, "None", "NoReturn")
    has = "Returns" in doc.sections or "Yields" in doc.sections
    if has and nothing:
        yield "Returns: it returns nothing"
    if not has and not nothing:
        yield "without Returns"


def _raises(doc: Doc, value: Any, home: str) -> Iterator[str]:
    told = [name for entry in doc.entries("Raises") for name in entry.names]
    for name in told:
        kind = _named(name) or _named(f"{home}.{name}")
        if not (inspect.isclass(kind) and issubclass(kind, Exception)):
            yield f"Raises: {name} is no error"
    missing = sorted(raised(value) - {t.rpartition(".")[2] for t in told})
    if missing:
        yield f"Raises: without {', '.join(missing)}"


def raised(value: Any) -> set[str]:
    """Errors that a function raises itself, or a helper of its own module that it calls."""
    function = inspect.unwrap(value)
    if inspect.isclass(function):
        function = inspect.unwrap(vars(function).get("__init__", object.__init__))
    if not inspect.isfunction(function):
        return set()
    found, names = _raised_by(function)
    for name in names:
        helper = function.__globals__.get(name) if name[0] == "_" else None
        if inspect.isfunction(helper) and helper.__module__ == function.__module__:
            found |= _raised_by(inspect.unwrap(helper))[0]
    return found


def _raised_by(function: Any) -> tuple[set[str], set[str]]:
    """Errors that are raised in a function's body, and the names that it uses."""
    codes = list(_codes(function.__code__))
    names = {name for code in codes for name in code.co_names}
    if not any(_RAISE in code.co_code[::2] for code in codes):
        return set(), names
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    made = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    errors = {e.func.id for e in made if isinstance(e, ast.Call) and isinstance(e.func, ast.Name)}
    return {e for e in errors if inspect.isclass(_named(e))}, names


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _named(name: str) -> Any:
    """What a name in a docstring means: an attribute of agnesi, a builtin, or a dotted path."""
    if name.startswith("numpy."):
        return getattr(np.linalg, name.removeprefix("numpy.linalg."), None)
    found: Any = agnesi
    for part in name.removeprefix("agnesi.").removeprefix("ag.").split("."):
        found = getattr(found, part, None) if found is not agnesi else getattr(
            agnesi, part, getattr(builtins, part, getattr(np.linalg, part, None)))
    return found


def _kin(doc: Doc, name: str, value: Any, wanted: bool) -> Iterator[str]:
    if wanted and "See Also" not in doc.sections:
        yield "without See Also"
    home = name.rpartition(".")[0]
    for other in doc.kin():
        found = _named(f"{home}.{other}") or _named(other)
        if found is None:
            yield f"See Also: there is no {other}"
        if found is value:
            yield "See Also: itself"
