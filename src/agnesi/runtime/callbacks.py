"""Calls from compiled code back into Python."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.op import check_result, separate
from agnesi.core.support.record import record

Signature = tuple[tuple[str, tuple[int, ...]], ...]
_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)
#: What is called has its number in the low bits; above is the token that a call returns which ended
#: well: where Python is left before its first line, ctypes returns any number.
TOKEN_SHIFT = 32
#: The status that compiled code returns after an exception in a callback.
FAILED = 1
#: Most sizes for which a prepared callback is cached.
_MOST_SIZES = 64


@record
class Callback:
    """A Python function that compiled code calls.

    :ivar function: Takes one ndarray per input and returns one per output (a tuple unless there is
        one).
    :ivar inputs, outputs: What is behind the addresses that the code passes, inputs first.
    :ivar views: Where each input begins behind its address, and its strides, in elements; without
        them the inputs are there whole.
    :ivar copy: Whether inputs are copied.  Without it they are read-only views which must not
        outlive the call.
    :ivar translate: From an exception to the one that the user shall see.
    """

    function: Callable[..., Any]
    inputs: Signature
    outputs: Signature
    views: tuple[tuple[int, tuple[int, ...]], ...] = ()
    copy: bool = True
    translate: Callable[[Exception], BaseException] = lambda error: error


@record
class ForSizes:
    """A callback for run-time sizes, which are behind the addresses.

    :ivar make: Gives the :class:`Callback` for sizes.
    :ivar addresses: How many addresses there are.
    :ivar sizes: How many sizes.
    """

    make: Callable[[tuple[int, ...]], Callback]
    addresses: int
    sizes: int


class Callbacks:
    """The Python functions of one compiled function; ``address`` is slot 1 of its table.

    An exception is kept, per thread, until :meth:`failed` raises it again; so is one of a handler
    of signals that Python runs before the first line of :meth:`_run`, which ctypes hands to
    ``sys.unraisablehook``.
    """

    def __init__(self, table: Sequence[Callback | ForSizes]) -> None:
        _watch_unraisable()
        self._table = tuple([_Sized(c) if isinstance(c, ForSizes) else _Prepared(c) for c in table])
        self._errors = threading.local()
        self._native = _TYPE(self._run)
        self.address: int = ctypes.cast(self._native, ctypes.c_void_p).value or 0

    def failed(self, code: int) -> Any:
        """Raise the exception that a callback left, or an error for the code; :func:`entry.bind` is
        given this as ``failed``.
        """
        found = self._errors.__dict__.pop("found", None) or _struck.__dict__.pop("found", None)
        if found is None and code != FAILED:
            raise RuntimeError(f"compiled code stopped with code {code}")
        if found is None:  # another hook has it
            raise KeyboardInterrupt("a handler of signals raised an exception where compiled code "
                                    "calls Python, which sys.unraisablehook has shown")
        error, translate = found
        seen = translate(error) if isinstance(error, Exception) else error
        raise seen from error.__cause__

    def _run(self, packed: int, bufs: int) -> int:
        token, index = packed >> TOKEN_SHIFT, packed & (1 << TOKEN_SHIFT) - 1
        callback: Any = None
        try:
            callback = self._table[index].at(bufs)
            _call(callback, bufs)
        except BaseException as error:  # whatever it is, it belongs to the caller
            translate = (lambda error: error) if callback is None else callback.translate
            self._errors.found = error, translate
            return token ^ 1
        return token


#: The exception of a handler of signals in this thread, which is no callback's.
_struck = threading.local()


def _watch_unraisable() -> None:
    """Hook unraisable errors: an exception raised as a callback begins is reported to the caller
    instead of printed."""
    before = sys.unraisablehook
    if getattr(before, "keeps_callbacks", False):
        return

    def hook(event: Any) -> None:
        ours = isinstance(getattr(event.object, "__self__", None), Callbacks) or (
            "Callbacks._run of <agnesi." in (event.err_msg or ""))  # all that Python 3.13 gives
        if ours and isinstance(event.exc_value, BaseException):
            _struck.found = event.exc_value, lambda error: error
        else:
            before(event)

    hook.keeps_callbacks = True  # type: ignore[attr-defined]
    sys.unraisablehook = hook


class _Prepared:
    """A callback with all that does not change from call to call."""

    __slots__ = ("addresses", "copy", "function", "inputs", "translate", "views")

    def __init__(self, callback: Callback) -> None:
        self.function, self.copy = callback.function, callback.copy
        self.translate = callback.translate
        self.inputs = len(callback.inputs)
        types = callback.inputs + callback.outputs
        self.addresses = ctypes.c_void_p * len(types)
        lines = [*callback.views] + [None] * (len(types) - len(callback.views))
        self.views = [_view(np.dtype(dtype), shape, line)
                      for (dtype, shape), line in zip(types, lines, strict=True)]

    def at(self, bufs: int) -> _Prepared:
        """What is called for the addresses there: itself."""
        return self


class _Sized:
    """A callback for run-time sizes, prepared and cached for each of the last sizes."""

    __slots__ = ("given", "known", "sizes")

    def __init__(self, given: ForSizes) -> None:
        self.given, self.known = given, dict[tuple[int, ...], _Prepared]()
        self.sizes = ctypes.c_int64 * (given.addresses + given.sizes)

    def at(self, bufs: int) -> _Prepared:
        """The callback for the sizes behind the addresses there."""
        sizes = tuple(self.sizes.from_address(bufs)[self.given.addresses:])
        found = self.known.get(sizes)
        if found is None:
            if len(self.known) >= _MOST_SIZES:
                self.known.clear()
            found = self.known[sizes] = _Prepared(self.given.make(sizes))
        return found


def _call(callback: _Prepared, bufs: int) -> None:
    addresses = callback.addresses.from_address(bufs)
    views = [view(address or 0) for address, view in zip(addresses, callback.views, strict=True)]
    given = views[: callback.inputs]
    if callback.copy:
        given = [v.copy() for v in given]
    else:
        for view in given:
            view.flags.writeable = False
    results = callback.function(*given)
    targets = views[callback.inputs :]
    results = separate(results, len(targets)) if targets else results or ()
    if len(targets) != len(results):
        raise ValueError(f"it returned {len(results)} arrays where {len(targets)} were declared")
    for target, result in zip(targets, results, strict=True):
        value = np.asarray(result)
        check_result(value, target.shape, target.dtype)
        target[...] = value


def _view(kind: np.dtype, shape: tuple[int, ...],
          line: tuple[int, tuple[int, ...]] | None) -> Callable[[int], np.ndarray]:
    """Return a function from an address to the array that is there, or to the strided view
    ``line`` (first element and strides, in elements) of it.
    """
    size = kind.itemsize
    if not size * math.prod(shape):
        return lambda address: np.empty(shape, kind)
    if line is None:
        at: Callable[[int], Any] = (ctypes.c_char * (size * math.prod(shape))).from_address
        return lambda address: np.ndarray(shape, kind, at(address))
    first, strides = line
    steps = [s * (n - 1) for s, n in zip(strides, shape, strict=True)]
    low = first + sum(min(s, 0) for s in steps)
    many = first + sum(max(s, 0) for s in steps) + 1 - low
    around: Callable[[int], Any] = (ctypes.c_char * (size * many)).from_address
    apart = tuple([s * size for s in strides])
    return lambda address: np.ndarray(
        shape, kind, around(address + low * size), (first - low) * size, apart)
