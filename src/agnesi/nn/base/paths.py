"""Errors inside of models: which layer it was, by its path from the outermost module."""

from __future__ import annotations

import re
import traceback
from typing import Any

from agnesi.core.op import EXPLAINED, called, in_user_code, is_accident, of_operands
from agnesi.core.support.errors import PACKAGE, at, typed
from agnesi.core.support.migration_hints import with_keyword

_PLACE = "\n  at "
#: Names of a path that are shown: so many from its beginning, and from its end.
_FIRST_NAMES, _LAST_NAMES = 8, 4
#: Python's words where a function's arguments do not fit its parameters.
_UNBOUND = re.compile(r"(forward|<lambda>|\w+)\(\) (missing|takes|got)\b")


def with_layer_path(error: Exception, module: Any, args: tuple[Any, ...] = ()) -> Exception:
    """An error on its way out of a module's call, which takes the layer's path from there.

    It passes the modules from inside; each puts its name for the one before in front.
    """
    if isinstance(error, TypeError) and _is_unbound(error, module):
        return TypeError(at(f"{type(module).__name__}: {_called(error, module)}"))
    text = error.args[0] if len(error.args) == 1 else None
    if isinstance(text, str) and _PLACE not in text and _is_ours(error, module):
        text = at(text)
        error = _reworded(error, text)
    if not isinstance(text, str) or _PLACE not in text:
        return error
    layer: Any = getattr(error, "layer", None)
    if layer is None:
        if type(module).__module__.startswith(PACKAGE) and not _is_named(type(module), text):
            text = f"{type(module).__name__}: {text}"
            reason = getattr(error, "reason", None)
            if isinstance(reason, str) and getattr(error, "located", False) and args:
                given = (*args, *getattr(error, "named", ()))
                text = (f"{called(type(module).__name__, given)}: {of_operands(reason, args)}"
                        f"{_PLACE}{text.rpartition(_PLACE)[2]}")  # not by what it is made of
            error = _reworded(error, text)
        error.layer = module, ""  # type: ignore[attr-defined]
        error.reason_inside = f"{typed(module)}: {text}"  # type: ignore[attr-defined]
    elif name := _name(module, layer[0]):
        path = f"{name}.{layer[1]}".rstrip(".")
        error.layer = module, path  # type: ignore[attr-defined]
        return _reworded(
            error, f"{_shortened(path)}, {error.reason_inside}")  # type: ignore[attr-defined]
    return error


def _reworded(error: Exception, text: str) -> Exception:
    """Return the error with another text: itself, or one of its class where that keeps its text
    besides ``args``, as NumPy's AxisError does.
    """
    error.args = text,
    if str(error) in (text, repr(text)):
        return error
    made = type(error)(text).with_traceback(error.__traceback__)
    vars(made).update(vars(error))
    return made


def _shortened(path: str) -> str:
    """A path as messages have it: that of a layer very deep inside without its middle."""
    names = path.split(".")
    if len(names) <= _FIRST_NAMES + _LAST_NAMES:
        return path
    return f"{'.'.join(names[:_FIRST_NAMES])} ... {'.'.join(names[-_LAST_NAMES:])}"


def _is_ours(error: Exception, module: Any) -> bool:
    """Return whether a layer of ours refused what it was given, in words of ours."""
    return (isinstance(error, EXPLAINED) and type(module).__module__.startswith(PACKAGE)
            and not in_user_code(error) and not is_accident(error))


def _is_named(kind: type, text: str) -> bool:
    """Return whether an error names a layer, or the operation of that name."""
    name = kind.__name__.lower()
    first = re.split(r"[\W\d]", text.replace("_", "").lower())[0]
    return text.startswith(kind.__name__) or (bool(first) and first in name)


def _name(module: Any, inside: Any) -> str:
    """A module's name for one inside: of an attribute, or dotted, of one far inside."""
    if module is inside:
        return ""
    found = next((name for name, m in module._entries() if m is inside), "")
    return found or next((name for name, m in module.named_modules() if m is inside), "")


def _is_unbound(error: Exception, module: Any) -> bool:
    """Return whether ``forward`` was not entered, as its arguments do not fit; what has a line is
    explained already."""
    found, located = _UNBOUND.search(str(error)), "\n  at " in str(error)
    if found is None or located or found[1] != getattr(module.forward, "__name__", "forward"):
        return False
    forward = _code(module)
    return all(f.f_code is not forward for f, _ in traceback.walk_tb(error.__traceback__))


def _code(module: Any) -> Any:
    """The code of ``forward``, which may be one that was assigned."""
    return getattr(vars(module).get("forward", getattr(type(module), "forward", None)), "__code__",
                   None)


def _called(error: Exception, module: Any) -> str:
    if "forward" in vars(module):
        return ("the forward that was assigned does not take what the layer was called with: "
                f"{error}")
    code = getattr(type(module).forward, "__code__", None)
    if code is not None and code.co_varnames[:1] != ("self",) and not code.co_argcount > 1:
        return f"{type(module).__name__}.forward is a method: it is defined as forward(self, ...)"
    names = code.co_varnames[1: code.co_argcount] if code is not None else ("...",)
    text = str(error).rpartition(".")[2]
    message: str = with_keyword(text, names)
    if message.startswith((f"{text}; use ", f"{text}; did you mean")):
        return message
    return f"{text}; it is called as {type(module).__name__}()({', '.join(names)})"
