"""Elementwise operations are rows: name, NumPy function, derivative rules.

A rule gives, for one operand, the product of a cotangent or tangent ``g`` with the partial
derivative.  It is a lambda whose parameters name what it reads: ``g``, operands ``a``, ``b``, ``c``
(one operand: ``x``), the result ``y``.  The same rule serves reverse and forward mode, and what it
reads decides which values a recorded run keeps.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from agnesi.core import shapes
from agnesi.core.calls.overriding import overridden
from agnesi.core.calls.plans import count_call
from agnesi.core.dispatch import why
from agnesi.core.ir import loops
from agnesi.core.ir.calls import ufuncs
from agnesi.core.ir.costs import FEW_NANOSECONDS, instructions_of, saved, traits, unstable_over
from agnesi.core.ir.foreign import Walk
from agnesi.core.keywords import NEEDED, operands_of
from agnesi.core.op import EXPLAINED, Op, explain, in_user_code, renamed_error, reserve, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.programs import begins_program, in_program
from agnesi.core.public import apply_to, planned
from agnesi.core.storage import memory
from agnesi.core.storage.memory_order import as_operands, has_rows, shape_in_rows
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, TRACES
from agnesi.core.support.docstrings import numpydoc
from agnesi.core.support.errors import DTypeError, shown
from agnesi.core.support.foreign import has
from agnesi.core.support.numpy_warnings import THREAD, silently
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, aside, spread, stepped_time
from agnesi.core.tensor import Tensor, alike
from agnesi.ops.base.convert import as_tensor, cast, common, constant, pair
from agnesi.ops.base.elementwise_nodes import node_at_once
from agnesi.ops.base.expand import broadcast_to, sum_to
from agnesi.ops.base.literals import whole_numbers
from agnesi.ops.base.row_docs import SIGNATURES, docstring

_OPERANDS = ("a", "b", "c", "d", "e")
#: Rows that are computed in 16-bit floats as such: in float32 their results would differ.
_IN_16_BITS = ("where", "negative", "abs", "nextafter")
_ndarray = np.ndarray

Rule = Callable[..., Any]
#: The public function of a row.
Function = Callable[..., Tensor]


class Binary(Protocol):
    """The public function of a row with two operands, with the methods of NumPy's.

    They are loaded at their first call, by those who know all other operations.
    """

    __name__: str
    reduce: Function
    accumulate: Function
    outer: Function
    reduceat: Function
    at: Callable[..., None]

    def __call__(self, input: TensorLike, other: TensorLike,
                 out: Tensor | None = None) -> Tensor: ...


def with_methods(function: Any) -> Binary:
    """The function, with ``reduce``, ``accumulate``, ``outer``, ``reduceat`` and ``at``."""
    for name in ("reduce", "accumulate", "outer", "reduceat", "at"):
        setattr(function, name, functools.partial(_method, name, function))
    return function


def _method(name: str, function: Any, /, *operands: Any, **keywords: Any) -> Any:
    return HOOKS.folds()[name](function, *operands, **keywords)


def flat() -> None:
    """The rule of an operand along which the result is piecewise constant."""


#: Nanoseconds of work that writes where it is to be, which no signal may break off; what takes
#: longer is computed apart, and then copied.
_MOST_WRITTEN_NANOSECONDS = 1 << 25
#: Nanoseconds of an element by several functions of NumPy's.
_WIDENED_NANOSECONDS = 20
#: The same by SciPy's loops; by those of one type, which search or integrate for each element.
_LOOP_NANOSECONDS, _ONE_LOOP_NANOSECONDS = 200, 2000
#: Multiply-adds that take as long as an element of a function that is no loop of NumPy's own, or a
#: slow one; and as an element of one that chooses for each element what to do.
_SLOW_MULTIPLY_ADDS, _LOOP_MULTIPLY_ADDS = 256, 8

#: Every row, by name.
TABLE: dict[str, Elementwise] = {}


def _row(name: str, home: str = __name__) -> Elementwise:
    """The row of this name, made by the module ``home``, for pickles: functions do not travel."""
    if name not in TABLE:
        importlib.import_module(home)
    if name not in TABLE:
        raise LookupError(
            f"there is no elementwise operation {name!r}: import the module that defines it first, "
            "or use the version of agnesi that has it"
        )
    return TABLE[name]


def names_read(rule: Rule) -> tuple[str, ...]:
    """The names of what a derivative rule takes: operands, the cotangent, the result."""
    code = getattr(rule, "__wrapped__", rule).__code__
    return code.co_varnames[: code.co_argcount]


class Elementwise(Op):
    """A row of the table, as an operation.

    :param name: Name, also that of the scalar operation in the loop language.
    :param function: NumPy function on arrays of one dtype.
    :type function: callable
    :param rules: One derivative rule for each operand, or None where there is no gradient.
    :type rules: tuple
    :param result: dtype of the result.
    :type result: {"same", "bool", "real"}
    :param kinds: dtype kinds that the operation takes, of "biufc"; integers become floats where
        only floats are taken.
    :param expand: The row in terms of other scalar operations of the loop language, for lowering.
    :param lowered: False leaves the row to NumPy in compiled functions too.
    :param loop: A universal function (``module.name``, or ``module.name:k`` for its k-th result)
        whose inner loops compute the row in compiled code; then it is not lowered.
    :param types: The inner loop that is always taken, as in ``dd->d``, whatever the dtype.
    :param nanoseconds: Those that an element of the loop takes, if not as others do.
    :param whole: How many operands, the first ones, are whole numbers of 64 bits.
    :param writer: The function with ``out=``, as ufuncs have it; the function itself, if it is one.
    :param numpy: Why NumPy takes longer than compiled code, as a trait.
    :type numpy: {"", "unvectorized", "branching"}
    :param of_complex: Stands for the function where operands are complex.
    :param home: A module that makes the row when it is imported, if ``import agnesi`` does not.
    """

    pointwise = True
    of_types = True
    stepped: tuple[int, ...] = ()  # operands as many steps as which SciPy takes in one call

    def __init__(self, name: str, function: Any, rules: tuple[Rule | None, ...], *,
                 result: str = "same", kinds: str = "biufc",
                 expand: Callable[..., loops.Expr] | None = None, lowered: bool = True,
                 loop: str = "", types: str = "", nanoseconds: int = 0, whole: int = 0,
                 writer: Callable[..., Any] | None = None, numpy: str = "",
                 of_complex: Callable[..., Any] | None = None, home: str = __name__) -> None:
        self.name = name  # type: ignore[misc]
        self.traits = traits(name) | ({numpy} if numpy else set())  # type: ignore[misc]
        self.unstable_over = unstable_over(name)  # type: ignore[misc]
        self.function = function
        self.rules = rules
        self.result = result
        self.kinds = kinds
        self.expand = expand
        self.differentiable = any(rules) and result != "bool"  # type: ignore[misc]
        if loop or not lowered:
            self.lower = None  # type: ignore[assignment, method-assign]
        self.loop, _, output = loop.partition(":")
        self._output = int(output or 0)
        self.types = types
        self.whole = whole
        if loop:
            self.foreign = self._foreign
        self.of_complex = of_complex
        #: Kinds for which ``function`` and ``writer`` stand.
        self.direct = kinds if of_complex is None else kinds.replace("c", "")
        self.writer = function if writer is None and isinstance(function, np.ufunc) else writer
        self.arity = len(rules)
        self._operands = ("x",) if self.arity == 1 else _OPERANDS[: self.arity]
        self._reads = tuple(names_read(r) if r else () for r in rules)
        names_of = (*self._operands, "g", "y")
        #: For each rule, where it finds what it reads among operands, cotangent and result.
        self._found_at = tuple([tuple(map(names_of.index, names)) for names in self._reads])
        #: For each operand, whose rules read it.
        self._readers = tuple([tuple(k for k, names in enumerate(self._reads) if n in names)
                               for n in self._operands])
        self._result_readers = tuple(k for k, names in enumerate(self._reads) if "y" in names)
        if self.arity == 2:
            self.kept_by_one = tuple([tuple(i for i in (0, 1) if k in self._readers[i])
                                      for k in (1, 0)])
            self.result_by_one = tuple([k in self._result_readers for k in (1, 0)])
        used = {n for names in self._reads for n in names}
        self.keep_inputs = tuple(i for i, n in enumerate(self._operands) if n in used)  # type: ignore[misc]
        self.keep_output = "y" in used  # type: ignore[misc]
        self.home = home
        #: Nanoseconds of an element, at most, and multiply-adds that take as long as compiled code
        #: saves; 0 where it saves nothing.
        slow = nanoseconds or (_ONE_LOOP_NANOSECONDS if types else _LOOP_NANOSECONDS)
        self._nanoseconds = slow if loop else 20 if self.writer is None else instructions_of(name)
        self._weight = self._saved = 0
        # elements from which ``in_pool`` is called
        self._few = min(memory.MIN_POOLED_ELEMENTS, MIN_ASIDE_NANOSECONDS // self._nanoseconds)
        if self.lower is not None and "branching" in self.traits:
            self._weight = _LOOP_MULTIPLY_ADDS
        elif self.lower is not None and (self.writer is None or "unvectorized" in self.traits):
            self._weight, self._saved = _SLOW_MULTIPLY_ADDS, saved(name)
            self._few = min(self._few, FEW_NANOSECONDS // self._saved)
        TABLE[name] = self
        reserve(name)

    def label(self) -> str:
        return self.name

    def _foreign(self, *xs: Any) -> Walk | None:
        wide = [dtypes.float64 if x.dtype.kind in "fV" else x.dtype for x in xs]
        types = self.types or ufuncs.types(self.loop, *(d.name for d in wide))
        return Walk(self.loop, types, self._output, self._nanoseconds) if types else None

    def __reduce__(self) -> Any:
        return _row, (self.name, self.home)

    def infer(self, *xs: Any) -> Any:
        shape = xs[0].shape if len(xs) == 1 else shapes.broadcast(*[x.shape for x in xs])
        dtype = xs[-1].dtype
        if self.name == "where" and xs[0].dtype.kind != "b":
            raise DTypeError(f"the condition must be bool, not {xs[0].dtype}; compare it (x != 0)")
        for x in xs[1:] if self.name == "where" else xs[self.whole:]:
            if x.dtype != dtype:
                raise DTypeError(f"operands have dtypes {' and '.join(str(x.dtype) for x in xs)}")
        return shape, self._result(dtype)

    def _result(self, dtype: np.dtype) -> np.dtype:
        if self.result == "same":
            return dtype
        if self.result == "bool":
            return dtypes.bool_
        return dtypes.real_of(dtype) if self.result == "real" else dtype

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        kind = xs[-1].dtype.kind
        small = memory.are_quick(xs, self._few, self._nanoseconds, self.stepped)
        if kind in self.direct or (kind == "V" and self.name in _IN_16_BITS):
            return silently(self.function if small else self.in_pool, *xs)
        if kind == "V":
            return aside(_WIDENED_NANOSECONDS * spread(xs), self._widened, *xs)
        return silently(aside, _WIDENED_NANOSECONDS * spread(xs), self.of_complex, *xs)

    def c_call(self, *xs: np.ndarray) -> Any:
        quick = memory.are_quick(xs, self._few, self._nanoseconds, self.stepped)
        return (self.function, ()) if quick and xs[-1].dtype.kind in self.direct else None

    def _widened(self, *xs: np.ndarray) -> np.ndarray:
        """Of bfloat16 numbers: in float32, rounded once."""
        wide = [x.astype(np.float32) if x.dtype.kind == "V" else x for x in xs]
        result = np.asarray(silently(self.function, *wide))
        return silently(result.astype, xs[-1].dtype) if result.dtype == np.float32 else result

    def layout_of(self, *xs: np.ndarray) -> np.ndarray:
        return as_operands(self, *xs)

    def in_pool(self, *xs: np.ndarray) -> np.ndarray:
        """The function on large arrays, with its result in pooled memory."""
        shape = shape_in_rows(xs)
        time = stepped_time(xs, spread(xs), self._nanoseconds, self.stepped)
        found: np.ndarray = aside(time, self._in_pool, shape, *xs)
        return found

    def _in_pool(self, shape: tuple[int, ...] | None, *xs: np.ndarray) -> np.ndarray:
        """The same here: of operands that have this shape, or are numbers, unless it is None.

        It is done by compiled code, once it has been wanted often, where NumPy's is many loops, one
        of Python's, or a slow one.
        """
        if self._weight and shape is not None:
            n = math.prod(shape)
            few = self._saved * n if n < memory.MIN_POOLED_ELEMENTS else 0
            if (found := HOOKS.each(self, xs, self._weight * n, few)) is not None:
                return found
        if self.writer is None or (shape is None and not all(map(has_rows, xs))):
            return self.function(*xs)
        shape = shapes.broadcast(*(x.shape for x in xs)) if shape is None else shape
        return self.writer(*xs, out=memory.empty(shape, self._result(xs[-1].dtype)))

    def fill(self, out: np.ndarray, *xs: np.ndarray) -> bool:
        if self.writer is None or xs[-1].dtype.kind not in self.direct:
            return False
        if out.size * instructions_of(self.name) >= _MOST_WRITTEN_NANOSECONDS:
            return False
        silently(self.writer, *xs, out=out)
        return True

    def product(self, i: int, g: Tensor, y: Tensor, xs: tuple[Tensor, ...]) -> Any:
        """``g`` times the derivative to operand ``i``; None where that is zero."""
        known = (*xs, g, y)
        rule: Any = self.rules[i]
        return rule(*[known[k] for k in self._found_at[i]])

    def needs(self, i: int, inputs: Any) -> bool:
        return any([inputs[k].requires_grad for k in self._readers[i]])

    def needs_result(self, inputs: Any) -> bool:
        return any([inputs[k].requires_grad for k in self._result_readers])

    def vjp(self, g: Tensor, y: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        known = (*xs, g, y)
        last: Any = xs[-1].node if xs[-1].array is None else xs[-1].array
        if last.dtype.kind == "c":
            return self._complex_vjp(g, y, *xs)
        results: list[Any] = []
        for x, rule, found_at in zip(xs, self.rules, self._found_at, strict=True):
            part = None
            if x._requires_grad and rule is not None:
                part = rule(*[known[k] for k in found_at])
                if part is not None and not alike(part, x):
                    part = sum_to(part, x.shape)
            results.append(part)
        return tuple(results)

    def _complex_vjp(self, g: Tensor, y: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        """The rules give dy = d * dx (its real part, where y is real); the adjoint is conj(d)."""
        results: list[Any] = []
        for i, x in enumerate(xs):
            part = None
            if x._requires_grad and self.rules[i] is not None:
                part = self.product(i, cast(g, x.dtype).conj(), y, xs)
            results.append(None if part is None else sum_to(part.conj(), x.shape))
        return tuple(results)

    def jvp(self, ts: Any, y: Tensor, *xs: Tensor) -> Any:
        total = None
        for i, t in enumerate(ts):
            if t is None or self.rules[i] is None:
                continue
            part = self.product(i, t, y, xs)
            if part is not None:
                total = part if total is None else total + part
        if total is None:
            return None
        total = total.real if total.dtype.kind == "c" and y.dtype.kind in "fV" else total
        return total if total.shape == y.shape else broadcast_to(total, y.shape)

    def lower(self, at: Any, *reads: Any) -> Any:
        values = [r.broadcast(at) for r in reads]
        half = values[-1].dtype
        if half in ("float16", "bfloat16") and self.name not in _IN_16_BITS:
            wide = [loops.cast(v, "float32") if v.dtype == half else v for v in values]
            if half == "float16" and self.name in ("maximum", "minimum"):
                wide.reverse()  # of two zeros NumPy gives the first there, elsewhere the second
            result = self._scalar(wide)
            return loops.cast(result, half) if result.dtype == "float32" else result
        return self._scalar(values)

    def _scalar(self, values: list[Any]) -> Any:
        return self.expand(*values) if self.expand else loops.call(self.name, *values)


def prepared(op: Elementwise, xs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Operands that the operation takes: of one dtype but for leading whole numbers."""
    if not op.whole:
        return _alike(op, xs)
    orders = tuple(cast(whole_numbers(op.name, x), dtypes.int64) for x in xs[:op.whole])
    return orders + _alike(op, xs[op.whole:])


def _with_limits(xs: tuple[Any, Any]) -> tuple[Any, Any]:
    """Operands of a comparison: a Python integer outside of the other's dtype is infinite."""
    a, b = xs
    if type(a) is int and isinstance(b, Tensor):
        return _with_limits((b, a))[::-1]
    if type(b) is int and isinstance(a, Tensor) and a.dtype.kind in "iu":
        limits = np.iinfo(a.dtype)
        if not limits.min <= b <= limits.max:
            return cast(a, dtypes.float64), np.inf if b > 0 else -np.inf
    return a, b


def _alike(op: Elementwise, xs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    if len(xs) == 2:
        operands: tuple[Tensor, ...] = pair(*(_with_limits(xs) if "relation" in op.traits else xs))
    else:
        operands = common(*xs) if len(xs) > 2 else (as_tensor(xs[0]),)
    dtype = operands[0].dtype
    if dtype.kind in op.kinds or (dtype.kind == "V" and "f" in op.kinds):
        return operands
    if dtype.kind == "b" and "signed" in op.traits:
        raise DTypeError(f"{op.name} takes numbers, not bool: write logical_not or logical_xor "
                         "(~ or ^), or convert to int64 first")
    if dtype.kind == "b" and "i" in op.kinds:  # as NumPy
        least = dtypes.int64 if all(x.weak for x in operands) else dtypes.int8
        return tuple(cast(x, least) for x in operands)
    if dtype.kind in "biu" and "f" in op.kinds:
        return tuple(cast(x, _float_of(op, operands)) for x in operands)
    allowed = ", ".join(d.name for d in dtypes.ALL if d.kind in op.kinds)
    hint = _OF_CONDITIONS.get(op.name, "") if dtype.kind in "fV" else ""
    raise DTypeError(f"{op.name} takes {allowed}, not {' and '.join(map(typed, xs))}{hint}")


#: What was probably meant where bits of floats are combined.
_OF_CONDITIONS = {
    **dict.fromkeys(("bitwise_and", "bitwise_or"),
                    "; conditions need parentheses: (a > 0) & (b > 0)"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"),
                    "; x.astype('int64') has bits, x * 2.0**n shifts floats"),
    "bitwise_invert": "; of a condition it is ~(x > 0), of a number -x or 1 - x",
}


def _float_of(op: Elementwise, operands: tuple[Tensor, ...]) -> np.dtype:
    """The dtype that integers become: that of Python's floats where an operator of Python's takes
    its numbers in a trace."""
    python = all(x.weak for x in operands) and any(x.array is None for x in operands)
    return dtypes.float64 if python and "operator" in op.traits else dtypes.config.float_dtype


def ready(op: Elementwise) -> tuple[Any, ...]:
    """A row as ``HOOKS.mapped`` takes it: the operation, its NumPy function, bits of the numbers of
    the dtypes for which that stands, up to how many elements it is called as it is, and what is
    called for more."""
    bits = sum({1 << np.dtype(c).num for c in "?bBhHiIlLqQefdFD" if np.dtype(c).kind in op.direct})
    return op, op.function, bits, op._few, op.in_pool


def mapped(known: tuple[Any, ...], *xs: Any) -> Any:
    """A row on eager tensors of one dtype, and Python numbers that take it; else NotImplemented.

    ``HOOKS.mapped`` is this, or native code for it (``runtime/native/eager.ll``).
    """
    if TRACES.running and MODE.get().trace is not None:
        return NotImplemented
    count_call()
    if len(xs) == 2:
        a, b = xs
        xs = (a if type(a) is Tensor else constant(a, b),
              b if type(b) is Tensor else constant(b, a))
    op, compute, *_ = known
    arrays: list[Any] = [x.array if type(x) is Tensor else None for x in xs]
    first = arrays[0]
    if first is None or first.dtype.kind not in op.direct:
        return NotImplemented
    for data in arrays:
        if data is None or data.dtype is not first.dtype:
            return NotImplemented
    try:
        data = THREAD.run(compute if memory.are_few(arrays, op._few) else op.in_pool, *arrays)
    except (ValueError, RuntimeError):
        return NotImplemented
    except MemoryError as error:
        raise why(op, xs, error) from None
    return HOOKS.finished(data if type(data) is _ndarray else np.asarray(data), op, xs)


HOOKS.mapped = mapped


def unary(op: Elementwise, summary: str = "", args: str = "", result: str = "") -> Function:
    """The public function of a row with one operand; the texts make its docstring."""
    known = ready(op)

    def function(input: TensorLike = NEEDED, /, *more: Any, **keywords: Any) -> Tensor:
        if more or keywords or input is NEEDED:
            return with_operands(known, ("input",), (input, *more), keywords)
        found: Any = HOOKS.mapped(known, input)
        return _unmapped(op, (input,)) if found is NotImplemented else found

    made = documented(function, op, summary, args, result)
    return made if isinstance(op.function, np.ufunc) else planned(made)


def binary(op: Elementwise, summary: str = "", args: str = "", result: str = "") -> Binary:
    """The public function of a row with two operands; the texts make its docstring."""
    known = ready(op)

    def unmapped(*xs: TensorLike) -> Tensor:
        return _unmapped(op, xs)

    unmapped.__name__ = unmapped.__qualname__ = op.name  # nodes record it as their maker
    by_plan = planned(unmapped)

    def function(input: TensorLike = NEEDED, other: TensorLike = NEEDED, /, *more: Any,
                 **keywords: Any) -> Tensor:
        if more or keywords or other is NEEDED:
            return with_operands(known, ("input", "other"), (input, other, *more), keywords)
        found: Any = HOOKS.mapped(known, input, other)
        return by_plan(input, other) if found is NotImplemented else found

    made = documented(function, op, summary, args, result)
    made = made if isinstance(op.writer, np.ufunc) or "operator" in op.traits else planned(made)
    made.ready = known
    made.unmapped = by_plan
    return with_methods(made)


def with_operands(known: tuple[Any, ...], names: tuple[str, ...], given: tuple[Any, ...],
           keywords: dict[str, Any]) -> Tensor:
    """A row called with names, with ``out``, or with arguments that do not fit, which it says."""
    op = known[0]
    xs, out = operands_of(op.name, names, given, keywords)
    if out is not None:
        return call(op, xs, out)
    found: Any = HOOKS.mapped(known, *xs)
    return _unmapped(op, xs) if found is NotImplemented else found


def _unmapped(op: Elementwise, xs: tuple[Any, ...]) -> Tensor:
    return call(op, xs) if (made := node_at_once(op, xs)) is None else made


def call(op: Elementwise, xs: tuple[Any, ...], out: Tensor | None = None) -> Tensor:
    """A row on anything that may stand beside a tensor: the long way."""
    if begins_program(xs):
        with in_program():
            return call(op, xs, out)
    if out is not None and not has(out, "ndim"):
        raise explain(TypeError(f"{op.name}() takes {op.arity} operand{'s' * (op.arity > 1)}; "
                                f"behind them stands `out`, a Tensor, and not {shown(out)}"),
                      op.name, xs)
    try:
        return apply_to(out, op, *prepared(op, xs))
    except EXPLAINED as error:
        if in_user_code(error):
            raise explain(error, op.name, xs) from None
        if (found := overridden(op.name, xs, {})) is not NotImplemented:
            return found
        raise renamed_error(error, op.name, xs) from None  # with operands as they were given


def operand(name: str, x: Any) -> Tensor:
    """An operand of a public function as a tensor, with its name in errors."""
    if type(x) is Tensor:
        return x
    try:
        return as_tensor(x)
    except EXPLAINED as error:
        raise explain(error, name, (x,)) from None


def _imported() -> str:
    """The module that is being imported, or runs."""
    frame: Any = sys._getframe(2)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def documented(function: Any, op: Elementwise, summary: str, args: str, result: str) -> Any:
    """The function with the row's name and a docstring with an example; pickles find it where
    the row is.  It shows the array API's signature and takes PyTorch's names, too."""
    if function.__code__.co_varnames[0] == "input":
        function.__signature__ = SIGNATURES[op.arity]
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = _imported()
    if summary:
        names = ["x"] if op.arity == 1 else [f"x{i + 1}" for i in range(op.arity)]
        function.__doc__ = docstring(
            op.name, names, op.kinds, op.result, op.whole, function.__module__, summary, args,
            result)
        numpydoc(function)
    return function
