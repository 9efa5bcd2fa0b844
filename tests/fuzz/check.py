"""Checking a case: nothing, or how it fails.  A watchdog bounds its time and memory."""

from __future__ import annotations

import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from agnesi.schedule.verify import BrokenProgramError
from tests.fuzz.kinds.statements import Script
from tests.fuzz.oracles import exactly
from tests.fuzz.oracles.nearby import continues
from tests.fuzz.oracles.noise import epsilon, exact_names, noisy
from tests.fuzz.oracles.oracle import Difference, Spread, difference
from tests.fuzz.oracles.wide import as_near
from tests.fuzz.pool import REFUSED
from tests.fuzz.program import Program
from tests.fuzz.run import Case
from tests.fuzz.ways import LEADING, UNKNOWN_SIZES

#: What compiling and running a program may take: seconds of processors, bytes.
SECONDS, MEMORY = 10, 1 << 30
#: Errors of ``vmap`` and gradients of programs that change values: no fault.
EXPECTED = ("differs between examples", "differs between the examples of vmap",
            "does not depend on anything that requires", "was changed in place", "no derivative",
            "in memory of its own", "one example of vmap", "needs to know the size",
            "where sizes cannot change from step to step",
            "is not known when the graph is written", "is unknown when the graph is written",
            "when the graph is written, so")
#: NumPy's sums of negative zeros are positive, or negative along an axis of size 1.
_SUMS = re.compile(r"sum|mean|@|einsum|dot|trace|outer|var|map|scan")
#: NumPy's products of matrices leave out some by zero, and round once after adding.
_PRODUCTS = re.compile(r"@|dot|einsum|outer|inner|matmul|vecmat|matvec|norm|conv")


@dataclass
class Failure:
    """How a case fails: what kind of failure it is, and the details."""

    kind: str
    text: str


class Slow(Exception):  # noqa: N818 - a signal that must not be taken for an error of the program
    """The watchdog's."""


class Unclear(Exception):  # noqa: N818
    """Nothing can be said."""


def check(case: Case | Script) -> Failure | None:
    """How a case fails; None where it does not.

    Raises
    ------
    Unclear
        If the eager program refuses what it is given.
    """
    try:
        expected = case.expected()
    except REFUSED as error:
        raise Unclear from error
    except Exception as error:
        return Failure(f"eager {type(error).__name__}", str(error))
    try:
        found = _found(case)
    except Slow:
        return Failure("slow", f"more than {SECONDS} s, twice")
    except MemoryError:
        return Failure("memory", f"more than {MEMORY >> 20} MB")
    except Unclear:
        raise
    except BrokenProgramError as error:
        return Failure("broken program", str(error))
    except Exception as error:
        if isinstance(case, Script):
            return Failure(type(error).__name__, str(error))
        open_ = case.way.name in (*UNKNOWN_SIZES, "dtypes") or case.way.prelude.startswith(LEADING)
        untaken = open_ and "cond" in case.program.source
        if any(text in str(error) for text in EXPECTED) or (untaken and isinstance(error, REFUSED)):
            raise Unclear from error  # a branch that is not taken does not fit a size or dtype
        return Failure(type(error).__name__, str(error))
    if isinstance(case, Script):
        told = case.difference(expected, found)
        return Failure("result", told) if told else None
    return _compared(case, expected, found)


def _found(case: Case | Script) -> list[np.ndarray]:
    """What is found, in some time: another time where a busy machine may have been the reason."""
    try:
        with watched():
            return case.found()
    except Slow:
        with watched():
            return case.found()


def _compared(case: Case, expected: list[np.ndarray], found: list[np.ndarray]) -> Failure | None:
    way = case.way
    exact = exact_names(case.program) if not way.bits else set()
    spread = None if way.bits else Spread(lambda n: _disturbed(case, exact, n, expected))
    loose = way.gradients or way.name in ("numpy", "theano", "vmap", "jit of vmap")
    typed = way.name not in ("numpy", "theano", "jacobians")
    wrong = difference(expected, found, spread, dtypes=typed,
                       rounded=coarsest(case.program) if loose else 0,
                       signs=not loose and not _SUMS.search(case.program.source))
    if wrong is None or _allowed(case, expected, found, wrong):
        return None
    kind = "result" if wrong.wrong.shape or not wrong.wrong else "type"
    if "[" in wrong.text.split(",")[0] and "not" in wrong.text:
        kind = "result"
    return Failure(kind, wrong.text)


def coarsest(program: Program) -> float:
    """The step from 1 to the next number of the coarsest floats of a program."""
    names = re.findall(r"'(float16|float32|bfloat16|complex64)'", program.source)
    return max([epsilon(np.dtype(name)) for name in names], default=epsilon(np.float64))


def _disturbed(case: Case, exact: set[str], number: int, plain: list[np.ndarray]
               ) -> list[np.ndarray]:
    """The results with noise in the inputs, which may decide their shapes, too."""
    try:
        found = case.expected(noisy(case.program, exact, np.random.default_rng(number),
                                    case.way.real, not case.way.gradients))
    except REFUSED as error:
        raise Unclear from error
    if [r.shape for r in found] != [r.shape for r in plain]:
        raise Unclear
    return found


def _allowed(case: Case, expected: list[np.ndarray], found: list[np.ndarray],
             wrong: Difference) -> bool:
    """Whether what differs is nearer to the exact number than what the eager program has.

    Where that has none, it is also allowed where nobody can tell.
    """
    e, f = expected[wrong.place], found[wrong.place]
    if e.shape != f.shape or e.dtype != f.dtype or e.dtype.kind not in "fcV":
        return False
    if e.dtype.kind == "c":
        return as_near(case, wrong.place, f, e, wrong.wrong)
    with np.errstate(all="ignore"):
        known = np.isfinite(e.astype("float64"))
        if case.way.real and not (wrong.wrong & known).any():
            return True  # of x / x at 0 times infinity that is infinite
        numbers = wrong.wrong & (known | np.isfinite(f.astype("float64")))
        if _PRODUCTS.search(case.program.source) and not numbers.any():
            return True  # of terms that overflow, as far as they are rounded
        if _PRODUCTS.search(case.program.source) and _is_infinite(case.program) and not (
                wrong.wrong & known & np.isfinite(f.astype("float64"))).any():
            return True
        infinite = wrong.wrong & ~np.isfinite(f.astype("float64"))
        if infinite.any():  # sums of gradients in another order: inf for inf - inf
            unwanted = "ag.cond(" in case.program.source  # zero times NaN, of another branch
            return case.way.gradients and bool((infinite == wrong.wrong).all()) and (
                unwanted or bool(np.isnan(e.astype("float64"))[wrong.wrong].all()))
    if continues(case, wrong.place, f, wrong.wrong):
        return True
    if as_near(case, wrong.place, f, e, wrong.wrong):
        return True
    found_exact = exactly.agrees(case, wrong.place, f, e, wrong.wrong)
    return bool(found_exact) if (wrong.wrong & known).any() else found_exact is not False


def _is_infinite(program: Program) -> bool:
    """Whether a program is given what is not finite."""
    floats = [x.array.astype("complex128") for x in program.inputs if x.array.dtype.kind in "fcV"]
    return any(not np.isfinite(a).all() for a in floats)


@contextmanager
def watched(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Stop what takes more of the processor, or more memory."""
    def stop(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as status:
        used = int(status.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)


def failing(case: Case | Script) -> Failure | None:
    """How a case fails; None where it does not, is unclear, or the way does not fit."""
    if not case.fits:
        return None
    try:
        return check(case)
    except Unclear:
        return None

