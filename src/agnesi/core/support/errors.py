"""Error classes and the user's line.

Every class derives from the built-in error that a NumPy user would expect.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import math
import opcode
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.core.support.foreign import has
from agnesi.core.support.migration_hints import elsewhere, has_hints, hint, namesake, nearest

PACKAGE = __name__.partition(".")[0]
_ROOT = __file__.rpartition("core")[0]
#: Whose lines are not the user's: this package's, and those between two of them.
_OURS: tuple[str, ...] = (_ROOT, contextlib.__file__, copy.__file__, functools.__file__, "<frozen ")
#: Other libraries' folders: an error of ours within them names the line that called them.
_LIBRARIES = tuple(
    f"{np.__file__.rpartition('numpy')[0]}{name}{__file__[len(_ROOT) + 4]}"
    for name in ("numpy", "scipy"))
#: The file of methods that Python writes, such as those of dataclasses.
_WRITTEN = "<string>"
#: Caches of file names in tracebacks: the library's, and the user's. Every recorded operation looks
#: up some ten.
LIBRARY_FILES: set[str] = set()
USER_FILES: set[str] = set()
#: Where the functions are that public functions are wrapped in, which are called as those.
_WRAPPERS = f"{_ROOT}core{__file__[len(_ROOT) + 4]}public.py"

#: Code object and instruction, or file and line, once they were on disk; and the public function
#: that was called there, if it is known.
Where = tuple[CodeType | str, int, str] | None


class ShapeError(ValueError, RuntimeError):
    """Shapes do not fit the operation; PyTorch's programs expect a RuntimeError."""


class DeclaredShapeError(ShapeError):
    """A user's operation returned another shape than it declares."""


class DTypeError(TypeError, RuntimeError):
    """Data types do not fit the operation; PyTorch's programs expect a RuntimeError."""


class RankError(ShapeError, TypeError):
    """A value has another number of axes than its type."""


class GradientError(RuntimeError):
    """A gradient cannot be computed as requested."""


class MissingRuleError(GradientError, NotImplementedError):
    """An operation through which a gradient flows has no derivative rule."""


class TraceError(TypeError):
    """A traced (symbolic) value was used where Python needs a number."""


class BodySizeError(TraceError):
    """The body of a loop or branch requests a size that only its steps know."""


class ExampleSizeError(TraceError):
    """A function of one example, in ``vmap``, requests a size that differs between examples."""


for _kind in (BodySizeError, ExampleSizeError):  # only ours distinguish them
    _kind.__name__ = _kind.__qualname__ = TraceError.__name__


class MissingKeyError(KeyError):
    """There is nothing of a name; the text says what there is."""

    def __str__(self) -> str:
        return str(self.args[0])  # and not its repr, as a key's


class StateError(MissingKeyError, RuntimeError):
    """A saved state, or values by name, have other names than what takes them.

    A RuntimeError, too, as PyTorch raises.
    """


class FileFormatError(ValueError):
    """A file is not of the format that it should have, cut off or damaged."""


class OversizeError(MemoryError):
    """A value of a compiled program is larger than any machine's memory; ``value`` is its node, or
    the buffer of one without a node.
    """

    def __init__(self, value: Any, nbytes: int) -> None:
        super().__init__(nbytes)
        self.value = value
        self.nbytes = nbytes


class NestingError(ValueError):
    """Containers, modules or calls are nested deeper than can be followed."""


class MissingInputError(ValueError):
    """A compiled function depends on a variable that is not given."""

    #: The variable's node, if one is to blame.
    variable: Any = None


class UnusedInputError(ValueError):
    """Nothing that a compiled function computes depends on one of its inputs.

    :ivar nodes: Those inputs' nodes in the graph.
    """

    nodes: tuple[Any, ...] = ()


class DeviceError(RuntimeError):
    """A device cannot do this, or what is on another one was used without being moved."""


class CollectiveError(RuntimeError):
    """Processes that work together do not agree, or one is missing; the text shows all sides."""


def error_named(name: str) -> type[Exception]:
    """An error that compiled code may raise: one of Python's, ours, or NumPy's LinAlgError."""
    found: Any = globals().get(name) or getattr(
        np.linalg if name == "LinAlgError" else builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


def ours(file: str) -> bool:
    """Return whether a file belongs to the library, so that its lines are not the user's; the
    answer is cached.
    """
    found = file.startswith(_OURS)
    if len(USER_FILES) > 10_000:  # files of interactive sessions, one for each input
        USER_FILES.clear()
    (LIBRARY_FILES if found else USER_FILES).add(file)
    return found


def adopt(folder: str) -> None:
    """Treat files of a folder as the library's, for a library that calls ours on behalf of the
    user.
    """
    global _OURS
    _OURS += (folder,)


def raised_by_us(error: BaseException) -> bool:
    """Return whether an error was raised by this package, and not by code that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or ours(trace.tb_frame.f_code.co_filename)


def user_where(depth: int = 2) -> Where:
    """Code object and instruction of the innermost caller outside of this package, and whom."""
    frame: Any = sys._getframe(depth)
    name = ""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file in USER_FILES or not (file in LIBRARY_FILES or ours(file)):
            return code, frame.f_lasti, name
        if file == _WRAPPERS and code.co_name != code.co_qualname:
            name = code.co_name
        frame = frame.f_back
    return None


def _user_line(depth: int) -> Where:
    """Return the innermost line outside of this package, and outside of libraries that only call
    it, if there is one.
    """
    frame: Any = sys._getframe(depth)
    first: Where = None
    while frame is not None:
        code = frame.f_code
        if not ours(code.co_filename):
            here = code, frame.f_lasti, ""
            written = code.co_filename == _WRITTEN and code.co_name.startswith("__")
            if not (written or code.co_filename.startswith(_LIBRARIES)):
                return here
            first = first or here
        frame = frame.f_back
    return first


def location(where: Where) -> str:
    """``file.py:12`` of a line kept by :func:`user_where` ("unknown line" without one)."""
    if where is None:
        return "unknown line"
    code, instruction, _ = where
    if isinstance(code, str):
        return f"{code}:{instruction}"
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the user's line, be it an import of the package."""
    frame: Any = sys._getframe(1)
    depth = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        depth += "importlib" not in frame.f_code.co_filename  # ``warnings`` counts none of those
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=depth)


def in_file(where: Where) -> bool:
    """Return whether what is kept is a line of a file, which ``<string>`` is not."""
    return where is not None and not location(where).startswith("<")


def plain_where(where: Where) -> Where:
    """Return a line kept by :func:`user_where` as file, number and function."""
    if where is None:
        return None
    file, _, line = location(where).rpartition(":")
    return file, int(line), where[2]


def format_bytes(nbytes: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if nbytes >= size:
            return f"{nbytes / size:.4g} {unit}"
    return f"{nbytes} bytes"


#: The beginning of the memory pool's error, which does not name the operation.
_POOLED = "no memory is left for a large result"
#: Arrays of fewer bytes are not looked for.
_SMALL_BYTES = 1 << 24
#: What NumPy says of arrays of more elements or bytes than 64 bits count.
_OVERSIZE = re.compile("array is too big|iterator is too large|Maximum allowed (dimension|size) ")


def oversized(error: Exception, shape: Any = (), dtype: Any = None) -> Exception:
    """The MemoryError, with the value's type if that is known, for what NumPy refuses by a
    ValueError because of its size, by its own error or by one without a text; another one as it
    is."""
    refused = type(error) is ValueError and _OVERSIZE.match(str(error)) is not None
    why = ""
    if isinstance(error, MemoryError) and hasattr(error, "dtype"):  # NumPy's: of what it made
        shape, dtype = getattr(error, "shape", ()), error.dtype
    elif isinstance(error, MemoryError) and str(error).startswith(_POOLED):  # it knows no type
        if dtype is None:
            return error
        why = str(error).removeprefix(_POOLED)
    elif not refused and (not isinstance(error, MemoryError) or error.args):
        return error
    if dtype is None:
        beyond = ", whose bytes 64 bits do not count" * refused
        return MemoryError(f"there is no memory for it{beyond}")
    return MemoryError(_unallocatable(shape, dtype) + why)


def check_allocatable(shape: Any, dtype: Any) -> None:
    """Raise the MemoryError for an array that there is no memory for, before anything is computed.

    Memory that is reserved and not written costs nothing; small arrays are taken to fit.
    """
    if math.prod(shape) * dtype.itemsize < _SMALL_BYTES:
        return
    try:
        np.empty(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        raise MemoryError(_unallocatable(shape, dtype)) from None


def _unallocatable(shape: Any, dtype: Any) -> str:
    """Describe an array that there is no memory for."""
    return no_memory(math.prod(shape) * dtype.itemsize, f"{dtype}[{', '.join(map(str, shape))}]")


def no_memory(nbytes: int, what: str) -> str:
    """Describe a value that no machine has memory for."""
    return f"there is no memory for {format_bytes(nbytes)}, {what}"


def typed(x: Any, levels: int = 4) -> str:
    """Describe an argument in one short line: ``float32[3, 4]`` for anything with dtype and shape,
    also in lists and dicts; functions, classes and modules by their names; else its ``repr``.
    """
    if has(x, "dtype") and has(x, "shape") and not isinstance(x, type):
        return f"{x.dtype}[{', '.join(map(str, x.shape))}]"
    if has(x, "__typed__"):  # Torch7's tensors, in its words
        return str(x.__typed__())
    if isinstance(x, (list, tuple, dict)) and levels and _holds_arrays(x, levels):
        return _nested(x, levels - 1)
    if isinstance(x, slice):
        return _slice(x)
    if isinstance(x, MethodType):
        return f"the method {type(x.__self__).__name__}.{x.__name__}, which was not called"
    if isinstance(x, _NAMED):
        kind = "class" if isinstance(x, type) else type(x).__name__
        return x.__name__ if x.__name__ == "<lambda>" else f"<{kind} {x.__name__}>"
    if type(x).__module__.startswith(PACKAGE) and callable(x) and isinstance(
            getattr(x, "__name__", None), str):
        return str(x.__name__)
    if has(x, "extra_repr"):  # a layer, whose own text has lines for those that it holds
        text = f"{type(x).__name__}({x.extra_repr()})"
    else:
        text = _ADDRESS.sub("", shown(x))
    first, _, rest = text.partition("\n")
    return first if len(first) < 40 and not rest else first[:37] + "..."


def _slice(x: slice) -> str:
    """A slice as it is written between brackets: ``1:``, ``::2``."""
    begin, end, step = ("" if n is None else typed(n) for n in (x.start, x.stop, x.step))
    return f"{begin}:{end}" + (f":{step}" if step else "")


#: The address in the text of an object that has no text of its own.
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


#: What messages show by its name.
_NAMED = (FunctionType, ModuleType, type)


def _holds_arrays(nest: Any, levels: int) -> bool:
    values = nest.values() if isinstance(nest, dict) else nest
    return levels > 0 and any(
        any(hasattr(v, name) for name in ("dtype", "extra_repr", "__typed__"))
        or isinstance(v, (slice, *_NAMED))
        or (isinstance(v, (list, tuple, dict)) and _holds_arrays(v, levels - 1))
        for v in values)


def _nested(nest: Any, levels: int) -> str:
    """Return the first four parts of a list, tuple or dict as text."""
    if isinstance(nest, dict):
        parts = [f"{k!r}: {typed(v, levels)}" for k, v in islice(nest.items(), 4)]
    else:
        parts = [typed(v, levels) for v in nest[:4]]
    inside = ", ".join([*parts, *["..."][: len(nest) > 4]])
    if isinstance(nest, dict):
        return f"{{{inside}}}"
    return f"[{inside}]" if isinstance(nest, list) else f"({inside}{','[: len(nest) == 1]})"


def shown(x: Any) -> str:
    """``repr``, or a short text for objects nested too deeply for it."""
    try:
        return repr(x)
    except RecursionError:
        return f"a deeply nested {type(x).__name__}"


class _Watch(threading.local):
    """What is called as an error with the user's line is made in this thread."""

    function: Callable[[], None] | None = None


_WATCH = _Watch()


@contextlib.contextmanager
def watching(function: Callable[[], None]) -> Iterator[None]:
    """Call a function whenever an error with the user's line is made in this thread."""
    before, _WATCH.function = _WATCH.function, function
    try:
        yield
    finally:
        _WATCH.function = before


def note_error() -> None:
    """An error is made."""
    if _WATCH.function is not None:
        _WATCH.function()


def at(message: str, where: Where = None) -> str:
    """The message followed by the user's line."""
    note_error()
    line = location(where if where is not None else _user_line(2))
    return f"{message}\n  at {line}"


def without_line(error: BaseException) -> str:
    """The message of an error, without the user's line at its end."""
    return str(error).partition("\n  at ")[0]


def retold(error: Exception, text: str) -> Any:
    """Return an error with another text; an OSError keeps its number.

    If its class takes more than a text (JSON's, NumPy's memory errors), the next base class that
    does not is used.
    """
    found: Any = None
    for kind in type(error).__mro__:
        try:
            found = kind(text)
            break
        except TypeError:
            continue
    if isinstance(error, OSError):
        found.errno = error.errno
    return found


def call_user(f: Any, args: tuple[Any, ...], keywords: dict[str, Any], owner: str = "",
              form: str = "") -> Any:
    """Return the result of a user's function; if it does not accept the arguments, raise at the
    user's line and say how it is called.
    """
    try:
        return f(*args, **keywords)
    except TypeError as error:
        trace = error.__traceback__
        if trace is None or trace.tb_next is not None:
            raise  # its own
        text = re.sub(r"^\S*<locals>\.", "", str(error))
        how = f"; it is called as {form}" if form else ""
        found: Any = TypeError(at(f"{owner}{': ' * bool(owner)}{text}{how}"))
        found.located = True
        raise found from None
    except ValueError as error:  # NumPy's, of an assignment to an element: ours is its cause
        inner = error.__cause__
        if not isinstance(inner, GradientError) or not str(error).startswith("setting an array"):
            raise
        error.__cause__ = None  # or each of the two would lead to the other
        raise inner.with_traceback(error.__traceback__) from None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that led to it, each once: ``raise e.__cause__`` makes them a ring.

    >>> from agnesi.core.support.errors import causes
    >>> first, then = ValueError("first"), KeyError("then")
    >>> first.__context__, then.__cause__ = then, first
    >>> [type(e).__name__ for e in causes(then)]
    ['KeyError', 'ValueError']
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
_READS = {opcode.opmap.get(name) for name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")}


def no_attribute(owner: str, name: str, instance: object = None,
                 subject: str = "") -> AttributeError:
    """The error where a module, or an object of a class, has no such name; other libraries' names
    come with what stands for them here.  A property that lacks something raises that again.
    ``subject`` is what an object is called instead of its class."""
    if instance is not None and hasattr(type(getattr(type(instance), name, None)), "__get__"):
        object.__getattribute__(instance, name)
    subject = subject or (owner if instance is None else f"{type(instance).__name__!r} object")
    reads = _instruction(sys._getframe(1)) in _READS  # and is no ``hasattr``
    advice = (reads and instance is None and namesake(owner, name)) or hint(owner, name)
    if not advice and reads:
        advice = elsewhere(owner, name) if instance is None else _alike(instance, name)
    text = f"{subject} has no attribute {name!r}{advice}"
    # An import takes every AttributeError for its own.
    if advice and _instruction(sys._getframe(1)) == _IMPORT_FROM:
        raise ImportError(f"cannot import {name!r}: {text}")
    if advice:  # or Python would guess a name that is spelt alike
        return AttributeError(text, name=name, obj=None)
    return AttributeError(text) if instance is None else AttributeError(
        text, name=name, obj=instance)


def _alike(instance: object, name: str) -> str:
    """The public name of an object that is spelt alike, as the end of a message."""
    near = "" if name.startswith("_") else nearest(
        name, [n for n in dir(instance) if not n.startswith("_")], 0.8)
    return f"; did you mean `{near}`?" if near else ""


class Explained:
    """Base of classes whose missing attributes, if another library has them, raise an error with
    our name for it.

    Subclasses name the kind of object that they are for messages.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            names = [kind.__name__ for kind in type(self).__mro__
                     if kind.__module__.startswith(f"{PACKAGE}.")]
            raise no_attribute(next(filter(has_hints, names), names[0]), name, self)


def _instruction(frame: Any) -> int:
    """Return the instruction by which a name of a module is read."""
    while frame and frame.f_code.co_name in ("__getattr__", "missing"):
        frame = frame.f_back
    return frame.f_code.co_code[frame.f_lasti] if frame else 0


def explain_missing(name: str) -> None:
    """Let a module without ``__getattr__`` hint at other libraries' names, as the others do."""
    owner = f"module {name.replace('.api.', '.')!r}"

    def missing(attribute: str) -> NoReturn:
        raise no_attribute(owner, attribute)

    missing.__name__ = missing.__qualname__ = "__getattr__"
    missing.__module__ = name
    sys.modules[name].__dict__["__getattr__"] = missing
