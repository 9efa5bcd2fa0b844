"""Unknown and named dimensions of symbolic tensors, with the arithmetic that shapes need.

Of two dimensions that broadcast, either may be 1: their common size is an expression of both. When
a graph is specialized, every node is inferred again with numbers.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, ClassVar

from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, TraceError, at, shown
from agnesi.core.support.tracing import present

_counter, _serials = itertools.count(), itertools.count()
#: Attributes that are not pickled: another process computes them again.
_OF_PROCESS = {"__weakref__", "_hash", "_text", "serial"}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_NUMBERS: set[type] = {int}
#: Arithmetic of sizes that there is, by operation and operands.
_ARITHMETIC: weakref.WeakValueDictionary[Any, Dim] = weakref.WeakValueDictionary()
#: The variables that sizes were declared with.
_DECLARED: weakref.WeakValueDictionary[Dim, Any] = weakref.WeakValueDictionary()
#: Arithmetic in arithmetic that is shown.
_MAX_SHOWN_DEPTH = 8
#: Powers of sizes below this are sizes, too.
_POWER_LIMIT = 8
_OWN = __name__.partition(".")[0] + "."


class Dim:
    """A size that is not known yet: a name, or an expression over other dimensions.

    Equal expressions over the same dimensions are equal; anything else is different, and may
    turn out to be the same size at run time.

    Parameters
    ----------
    name : str, optional
        A name; equal names are equal sizes. By default a fresh one.
    op : str
        For expressions over other dimensions: "+", "*" and so on.
    args : tuple
        What the expression is over: sizes and dimensions.

    Raises
    ------
    TypeError
        If the name is no string.

    See Also
    --------
    symbolic.variable, ensure

    Examples
    --------
    >>> import agnesi as ag
    >>> n = ag.Dim("n")
    >>> n + 1 == ag.Dim("n") + 1
    True
    """

    __slots__ = ("__weakref__", "_hash", "_text", "args", "key", "op", "serial")
    #: Lets arrays leave operators to sizes.
    __array_ufunc__ = None
    #: Arithmetic of a kind of sizes that has its own (``core.ir.extents``).
    algebra: ClassVar[Callable[..., Any] | None] = None
    #: ``with_tensors(name, a, b)``: what is no size any more, which ``ops.base.sizes`` computes.
    with_tensors: ClassVar[Callable[[str, Any, Any], Any]] = staticmethod(
        lambda name, a, b: NotImplemented)

    def __init__(
        self, name: str | None = None, *, op: str = "", args: tuple[Any, ...] = ()
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(at(f"Dim: a size is named by a string, not {shown(name)}"))
        self.op = op
        self.args = args if op else (name or f"d{next(_counter)}",)
        self.key = (op, *self.args)
        self.serial = next(_serials)

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):  # arithmetic may come up in itself many times
            self._hash = hash(self.key)
        return self._hash

    def __eq__(self, other: object) -> Any:
        if self is other or (isinstance(other, Dim) and self._is_alike(other)):
            return True
        return self._compared("eq", other) if from_user_code() else False

    def __ne__(self, other: object) -> Any:
        if self is other or (isinstance(other, Dim) and self._is_alike(other)):
            return False
        return self._compared("ne", other) if from_user_code() else True

    def _is_alike(self, other: Dim) -> bool:
        return hash(self) == hash(other) and bool(self.key == other.key)

    def _compared(self, name: str, other: Any) -> Any:
        """Return whether sizes are equal, as a user compares them: known when the function runs."""
        if other is None or isinstance(other, (str, tuple, list, dict)):
            return name == "ne"
        return Dim.with_tensors(name, self, other)

    def __lt__(self, other: Any) -> Any:
        return Dim.with_tensors("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return Dim.with_tensors("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return Dim.with_tensors("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return Dim.with_tensors("ge", self, other)

    def __reduce__(self) -> Any:
        if type(self) is not Dim:
            slots = [n for c in type(self).__mro__ for n in getattr(c, "__slots__", ())
                     if n not in _OF_PROCESS]  # another process has others
            state = {n: getattr(self, n) for n in slots if hasattr(self, n)}
            return _blank, (type(self),), (None, state)
        name = self.args[0]
        if not self.op and name[0] == "d" and name[1:].isdigit():
            return _foreign, (here(), name)
        return _dim, (self.op, self.args)

    def __repr__(self) -> str:
        if not self.op:
            return _arithmetic(self, 1)
        if not hasattr(self, "_text"):
            self._text = _arithmetic(self, _MAX_SHOWN_DEPTH)
        return self._text

    def _no_number(self, use: str) -> Any:
        now = present(self)
        if type(now) is int:
            return now
        raise TraceError(
            at(
                f"the size {self} is not known when the graph is written, so {use} cannot have it. "
                "Give the size in the variable's shape, or use array functions instead of Python."
            )
        )

    def __int__(self) -> int:
        return self._no_number("int()")

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self._no_number("a Python condition"))

    def __add__(self, other: Any) -> Any:
        return self._with("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._with("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._with("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with("%", other, self)

    def __truediv__(self, other: Any) -> Any:
        return Dim.with_tensors("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return Dim.with_tensors("/", other, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other < _POWER_LIMIT:
            return math.prod((self,) * other)
        return Dim.with_tensors("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return Dim.with_tensors("**", other, self)

    def __neg__(self) -> Any:
        return combine("-", 0, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return combine("max", self, -self)

    @staticmethod
    def _with(op: str, a: Any, b: Any) -> Any:
        """Return the arithmetic of two sizes; with another operand, that of tensors."""
        size = combine(op, a, b)
        return Dim.with_tensors(op, a, b) if size is NotImplemented else size


#: A number, or a size that is not known yet.
Size = int | Dim
#: Sizes of all axes.  Their type is Any: what only ever runs on known sizes takes them as numbers.
Shape = tuple[Any, ...]


class CalledDim(Dim):
    """A size that a function computes from other sizes, where these are known.

    :ivar function: Hashable; of as many sizes as ``args`` are.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Size], args: tuple[Any, ...]) -> None:
        super().__init__(op="of", args=args)
        self.function, self.key = function, ("of", function, *args)

    def at(self, args: Sequence[Size]) -> Size:
        """The size for other sizes."""
        if any(map(is_open, args)):
            return CalledDim(self.function, tuple(args))
        return self.function(*args)

    def __repr__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


def _broadcast(a: int, b: int) -> int:
    if a != b and a != 1 and b != 1:
        raise ShapeError(f"sizes {a} and {b} differ and neither is 1: they do not broadcast")
    return b if a == 1 else a


EVALUATE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "max": max,
    "broadcast": _broadcast,
}


#: The code of what stands for builtins such as ``hash`` while a function is traced.
STAND_INS: set[CodeType] = set()
#: Modules that call methods of sizes for others.
_PASSED_ON = frozenset((*sys.stdlib_module_names, _OWN[:-1]))


def from_user_code() -> bool:
    """Return whether a method of a size is called, by Python's own library or directly, by code
    outside of this package.

    The library looks for sizes that are surely equal, and goes the general way if they are not.
    """
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(_OWN) and frame.f_code not in STAND_INS:
            return False
        if name == "__main__" or name.partition(".")[0] not in _PASSED_ON:
            return True
        frame = frame.f_back
    return False


@functools.cache
def _process() -> str:
    return os.urandom(4).hex()


def here() -> str:
    """Return a prefix that distinguishes this process's unnamed dimensions from those of others."""
    return f"{_process()}.{os.getpid():x}"


def _foreign(process: str, name: str) -> Dim:
    """A dimension without a name of another process is none of this one's."""
    return Dim(name if process == here() else f"{name}.{process}")


def _blank(kind: type[Dim]) -> Dim:
    size = object.__new__(kind)
    size.serial = next(_serials)
    return size


def _dim(op: str, args: tuple[Any, ...]) -> Dim:
    return _interned(op, args) if op else Dim(args[0])


def combine(op: str, a: Any, b: Any) -> Any:
    """``a op b`` for sizes; NotImplemented for anything but sizes."""
    if not isinstance(a, (int, Dim)) or not isinstance(b, (int, Dim)):
        return NotImplemented
    if isinstance(a, int) and isinstance(b, int):
        return EVALUATE[op](a, b)
    for n in (a, b):
        if isinstance(n, Dim) and n.algebra is not None:
            return n.algebra(op, a, b)
    if (op in "+-" and b == 0 and isinstance(b, int)) or (op in ("*", "//") and b == 1):
        return a
    if (op == "+" and a == 0) or (op == "*" and a == 1):
        return b
    if op == "broadcast":
        return _broadcast_sizes(a, b)
    if op == "-" and a == b:
        return 0
    if op == "max" and a == b:
        return a
    if op == "//" and a == b:
        return 1
    if op == "//" and isinstance(a, Dim) and a.op == "*" and b in a.args:
        return a.args[0] if a.args[1] == b else a.args[1]
    if op == "-" and isinstance(a, Dim) and a.op == "+" and b in a.args:
        return a.args[0] if a.args[1] == b else a.args[1]
    return _interned(op, (a, b))


def _interned(op: str, args: tuple[Any, ...]) -> Dim:
    """Return the unique object for this size expression; equal expressions are identical."""
    found = _ARITHMETIC.get((op, args))
    if found is None:
        found = _ARITHMETIC[op, args] = Dim(op=op, args=args)
    return found


def _broadcast_sizes(a: Size, b: Size) -> Size:
    """The broadcast size of two axes, at least one of unknown size; the size itself if both are the
    same expression."""
    for number, size in ((a, b), (b, a)):
        if isinstance(number, int):
            return size if number == 1 else number
    parts, more = broadcast_parts(a), broadcast_parts(b)
    if len(more) == 1 and _order(b) > _order(parts[-1]) and not any(n is b for n in parts):
        return _interned("broadcast", (a, b))  # as below: sums of many vectors take linear time
    ordered = sorted({*parts, *more}, key=lambda n: (*_order(n), n.serial))
    return functools.reduce(lambda x, y: _interned("broadcast", (x, y)), ordered)


def _order(size: Size) -> tuple[int, str]:
    """Return the sort key of the parts of a broadcast size: later names come last, ``d9`` before
    ``d10``."""
    text = repr(size)
    return len(text), text


def broadcast_parts(size: Any) -> list[Any]:
    """The sizes whose common size it is; itself only if it is no such."""
    parts = []
    while isinstance(size, Dim) and size.op == "broadcast":
        parts.append(size.args[1])
        size = size.args[0]
    return [size, *reversed(parts)]


def _text(size: Any, depth: int) -> str:
    """Return a size as text; parts below ``depth`` levels are left out, as shared parts may occur
    often.
    """
    if not isinstance(size, Dim) or ("__repr__" in vars(type(size)) and type(size) is not Dim):
        return str(size)
    return _arithmetic(size, depth) if depth else "..."


def _arithmetic(size: Dim, depth: int) -> str:
    if not size.op:
        return _of_variable(size) or str(size.args[0])
    if size.op not in _PRECEDENCE:
        parts = broadcast_parts(size) if size.op == "broadcast" else size.args
        return f"{size.op}({', '.join(_text(a, depth - 1) for a in parts)})"
    own = _PRECEDENCE[size.op]
    texts = [(a, _text(a, depth - 1)) for a in size.args]
    return f" {size.op} ".join(
        f"({t})" if isinstance(a, Dim) and _PRECEDENCE.get(a.op, 9) < own else t for a, t in texts)


def _of_variable(size: Dim) -> str:
    """Return an unnamed size as ``x.shape[0]``, by the variable that it was declared with; empty if
    there is none.
    """
    variable, name = _DECLARED.get(size), str(size.args[0])
    if variable is None or not variable.name or not (name[0] == "d" and name[1:].isdecimal()):
        return ""
    return next((f"{variable.name}.shape[{axis}]" for axis, n in enumerate(variable.shape)
                 if isinstance(n, Dim) and size._is_alike(n)), "")


def declare(sizes: Iterable[Size], variable: Any) -> None:
    """Record the variable that sizes belong to."""
    for n in sizes:
        if isinstance(n, Dim) and not n.op:
            _DECLARED.setdefault(n, variable)


def declared(size: Dim) -> Any:
    """The variable that a size was declared with; None if there is none any more."""
    return _DECLARED.get(size)


def parts_first(size: Dim, whole: Callable[[Dim], bool] = lambda n: False) -> list[Dim]:
    """The sizes that a size is computed from, each once and after its own parts, itself last;
    ``whole`` says of which the parts do not matter."""
    order: dict[Dim, None] = {}
    waiting: list[tuple[Dim, bool]] = [(size, False)]
    while waiting:
        part, entered = waiting.pop()
        if entered or not part.op or whole(part):
            order[part] = None
        elif part not in order:
            waiting.append((part, True))
            waiting += [(a, False) for a in part.args if isinstance(a, Dim)]
    return list(order)


def leaves(size: Any) -> list[Dim]:
    """The sizes without arithmetic that a size is computed from."""
    return [n for n in parts_first(size) if not n.op] if isinstance(size, Dim) else []


def resolve(size: Size, known: Mapping[Dim, int]) -> int:
    """The number behind a size, given the numbers of the named dimensions."""
    if isinstance(size, int):
        return size
    done: dict[Any, int] = {}
    for n in parts_first(size):
        args = [done.get(a, a) for a in n.args]
        if isinstance(n, CalledDim):
            done[n] = n.function(*args)  # type: ignore[assignment]
        else:
            done[n] = EVALUATE[n.op](*args) if n.op else known[n]
    return done[size]


def sampled(size: Dim, each: int) -> int:
    """The number behind a size, if all named dimensions are alike; ``each`` where they cannot be:
    ``U.shape[1]`` is twice ``W.shape[1]``, for one."""
    try:
        return resolve(size, dict.fromkeys(leaves(size), each))
    except ShapeError:
        return each


def is_static(shape: Sequence[Size]) -> bool:
    """Return whether every size is a number."""
    return {*map(type, shape)} <= _NUMBERS


def is_open(size: Size) -> bool:
    """Return whether nothing is known about a size, so that it may equal any other at run time."""
    return isinstance(size, Dim) and size.algebra is None


def is_settled(shape: Iterable[Size]) -> bool:
    """Return whether sizes are numbers, now or at run time, so that comparing them means
    something."""
    return not any(map(is_open, shape))


def product(sizes: Sequence[Size]) -> Size:
    """Product of sizes, numbers first so that equal shapes give equal products."""
    plain = math.prod(sizes)
    if type(plain) is int:
        return plain
    number, result = 1, None
    for n in sizes:
        if isinstance(n, Dim):
            result = n if result is None else result * n
        else:
            number *= n
    if result is None:
        return number
    return number * result if number != 1 else result


class Sizes(tuple[Any, ...]):
    """The shape of a tensor: a tuple that knows how many elements there are (PyTorch's Size).

    It equals a plain tuple of the same sizes and prints as one; what is cut from it or joined to
    it knows its number of elements, too.

    See Also
    --------
    Tensor.shape, numel, size

    Examples
    --------
    >>> import agnesi as ag
    >>> shape = ag.ones((2, 3, 4)).shape
    >>> shape, shape.numel(), shape[1:].numel()
    ((2, 3, 4), 24, 12)
    """

    __slots__ = ()

    def numel(self) -> Size:
        """Return the product of the sizes, 1 where there are none.

        :returns: How many elements a tensor of this shape has.
        :rtype: int or Dim
        """
        return product(self)

    def __getitem__(self, key: Any) -> Any:
        found = _item(self, key)
        return Sizes(found) if type(found) is tuple else found

    def __add__(self, other: Any) -> Any:
        return Sizes(_joined(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Sizes(_joined(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        found = _repeated(self, times)
        return found if found is NotImplemented else Sizes(found)

    __rmul__ = __mul__


#: Types of tuples that hold their elements and no other state.
TUPLES = (tuple, Sizes)
_item, _joined, _repeated = tuple.__getitem__, tuple.__add__, tuple.__mul__
tree.register(Sizes, lambda sizes: (sizes, None), lambda extra, sizes: Sizes(sizes))
