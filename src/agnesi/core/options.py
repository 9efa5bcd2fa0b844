"""Options of layers, losses, optimizers and the like: what they may be, said by their annotations.

A signature says it all: ``eps: NotNegative = 1e-5``, ``momentum: Share | None``,
``mode: Literal["min", "max"]``, ``betas: tuple[Decay, Decay]``.  One function reads it, and refuses
what is none of the alternatives, in the words of the class and the option; what it knows nothing
about passes.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin
from weakref import WeakKeyDictionary

import numpy as np

from agnesi.core.ir.dims import Dim
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, switched
from agnesi.core.support.errors import PACKAGE, DTypeError, at, typed, warn
from agnesi.core.support.foreign import attribute_of, has
from agnesi.core.support.tracing import is_tracing


class Rule(NamedTuple):
    """One alternative of what an option may be: a kind of value, and which of the kind."""

    text: str
    fits: Callable[[Any], bool]
    #: What a value of the kind must be beside; "" where it is that.
    wanted: Callable[[Any], str] = lambda value: ""
    #: Whether it is about numbers, flags and words, which functions and methods check, too.
    plain: bool = False
    #: Whether functions check it, too, but no methods and operations.
    early: bool = False
    #: What must hold of a value that is known only at run time, as a tensor; None if nothing.
    holds: Callable[[Any], Any] = lambda value: None


# -- numbers ------------------------------------------------------------------------------------
def _is_real(value: Any) -> bool:
    """Return whether something is one number, which booleans are not; so is a 0-d tensor of one."""
    dtype = attribute_of(value, "dtype")
    if (kind := getattr(dtype, "kind", None)) is not None:
        return kind in "iufV" and value.shape == () and dtype.names is None
    return isinstance(value, (numbers.Real, Dim)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_real(value) and (hasattr(type(value), "__index__")
                                and getattr(value, "dtype", np.dtype(int)).kind in "iu")


def _known(value: Any) -> Any:
    """A number as Python's; None where it is known only when a program runs."""
    if isinstance(value, Dim) or getattr(value, "array", ...) is None:
        return None
    return operator.index(value) if _is_whole(value) else float(value)


def within(least: float = -math.inf, most: float = math.inf, *, above: bool = False,
           below: bool = False, whole: bool = False, infinite: bool = False) -> Rule:
    """The rule of numbers of a range, without its ends where they are only ``above`` and
    ``below``; NaN is in none."""
    text = _range(least, most, above, below)

    def wanted(value: Any) -> str:
        number = _known(value)
        if number is None:
            return ""
        inside = (number > least if above else number >= least) and (
            number < most if below else number <= most)
        if inside and (infinite or not math.isinf(number)):
            return ""
        if math.isinf(number) and inside:
            return f"{text} and finite".removeprefix(" and ")
        return text or ("a number that is not NaN" if infinite else "a finite number")

    def holds(value: Any) -> Any:
        if _known(value) is not None or isinstance(value, Dim):
            return None
        x = attribute_of(value, "_plain", value)  # comparing a number would decide
        inside = (x > least if above else x >= least) & (x < most if below else x <= most)
        return inside if infinite else inside & (abs(x) < math.inf)

    return Rule("an integer" if whole else "a number", _is_whole if whole else _is_real, wanted,
                True, holds=holds)


def _range(least: float, most: float, above: bool, below: bool) -> str:
    """The words for a range."""
    if not math.isinf(least) and not math.isinf(most):
        return f"in {'(' if above else '['}{least}, {most}{')' if below else ']'}"
    if math.isinf(least):
        return ""
    return f"at least {least}" if not above else f"more than {least}" if least else "positive"


def _each(rule: Rule) -> Rule:
    """A rule for one number for all axes, or a sequence with one for each."""
    def wanted(value: Any) -> str:
        if not _is_several(value):
            return rule.wanted(value)
        for entry in value:
            if not rule.fits(entry):
                return f"{rule.text} in the place of {_described(entry)}"
            if found := rule.wanted(entry):
                return f"{found} for each axis"
        return ""

    return Rule(f"{rule.text}, or one for each axis",
                lambda value: rule.fits(value) or _is_several(value), wanted,
                holds=lambda value: _joined([_holds((rule,), entry) for entry in (
                    value if isinstance(value, (list, tuple)) else [value])]))


#: Any number, also NaN and infinity.
_ANY = Rule("a number", _is_real, plain=True)
AnyNumber: TypeAlias = Annotated[float, _ANY]
Positive: TypeAlias = Annotated[float, within(0, above=True)]
NotNegative: TypeAlias = Annotated[float, within(0)]
#: The p of a norm, and bounds that may bound nothing.
Order: TypeAlias = Annotated[float, within(0, above=True, infinite=True)]
Bound: TypeAlias = Annotated[float, within(infinite=True)]
NotNegativeBound: TypeAlias = Annotated[float, within(0, infinite=True)]
#: Numbers in [0, 1], such as probabilities, and numbers in [0, 1), such as decay rates.
Share: TypeAlias = Annotated[float, within(0, 1)]
Decay: TypeAlias = Annotated[float, within(0, 1, below=True)]
#: Counts, from 0 or from 1.
Size: TypeAlias = Annotated[int, within(0, whole=True)]
Count: TypeAlias = Annotated[int, within(1, whole=True)]
#: An epoch that was, or -1 before the first.
Epoch: TypeAlias = Annotated[int, within(-1, whole=True)]
#: Sizes and counts for all axes of an image, or for each.
Sizes: TypeAlias = Annotated[int | Sequence[Any], _each(within(0, whole=True))]
Counts: TypeAlias = Annotated[int | Sequence[Any], _each(within(1, whole=True))]


# -- other values -------------------------------------------------------------------------------
def _is_several(value: Any) -> bool:
    """Return whether something is a list, a tuple, a range, or a tensor or array with axes."""
    if has(value, "shape"):
        return value.shape != () and has(value, "tolist")
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_flag(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or value is None:
        return value is not None
    kind = getattr(attribute_of(value, "dtype"), "kind", None)
    if kind is not None:
        return kind == "b" and value.shape == ()
    return type(value) is int and value in (0, 1)


def _sizes(value: Any) -> str:
    """Return what is wrong with the first entry that is no size; None and names are accepted."""
    for entry in value if _is_several(value) else ():
        if not (entry is None or isinstance(entry, (str, Dim)) or _is_whole(entry)):
            return f"an integer in the place of {_described(entry)}"
    return ""


def _is_data(value: Any, levels: int = 100) -> bool:
    """Return whether a value converts to a tensor, judged by four entries of a list, and levels."""
    dtype = attribute_of(value, "dtype")
    if dtype is not None:
        return getattr(dtype, "kind", "b") in "biufcV"
    if isinstance(value, (list, tuple, range)):
        return not levels or all(_is_data(v, levels - 1) for v in value[:4])
    return isinstance(value, (numbers.Number, Dim)) or (
        has(value, "__array__") and not isinstance(value, type))


def _dtype(value: Any) -> str:
    try:
        dtypes.as_dtype(value)
    except (DTypeError, TypeError):
        return f"a dtype: {dtypes.names()}"
    return ""


#: Words of annotations that are no classes, and classes whose instances are more.
_RULES = {
    "None": Rule("None", lambda value: value is None, plain=True),
    "bool": Rule("True or False", _is_flag, plain=True),
    "str": Rule("a string", lambda value: isinstance(value, str), early=True),
    "int": within(whole=True),
    "float": within(infinite=True),
    "PerAxis": _each(within(whole=True)),
    "ShapeLike": Rule("an integer, or one for each axis",
                      lambda value: _is_whole(value) or isinstance(value, Dim)
                      or _is_several(value), lambda value: _sizes(value)),
    "Callable": Rule("a function", callable, early=True),
    **dict.fromkeys(("Sequence", "list"), Rule("a list or tuple", _is_several)),
    "tuple": Rule("a tuple", _is_several),
    "Iterable": Rule("a list or another iterable", lambda value: not isinstance(
        value, (str, bytes)) and isinstance(value, Iterable)),
    "Sized": Rule("something that has len(), as a list or a dataset",
                  lambda value: has(value, "__len__") and attribute_of(value, "shape", 1) != ()),
    "Mapping": Rule("a dict", lambda value: isinstance(value, Mapping)),
    "dict": Rule("a dict", lambda value: isinstance(value, dict)),
    "TensorLike": Rule("a tensor, an array, a number or a list of numbers", _is_data),
    "DTypeLike": Rule("a dtype", lambda value: True, _dtype),
    "SparseTensor": Rule("a sparse tensor", lambda value: attribute_of(
        value, "is_sparse", has(value, "toarray")) is True, plain=True),
    "Generator": Rule("a Generator, such as ag.random.Generator(0)", lambda v: has(v, "state") or (
        type(v).__name__ == "Generator" and type(v).__module__[:5] != "numpy"), plain=True),
}


#: Flags, wherever they are none of a function's own.
FLAG = (_RULES["bool"],)


def _choice(words: tuple[Any, ...]) -> Rule:
    """One of some words, or numbers."""
    text, kinds = _or(list(map(repr, words))), tuple({type(word) for word in words})
    return Rule(text, lambda value: isinstance(value, kinds) or (int in kinds and _is_whole(value)),
                lambda value: "" if value in words and value is not True else text, True)


def _or(parts: list[str]) -> str:
    """Alternatives in words."""
    text = ", ".join(parts[:-1]).replace("' or '", "', '")
    return f"{text} or {parts[-1]}" if text else parts[-1]


#: Classes that functions take nothing else for.
_CHECKED = frozenset(("Optimizer", "Trainer"))


def _instance(kind: type) -> Rule:
    ours = kind.__module__.startswith(PACKAGE)
    text = f"{PACKAGE}'s {kind.__name__}" if ours else f"a {kind.__name__}"
    if kind is os.PathLike:
        text = "a path"
    if ours and kind.__name__ == "Tensor":  # arrays are taken for tensors
        return Rule(text, lambda value: isinstance(value, (kind, np.ndarray)))
    if kind is type:
        return Rule("a class", lambda value: isinstance(value, type), early=True)
    plain = ours and kind.__name__ in _CHECKED
    return Rule(text, lambda value: isinstance(value, kind), plain=plain)


def _either(union: UnionType) -> Rule | None:
    """The rule of a name for one of several classes, as ``str | os.PathLike[str]``."""
    kinds = [get_origin(kind) or kind for kind in get_args(union)]
    if not all(isinstance(kind, type) and (kind is str or kind.__name__ not in _RULES)
               for kind in kinds):
        return None  # what looks at several kinds says itself what they are
    rules = [_RULES["str"] if kind is str else _instance(kind) for kind in kinds]
    return Rule(_or([rule.text for rule in rules]), lambda value: isinstance(value, tuple(kinds)))


def _tuple(parts: list[tuple[Rule, ...] | None]) -> Rule:
    """Return the rule for a fixed number of values, each with its own alternatives."""
    count = {2: "two", 3: "three"}.get(len(parts), str(len(parts)))

    def wanted(value: Any) -> str:
        if len(value) != len(parts):
            return f"{count} numbers"
        for rules, entry in zip(parts, value, strict=True):
            if found := _refusal(rules, entry):
                return f"{count} numbers, with one {found[0]} in the place of {_described(entry)}"
        return ""

    return Rule(f"{count} numbers", _is_several, wanted, holds=lambda value: _joined(
        [_holds(rules, entry) for rules, entry in zip(parts, value, strict=True)]))


def _several(rule: Rule, inner: tuple[Rule, ...] | None) -> Rule:
    """Return the rule for a list whose entries have alternatives; the first 1000 entries are
    checked.
    """
    def wanted(value: Any) -> str:
        if has(value, "shape") and len(value.shape) != 1:
            return rule.text
        entries = _known_entries(value) if has(value, "shape") else value
        for entry in entries[:1000] if isinstance(entries, (list, tuple)) else ():
            if found := _refusal(inner, entry):
                return f"{found[0]} in the place of {_described(entry)}"
        return ""

    if inner is None:
        return rule
    return Rule(rule.text, rule.fits, wanted, early=all(entry.plain for entry in inner),
                holds=lambda value: _joined([_holds(inner, entry) for entry in value[:1000]])
                if isinstance(value, (list, tuple)) else None)


def _known_entries(value: Any) -> Any:
    """The numbers of an array or tensor; nothing where they are known only when a program runs."""
    return () if getattr(value, "array", ...) is None else value.tolist()


# -- annotations --------------------------------------------------------------------------------
def _split(text: str, mark: str) -> list[str]:
    """The parts of an annotation between marks that are in no brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == mark and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


def _alternatives(annotation: str, names: Mapping[str, Any]) -> tuple[Rule, ...] | None:
    """The rules of an annotation; None where it has a part about which nothing is known."""
    found = [_rule(part, names) for part in _split(annotation, "|")]
    return tuple(r for r in found if r is not None) if None not in found else None


def _rule(word: str, names: Mapping[str, Any]) -> Rule | None:
    name, _, inner = word.partition("[")
    parts = _split(inner[:-1], ",") if inner else []
    if name == "Literal":
        return _choice(tuple(map(ast.literal_eval, parts)))
    if name == "tuple" and parts and parts[-1] != "...":
        return _tuple([_alternatives(part, names) for part in parts])
    rule = _RULES.get(name)
    if rule is not None and name in ("Sequence", "list", "Iterable", "tuple") and parts:
        return _several(rule, _alternatives(parts[0], names))
    return rule or _rule_of(name, names)


def _rule_of(name: str, names: Mapping[str, Any]) -> Rule | None:
    """The rule of a name that a module knows: one of the types above, or a class."""
    head, *rest = name.split(".")
    kind = names.get(head, getattr(builtins, head, None))
    for part in rest:
        kind = getattr(kind, part, None)
    if get_origin(kind) is Annotated:
        return next((m for m in kind.__metadata__ if isinstance(m, Rule)), None)
    if get_origin(kind) is Callable:
        return _RULES["Callable"]
    if isinstance(kind, UnionType):
        return _either(kind)
    known = isinstance(kind, type) and kind not in (object, Any)
    return _instance(kind) if known and not getattr(kind, "_is_protocol", False) else None


@functools.cache
def declared(function: Any) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of those parameters of a library function that have any."""
    if not str(function.__module__).startswith(PACKAGE):
        return {}
    found = {name: _alternatives(text, function.__globals__)
             for name, text in function.__annotations__.items()
             if isinstance(text, str) and name != "return"}
    if function.__name__ == "__init__":
        return {name: rules for name, rules in found.items() if rules}
    return {name: tuple(_ANY if rule is _RULES["float"] else rule for rule in rules)
            for name, rules in found.items() if rules}


@functools.cache
def checked(function: Any, early: bool = False) -> dict[str, tuple[Rule, ...]]:
    """Return the rules that are checked before a call: all of a constructor, else those about
    numbers, flags and words, and with ``early`` those marked so.  Others explain failed calls."""
    found = declared(function)
    if function.__name__ == "__init__":
        return found
    return {name: rules for name, rules in found.items()
            if all(rule.plain or (early and rule.early) for rule in rules)}


def _refusal(rules: tuple[Rule, ...] | None, value: Any) -> tuple[str, type[Exception]] | None:
    """Return the requirement that a value does not meet, and the class of the error; None if it
    meets one rule.
    """
    reasons = [rule.wanted(value) for rule in rules or () if rule.fits(value)]
    if not rules or not all(reasons):
        return None
    others = [rule.text for rule in rules if not rule.fits(value)
              and not (reasons and _is_several(value) and rule.text != "None")]
    return _or([*reasons, *others]), ValueError if reasons else TypeError


def _holds(rules: tuple[Rule, ...] | None, value: Any) -> Any:
    """The condition, computed at run time, that a value fits one of the rules; None if it needs
    none."""
    found = [rule.holds(value) for rule in rules or () if rule.fits(value)]
    return functools.reduce(operator.or_, found) if found and all(
        c is not None for c in found) else None


def _joined(found: list[Any]) -> Any:
    """Return the conjunction of conditions; None if there are none."""
    known = [c for c in found if c is not None]
    return functools.reduce(operator.and_, known) if known else None


def check(owner: Callable[[], str], function: Any, given: Iterable[tuple[str, Any]],
          early: bool = False) -> None:
    """Raise an error for the first argument that does not match its annotation; ``owner`` returns
    the name of the called function, and is called for an error only, as it is slow.

    :raises TypeError, ValueError: If there is one; of another kind, or of the kind and out of
        range.
    """
    rules = checked(function, early)
    for name, value in given:
        if name in rules and (error := refusal(name, rules[name], value)) is not None:
            text = owner()
            found: Any = type(error)(at(f"{text}: {error}"
                                        f"{_instead(text, function, rules[name], value)}"))
            found.owner = text
            raise found


def culprit(function: Any, given: Iterable[tuple[str, Any]]) -> str:
    """Return what is wrong with the first argument that does not match its annotation, or "": the
    probable reason why a call failed."""
    rules = declared(function)
    found = (refusal(name, rules[name], value) for name, value in given if name in rules)
    return next((str(error) for error in found if error is not None), "")


def refusal(name: str, rules: tuple[Rule, ...], value: Any) -> Exception | None:
    """Return the error if a value matches none of its rules, without the name of the function.

    A number that is known only when a program runs is compared there.
    """
    if (found := _refusal(rules, value)) is not None:
        return found[1](f"{name} must be {found[0]}, not {_described(value)}")
    if is_tracing() and type(value) not in (int, float, bool, str):
        with switched(recording=False):
            if (condition := _holds(rules, value)) is not None and (
                    wanted := _refusal(rules, _unfit(value))) is not None:
                HOOKS.ensured("", condition, condition, f"{name} must be {wanted[0]}")
    return None


def _unfit(value: Any) -> Any:
    """Return a value with NaN or the least integer in place of numbers that are known only at run
    time, which fit no range.
    """
    if isinstance(value, (list, tuple)):
        return [_unfit(entry) for entry in value]
    if _holds((_RULES["float"],), value) is None:
        return value
    return -2**63 if _is_whole(value) else math.nan


def _described(value: Any) -> str:
    """Return a value's description for errors: scalars by value, others by type."""
    number = attribute_of(value, "shape") == () and _is_real(value) and _known(value)
    return typed(value) if number is False or number is None else f"{number}"


def _instead(owner: str, function: Any, rules: tuple[Rule, ...], value: Any) -> str:
    """Return how to write the call if an input was passed to a constructor."""
    plain = all(rule.plain for rule in rules) or (
        len(attribute_of(value, "shape", ())) > 1 and not any("tensor" in r.text for r in rules))
    if plain and function.__name__ == "fit" and attribute_of(value, "shape", ()):
        return "; inputs and targets are one argument, fit((x, y))"
    takes = function.__name__ != "__init__" or not function.__module__.startswith(f"{PACKAGE}.nn.")
    if takes or not plain or not attribute_of(value, "shape", ()):
        return ""
    return made_first(owner)


def made_first(owner: str) -> str:
    """How to write it where inputs were given to a constructor, as the end of a message."""
    return f"; make it first, and then call it: {owner}(...)(x)"


def arguments(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
              ) -> Iterable[tuple[str, Any]]:
    """Return the arguments of a call as pairs (parameter name, value); extra positional ones are
    left out.
    """
    plain = inspect.unwrap(function) if hasattr(function, "__wrapped__") else function
    code = plain.__code__
    return (*zip(code.co_varnames[: code.co_argcount], args, strict=False), *keywords.items())


# -- attributes ---------------------------------------------------------------------------------
#: Rules of the attributes of each class that was met.
_ATTRIBUTES: WeakKeyDictionary[type, dict[str, tuple[Rule, ...]]] = WeakKeyDictionary()


def check_written(owner: Any, name: str, held: Any, value: Any) -> None:
    """Raise an error if a new value of an attribute breaks the rules of the constructor's parameter
    of that name, but the present value does not: attributes may be of other types than parameters.

    :raises TypeError, ValueError: As the constructor would.
    """
    kind = type(owner)
    known = _ATTRIBUTES.get(kind)
    if known is None:
        known = _ATTRIBUTES[kind] = _written(kind)
    rules = known.get(name)
    if rules is None or (error := refusal(name, rules, value)) is None:
        return
    if refusal(name, rules, held) is None:
        raise type(error)(at(f"{kind.__name__}.{error}"))


def _written(kind: type) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of the constructor parameters of a class, by name."""
    found = {}
    for base in reversed(kind.__mro__):
        init = inspect.unwrap(vars(base).get("__init__", _written))
        if getattr(init, "__name__", "") == "__init__" and hasattr(init, "__code__"):
            found.update(declared(init))
    return found


def set_or_refuse(owner: Any, name: str, value: Any) -> None:
    """Set an attribute.

    :raises AttributeError: If it is a property that only computes something; the text says so.
    :raises TypeError: If it is a method of a class of ours, and the value cannot be called.
    """
    if not callable(value) and isinstance(method := getattr(type(owner), name, None), FunctionType):
        _check_hidden(owner, name, method, value)
    try:
        object.__setattr__(owner, name, value)
    except AttributeError:
        found = getattr(type(owner), name, None)
        if not isinstance(found, property) or found.fset is not None:
            raise
        text = (found.__doc__ or "").partition("\n")[0].partition(": ")[0].rstrip(".")
        raise AttributeError(at(f"{type(owner).__name__}.{name} cannot be set: it is computed: "
                                f"{text[:1].lower()}{text[1:]}")) from None


#: Methods that others call of modules, which a user's attribute must not hide.
_CALLED = frozenset("""apply children eval forward load_state_dict modules named_parameters
    parameters requires_grad_ state_dict train zero_grad""".split())


def _check_hidden(owner: Any, name: str, method: FunctionType, value: Any) -> None:
    """Raise an error for a value assigned over a method of a library object; for an object of a
    user's subclass only if it is switched on or off from outside, or else warn."""
    kind = type(owner)
    if name != "forward" and (name[0] == "_" or not method.__module__.startswith(PACKAGE)):
        return
    made = getattr(owner, "_made", False) and name not in vars(owner)
    if kind.__module__.startswith(PACKAGE) or name == "forward" or (made and type(value) is bool):
        raise TypeError(at(f"{kind.__name__}.{name} is a method, and cannot become {typed(value)}: "
                           f"it is called, as in {name}(...)"))
    if name in _CALLED:
        warn(f"{kind.__name__}.{name} = {typed(value)} hides a method, and calls of {name}() will "
             "fail: take another name")


class Written:
    """Base of objects whose attributes are checked when they are written again."""

    def __setattr__(self, name: str, value: Any) -> None:
        held = object.__getattribute__(self, "__dict__").get(name, self)
        if held is not self and name[0] != "_":
            check_written(self, name, held, value)
        set_or_refuse(self, name, value)
