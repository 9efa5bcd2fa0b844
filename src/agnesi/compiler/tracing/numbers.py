"""Python numbers that a traced function computes, as values that each call computes again.

``loss.item()`` and ``float(loss)`` return a ``Number``. Arithmetic with numbers gives another one,
a comparison decides (a specialization for each outcome, not for each value), and one that is put
somewhere or returned is a result, which arrives there as Python's own. Code that looks at the value
itself (``math.erf``, an index) decides by it. What Python does with numbers and this does not
raises ``LookedAtError``: the function is traced again with numbers of Python's.  Arguments that are
floats are such numbers, too; one that is looked at is static.
"""

from __future__ import annotations

import math
import operator
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.compiler.tracing.builtin_calls import STAND_INS, Module
from agnesi.compiler.tracing.obstacles import LookedAtError, OnlyEagerError
from agnesi.compiler.tracing.process.output import print_, warn
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import STAND_INS as OF_SIZES
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, STATE, switched
from agnesi.core.support.errors import TraceError, location, user_where
from agnesi.core.support.exports import module_of
from agnesi.core.support.tracing import current_trace
from agnesi.core.tensor import Tensor, as_kind, symbol
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.compare import isfinite, isinf, isnan, logical_and, logical_not
from agnesi.ops.base.convert import Cast, cast
from agnesi.ops.base.select import ceil, floor, trunc
from agnesi.ops.base.select import round as round_
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.elementwise.trig import cos, sin

_PLAIN = (int, float, bool)
#: Beyond, ``math.exp`` raises.
_LARGEST_EXPONENT = 709.0
#: Where int64 ends.
_LARGEST_WHOLE = 2 ** 63
#: Below it, whatever a float64 has rounded.
_LARGEST_SAFE = float(_LARGEST_WHOLE) * (1 - 2.0 ** -50)
#: What whole numbers from elsewhere stay below.
MOST_GIVEN = 2 ** 53
#: Beyond, a float64 has no halves.
_LARGEST_EXACT = 2.0 ** 52
_TWO_ROUNDINGS = 2.0 ** -51
#: Powers of ten that a float64 holds exactly.
_MOST_DIGITS = 22
TEXT_INSTEAD = ("Return the number, or append it to a list, and make the text outside; ag.print "
                "prints from compiled code")
OUTSIDE = "Do that outside, and pass its result as an argument"


_LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "")
#: Attributes of tensors that Python's numbers have not, apart from those that NumPy requests.
_TENSORS_OWN = frozenset(n for n in dir(Tensor) if n[0] != "_" and not hasattr(float, n)) | {
    "__len__", "__iter__", "__getitem__", "__contains__"}


class Number(Tensor):
    """A Python int or float whose value is known when the compiled code runs.

    To other code it has the class and the attributes of a Python number.
    """

    #: The most that its absolute value may be, where it is whole; whether it is computed from float
    #: arguments alone, by which arrays' rules divide: by 0, too.
    __slots__ = ("bound", "given")

    if TYPE_CHECKING:
        bound: int
        given: bool

    @property
    def python_type(self) -> type:
        """The type that ``type`` gives for the number."""
        return float if self.dtype.kind == "f" else int

    def check_fits(self, dtype: np.dtype) -> None:
        """Raise LookedAtError for a number that is written to memory of a dtype that it may not
        fit.
        """
        self.check_range(dtype)
        if self.python_type is float and dtype.kind in "iu":
            ends = np.iinfo(dtype)
            if not (self > float(ends.min) - 1 and self < float(ends.max) + 1):
                raise LookedAtError(self)

    def __getattribute__(self, name: str) -> Any:
        queried = name == "__class__" or name in _TENSORS_OWN
        if queried and not sys._getframe(1).f_code.co_filename.startswith(_LIBRARY):
            kind: Any = self.python_type
            if name == "__class__":
                return kind
            raise AttributeError(f"'{kind.__name__}' object has no attribute {name!r}")
        return object.__getattribute__(self, name)

    @property
    def _plain(self) -> Tensor:
        """Return this number as a plain tensor, which Python does not decide by."""
        return symbol(self.node)  # type: ignore[arg-type]

    def refuse_change(self) -> NoReturn:
        """Refuse a change in place, which numbers do not have."""
        raise TypeError(f"{self.python_type.__name__}s cannot be changed in place; give a tensor")

    def check_range(self, dtype: np.dtype) -> None:
        """Raise LookedAtError for an integer that may not fit the dtype of an array operand: NumPy
        may raise.
        """
        if self.python_type is int and dtype.kind in "iu" and dtype != dtypes.int64:
            ends = np.iinfo(dtype)
            highest = min(int(ends.max), _LARGEST_WHOLE - 1)
            if not (self >= int(ends.min) and self <= highest):
                raise LookedAtError(self)

    def __format__(self, spec: str) -> str:
        return self._text()

    def __repr__(self) -> str:
        return self._text()

    __str__ = __repr__

    def _text(self) -> NoReturn:
        """Raise the error for conversion to text.

        Integers and arguments have few values, so each is traced for; any other number makes the
        call run eagerly.
        """
        if self.python_type is int or (self.node is not None and self.node.op is None):
            raise LookedAtError(self)
        raise OnlyEagerError("Python makes text of a computed number at "
                             f"{location(user_where(3))}", TEXT_INSTEAD)

    def _look(self, *args: Any, **keywords: Any) -> NoReturn:
        raise LookedAtError(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **keywords: Any) -> Any:
        ask = _IN_MATH.get(ufunc.__name__)
        if ufunc not in (np.isnan, np.isinf, np.isfinite) or keywords or ask is None:
            raise LookedAtError(*xs)
        return np.bool_(ask(*xs))

    __hash__ = __array__ = __array_function__ = _look
    __reduce__ = __reduce_ex__ = __iter__ = __len__ = __getitem__ = _look
    __deepcopy__ = _look

    def __copy__(self) -> Number:
        return self

    conjugate: Any = __copy__
    real = property(__copy__)
    imag = property(lambda self: self.python_type(0))


def number_of(x: Tensor, dtype: Any, bound: int = MOST_GIVEN, given: bool = False) -> Number:
    """Return the Python number that a use of a one-element tensor gives; no gradient flows."""
    with switched(recording=False):
        node = apply(Cast(dtype), x.reshape(()) if x.shape else x).node
    assert node is not None
    node.weak = True
    return standing_for(node, bound, given)


HOOKS.traced_number = lambda x: number_of(x, x.dtype)


def standing_for(node: Node | None, bound: int = MOST_GIVEN, given: bool = False) -> Number:
    """Return the number that a node computes."""
    assert node is not None
    found: Number = as_kind(Number, symbol(node))
    found.bound, found.given = bound, given
    return found


def _is_number(value: Any) -> bool:
    """Return whether a value is a Python number or a symbol of one."""
    return type(value) in _PLAIN or (isinstance(value, Tensor) and value.weak and not value.shape)


def _plainly(value: Any) -> Any:
    """Return a traced number as a plain tensor; other values unchanged."""
    return symbol(value.node) if isinstance(value, Number) and value.node else value


def _arithmetic(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    """Return an operator of two numbers, or of a number and a tensor."""
    apply_, divides = getattr(operator, name), "div" in name or name == "mod"

    @_of_numbers
    def method(self: Number, other: Any) -> Any:
        a, b = (other, self) if reflected else (self, other)
        if not _is_number(other):
            self.check_range(other.dtype)
            return apply_(_plainly(a), _plainly(b))
        given = _are_given(a, b)
        if divides and not (given and isinstance(b, Number)) and _is_zero(b):
            raise ZeroDivisionError("division by zero")
        kinds = {float if isinstance(v, Tensor) and v.dtype.kind == "f" else type(v)
                 for v in (a, b)}
        dtype = dtypes.float64 if float in kinds or name == "truediv" else dtypes.int64
        with switched(recording=False):
            if name == "truediv":
                a, b = (number_of(v, dtypes.float64, given=given) if isinstance(v, Tensor)
                        else float(v) for v in (a, b))
            bound = _bound(name, a, b) if dtype is dtypes.int64 else MOST_GIVEN
            return number_of(apply_(_plainly(a), _plainly(b)), dtype, bound, given)

    return method


def _are_given(*values: Any) -> bool:
    """Return whether numbers are computed from float arguments and constants alone."""
    numbers = [v for v in values if isinstance(v, Number)]
    return bool(numbers) and all(v.given for v in numbers)


def _most(value: Any) -> int:
    return value.bound if isinstance(value, Number) else abs(int(value))


def _bound(name: str, a: Any, b: Any) -> int:
    """Return an upper bound of the magnitude of an integer result.

    Raises LookedAtError where it may not fit int64: Python's integers are unbounded.
    """
    p, q = _most(a), _most(b)
    bound = {"mul": p * q, "floordiv": p, "mod": q}.get(name, p + q)
    if bound < _LARGEST_WHOLE:
        return bound
    wide = [cast(_plainly(v), dtypes.float64) if isinstance(v, Tensor) else float(v)
            for v in (a, b)]
    if not abs(getattr(operator, name)(*wide)) < _LARGEST_SAFE:
        raise LookedAtError(a, b)
    return _LARGEST_WHOLE - 1


_OPERATORS = [f"__{r}{n}__" for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
              for r in ("", "r")] + ["__eq__", "__lt__"]


def _of_numbers(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator of traced numbers that accepts tensors, Python's numbers and subclasses
    that compute as those do (an enumeration's member); for other operands it returns
    ``NotImplemented``.
    """
    def call(self: Number, other: Any, *more: Any) -> Any:
        kind = type(other)
        if not isinstance(other, Tensor) and kind not in _PLAIN:
            base = float if isinstance(other, float) else int
            if all(getattr(kind, n, None) is getattr(base, n) for n in _OPERATORS):
                other = base(other)
            elif module_of(kind) != "numpy" or not isinstance(other, float):
                if isinstance(other, (int, float, complex)) or module_of(kind) == "numpy":
                    raise LookedAtError(self)
                return NotImplemented
        return method(self, other, *more)

    return call


def _is_zero(x: Any) -> bool:
    """Return whether a divisor is zero, where Python raises; False inside loop bodies, whose values
    are not known while tracing.
    """
    try:
        return bool(x == 0)
    except TraceError:
        return False


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, name)

    @_of_numbers
    def method(self: Number, other: Any) -> Any:
        found = compare(_plainly(self), _plainly(other))
        return bool(found) if _is_number(other) else found

    return method


def _bits(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    """Return a bitwise operator; raises LookedAtError for floats, for which Python raises."""
    apply_ = getattr(operator, name)

    @_of_numbers
    def method(self: Number, other: Any) -> Any:
        a, b = (other, self) if reflected else (self, other)
        if not _is_number(other):
            self.check_range(other.dtype)
            return apply_(_plainly(a), _plainly(b))
        if any(v.dtype.kind == "f" if isinstance(v, Tensor) else type(v) is float for v in (a, b)):
            raise LookedAtError(a, b)
        bound = min(1 << max(_most(a), _most(b)).bit_length(), _LARGEST_WHOLE - 1)
        x, y = (_plainly(v) if isinstance(v, Tensor) else int(v) for v in (a, b))
        with switched(recording=False):
            if "shift" in name:
                if not (b >= 0 and b < _LARGEST_WHOLE.bit_length() - 1):
                    raise LookedAtError(a, b)
                if name == "lshift" and not abs(x) <= (_LARGEST_WHOLE - 1) >> y:
                    raise LookedAtError(a, b)
                bound = _LARGEST_WHOLE - 1 if name == "lshift" else _most(a)
            return number_of(apply_(x, y), dtypes.int64, bound)

    return method


def _inverted(self: Number) -> Any:
    if self.python_type is float:
        raise LookedAtError(self)
    return -self - 1


def _unary(name: str) -> Callable[[Any], Number]:
    function = getattr(operator, name)

    def method(self: Number) -> Number:
        return number_of(function(_plainly(self)), self.dtype, self.bound, self.given)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(Number, f"__{_name}__", _arithmetic(_name, False))
    setattr(Number, f"__r{_name}__", _arithmetic(_name, True))
    setattr(Number, f"__i{_name}__", _arithmetic(_name, False))
for _name, _how in (("and", "and_"), ("or", "or_"), ("xor", "xor"), ("lshift", "lshift"),
                    ("rshift", "rshift")):
    setattr(Number, f"__{_name}__", _bits(_how, False))
    setattr(Number, f"__r{_name}__", _bits(_how, True))
    setattr(Number, f"__i{_name}__", _bits(_how, False))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Number, f"__{_name}__", _comparison(_name))
for _name in ("neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _unary(_name))


# -- powers and rounding ----------------------------------------------------------------------
def _computed(x: Any, dtype: Any, holds: Callable[[Any], Any] = isfinite) -> Number:
    """Return a number for a computed value; raises LookedAtError unless ``holds``, where Python may
    raise instead.
    """
    if not holds(x):
        raise LookedAtError(x)
    return number_of(x, dtype)


def _power(a: Any, b: Any) -> Any:
    """Return ``a ** b`` of traced numbers, or of a number and a tensor."""
    if not (_is_number(a) and _is_number(b)):
        return operator.pow(_plainly(a), _plainly(b))
    whole = all(type(v) in (int, bool) or (isinstance(v, Number) and v.python_type is int)
                for v in (a, b))
    if whole:
        return _whole_power(a, b)
    given = _are_given(a, b)
    if not (type(b) in _PLAIN and (b >= 0 or given) and b == int(b)) and not a > 0:
        raise LookedAtError(a, b)  # an error, or a complex number
    with switched(recording=False):
        x, y = (cast(_plainly(number_of(v, dtypes.float64)), dtypes.float64)
                if isinstance(v, Tensor) else float(v) for v in (a, b))
        if given:
            return number_of(operator.pow(x, y), dtypes.float64, given=True)
        return _computed(operator.pow(x, y), dtypes.float64)


def _whole_power(a: Any, b: Any) -> Number:
    """Return a power of integers; raises LookedAtError where it may not fit int64."""
    if type(b) is not int or b < 1 or not abs(a) <= int((_LARGEST_WHOLE - 1) ** (1 / b)):
        raise LookedAtError(a, b)
    with switched(recording=False):
        bound = min(_LARGEST_WHOLE - 1, _most(a) ** b)
        return number_of(operator.pow(_plainly(a), b), dtypes.int64, bound)


@_of_numbers
def _powered(self: Number, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        raise LookedAtError(self)
    return _power(self, other)


@_of_numbers
def _powered_by(self: Number, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        raise LookedAtError(self)
    return _power(other, self)


def _rounded(self: Number, digits: int | None = None) -> Number:
    """Return Python's ``round``; raises LookedAtError where two candidates are too close to decide
    in float64.
    """
    if self.python_type is int and (digits is None or (type(digits) is int and digits >= 0)):
        return self
    if digits is None:
        return _to_whole(round_)(self)
    if type(digits) is not int or not 0 <= digits <= _MOST_DIGITS or self.python_type is int:
        raise LookedAtError(self)
    with switched(recording=False):
        scale = 10.0 ** digits
        y = cast(_plainly(self), dtypes.float64) * scale
        near = abs(abs(y - floor(y)) - 0.5) <= abs(y) * _TWO_ROUNDINGS
        if not logical_and(abs(y) < _LARGEST_EXACT, logical_not(near)):
            raise LookedAtError(self)
        return number_of(round_(y) / scale, dtypes.float64)


def _to_whole(function: Callable[[Any], Any]) -> Callable[[Number], Number]:
    """Return a method that rounds to an integer (``floor``, ``ceil``, ``trunc``)."""
    def method(self: Number) -> Number:
        if self.python_type is int:
            return self
        with switched(recording=False):
            return _computed(function(_plainly(self)), dtypes.int64,
                             lambda y: abs(y) < float(_LARGEST_WHOLE))

    return method


for _name, _method in (
        ("invert", _inverted), ("pow", _powered), ("rpow", _powered_by), ("ipow", _powered),
        ("round", _rounded),
        ("floor", _to_whole(floor)), ("ceil", _to_whole(ceil)), ("trunc", _to_whole(trunc)),
        ("divmod", lambda self, other: (self // other, self % other)),
        ("rdivmod", lambda self, other: (other // self, other % self))):
    setattr(Number, f"__{_name}__", _method)


# -- what calls of builtins become while a function is traced ---------------------------------
def _is_symbol(args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    return len(args) == 1 and not keywords and isinstance(args[0], Tensor) and args[0].array is None


def _converted(kind: Callable[..., Any], use: str) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        if _is_symbol(args, keywords):
            defer = getattr(current_trace(), "defer", None)
            found = None if defer is None else defer(args[0], use)
            if found is not None:
                return found
        return kind(*args, **keywords)

    return call


def _outside(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for functions whose result depends on anything outside the process, such
    as clocks, files and user input: a trace that calls one ends, and the call runs eagerly.
    """

    def stand_in(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> NoReturn:
            raise OnlyEagerError(f"it {what} at {location(user_where(2))}", OUTSIDE)

        return call

    return stand_in


def _identity(value: Any, /) -> int:
    if isinstance(value, Tensor) and value.array is None:
        _refuse_identity("tensor")
    if (reads := STATE.reads) is not None and id(value) in reads.built:
        _refuse_identity(type(value).__name__)
    return id(value)


def _hash(value: Any, /) -> int:
    by_identity: bool = getattr(type(value), "__hash__", None) is object.__hash__
    if by_identity and (reads := STATE.reads) is not None and id(value) in reads.built:
        _refuse_identity(type(value).__name__)
    return hash(value)


OF_SIZES.add(_hash.__code__)


def _refuse_identity(kind: str) -> NoReturn:
    raise OnlyEagerError(f"it asks for the identity of a {kind} at {location(user_where(3))}",
                         OUTSIDE)


def _predicate(function: Callable[..., Any], test: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """Return a predicate of numbers; its answer for a traced number becomes a guard."""
    def ask(x: Any, /) -> Any:
        return bool(test(_plainly(x))) if isinstance(x, Number) else function(x)

    return ask


def _within(function: Callable[..., Any], computed: Callable[[Any], Any],
            holds: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of numbers that takes traced ones too; raises LookedAtError outside the
    domain, where Python raises.
    """
    def call(x: Any, /, *others: Any) -> Any:
        if others:
            return function(x, *others)
        if not isinstance(x, Number):
            return function(x)  # by a name, which reports a lost gradient
        if not holds(x):
            raise LookedAtError(x)
        y = number_of(x, dtypes.float64)
        with switched(recording=False):
            return number_of(computed(cast(_plainly(y), dtypes.float64)), dtypes.float64)

    return call


_IN_MATH: dict[str, Callable[..., Any]] = {
    "isnan": _predicate(math.isnan, isnan), "isinf": _predicate(math.isinf, isinf),
    "isfinite": _predicate(math.isfinite, isfinite),
    "sqrt": _within(math.sqrt, sqrt, lambda x: x >= 0),
    "exp": _within(math.exp, exp, lambda x: x < _LARGEST_EXPONENT),
    "log": _within(math.log, log, lambda x: x > 0),
    "cos": _within(math.cos, cos, isfinite), "sin": _within(math.sin, sin, isfinite),
    "tanh": _within(math.tanh, tanh, lambda x: True),
}
_CLOCKS = {name: _outside("reads the clock")(getattr(time, name)) for name in (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
    "process_time", "process_time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime")}
STAND_INS.update({id(f): found for f, found in (
    (float, _converted(float, "float()")), (int, _converted(int, "int()")),
    (print, print_),
    (warnings, Module(warnings, {"warn": warn})), (warnings.warn, warn),
    (math, Module(math, _IN_MATH)),
    (id, _identity), (hash, _hash), (open, _outside("opens a file")(open)),
    (input, _outside("waits for input")(input)),
    *((f, _outside("evaluates a text")(f)) for f in (eval, exec)),
    (__import__, _outside("imports by a text")(__import__)),
    (time, Module(time, _CLOCKS)), *((getattr(time, name), f) for name, f in _CLOCKS.items()),
    *((getattr(math, name), f) for name, f in _IN_MATH.items()))})
