"""C functions that compiled code calls without Python: what operations say of them, by name.

Compiled code, which may be kept on disk, holds names only; addresses are found when it is bound.
``op.foreign(*operands)`` gives a :class:`Call`, or None where Python has to do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.dims import Size
from agnesi.core.record import record


@record
class Argument:
    """One argument of a C function; see the functions of this module, which make them.

    ``kind`` is "operand", "result", "scratch" (pointers), "pointers", "sizes" (tables of all), or
    the IR type of the number ``value``, which is passed behind a pointer unless it is ``direct``.
    """

    kind: str
    value: Any = 0
    direct: bool = False


@record
class Call:
    """How compiled code calls a C function for an operation.

    Operands, results and scratch memory are row-major.  Of operands and results, call number ``i``
    of ``batch`` gets the i-th of as many equal parts.

    Attributes
    ----------
    symbol : str
        ``library:function``; the library is one of :data:`RESOLVERS`.
    arguments : tuple of Argument
        What the function takes.
    batch : int or Extent
        How many times it is called.
    copies : tuple of (int, int)
        Results that are an operand's copy at first, which the function works on: (result, operand).
    scratch : tuple of (int or Extent)
        Bytes of memory that the function uses up, the same for all calls.
    status : bool
        Whether it returns an int32, which is not 0 where it failed: a RuntimeError.
    """

    symbol: str
    arguments: tuple[Argument, ...]
    batch: Size = 1
    copies: tuple[tuple[int, int], ...] = ()
    scratch: tuple[Size, ...] = ()
    status: bool = False


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


def real(value: float, dtype: str) -> Argument:
    """A pointer to a float32 or float64 number."""
    return Argument({"float32": "float", "float64": "double"}[dtype], value)


def number(n: Size, type_: str = "i64") -> Argument:
    """A number by value, of an IR type."""
    return Argument(type_, n, True)


#: A table of pointers to all operands, then to all results.
POINTERS = Argument("pointers")
#: A table of all their sizes, axis by axis, as int64.
SIZES = Argument("sizes")

#: Libraries by name: a function from a symbol to its address, or None where there is none.
RESOLVERS: dict[str, Callable[[str], int | None]] = {}


def address(symbol: str) -> int | None:
    """Where the function ``library:function`` is in this process, if it is there."""
    library, _, name = symbol.partition(":")
    resolve = RESOLVERS.get(library)
    return None if resolve is None else resolve(name)
