"""Arguments of public functions: what parameters take, and which argument an error is about.

What is declared as an integer is checked when a function is called; all else only where an error
that no line of ours raises passes through the function, so that correct calls cost nothing.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType, ModuleType
from typing import Any

import numpy as np

from agnesi.core import options
from agnesi.core.integers import check_integer, is_integer
from agnesi.core.ir.dims import Dim
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.errors import ShapeError, TraceError, at, no_memory, ours, typed
from agnesi.core.support.foreign import attribute_of
from agnesi.core.support.tree import nested_beyond
from agnesi.core.tensor import Tensor

#: Numbers of a range and words: name, position and rules.
Ranged = tuple[tuple[str, int, tuple[options.Rule, ...]], ...]
#: Annotations that say no more than that it is an integer.
_PLAIN = frozenset(("int", "None"))
#: The position recorded for keyword-only arguments: beyond any real one.
_NOWHERE = 1 << 30
#: Nested containers that no function minds.
_MAX_SHALLOW_NESTING = 100
#: The advice for a tensor with axes where a parameter takes no tensor with axes.
_MISPLACED = re.compile(r"(\w+) must be [^;]*, not \w+\[[^\[\]]+\]")
#: Integers that are declared, see :func:`counts`.
Counts = tuple[tuple[str, int, bool, int | None], ...]


# -- before a call ------------------------------------------------------------------------------
def counts(function: Any) -> Counts:
    """Parameters that are declared as integers: name, position, whether they may be None, and the
    least that they may be.

    Axes are left out; the functions that use them check them.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found = []
    for position, name in enumerate(names):
        declared = function.__annotations__.get(name)
        if declared in ("int", "int | None") and not name.startswith("axis"):
            at = position if position < code.co_argcount else len(names)
            found.append((name, at, declared != "int", 0 if name in _NATURAL else None))
    return tuple(found)


def ranged(function: Any, early: bool = False) -> Ranged:
    """Parameters declared as a number in a range or one of several words.  ``early`` is for
    functions that take functions; it adds integers, otherwise left to :func:`counts`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rules = options.checked(function, early)
    plain = [name for name in names if not early and _PLAIN.issuperset(
        _kinds(str(function.__annotations__.get(name, "int"))))]
    return tuple((name, position if position < code.co_argcount else _NOWHERE, rules[name])
                 for position, name in enumerate(names) if name in rules and name not in plain)


class Ranges:
    """The numbers of a range and words that a function declares: they are read from its annotations
    when it is first called, for an import calls none and would take a fifth longer.

    ``some`` is false if there are none; the first ``first`` positional arguments have no range.
    """

    def __init__(self, function: Any, early: bool = False) -> None:
        self.function, self.early = function, early
        self.some, self.first = True, -1

    @cached_property
    def entries(self) -> Ranged:
        found = ranged(self.function, self.early)
        self.some = bool(found)
        self.first = min((position for _, position, _ in found), default=_NOWHERE)
        return found

    def check(self, args: tuple[Any, ...], keywords: dict[str, Any], owner: str = "") -> None:
        """Raise an error for an argument outside of its declared range.  With ``owner``, the name
        of the called function, the message begins with it and ends with the user's line."""
        for name, position, rules in self.entries:
            if position < len(args) or name in keywords:
                error = options.refusal(name, rules, args[position] if position < len(args)
                                        else keywords[name])
                if error is not None and owner:
                    error = misplaced(error, self.function, args, owner.removesuffix(": "))
                    raise type(error)(at(f"{owner}{error}"))
                if error is not None:
                    raise error


def check_counts(declared: Counts, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raise for a non-integer argument whose annotation is an integer."""
    for name, position, optional, least in declared:
        value = args[position] if position < len(args) else keywords.get(name, 0)
        if type(value) is int and least is None:
            continue
        if value is not None or not optional:
            check_integer(value, name, least)


def leading_functions(function: Any) -> tuple[str, ...]:
    """Return the names of the leading parameters that must be functions."""
    function = inspect.unwrap(function)
    code, found = function.__code__, []
    for name in code.co_varnames[: code.co_argcount]:
        declared = str(function.__annotations__.get(name, ""))
        if not declared.startswith(("Function", "Callable")) or "None" in declared:
            break
        found.append(name)
    return tuple(found)


def form(function: Any, name: str) -> str:
    """Return a function's call form with positional names, for errors: ``scan(f, init, xs,
    length)``.
    """
    code = inspect.unwrap(function).__code__
    names = [*code.co_varnames[: code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        names.append("*" + code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    if only := code.co_varnames[code.co_argcount: code.co_argcount + code.co_kwonlyargcount]:
        names += ["*"] * (not code.co_flags & inspect.CO_VARARGS) + [
            n for n in only if n not in ("out", "device")]
    if names[-1:] == ["*"]:
        names.pop()
    if code.co_flags & inspect.CO_VARKEYWORDS:
        names.append("**" + code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(
            code.co_flags & inspect.CO_VARARGS)])
    return f"{name}({', '.join(names)})"


# -- after an error -----------------------------------------------------------------------------
def culprit(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """Return what is wrong with the first argument that its parameter does not accept, or ""."""
    given = list(_given(function, args, keywords))
    for test in (_declared, _operand):
        for name, declared, default, value in given:
            if value is not default and (wanted := test(name, declared, value)):
                return f"{name} must be {wanted}, not {typed(value)}"
    return options.culprit(inspect.unwrap(function), ((name, v) for name, _, default, v in given
                                                      if v is not default))


def of_keyword(error: Exception, function: Any, keywords: dict[str, Any]) -> Exception:
    """Return the error with the name of the keyword argument that cannot become a tensor; any other
    error is returned as it is."""
    reason = getattr(error, "reason", str(error))
    if not isinstance(reason, str) or not reason.startswith("cannot make a tensor from"):
        return error
    wrong = [name for name, declared, default, value in _given(function, (), keywords)
             if not _is_operand(value) and name not in _NO_OPERANDS and value is not default
             and (declared in _OPERANDS or "Tensor" in declared)]
    if len(wrong) != 1:
        return error
    found = type(error)(f"{wrong[0]}: {reason}")
    found.accident = False  # type: ignore[attr-defined]
    return found


def of_text(error: Exception, function: Any, args: tuple[Any, ...], name: str) -> Exception:
    """Return the error with the order of the arguments, if a string was passed as an operand of a
    function that has a string parameter; any other error is returned as it is."""
    reason = getattr(error, "reason", str(error))
    if not isinstance(reason, str) or not reason.startswith("cannot make a tensor from"):
        return error
    texts = [n for n, declared, _, v in _given(function, args, {})
             if isinstance(v, str) and declared in _OPERANDS]
    if len(texts) != 1 or "str" not in inspect.unwrap(function).__annotations__.values():
        return error
    found = type(error)(f"{texts[0]} cannot be a text; it is called as {form(function, name)}")
    found.accident = False  # type: ignore[attr-defined]
    return found


def misplaced(error: Exception, function: Any, args: tuple[Any, ...], name: str) -> Exception:
    """Return the error with the order of the arguments, if a tensor with axes was given by position
    where a number, a word or a function belongs; any other error is returned as it is."""
    found = _MISPLACED.fullmatch(str(error))
    given = inspect.unwrap(function).__code__.co_varnames[1:len(args)]
    if not isinstance(error, TypeError) or found is None or found[1] not in given:
        return error
    return type(error)(f"{error}; the order is {form(function, name)}")


def no_number(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """Return which option is declared as a number but is a text, a container or None; empty if none
    is.
    """
    for name, declared, default, value in _given(function, args, keywords):
        wrong = isinstance(value, (str, bytes, list, tuple, dict)) or (
            value is None and declared == "float")
        if declared in ("float", "float | None") and wrong and value is not default:
            return (f"{name} must be a number{' or None' * ('None' in declared)}, not "
                    f"{typed(value)}")
    return ""


def nested(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """Return a reason if an argument is nested too deep for Python's stack, else an empty text."""
    for name, _, _, value in _given(function, args, keywords):
        if nested_beyond(value, _MAX_SHALLOW_NESTING):
            return f"containers lie in each other more than {_MAX_SHALLOW_NESTING} deep in {name}"
    return ""


def stranger(error: Exception, function: Any, args: tuple[Any, ...],
             keywords: dict[str, Any]) -> str:
    """Return text such as "x cannot be str": the argument that caused an error of Python or NumPy,
    judged by the types that its message names; empty if none fits.
    """
    text = str(error)
    given = [entry for entry in _given(function, args, keywords) if entry[3] is not entry[2]]
    if any(words in text for words in _OF_ARRAYS):
        given = [e for e in given if isinstance(e[3], (np.ndarray, Tensor, list, tuple))][::-1]
    elif any(words in text for words in _OF_TEXTS):
        given = [e for e in given if any(isinstance(v, (str, bytes)) and (
            repr(v) in text or "unpack" in text) for v in _parts(e[3]))]
    elif "cannot convert float" in text:
        given = [e for e in given if isinstance(e[3], float) and not math.isfinite(e[3])]
    elif any(words in text for words in _OF_LENGTHS):
        given = [e for e in given if isinstance(e[3], (bytes, Iterator)) or (
            isinstance(e[3], (list, tuple)) and not e[3])]
    else:
        types = set(re.findall(r"'(?:\w+\.)*(\w+)'", text))
        given = [e for e in given if not (e[1] == "str" and isinstance(e[3], str))]
        given = [e for e in given if type(e[3]).__name__ in types] or [
            e for e in given if any(type(v).__name__ in types for v in _parts(e[3]))] or [
            e for e in given if isinstance(e[3], type) and f"'{e[3].__name__}'" in text]
    if (given and str(given[0][1]).startswith("Tensor") and "attribute" in text
            and isinstance(given[0][3], np.ndarray)):
        return (f"{given[0][0]} must be a tensor, not a NumPy {typed(given[0][3])}; "
                f"ag.asarray({given[0][0]}) is one")
    layouts = [str(getattr(v, "layout", "")) for v in _parts(given[0][3])] if given else []
    if any(layout.startswith("sparse") for layout in layouts):
        return f"{given[0][0]} cannot be sparse: to_dense() makes a dense tensor"
    return f"{given[0][0]} cannot be {typed(given[0][3])}" if given else ""


#: Parts of errors that are about an array where one number is wanted.
_OF_ARRAYS = ("truth value of an array", "only integer scalar", "setting an array element",
              "can be converted to", "arrays used as indices")
#: Parts of errors that are about a text where a number, or several, is wanted.
_OF_TEXTS = ("invalid literal", "could not convert string", "values to unpack")
#: Parts of errors that are about a list with too few entries.
_OF_LENGTHS = ("zip()", "index out of range", "pop from empty")


def of_argument(error: Exception, name: str, function: Any, args: tuple[Any, ...],
                keywords: dict[str, Any]) -> Exception:
    """Return an error raised in a user's function with the argument that it concerns, judged by the
    type that the message names.
    """
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    code = getattr(inspect.unwrap(function), "__code__", None)
    text = str(error)
    if step is None or code is None or "\n  at " in text or ours(step.tb_frame.f_code.co_filename):
        return error
    parameters = code.co_varnames[hasattr(function, "__self__"): code.co_argcount]
    words = set(re.findall(r"\w+", text))
    for parameter, value in (*zip(parameters, args, strict=False), *keywords.items()):
        if type(value).__name__ in words and not isinstance(value, (Tensor, int, float)):
            text_of_all = f"jit of {name}: {text}; argument {parameter} is {typed(value)}"
            found = type(error)(at(text_of_all, (step.tb_frame.f_code, step.tb_lasti, "")))
            return found.with_traceback(error.__traceback__)
    return error


def too_large(error: Exception, function: Any, args: tuple[Any, ...],
              keywords: dict[str, Any]) -> Exception | None:
    """Return the error for an integer that does not fit a C integer or a float, or for an operand
    of more elements than 64 bits count; None for other errors.
    """
    if not isinstance(error, OverflowError):
        return None
    for x in [p for _, _, _, value in _given(function, args, keywords) for p in _parts(value)]:
        if isinstance(x, Tensor) and all(type(n) is int for n in x.shape) and x.size >= 1 << 63:
            return MemoryError(no_memory(x.size * x.dtype.itemsize, typed(x)))
    numbers = [(abs(int(n)), name) for name, _, _, value in _given(function, args, keywords)
               for n in _parts(value) if isinstance(n, (int, np.integer))]
    most, name = max(numbers, default=(0, ""))
    return ValueError(f"{name} cannot be as large as {most}") if most >= _LARGE_NUMBER else None


#: From here on a number may be too large for C's functions.
_LARGE_NUMBER = 300


def few_axes(error: Exception, function: Any, args: tuple[Any, ...],
             keywords: dict[str, Any]) -> ShapeError | None:
    """Return the error for an operand whose shape has too few or too many axes to be unpacked; None
    for other errors.
    """
    text = str(error)
    short = "tuple index" in text or "not enough values" in text
    if not short and "too many values" not in text:
        return None
    shaped = [(len(v.shape), name, v) for name, _, _, value in _given(function, args, keywords)
              for v in [value if hasattr(value, "shape") else _array(value)] if v is not None]
    if not shaped:
        return None
    pick: Callable[..., Any] = min if short else max
    _, name, value = pick(shaped, key=lambda entry: entry[0])
    return ShapeError(f"{name} has too {'few' if short else 'many'} axes: its shape is "
                      f"{tuple(value.shape)}")


def missing_key(error: BaseException) -> TraceError | None:
    """Return the error for a traced tensor that was used as a dict key, since tensors hash by
    identity; None for other errors.
    """
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    step = error.__traceback__
    if step is None or not isinstance(key, Tensor) or key.array is not None:
        return None
    while step.tb_next is not None:
        step = step.tb_next
    return TraceError(at(f"a dict has no key {typed(key)}: tensors are keys by identity, not by "
                         "value; write d[x.item()], or take ag.tensor(values)[x]",
                         (step.tb_frame.f_code, step.tb_lasti, "")))


def _array(value: Any) -> Any:
    """An array of what is written as numbers or lists of them; None for all else."""
    if not isinstance(value, (bool, int, float, complex, list, tuple)):
        return None
    try:
        found = np.asarray(value)
    except (ValueError, TraceError):
        return None
    return found if found.dtype.kind in "biufc" or isinstance(value, int) else None


#: The default of parameters that must be given.
_NO_DEFAULT = object()


def _given(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
           ) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the name, annotation, default and value of each argument of a call."""
    function = inspect.unwrap(function)
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(parameters), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    for name, value in (*zip(parameters, args, strict=False), *keywords.items()):
        default = defaults.get(name, _NO_DEFAULT)
        yield name, str(function.__annotations__.get(name, "Any")), default, value
    if code.co_flags & 4:  # the rest has one name
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        for value in args[len(parameters):]:
            yield rest, str(function.__annotations__.get(rest, "Any")), _NO_DEFAULT, value


def _declared(name: str, declared: str, value: Any) -> str:
    """Return what a parameter must be by its declaration or its name, or "" where the value is
    that.
    """
    if name in ("axis", "axes", "dim", "dims") and declared in ("Any", "Axis"):
        good = value is None or all(map(is_integer, _several(value)))
        return "" if good else "an axis or several, as integers"
    if name in ("f", "fun", "function", "pyfunc") and declared == "Any":
        return "" if callable(value) else "a function"
    if name in ("shape", "size") and declared in _SHAPES:
        good = all(isinstance(n, Dim) or is_integer(n) for n in _several(value))
        return "" if good else "a size or several, as integers"
    wanted = [_KINDS[kind] for kind in _kinds(declared) if kind in _KINDS]
    if len(wanted) < len(_kinds(declared)) or any(test(value) for test, _ in wanted):
        return ""
    return " or ".join(text for _, text in wanted)


def _kinds(declared: str) -> list[str]:
    """Return the alternatives of an annotation, without the parameters in brackets."""
    if declared.startswith("Literal["):
        return ["str"]
    plain, depth = "", 0
    for letter in declared:
        depth += letter == "["
        plain += letter if not depth else ""
        depth -= letter == "]"
    return plain.split(" | ")


def _several(value: Any) -> Sequence[Any]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value[:4])
    return value if isinstance(value, (tuple, list)) else (value,)


def _parts(value: Any) -> Sequence[Any]:
    """The first elements of a container, of a dict its keys and values; those beyond are not
    checked."""
    return [*value, *value.values()][:8] if isinstance(value, dict) else _several(value)


def _is_real(value: Any) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biufV"
    return isinstance(value, (int, float, Dim, Tensor))


#: How operands and shapes are declared.
_OPERANDS = frozenset(("Any", "TensorLike", "TensorLike | None", "Sequence[Any]"))
_SHAPES = frozenset(("Any", "ShapeLike", "ShapeLike | None"))
#: Integers that are sizes, wherever they occur.
_NATURAL = frozenset(("size", "minlength", "length", "deg", "num", "ndim"))
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda v: isinstance(v, Dim) or is_integer(v), "an integer"),
    "float": (_is_real, "a number"),
    "bool": (lambda v: isinstance(v, (bool, np.bool_)), "True or False"),
    "str": (lambda v: isinstance(v, str), "a string"),
    "None": (lambda v: v is None, "None"),
    "Axis": (lambda v: v is None or all(map(is_integer, _several(v))), "an axis or several"),
    "Tensor": (lambda v: isinstance(v, Tensor), "a tensor"),
    "Callable": (callable, "a function"),
    "Function": (callable, "a function"),
    "Rule": (callable, "a function"),
    "Expression": (lambda v: isinstance(v, str) or callable(v), "a formula or a function"),
    "Sequence": (lambda v: isinstance(v, (Sequence, np.ndarray, Tensor))
                 and not isinstance(v, str), "a list or tuple"),
    "tuple": (lambda v: isinstance(v, (tuple, list)), "a tuple"),
    "Generator": (lambda v: hasattr(v, "state") or (
        type(v).__name__ == "Generator" and not type(v).__module__.startswith("numpy")),
                  "a generator of random numbers"),
}


#: Parameters of any type that are no operands, or not only.
_NO_OPERANDS = frozenset(("bins", "buffer", "device", "dtype", "key", "text"))


def _operand(name: str, declared: str, value: Any) -> str:
    """Return in words what an operand must be, or "" if the value qualifies."""
    if declared not in _OPERANDS or name in _NO_OPERANDS:
        return ""
    return "" if _is_operand(value) else "a tensor, an array without a mask or a number"


#: What is never taken for numbers.
_NO_NUMBERS = (str, bytes, dict, set, frozenset, slice, ModuleType, EllipsisType)


def _is_operand(value: Any) -> bool:
    if isinstance(value, (Tensor, Dim, bool, int, float, complex)) or callable(value):
        return True
    if isinstance(value, (tuple, list)):
        return not nested_beyond(value, _MAX_SHALLOW_NESTING) and all(map(_is_operand, value))
    found = attribute_of(value, "dtype")
    if isinstance(found, np.dtype):
        plain = not (isinstance(value, np.ndarray) and hasattr(value, "mask"))
        return plain and (found.kind in "biufc" or found.name == "bfloat16")
    return value is not None and not isinstance(value, _NO_NUMBERS)
