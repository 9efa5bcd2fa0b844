"""C functions that compiled code calls without Python: what operations say of them, by name.

Compiled code, which may be kept on disk, holds names only; addresses are found when it is bound.
``op.foreign(*operands)`` gives a :class:`Call`, or None where Python has to do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record


@record
class Argument:
    """One argument of a C function; see the functions of this module, which make them.

    ``kind`` is "operand", "result", "scratch" (pointers), "pointers", "sizes" (tables of all), or
    the IR type of ``value``, a number or the lanes of a vector, which is passed behind a pointer
    unless it is ``direct``.
    """

    kind: str
    value: Any = 0
    direct: bool = False


@record
class BoundsCheck:
    """A check that a function makes itself: elements of an operand are outside ``bounds``, [least,
    size).

    It clears the byte behind the pointer that is its argument number ``argument``.
    """

    operand: int
    bounds: tuple[int, int]
    argument: int


@record
class Call:
    """How compiled code calls a C function for an operation.

    Operands, results and scratch memory are row-major.  Each operand and result is cut into
    ``batch`` equal parts; call ``i`` gets part ``i``.

    :ivar symbol: ``library:function``; the library is one of :data:`RESOLVERS`.
    :ivar arguments: What the function takes.
    :ivar batch: How many times it is called.
    :ivar copies: Results that are an operand's copy at first, which the function works on: (result,
        operand).
    :ivar scratch: Bytes of memory that the function uses up, the same for all calls.
    :ivar status: Whether it returns an int32, which is not 0 where it failed.
    :ivar error: The error's type then; :data:`REASONS` may know why.
    :ivar message: What the error says; by default that the function failed.
    :ivar units: If not 0, the function is called as kernels are, ``(table, begin, end, thread)``:
        it does the units of work from ``begin`` to ``end``, of so many; the arguments are in the
        table. Threads share them.
    :ivar over: The operand with which the result is initialized.
    :ivar bounds_check: The check of indices that it makes itself
        (``schedule/transforms/bounds_checks.py``).
    :ivar when: {"", "early", "late"}: "early" starts work that goes on beside the program: it runs
        as soon as its operands are there.  "late" waits for such work: all that does not need its
        results runs before it.
    :ivar leave: ``library:function`` without arguments, which is called if the program stops
        anywhere.
    """

    symbol: str
    arguments: tuple[Argument, ...]
    batch: Size = 1
    copies: tuple[tuple[int, int], ...] = ()
    scratch: tuple[Size, ...] = ()
    status: bool = False
    units: int = 0
    over: int | None = None
    bounds_check: BoundsCheck | None = None
    error: str = "RuntimeError"
    message: str = ""
    when: str = ""
    leave: str = ""

    @property
    def symbols(self) -> tuple[str, ...]:
        """All that is looked up by name."""
        return (self.symbol,)


@record
class Walk:
    """How compiled code calls the inner loop of a universal function of NumPy's kind.

    Operands broadcast; each call gets some elements along one axis (``core.ir.calls.ufuncs``).

    :ivar name: The function as ``module.name``.
    :ivar types: Characters of the loop's dtypes, as in ``dd->d``; others are converted.
    :ivar output: The result that is wanted, of several.
    :ivar nanoseconds: Those that an element takes, at most.
    """

    name: str
    types: str
    output: int = 0
    nanoseconds: int = 200

    @property
    def symbols(self) -> tuple[str, ...]:
        """The loop, and the data that it wants to see."""
        return (f"ufunc:{self.name} {self.types}", f"ufunc data:{self.name} {self.types}")


#: Elements from which work is worth several threads.
_MIN_PARALLEL_ELEMENTS = 50_000
#: Units that such work is cut into, at most.
_MAX_UNITS = 64
#: The same for functions that do blocks of rows.
_MAX_BLOCK_UNITS = 16


def units_for(elements: Size, rows: Size) -> int:
    """Return the units of work for rows with ``elements`` in all; 1 if sizes are unknown."""
    if (
        not (isinstance(elements, int) and isinstance(rows, int))
        or elements < _MIN_PARALLEL_ELEMENTS
    ):
        return 1
    return min(rows, _MAX_UNITS)


def shared_units(elements: Size, rows: Size) -> int:
    """Units of work for functions that do whole blocks; 0 where threads are not worth while.

    They take rows side by side, so that there are fewer, larger units.
    """
    units = units_for(elements, rows)
    return 0 if units == 1 else min(_MAX_BLOCK_UNITS, units)


def operand(i: int) -> Argument:
    """A pointer to operand ``i``."""
    return Argument("operand", i)


def result(i: int = 0) -> Argument:
    """A pointer to result ``i``."""
    return Argument("result", i)


def scratch(i: int = 0) -> Argument:
    """A pointer to scratch memory ``i``."""
    return Argument("scratch", i)


def integer(n: Size) -> Argument:
    """A pointer to an int32, as Fortran passes sizes."""
    return Argument("i32", n)


def letter(text: str) -> Argument:
    """A pointer to a character, as Fortran passes options."""
    return Argument("i8", ord(text))


def scalar(value: complex, dtype: str) -> Argument:
    """A pointer to a real or complex number of single or double precision."""
    kind = "float" if dtype in ("float32", "complex64") else "double"
    if dtype.startswith("complex"):
        return Argument(f"<2 x {kind}>", (value.real, value.imag))
    return Argument(kind, value)


def number(n: Size | float, type_: str = "i64") -> Argument:
    """A number by value, of an IR type."""
    return Argument(type_, n, True)


def words(text: bytes, size: int) -> Argument:
    """A pointer to a text of so many bytes, a multiple of 8; zeros follow it."""
    padded = text.ljust(size, b"\0")
    return Argument(f"<{size // 8} x i64>", tuple(
        int.from_bytes(padded[i: i + 8], "little", signed=True) for i in range(0, size, 8)))


#: A table of pointers to all operands, then to all results.
POINTERS = Argument("pointers")
#: A table of all their sizes, axis by axis, as int64.
SIZES = Argument("sizes")

#: Libraries by name: a function from a symbol to its address, or None where there is none.
RESOLVERS: dict[str, Callable[[str], int | None]] = {}
#: Why a C function failed whose error is of that name; it may raise another error itself.
REASONS: dict[str, Callable[[], str]] = {}
#: By library whose functions are generated: starts to compile one of its functions, and returns
#: whether this machine can have it.
BEGINNERS: dict[str, Callable[[str], bool]] = {}


_PREFIX = "foreign."


def external(symbol: str) -> str:
    """The name by which generated code calls the function ``library:function`` directly."""
    library, _, name = symbol.partition(":")
    return f"{_PREFIX}{library.replace(' ', '_')}.{name}"


def linked(name: str) -> int | None:
    """The address of a function named by :func:`external`; None for other names."""
    if not name.startswith(_PREFIX):
        return None
    library, _, function = name[len(_PREFIX):].rpartition(".")
    return address(f"{library.replace('_', ' ')}:{function}")


def address(symbol: str) -> int | None:
    """The address of ``library:function`` in this process, or None."""
    library, _, name = symbol.partition(":")
    resolve = RESOLVERS.get(library)
    return None if resolve is None else resolve(name)


def kind(symbol: str) -> str:
    """The kind of kernels that call ``library:function`` (``core.target.KINDS``)."""
    return "generated" if symbol.partition(":")[0] in BEGINNERS else "foreign"


#: What compiled code calls before and behind calls of a library that is to work in the thread that
#: makes them: several threads of ours share the work, or it is too short to be shared.
HOLD, RELEASE = "blas:hold", "blas:release"
#: Bytes of a matrix below which a library's threads are not worth their meeting: where other work
#: has the processors, one of 32 rows waited 16 ms for them, and takes 15 us.
_MIN_SHARED_BYTES = 1 << 18


def in_one_thread(kernel: Any) -> bool:
    """Return whether LAPACK is to work in the thread that calls it: on small matrices."""
    call = kernel.call
    if not isinstance(call, Call) or not may_last(call.symbol):
        return False
    sizes = [buffer.nbytes // call.batch for buffer in (*kernel.inputs, *kernel.results)]
    return all([type(n) is int and n < _MIN_SHARED_BYTES for n in sizes]) and there(HOLD)


#: What an argument of a call that may last is: memory that is read, written, too, or worked in.
READ, WRITTEN, SCRATCH = range(3)


def may_last(symbol: str) -> bool:
    """Return whether a function may take long without a look for signals: all its arguments are
    pointers, so that it may work on copies."""
    return symbol.startswith("lapack ")


def there(symbol: str) -> bool:
    """Return whether the function ``library:function`` exists, without waiting for its compilation.
    """
    library, _, name = symbol.partition(":")
    begin = BEGINNERS.get(library)
    return address(symbol) is not None if begin is None else begin(name)
