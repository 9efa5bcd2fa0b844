"""Decorators of public functions: errors in the user's words, and ``out=``."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from agnesi.core import options
from agnesi.core.backend import DEVICES
from agnesi.core.calls import arguments, autocasting, modules
from agnesi.core.calls.overriding import overridden
from agnesi.core.calls.plans import Plans
from agnesi.core.calls.spellings import DEVICE as DEVICE
from agnesi.core.calls.spellings import Form
from agnesi.core.calls.spellings import into as into
from agnesi.core.calls.spellings import on_host as on_host
from agnesi.core.calls.watched import watched
from agnesi.core.dispatch import apply, touch
from agnesi.core.op import (
    EXPLAINED,
    Op,
    in_user_code,
    is_accident,
    renamed_error,
    typed,
    with_named,
)
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.programs import begins_program, has_no_run, in_program, named_program
from agnesi.core.storage.views import element_view
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, TRACES
from agnesi.core.support.docstrings import numpydoc
from agnesi.core.support.errors import DTypeError, NestingError, at, ours, shown
from agnesi.core.support.migration_hints import with_keyword
from agnesi.core.support.signal_errors import is_from_signal
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS
from agnesi.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

#: Names of devices.
_DEVICES = (DEVICE, "cuda", "gpu", "meta", "mps", "tpu", "xpu")


def explain_errors(function: F) -> F:
    """Errors of a public function name it, the operands' types and the user's line.

    Where public functions call each other, it names the one that the user called.
    """
    name, declared = _shown(function), arguments.counts(function)
    form = Form(function, name)
    known, ranges = form.known, form.ranges
    run = watched(function, name)
    numpydoc(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if begins_program(args) or (keywords and begins_program(keywords.values())):
            with in_program():
                return call(*args, **keywords)
        try:
            if declared:
                arguments.check_counts(declared, args, keywords)
            if ranges.some and (keywords or len(args) > ranges.first):
                ranges.check(args, keywords)
            if keywords and known is not None and not known.issuperset(keywords):
                return form.call(args, keywords)
            return run(*args, **keywords)
        except Exception as error:
            if isinstance(error, EXPLAINED) and (
                found := _again(form, args, keywords, function, call)
            ) is not NotImplemented:
                return found
            if has_no_run() and not is_from_signal(error) and (
                found := HOOKS.deferred(call, args, keywords)
            ) is not NotImplemented:
                return found
            _refuse(error, function, name, args, keywords)

    return _renamed(call, name)


def symbolic(function: F) -> F:
    """A public function by the name that it has in symbolic programs."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        with named_program():
            return function(*args, **keywords)

    return _renamed(call, _shown(function))


def higher(function: F) -> F:
    """Decorator of public functions that call user functions: their errors, and its own, pass
    unchanged.
    """
    name, leading = _shown(function), arguments.leading_functions(function)
    numpydoc(function)
    ranges = arguments.Ranges(inspect.unwrap(function), early=True)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for parameter, value in zip(leading, args, strict=False):
            if not callable(value):
                raise TypeError(at(f"{name}: {parameter} must be a function, not {typed(value)}; "
                                   f"the order is {arguments.form(function, name)}"))
        if ranges.some and (keywords or len(args) > ranges.first):
            ranges.check(args, keywords, f"{name}: ")
        try:
            return function(*args, **keywords)
        except Exception as error:
            explained = not isinstance(error, EXPLAINED) or (
                name in str(error) and "\n  at " in str(error))
            located = getattr(error, "located", False) or "\n  at " in str(error)
            inner = located and _called_by_us()
            if in_user_code(error) or inner or (explained and not is_accident(error)):
                raise
            _refuse(error, function, name, args, keywords)

    return _renamed(call, name)


def _called_by_us() -> bool:
    """Return whether the caller of a wrapped function is the library itself."""
    step: Any = sys._getframe(2)
    while step is not None and step.f_code.co_filename == __file__:
        step = step.f_back
    return step is not None and ours(step.f_code.co_filename)


def _again(form: Form, args: tuple[Any, ...], keywords: dict[str, Any], function: Any,
           call: Any) -> Any:
    """Leave the call to an operand's class, or repeat it with PyTorch's argument order, or return
    NotImplemented; explain errors."""
    found = overridden(call, args, keywords)
    if found is not NotImplemented:
        return found
    try:
        return form.again(args, keywords)
    except EXPLAINED as error:
        _refuse(error, function, form.name, args, keywords)


def _refuse(error: Exception, function: Any, name: str, args: tuple[Any, ...],
            keywords: dict[str, Any]) -> NoReturn:
    """Raise an error as that of the function that the user called, with the argument at fault.

    Warnings, errors raised by the user's functions, and errors that concern no operand are raised
    unchanged.
    """
    if isinstance(error, Warning):
        raise error
    given = with_named(_without_defaults(function, args), keywords)
    error = arguments.of_keyword(error, function, keywords)
    error = arguments.of_text(error, function, args, name)
    error = arguments.misplaced(error, function, args, name)
    if isinstance(error, RecursionError) and (deep := arguments.nested(function, args, keywords)):
        raise NestingError(at(f"{name}: {deep}")) from None
    if (reason := arguments.no_number(function, args, keywords)) and not in_user_code(error):
        raise renamed_error(TypeError(reason), name, given, _parameters(function)) from None
    unbound = str(error).startswith(f"{function.__name__}() ")  # Python's words for a wrong call
    if unbound or not is_accident(error) or in_user_code(error):
        if not isinstance(error, EXPLAINED):
            raise error
        if unbound and ("argument" in str(error)) and "keyword" not in str(error):
            error = TypeError(f"{error}; it is called as {arguments.form(function, name)}"
                              + _listed(function, args))
        raise renamed_error(error, name, given, _parameters(function)) from None
    reason = arguments.culprit(function, args, keywords)
    better: Exception | None = TypeError(reason) if reason else None
    if better is None:
        better = (arguments.few_axes(error, function, args, keywords)
                  or arguments.too_large(error, function, args, keywords))
    if better is None and (reason := arguments.stranger(error, function, args, keywords)):
        better = TypeError(reason)
    if better is None and not isinstance(error, EXPLAINED):
        better = TypeError(f"the arguments do not fit together: {type(error).__name__}: {error}")
        better.__cause__ = error
    found: Any = renamed_error(
        error if better is None else better, name, given, _parameters(function)
    )
    found.accident = True
    raise found from (None if better is None else better.__cause__)


def _without_defaults(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return positional arguments without trailing ones that equal the defaults, if these are
    several: a layer passed them.
    """
    defaults = inspect.unwrap(function).__defaults__ or ()
    parameters = inspect.unwrap(function).__code__.co_argcount
    count = 0
    for value, default in zip(args[::-1], defaults[::-1][parameters - len(args):], strict=False):
        same = type(value) in (bool, int, float, str) and value == default
        if value is not default and not same:
            break
        count += 1
    return args[:len(args) - count] if count > 2 and len(args) <= parameters else args


def _listed(function: Any, args: tuple[Any, ...]) -> str:
    """Return the hint to put tensors in a list, for a function that takes one list of tensors."""
    parameters = inspect.unwrap(function).__code__.co_varnames
    several = len(args) > 1 and parameters[:1] in (("arrays",), ("tensors",))
    numbers = len(args) > 2 and parameters[:1] in (("data",), ("obj",))
    return ", with the tensors in one list or tuple" if several else (
        ", with the numbers in one list" if numbers else "")


def _renamed(call: Any, name: str) -> Any:
    """Return the wrapper with a code object of this name, which nodes record as their maker."""
    call.__code__ = call.__code__.replace(co_name=name)
    return call


def _standing_for(function: F, call: Any) -> F:
    """Return a wrapper with the name, docstring and signature of the public function that it
    replaces.
    """
    functools.update_wrapper(call, function)
    call.__wrapped__ = inspect.unwrap(function)
    standing: F = _renamed(call, function.__name__)
    return standing


def public(function: F) -> F:
    """A public function: errors by :func:`explain_errors`; results go into ``out`` where given.

    The function only declares ``out``, for readers and type checkers, and never gets it, nor
    ``device``, which is checked here: there is one.
    """
    name, names = _shown(function), _parameters(function)
    if "out" not in names:
        return explain_errors(function)
    has_device, declared = "device" in names, arguments.counts(function)
    form = Form(function, name)
    known, ranges = form.known, form.ranges
    run = watched(function, name)
    numpydoc(function)

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **keywords: Any) -> Any:
        if begins_program(args) or (keywords and begins_program(keywords.values())):
            with in_program():
                return call(*args, out=out, **keywords)
        try:
            if has_device:
                on_host(keywords.pop("device", None))
            if declared:
                arguments.check_counts(declared, args, keywords)
            if ranges.some and (keywords or len(args) > ranges.first):
                ranges.check(args, keywords)
            if keywords and known is not None and not known.issuperset(keywords):
                result = form.call(args, keywords)
            else:
                result = run(*args, **keywords)
            return result if out is None else into(out, result)
        except Exception as error:
            if isinstance(error, EXPLAINED) and (
                found := _again(form, args, keywords, function, call)
            ) is not NotImplemented:
                return found if out is None else into(out, found)
            if out is None and has_no_run() and not is_from_signal(error) and (
                found := HOOKS.deferred(call, args, keywords)
            ) is not NotImplemented:
                return found
            _refuse(error, function, name, args, keywords)

    return _renamed(call, name)


def planned(function: F) -> F:
    """A public function of which the operations follow from types and plain arguments.

    After some calls that agree in these, and in operands' memory orders, it is traced once, and
    later calls apply the operations of the graph, without the layers in which it finds them out.
    """
    plans, otherwise = Plans(function), autocasting.casts(function)

    def call(*args: Any, **keywords: Any) -> Any:
        found = HOOKS.replayed(plans, args, keywords)
        return otherwise(*args, **keywords) if found is NotImplemented else found

    return _standing_for(function, call)


def autocasts(function: F) -> F:
    """A public function, not :func:`planned`, that ``amp.autocast`` casts the operands of."""
    found: Any = autocasting.casts(function)
    return function if found is function else _standing_for(function, found)


def where_torch(function: F) -> F:
    """A public function that gives PyTorch's answer in modules in which ``torch`` is agnesi, to
    calls that NumPy answers otherwise."""
    name = function.__name__

    def call(*args: Any, **keywords: Any) -> Any:
        if modules.says_torch(sys._getframe(1)):
            found = modules.answers()[name](function, args, keywords)
            if found is not NotImplemented:
                return found
        return function(*args, **keywords)

    return _standing_for(function, call)


def at_once(usual: Callable[..., Any]) -> Callable[[F], F]:
    """A public function whose usual calls, outside of traces and programs, ``usual`` answers: given
    the arguments without names, and keywords that it has, it returns NotImplemented for all
    others."""
    known = frozenset(getattr(usual, "__kwdefaults__", None) or ())

    def decorate(function: F) -> F:
        def call(*args: Any, **keywords: Any) -> Any:
            if (not keywords or known.issuperset(keywords)) and not TRACES.running and (
                    not MODE.get().symbolic):
                found = usual(*args, **keywords)
                if found is not NotImplemented:
                    return found
            return function(*args, **keywords)

        return _standing_for(function, call)

    return decorate


def is_device(target: Any) -> bool:
    """Return whether something names a device, of which there is one, rather than a dtype."""
    named = isinstance(target, str) and target.partition(":")[0] in _DEVICES
    if named and target != DEVICE:
        raise ValueError(at(f"there is one device, {DEVICE!r}, and not {shown(target)}"))
    return named


def target_dtype(owner: str, target: tuple[Any, ...], dtype: DTypeLike) -> Any:
    """The dtype that ``to(*target, dtype=dtype)`` requests, which may be that of a tensor, beside
    devices and flags; None where it requests none.

    :raises TypeError: If there are several, or what stands there is no dtype.
    """
    kinds = [t for t in (*target, dtype) if type(t) is not bool and t is not None
             and not is_device(t)]
    if len(kinds) > 1:
        raise TypeError(at(f"to() takes one dtype or tensor, not {len(kinds)}"))
    return as_dtype_of_target(owner, getattr(kinds[0], "dtype", kinds[0])) if kinds else None


def as_dtype_of_target(owner: str, target: Any) -> Any:
    """The dtype that something names which might have named a device as well.

    :raises DTypeError: If it names neither; the text lists all that there are.
    """
    try:
        return dtypes.as_dtype(target)
    except DTypeError:
        raise DTypeError(at(f"{owner}: {shown(target)} is neither a dtype nor a device: dtypes are "
                            f"{dtypes.names()}; devices are {DEVICE!r} and, for the arrays of "
                            f"tests, {', '.join(map(repr, DEVICES))}")) from None


def _shown(function: Any) -> str:
    """Return the name for errors, without the underscore that avoids a builtin's name."""
    name: str = function.__name__
    return name[:-1] if name.endswith("_") and hasattr(builtins, name[:-1]) else name


def _parameters(function: Any) -> tuple[str, ...]:
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names


def _nothing(self: Any) -> None:
    """The constructor of a class without one: takes no arguments."""


def check_call(cls: type, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Refuse what a class's constructor does not take, with what stands here for it.

    A constructor may be inherited; errors name the class.  Called with nothing at all, it may be
    a copy, which gets its attributes later.
    """
    init: Any = cls.__init__  # type: ignore[misc]
    init = _nothing if init is object.__init__ else getattr(init, "__wrapped__", init)
    code = getattr(init, "__code__", None)
    if code is None or not (args or keywords):
        return
    parameters = code.co_varnames[1: code.co_argcount]
    known = code.co_varnames[1: code.co_argcount + code.co_kwonlyargcount]
    if len(args) > len(parameters) and not code.co_flags & inspect.CO_VARARGS:
        message = _too_many(cls.__name__, len(args), parameters, known)
        raise TypeError(at(message + _inputs_given(cls, args)))
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        _check_keywords(cls.__name__, keywords, known)
    missing = [name for name in _needed(init, len(args)) if name not in keywords]
    if missing:
        message = f"{cls.__name__}() needs {' and '.join(missing)}, too"
        raise TypeError(at(message + _inputs_given(cls, args)))
    given = *zip(parameters, args, strict=False), *keywords.items()
    options.check(lambda: cls.__name__, init, given)


def _inputs_given(cls: type, args: tuple[Any, ...]) -> str:
    """Return how to write it if a module's constructor was given inputs, to end a message."""
    tensors = any(isinstance(a, Tensor) for a in args)
    layer = hasattr(cls, "named_parameters")
    return options.made_first(cls.__name__) if layer and tensors else ""


def _needed(init: Any, count: int = 0) -> list[str]:
    """Return the names of arguments without defaults, after the first ``count``."""
    code, optional = init.__code__, init.__kwdefaults__ or ()
    names = code.co_varnames[1: code.co_argcount + code.co_kwonlyargcount]
    last = code.co_argcount - 1 - len(init.__defaults__ or ())
    return [*names[count: last], *(n for n in names[code.co_argcount - 1:] if n not in optional)]


def needing(init: F) -> F:
    """Decorator of a constructor: a call without arguments raises an error that lists what is
    missing.

    Without it, :func:`check_call` would take such a call for that of a copy.

    :func:`check_call` takes such calls for those of copies.
    """
    needed = _needed(inspect.unwrap(init))

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        if needed and not (args or keywords):
            raise TypeError(at(f"{type(self).__name__}() needs {' and '.join(needed)}"))
        init(self, *args, **keywords)

    made: Any = __init__
    return made


def _too_many(name: str, count: int, parameters: tuple[str, ...], known: tuple[str, ...]) -> str:
    """Return the message about more positional arguments than a function takes."""
    rest = known[len(parameters):]
    names = ", ".join(parameters)
    taken = f"{len(parameters)} arguments ({names})" if parameters else "no arguments"
    if not rest:
        return f"{name}() takes {taken}, not {count}"
    return f"{name}() takes {taken} without a name, not {count}; give {', '.join(rest)} by name"


def _check_keywords(name: str, keywords: Iterable[str], known: tuple[str, ...]) -> None:
    for word in keywords:
        if word not in known:
            raise TypeError(at(with_keyword(
                f"{name}() got an unexpected keyword argument {word!r}", known)))


def keyworded(function: F) -> F:
    """A function that refuses unknown keywords with what stands here for them."""
    name, known = _shown(function), _parameters(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords:
            _check_keywords(name, keywords, known)
        return function(*args, **keywords)

    return _renamed(call, name)


def renamed(**words: str) -> Callable[[F], F]:
    """A :func:`keyworded` function that takes keywords by other libraries' names, too; those with
    an empty one of ours say nothing here."""

    def decorate(function: F) -> F:
        name, known = _shown(function), _parameters(inspect.unwrap(function))
        numpydoc(function)

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if keywords:
                for word in words.keys() & keywords.keys():
                    value = keywords.pop(word)
                    if words[word]:
                        keywords[words[word]] = value
                _check_keywords(name, keywords, known)
            return function(*args, **keywords)

        call.__worded__ = function  # type: ignore[attr-defined]
        return _renamed(call, name)

    return decorate


def apply_to(out: Tensor | None, op: Op, *xs: Tensor) -> Tensor:
    """The result of an operation, in ``out`` if given: at once where the operation can."""
    if out is None:
        return apply(op, *xs)
    if op.fill is not None and _plain(out, xs) and op.infer(*xs) == (out.shape, out.dtype):
        arrays: Any = [x.array for x in xs]
        long = (
            op.work is not None and op.work(*arrays) >= MIN_ASIDE_NANOSECONDS
        )  # cannot be left when interrupted
        if not long and op.fill(out.array, *arrays):
            touch(out)
            return out
    return into(out, apply(op, *xs))


def _plain(out: Any, xs: tuple[Tensor, ...]) -> bool:
    """Return whether an operation can be applied to arrays directly: nothing is traced, watched,
    symbolic or recorded.
    """
    mode = MODE.get()
    if not isinstance(out, Tensor) or element_view(out) is not None or (
            mode.trace is not None or mode.watch is not None):
        return False
    tensors = (out, *xs)
    return all(x.array is not None and not (x._requires_grad and mode.recording) for x in tensors)
