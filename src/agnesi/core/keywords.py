"""Calls that do not fit what public functions, constructors and methods take: our error says it.

Python itself refuses such a call, where it is made.  What is public gets a wrapper that does
nothing but look at this one error: it names the keyword, what stands here for it, and what can be
given.  Functions of tensors, which are called most, look themselves (``core.public``, and
``refuse`` below).
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from agnesi.core import options
from agnesi.core.calls.arguments import form, nested, stranger
from agnesi.core.op import EXPLAINED, explain, in_user_code, is_accident, typed
from agnesi.core.support.docstrings import numpydoc
from agnesi.core.support.errors import (
    PACKAGE,
    NestingError,
    at,
    explain_missing,
    ours,
    retold,
    user_where,
)
from agnesi.core.support.exports import shown
from agnesi.core.support.foreign import has
from agnesi.core.support.migration_hints import nearest, with_keyword
from agnesi.core.support.spelling import spelt

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
#: Where public functions are wrapped that look themselves.
_PUBLIC = __file__.replace("keywords.py", "public.py")
#: Modules of classes that the library creates very often and users hardly ever: their constructors
#: are not wrapped.
_INNER = tuple(f"{PACKAGE}.core.{name}" for name in ("ir.node", "op", "tensor"))
_UNKNOWN = "unexpected keyword"
_AT = "\n  at "
#: Beginnings of errors that name an inner check or conversion, for which the public function is
#: named instead.
_QUIET = ("ensure(", "asarray(", "as_tensor(", "tensor(", "broadcast_shapes(", "broadcast_to(",
          "take_along_axis(")
_CONSTRUCTORS = ("__init__", "__new__")
#: Errors of calls that may be replaced by one with the name of what was called.
_REPLACED: tuple[type[Exception], ...] = (
    *EXPLAINED, AttributeError, NameError, LookupError, RuntimeError, OSError, SyntaxError,
)
#: Stands for a second operand that was not given: Python would name the first name of a function.
NEEDED: Any = object()


def refuse(name: str, keywords: Iterable[str], known: tuple[str, ...]) -> NoReturn:
    """Raise TypeError for keywords that a function does not take.

    :raises TypeError: Always.
    """
    word, name = next(iter(keywords)), spelt(name, user_where(2), PACKAGE)
    raise TypeError(at(_with_words(f"{name}() got an unexpected keyword argument {word!r}", known)))


def operands_of(name: str, names: tuple[str, ...], given: tuple[Any, ...],
                keywords: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """Return the operands and ``out`` of a call of an elementwise function.

    ``given`` are the positional arguments, with :data:`NEEDED` in place of missing operands.

    :raises TypeError: If there are too many or too few, one is given twice, or a keyword is
        unknown.
    """
    arity = len(names)
    if len(given) == arity and given[-1] is not NEEDED and [*keywords] == ["out"]:
        return given, keywords["out"]
    found = dict(zip((*names, "out"), given, strict=False))
    wrong = f"takes {arity} operand{'s' * (arity > 1)} and `out`, not {len(given)} arguments" * (
        len(given) > arity + 1)
    for word, value in keywords.items():
        if word not in names and word != "out":
            refuse(name, [word], ("out",))
        if found.get(word, NEEDED) is not NEEDED:
            wrong = wrong or f"`{word}` is given twice, by position and by name"
        found[word] = value
    operands = tuple(found[n] for n in names)
    if not wrong and (missing := sum(x is NEEDED for x in operands)):
        wrong = ("needs its second operand, too" if missing < arity else
                 f"needs {('an operand', 'two operands')[arity - 1]}")
    if wrong:
        call = f"{name}({('x', 'x1, x2')[arity - 1]}, out=None)"
        raise explain(TypeError(f"{name}() {wrong}: it is called as {call}"), name,
                      tuple(x for x in given if x is not NEEDED))
    return operands, found.get("out")


def out_of(name: str, keywords: dict[str, Any]) -> Any:
    """Return the ``out`` of a call that takes no other keyword.

    A function that declares ``**keywords`` and calls this only if there are any is as fast as one
    that declares ``out``.
    """
    if keywords and (unknown := keywords.keys() - {"out"}):
        refuse(name, sorted(unknown), ("out",))
    return keywords.get("out")


def with_out(function: F) -> F:
    """Decorator for such functions: shows ``out`` in the signature."""
    shown = inspect.signature(function)
    operands = [p.replace(default=p.empty) if p.default is NEEDED else p
                for p in shown.parameters.values()
                if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "out"]
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                            annotation="Tensor | None")
    function.__signature__ = shown.replace(parameters=[*operands, out])  # type: ignore
    numpydoc(function)
    return function


def shown_as(*names: str) -> Callable[[F], F]:
    """A decorator for functions whose first parameters are declared under PyTorch's names, so that
    keywords by these need no translation: the signature shows ``names``, positional-only as in the
    array API."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        for i, name in enumerate(names):
            parameters[i] = inspect.Parameter(
                name, inspect.Parameter.POSITIONAL_ONLY, default=parameters[i].default,
                annotation=parameters[i].annotation)
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore
        return function

    return decorate


def _with_words(text: str, known: tuple[str, ...]) -> str:
    """Python's message for an unknown keyword, with our name for it, or the keywords that exist."""
    found: str = with_keyword(text, known)
    if found != text or _UNKNOWN not in text:
        return found
    return f"{text}; it takes none"


class _Wrapped:
    """A public function and what its signature says, for the errors of calls of its wrapper.

    :ivar names: The parameters that keywords can name.
    :ivar of_class: Whether it is a method, or a constructor, whose first argument is the object.
    :ivar method: The same, or a function of a module; False for one that only stands in a class.
    """

    def __init__(self, function: Any, owner: type | None) -> None:
        self.function, self.owner = function, owner
        self.inner: Any = inspect.unwrap(function)
        self.code = code = self.inner.__code__
        self.names = code.co_varnames[
            code.co_posonlyargcount: code.co_argcount + code.co_kwonlyargcount]
        bound = self.names[:1] in (("self",), ("cls",))
        self.of_class = owner is not None and bound
        self.method = owner is None or bound

    def name(self, args: tuple[Any, ...]) -> str:
        """Return the name that users call."""
        return _name(self.function, args, self.owner)

    def refuse_ignored(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Raise an error for a keyword that would be ignored, and is nearly one of the parameters.

        :raises TypeError: If there is one.
        """
        for word in keywords.keys() - set(self.names):
            if near := nearest(word, self.names, 0.7):
                raise TypeError(at(f"{self.name(args)}() got an unexpected keyword argument "
                                   f"{word!r}; did you mean `{near}`?"))

    def instead(self, error: Exception, args: tuple[Any, ...], keywords: dict[str, Any]
                ) -> tuple[Exception, BaseException | None] | None:
        """Return the error to raise instead of one that a call raised, and its cause; None
        where that one says enough.
        """
        better, cause = None, error.__cause__
        if isinstance(error, EXPLAINED):
            if (text := self._misfit(error, args)) is not None:
                return TypeError(at(text)), None
            if self.method:
                better = _located(error, self.inner, self.name(args), args, keywords)
            cause = better and better.__cause__
        elif isinstance(error, (AttributeError, NameError)):
            if self.method and is_accident(error) and not in_user_code(error):
                better, cause = _located(error, self.inner, self.name(args), args, keywords), error
        elif isinstance(error, RecursionError):
            if deep := nested(self.inner, args, keywords):
                better, cause = NestingError(at(f"{self.name(args)}: {deep}")), None
        elif self.method and _AT in str(error) and not in_user_code(error) and not ours(_caller()):
            better = named(error, self.name(args))
        return None if better is None else (better, cause)

    def _misfit(self, error: Exception, args: tuple[Any, ...]) -> str | None:
        """Return the message for arguments that do not fit the signature, given Python's TypeError;
        None for any other error.
        """
        subject, mark, rest = str(error).partition("() ")
        if not (isinstance(error, TypeError) and mark and "argument" in rest) or (
                " " in subject or _AT in rest or _entered(error, self.code)):
            return None
        called = ".__call__" * (self.inner.__name__ == "__call__")
        text = _unbound(self.name(args) + called, rest, self.inner, self.owner is not None)
        return _with_words(text, self.names[self.of_class:])


def strict(function: F, owner: type | None = None) -> F:
    """The function, which refuses calls that do not match its signature, and options that do not
    match their annotations, by our errors."""
    about = _Wrapped(function, owner)
    inner, code = about.inner, about.code
    late = hasattr(owner, "get_params")  # scikit-learn's are checked where they fit
    checked, first = about.method and not late, int(owner is not None)
    ignores = code.co_flags & inspect.CO_VARKEYWORDS and "ignored" in code.co_varnames
    numpydoc(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal checked
        if ignores and keywords:
            about.refuse_ignored(args, keywords)
        if checked and (keywords or len(args) > first):
            if options.checked(inner, owner is None):
                options.check(lambda: about.name(args), inner,
                              options.arguments(inner, args, keywords), owner is None)
            else:
                checked = False
        try:
            return function(*args, **keywords)
        except _REPLACED as error:
            found = about.instead(error, args, keywords)
            if found is None:
                raise
            raise found[0] from found[1]

    made: Any = call
    return made


def _unbound(name: str, rest: str, function: Any, method: bool) -> str:
    """Return Python's message for arguments that do not fit, with the signature; the count of
    arguments of a method leaves out ``self``."""
    if "keyword argument" in rest:
        return f"{name}() {rest}"
    if method and function.__code__.co_varnames[:1] in (("self",), ("cls",)):
        head, verb, tail = rest.partition(" given")
        if "positional argument" in head and rest.startswith("takes "):
            rest = re.sub(r"\d+", lambda n: str(int(n[0]) - 1), head) + verb + tail
    if method and rest.endswith("required positional argument: 'self'"):
        kind, _, own = name.rpartition(".")
        return f"{name}() {rest}; call it on an object, {kind}(...).{own}()"
    return f"{name}() {rest}; it is called as {_form(function, name)}"


def _form(function: Any, name: str) -> str:
    return form(function, name).replace("(self, ", "(").replace("(self)", "()")


#: Files whose functions only wrap others: a traceback skips them.
WRAPPERS = {__file__}


def _caller(depth: int = 3) -> str:
    """Return the file of the innermost caller outside of wrappers."""
    step = sys._getframe(depth)
    while step is not None and step.f_code.co_filename in WRAPPERS:
        step = step.f_back  # type: ignore[assignment]
    return step.f_code.co_filename if step is not None else ""


def _located(error: Exception, function: Any, name: str, args: tuple[Any, ...],
             keywords: dict[str, Any]) -> Exception | None:
    """Return the error with the called function and the user's line added.

    None if it has both already, or was raised by code of the user or of another library.
    """
    if in_user_code(error):
        return None
    if _AT in str(error):
        return of_the_outer(error, name)
    if not is_accident(error):
        found = retold(error, at(f"{name}: {error}"))
    elif not _of_library(error, "sklearn") and (reason := options.culprit(
            function, options.arguments(function, args, keywords))):
        found = TypeError(at(f"{name}: {reason}"))
    elif not _of_library(error, "sklearn") and (
            reason := stranger(error, function, args, keywords)) and not reason.startswith("self "):
        lacks = error.name if isinstance(error, AttributeError) else ""
        text = f"{reason}, which has no {lacks!r}" if lacks else f"{reason}: {error}"
        if lacks == "array":  # what tensors have, here and in the compat modules
            text = reason.replace(" cannot be ", " must be a tensor, not ", 1)
        found = TypeError(at(f"{name}: {text}"))
    elif _of_library(error) or re.match(r"\S+\(\) (takes|missing|got) ", str(error)):
        found = retold(error, at(f"{name}: {error}"))
    elif not ours(_caller()) and type(error).__module__ in ("builtins", "numpy.exceptions"):
        # another library's own kinds say enough
        kind = ValueError if isinstance(error, ValueError) else TypeError
        own = function.__code__.co_varnames[:1] == ("self",)
        types = f" of {', '.join(map(typed, args[own:]))}" if any(
            has(a, "shape") for a in args[own:]) else ""
        found = kind(at(f"{name}{types}: the arguments do not fit together: {error}; it is called "
                             f"as {_form(function, name)}"))
        found.__cause__ = error
    else:
        return None
    found.accident, found.owner = False, name
    return found


def _of_library(error: Exception, library: str = "") -> bool:
    """Return whether a function of another library's, or of that one, refused what it got."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    home = "" if step is None else str(step.tb_frame.f_globals.get("__name__", ""))
    found = home.startswith(library) and not home.startswith(PACKAGE)
    return found and type(error) in (TypeError, ValueError)


def of_the_outer(error: Any, name: str) -> Exception | None:
    """Return an error of an inner method under the name of the method that the user called, and one
    of an operation under that of the object being made.
    """
    inner, text = getattr(error, "owner", None), str(error)
    if inner is not None and text.startswith(f"{inner}: "):
        found = retold(error, f"{name}{text[len(inner):]}")
    elif not ours(_caller()):  # the user called it
        return named(error, name)
    else:
        return None
    found.accident, found.owner = False, name
    return found


def named(error: Any, name: str) -> Exception | None:
    """Return an error that names a line under the name that the user called; None if it has that
    name.
    """
    text = str(error)
    if text.startswith(_QUIET) and isinstance(getattr(error, "reason", None), str):
        text = f"{error.reason}\n  at {text.rpartition(_AT)[2]}"  # by what of ours it was found
    owner, _, method = name.partition(".")
    if method:
        text = text.removeprefix(f"{owner}: ")
    if _AT not in text or text.startswith(name) or (not getattr(
            error, "located", False) and any(map(text.partition("\n")[0].count, name.split(".")))):
        return None
    found = retold(error, f"{name}: {text}")
    found.accident, found.owner = False, name
    return found


def _entered(error: Exception, code: Any) -> bool:
    """Return whether a function had begun when an error was raised."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is code:
            return True
        step = step.tb_next
    return False


def _name(function: Any, args: tuple[Any, ...], owner: type | None = None) -> str:
    """Return the name that users call: of a constructor the class, of a method the object's class
    and the method.
    """
    made = args[0] if args else None
    if function.__name__ not in _CONSTRUCTORS:
        if owner and isinstance(made, owner):
            called = function.__name__.replace("__call__", "")
            return f"{type(made).__name__}.{called}".rstrip(".")
        return str(function.__qualname__) if owner else spelt(
            str(function.__name__), user_where(3), PACKAGE)
    return made.__name__ if isinstance(made, type) else type(made).__name__


def strictly(module: str) -> None:
    """Apply :func:`strict` to all functions and methods of a public module; called at its end."""
    here = vars(sys.modules[module])
    source, public = _source(here["__spec__"]), here.get("__all__") or ()
    if "__getattr__" not in here:
        explain_missing(module)
    if "__dir__" not in here:
        here["__dir__"] = functools.partial(shown, module)
    for name, value in list(here.items()):
        if name.startswith("_") or not (name in public or _offers(source, module, name, value)):
            continue
        if isinstance(value, type) and not issubclass(value, BaseException):
            for base in value.__mro__:
                if base.__module__.startswith(PACKAGE) and base.__module__ not in _INNER:
                    _methods(base)
        elif isinstance(value, FunctionType) and not (
                "__signature__" in vars(value)  # of a row: it looks itself
                or _inside(value).__code__.co_filename in (_PUBLIC, __file__)):
            home, own = vars(sys.modules[str(value.__module__)]), value.__name__
            made = vars(value).get("__strict__") or strict(value)
            here[name] = value.__strict__ = made  # type: ignore[attr-defined]
            for space in (home, vars(sys.modules["agnesi"])):  # where pickles and users find it
                if space.get(own) is value:
                    space[own] = made
    for name, value in list(here.items()):  # other names of the same functions
        if isinstance(value, FunctionType):
            here[name] = vars(value).get("__strict__", value)


def _inside(function: Any) -> Any:
    """Return the function inside the wrapper that translates keywords."""
    return vars(function).get("__worded__", function)


def _source(spec: Any) -> str:
    """The text of a module; nothing where only its code is there."""
    get = getattr(spec.loader, "get_source", None)
    return (get(spec.name) if get is not None else None) or ""


def _offers(source: str, module: str, name: str, value: Any) -> bool:
    """Return whether a module exports an object, instead of only using it: the object is defined
    there, imported as itself (``from a import b as b``), or listed in ``__all__``.
    """
    home = str(getattr(value, "__module__", ""))
    if not home.startswith(PACKAGE):
        return False
    if home == module or any(form in source for form in (
            f" as {name}\n", f" as {name},", f"\n{name} = ")):
        return True
    listed = getattr(sys.modules.get(home), "__all__", None)
    return f"from {home} import *" in source if listed is None else (
        " import *" in source and name in listed)


def strict_class(kind: C) -> C:
    """A class decorator: constructor and methods refuse calls that do not fit."""
    _methods(kind)
    return kind


def _methods(kind: type) -> None:
    if "__strict__" in vars(kind):
        return
    kind.__strict__ = True  # type: ignore[attr-defined]
    numpydoc(kind)
    new = getattr(kind, "__new__", None)
    looks = isinstance(new, FunctionType) and _looks_itself(new)
    for name, value in list(vars(kind).items()):
        called = name == "__call__" and ".compat." in kind.__module__
        if name.startswith("_") and not called and (looks or name not in _CONSTRUCTORS):
            continue
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and inner.__code__.co_filename not in (
                _PUBLIC, __file__):
            numpydoc(inner)
        if name != "forward" and isinstance(inner, FunctionType) and not _looks_itself(
                _inside(inner)):
            made: Any = strict(inner, kind)
            setattr(kind, name, made if inner is value else type(value)(made))


def _looks_itself(function: FunctionType) -> bool:
    """Return whether a function takes arbitrary keywords and checks them itself."""
    if function.__code__.co_filename in (_PUBLIC, __file__):
        return True
    inner: Any = inspect.unwrap(function)
    code = inner.__code__
    compat = ".compat." in str(inner.__module__)
    return bool(code.co_flags & inspect.CO_VARKEYWORDS) and (
        bool(code.co_flags & inspect.CO_VARARGS)
        or (inner.__name__ in _CONSTRUCTORS and not compat))
