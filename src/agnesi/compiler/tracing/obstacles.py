"""Why a function cannot be traced, and has to run eagerly."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import CodeType
from typing import Any

from agnesi.compiler.tracing.bytecode import caught_at
from agnesi.compiler.tracing.containers.borrowed_arrays import stored_at
from agnesi.core.calls.arguments import missing_key
from agnesi.core.ir.extents import UnknownSizeError
from agnesi.core.ir.node import toposort
from agnesi.core.op import Op, title_of
from agnesi.core.support.errors import TraceError, location, ours, raised_by_us, watching
from agnesi.core.tensor import Tensor


class OnlyEagerError(BaseException):
    """The function has an effect that a trace can neither repeat nor undo; it runs eagerly.

    ``instead`` says what the user can write.
    """

    def __init__(self, why: str, instead: str = "Give what it takes as an argument") -> None:
        super().__init__(why)
        self.instead = instead


class OnceEagerError(BaseException):
    """This call runs eagerly and later ones are traced, since it fills a cache that they will find
    filled, or is given one object in two places.

    ``instead`` says what the user can write if every call is such; ``advice``, where the call must
    not run eagerly.
    """

    def __init__(self, why: str, instead: str, advice: str) -> None:
        super().__init__(why)
        self.instead = instead
        self.advice = advice


class ExampleReadError(BaseException):
    """The function reads one example of a ``vmap`` around it: this call is part of that graph."""


class LookedAtError(BaseException):
    """Python code needs the value of a traced number.

    ``indices`` are those of the arguments that the numbers are computed from.
    """

    def __init__(self, *numbers: Any) -> None:
        super().__init__()
        self.nodes = [n.node for n in numbers if isinstance(n, Tensor) and n.node is not None]
        self.indices: list[int] = []

    def locate(self, symbols: Sequence[Any]) -> None:
        """Set ``indices`` to the arguments that the numbers were computed from."""
        behind = set(toposort(self.nodes))
        self.indices = [i for i, s in enumerate(symbols)
                       if isinstance(s, Tensor) and s.weak and s.node in behind]


class CaughtErrors:
    """What the user's ``except`` catches, or may catch, while a function is traced: errors raised
    for values that are not known, for sizes that change from call to call, and those that compiled
    code raises for some values.
    """

    def __init__(self) -> None:
        #: Errors of code that needs values which are not there.
        self.unanswered: list[TraceError] = []
        self._root: CodeType | None = None
        self._errors = 0
        self._checks: list[str] = []

    @contextmanager
    def begun(self, root: CodeType, open_sizes: bool) -> Iterator[None]:
        """A ``with`` block in which ``root`` calls the traced function."""
        self._root = root
        with watching(self._note_error) if open_sizes else nullcontext():
            yield

    def _note_error(self) -> None:
        """End the trace for sizes that change if code of the user's may catch the error that is
        made: the present sizes may be none for which it is, and loops may wait for those.
        """
        self._errors += 1
        if caught_at(sys._getframe(1), self._root) is not None:
            raise LookedAtError

    def note_check(self, op: Op) -> None:
        """Record an operation that checks values if it stands where its error may be caught."""
        where = caught_at(sys._getframe(1), self._root)
        if where is not None:
            self._checks.append(f"{title_of(op)} raises at {location((*where, ''))}")

    def refuse(self, open_sizes: bool) -> None:
        """End the trace if an error was, or may be, caught that eager code does not raise, or
        raises at other values: run eagerly.

        With ``open_sizes``, raise UnknownSizeError if it may depend on a size.
        """
        for error in self.unanswered:  # its traceback begins at who caught it
            trace = error.__traceback__
            if trace is not None and not ours(trace.tb_frame.f_code.co_filename):
                raise OnlyEagerError(f"an except clause catches that {error}", _OUTSIDE)
        if open_sizes and (self._checks or self._errors):
            raise UnknownSizeError("whether an error is caught depends on a size")
        if self._checks:
            raise OnlyEagerError(f"an except clause may catch what {self._checks[0]}", _OUTSIDE)


_OUTSIDE = "Write the try around the call of the compiled function"


def note_failure(error: BaseException, versions: Any, symbols: Sequence[Any], changed: bool
                 ) -> None:
    """Record why a trace ended: which arguments Python decides by, or an error of the user's
    function, which runs again eagerly if tensors were ``changed`` before.

    :raises TraceError: If a computed tensor was used as a dict key.
    """
    if (missing := missing_key(error)) is not None:
        raise missing from None
    if isinstance(error, LookedAtError):
        error.locate(symbols)
    elif isinstance(error, Exception) and not (
            raised_by_us(error) and (isinstance(error, TraceError) or not changed)):
        versions.failure = id(error)  # not itself, which would keep all frames


def refuse_stores(error: BaseException) -> None:
    """Raise if a trace ended where the user's code put a computed value into an array."""
    where = stored_at(error)
    if where is not None:
        raise OnlyEagerError(
            f"it puts a computed value into an array at {location(where)}",
            "Keep what changes in a tensor (ag.tensor), or in an array that the code only assigns "
            "elements of (array[i] = x)") from error
