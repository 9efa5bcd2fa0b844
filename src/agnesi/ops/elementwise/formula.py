"""Rows from formulas: one text gives the generated code and, where SciPy is missing, the value.

A formula is a function of a namespace of scalar operations and the operands, as in
``lambda m, x: x / m.sqrt(1 + x * x)``.  It runs on arrays, and on expressions of the loop language.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir import loops
from agnesi.core.keywords import strict
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import GradientError, at
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.base import elementwise
from agnesi.ops.base.compare import logical_and, logical_not, logical_or
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.elementwise import (
    TABLE,
    Elementwise,
    Function,
    Rule,
    call,
    documented,
    names_read,
    operand,
)
from agnesi.ops.base.select import where

Numeric = Callable[..., np.ndarray]
Formula = Callable[..., Any]
#: What is less of a value in single precision is nothing: a hundredth of its rounding, or less.
_ROUNDED_AWAY = 2.0 ** -34
#: Nanoseconds of work for which SciPy is not imported, which takes some three times as many.
_IMPORT = 60_000_000
#: Steps of a recurrence of SciPy's that take some ten milliseconds.
MOST_STEPS = 1e6
#: By the operand's position.
Bounds = Mapping[int, tuple[float, float]]
NO_BOUNDS: Bounds = {}
#: The bounds of a count of steps.
IN_STEPS = -MOST_STEPS, MOST_STEPS


@functools.cache
def in_scipy(name: str) -> Any:
    """SciPy's function of this name, if it is there."""
    try:
        special = importlib.import_module("scipy.special")
    except ImportError:
        return None
    return getattr(special, name, None) or getattr(special._ufuncs, name, None)


def _in_double(xs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Operands for SciPy's loops of double precision: of many, those of single precision have few
    digits left, or none (``kei``, ``betainc``)."""
    return tuple(x.astype(np.float64, copy=False) if x.dtype.kind == "f" else x for x in xs)


def or_scipy(name: str, fallback: Numeric, double: bool = False) -> Numeric:
    """SciPy's function of this name, else the fallback; looked for at the first call.

    ``double`` says that single precision is computed by the loop of double precision.
    """

    @functools.wraps(fallback)
    def function(*xs: np.ndarray) -> np.ndarray:
        found = in_scipy(name) or fallback
        given = _in_double(xs) if double else xs
        return np.asarray(found(*given)).astype(xs[-1].dtype, copy=False)

    return function


def scipy_later(name: str, own: Numeric, call: int, element: int, one: float = math.inf) -> Numeric:
    """SciPy's function of this name once it pays for its import, until then one of ours, which
    takes so many nanoseconds more for a call and for an element, or for ``one`` of few.

    These are no measured ones, so that a program changes to it in the same call each time.
    """
    left: float = _IMPORT
    recounts = HOOKS.recounts

    @functools.wraps(own)
    def function(x: np.ndarray) -> np.ndarray:
        nonlocal left, recounts
        if recounts != HOOKS.recounts:
            left, recounts = _IMPORT, HOOKS.recounts
        if left > 0:
            left -= min(call, one * x.size) + element * x.size
            found = own
        else:
            found = in_scipy(name) or own
        return np.asarray(found(x)).astype(x.dtype, copy=False)

    return function


def from_scipy(name: str) -> Any:
    """SciPy's function of this name; an error where SciPy is missing."""
    found = in_scipy(name)
    if found is None:
        raise ImportError(
            f"{name} is computed by SciPy, which is not installed or too old: "
            "pip install -U 'agnesi[scipy]'"
        )
    return found


def only_scipy(name: str, function: Numeric) -> Numeric:
    """A function that calls SciPy's of this name; an error where SciPy is missing."""

    def value(*xs: np.ndarray) -> np.ndarray:
        result = function(from_scipy(name), *xs)
        return np.asarray(result).astype(xs[-1].dtype, copy=False)

    return value


def slopes_in_double(name: str, rules: tuple[Rule | None, ...]) -> tuple[Rule | None, ...]:
    """Rules that compute derivatives of narrower floats in double precision, too, from a result
    that is computed again where they read it with all operands: it is rounded."""
    return tuple([rule and _in_double_rule(name, rule, len(rules)) for rule in rules])


def _in_double_rule(name: str, rule: Rule, arity: int) -> Rule:
    names = names_read(rule)
    if "g" not in names:  # the derivative is zero
        return rule
    again = "y" in names and len(names) == arity + 2

    @functools.wraps(rule)
    def slope(*known: Tensor) -> Any:
        dtype = known[names.index("g")].dtype
        if dtype.kind not in "fV" or dtype.itemsize == 8:
            return rule(*known)
        wide = {n: cast(v, dtypes.float64) if v.dtype.kind in "fV" else v
                for n, v in zip(names, known, strict=True)}
        if again:
            wide["y"] = call(TABLE[name], tuple([wide[n] for n in names if n not in ("g", "y")]))
        found = rule(*wide.values())
        return None if found is None else cast(found, dtype)

    return slope


def called(name: str, rules: tuple[Rule | None, ...], home: str, *, own: str = "",
           output: int | None = None, whole: int = 0, kinds: str = "f", types: str = "",
           nanoseconds: int = 0) -> Elementwise:
    """A row that SciPy's universal function computes, in compiled code too.

    ``own`` is our name, where it is another; ``output`` the result that is meant, of several;
    the first ``whole`` operands are whole numbers; ``types`` names the one loop that serves,
    and ``nanoseconds`` those of a loop whose elements take longer than others.
    """
    def value(found: Any, *xs: np.ndarray) -> Any:
        if types:
            xs = tuple(x.astype(t) for x, t in zip(xs, types.partition("->")[0], strict=True))
        else:
            xs = _in_double(xs)
        result = found(*xs)
        return result if output is None else result[output]

    loop = f"scipy.special._ufuncs.{name}" + (f":{output}" if output else "")
    rules = slopes_in_double(own or name, rules)
    return Elementwise(own or name, only_scipy(name, value), rules, kinds=kinds, loop=loop,
                       types=types, nanoseconds=nanoseconds, whole=whole, home=home)


def each(function: Callable[[float], float]) -> Numeric:
    """A function of Python floats, on arrays."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(ufunc(x.astype(np.float64)), np.float64)


class _OnScalars:
    """The namespace of formulas on the loop language.

    ``single`` says that results are rounded to single precision: they need fewer terms.
    """

    eager = False

    def __init__(self, single: bool = False) -> None:
        self.single = single

    def __getattr__(self, name: str) -> Any:
        known = TABLE.get(name)
        if known is None or known.expand is None:
            return functools.partial(loops.call, name)
        expand = known.expand
        formula = getattr(expand, "formula", None)
        if self.single and formula is not None:
            return lambda *xs: formula(self, *loops.alike(name, xs))
        return lambda *xs: expand(*loops.alike(name, xs))

    @staticmethod
    def steps(most: int, wanted: Any, operands: Sequence[Any], starts: Sequence[Any], step: Any
              ) -> loops.Expr:
        """As ``loops.in_steps``, with steps counted in floats.

        ``step(n, values, *operands)`` gives the next values, and whether there is another step.
        """
        def one(iteration: loops.Expr, values: list[loops.Expr]) -> Any:
            following, more = step(loops.cast(iteration, "float64"), values, *operands)
            return known(following), more

        def known(values: Sequence[Any]) -> tuple[loops.Expr, ...]:
            return loops.alike("", (operands[0], *values))[1:]

        within: Any = [wanted, *operands]
        return loops.in_steps(within, most, wanted, known(starts), one)


class _OnArrays:
    """The namespace of formulas on arrays: the rows' own functions."""

    single, eager = False, True

    def __getattr__(self, name: str) -> Any:
        if name not in TABLE:
            raise AttributeError(name)
        function = TABLE[name].function
        return lambda *xs: function(*(np.asarray(x, np.float64) if type(x) in (int, float) else x
                                      for x in xs))

    @staticmethod
    def steps(most: int, wanted: Any, operands: Sequence[Any], starts: Sequence[Any], step: Any
              ) -> np.ndarray:
        """Repeat ``step`` on the elements of arrays that need another one."""
        shape = shapes.broadcast(*(np.shape(x) for x in (wanted, *operands, *starts)))
        flat = [np.broadcast_to(x, shape).ravel() for x in (*operands, *starts)]
        result = flat[len(operands)].copy()
        open_ = np.flatnonzero(np.broadcast_to(wanted, shape))
        operands, values = ([x[open_] for x in flat[: len(operands)]],
                            [x[open_] for x in flat[len(operands):]])
        for n in range(most):
            if not open_.size:
                break
            values, more = step(float(n), values, *operands)
            result[open_] = values[0]
            open_ = open_[more]
            operands, values = ([x[more] for x in xs] for xs in (operands, values))
        return result.reshape(shape)


_SCALARS, _ROUNDED, _ARRAYS = _OnScalars(), _OnScalars(single=True), _OnArrays()


def value_of(formula: Formula) -> Numeric:
    """A formula on arrays, in double precision."""

    def function(*xs: np.ndarray) -> np.ndarray:
        return np.asarray(formula(_ARRAYS, *(x.astype(np.float64) for x in xs)))

    return function


def code_of(formula: Formula, double: bool = True) -> Callable[..., loops.Expr]:
    """A formula in the loop language, in double precision or its operands'."""

    def expand(*xs: loops.Expr) -> loops.Expr:
        given = (loops.cast(x, "float64") if double else x for x in xs)
        scalars = _ROUNDED if double and xs[-1].dtype != "float64" else _SCALARS
        return loops.cast(formula(scalars, *given), xs[-1].dtype)

    if double:
        expand.formula = formula  # type: ignore[attr-defined]
    return expand


def mended(function: Numeric, value: Numeric, where: Callable[[np.ndarray], Any]) -> Numeric:
    """``function``, and ``value`` for operands where it loses digits."""

    def function_or_value(x: np.ndarray) -> np.ndarray:
        y, there = function(x), np.asarray(where(x))
        if there.any():
            y = np.array(y)
            y[there] = value(x[there])
        return y

    return function_or_value


def row(name: str, formula: Formula, rules: tuple[Rule | None, ...], home: str, *,
        scipy: str = "", above: float = -np.inf, double: bool = True,
        wide_slopes: bool = False) -> Elementwise:
    """A row of real functions with generated code.

    ``home`` is the module that makes it.  ``scipy`` names SciPy's function, if it has one, which
    then computes eager values, in functions of one operand only those greater than ``above``, since
    it loses digits below.  Generated code computes in ``double`` precision, or the operands', and
    with ``wide_slopes`` derivatives, whose terms cancel or overflow, in double precision as well.
    """
    value = value_of(formula)
    if scipy:
        function = or_scipy(scipy, value)
        if above > -np.inf:
            function = mended(function, value, lambda x: x < above)
    else:
        def function(*xs: np.ndarray) -> np.ndarray:
            return value(*xs).astype(xs[-1].dtype, copy=False)
    if wide_slopes:
        rules = slopes_in_double(name, rules)
    op = Elementwise(name, function, rules, kinds="f", expand=code_of(formula, double), home=home)
    if not scipy or above > -np.inf:  # with the formula, too
        op.traits |= {"composed"}  # type: ignore[misc]
    return op


def unary(op: Elementwise, summary: str = "", args: str = "", result: str = "") -> Function:
    """The public function of a row of ``agnesi.special`` with one operand."""
    return _special(elementwise.unary(op, summary, args, result))


def binary(op: Elementwise, summary: str = "", args: str = "", result: str = "") -> Function:
    """The public function of a row of ``agnesi.special`` with two operands."""
    return _special(elementwise.binary(op, summary, args, result))


def within(name: str, most: Bounds, xs: tuple[TensorLike, ...],
           but: Callable[..., Tensor] | None = None) -> tuple[TensorLike, ...]:
    """Operands whose sizes SciPy takes as many steps as, in one call that no signal ends: within
    bounds, by position, and NaN beyond; where an integer is beyond, the last operand is NaN.
    ``but`` says of which operands SciPy takes few steps nevertheless.

    Eagerly, operands all of which are within bounds are only looked at: comparing and selecting
    took ``eval_hermite`` from 4 to 12 us for 8 elements, and now to 8.
    """
    found = list(xs)
    for k, (least, greatest) in most.items():
        x = xs[k]
        if isinstance(x, int | float) and max(least, -MOST_STEPS) <= x <= min(greatest, MOST_STEPS):
            continue
        if isinstance(x, (list, tuple)) and x and all(
                type(v) in (int, float) and least <= v <= greatest for v in x):
            continue  # it takes the dtype of the others
        x = operand(name, x)
        kind = x.dtype.kind
        if kind in "iu":  # the other loop, or the same in floats
            least, greatest = max(least, -greatest), min(greatest, -least)
        if kind not in "fiu" or (is_known(x) and _are_between(x.array, least, greatest)):
            continue  # few, or refused by the row
        beyond = logical_or(x < least, x > greatest)
        if but is not None:
            beyond = logical_and(beyond, logical_not(but(*xs)))
        if kind == "f":
            found[k] = where(beyond, math.nan, x)
        else:
            found[k] = where(beyond, 0, x)
            found[-1] = where(beyond, math.nan, operand(name, found[-1]))
    return tuple(found)


def _are_between(x: np.ndarray, least: float, greatest: float) -> bool:
    """Return whether all elements of an array are in [least, greatest]."""
    return not x.size or (float(x.min()) >= least and float(x.max()) <= greatest)


def several(op: Elementwise, summary: str = "", args: str = "", result: str = "",
            integers: Elementwise | None = None, most: Bounds = NO_BOUNDS,
            but: Callable[..., Tensor] | None = None) -> Function:
    """The public function of a row of ``agnesi.special`` with more operands, or of mixed dtypes.

    ``integers`` is the row of integers for the first operand, if they have one of their own; for
    ``most`` and ``but`` see :func:`within`.
    """

    for row in (op, integers):
        if row is not None:
            row.stepped = tuple(most)

    def row_of(x1: TensorLike) -> Elementwise:
        return op if integers is None or as_tensor(x1).dtype.kind not in "iu" else integers

    def two(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
        return call(row_of(x1), within(op.name, most, (x1, x2)), out)

    def three(x1: TensorLike, x2: TensorLike, x3: TensorLike, /, *, out: Tensor | None = None
              ) -> Tensor:
        return call(row_of(x1), within(op.name, most, (x1, x2, x3), but), out)

    def four(x1: TensorLike, x2: TensorLike, x3: TensorLike, x4: TensorLike, /, *,
             out: Tensor | None = None) -> Tensor:
        return call(op, (x1, x2, x3, x4), out)

    def five(x1: TensorLike, x2: TensorLike, x3: TensorLike, x4: TensorLike, x5: TensorLike, /, *,
             out: Tensor | None = None) -> Tensor:
        return call(op, (x1, x2, x3, x4, x5), out)

    function = (two, three, four, five)[op.arity - 2]
    return _special(strict(documented(function, op, summary, args, result)))


def scipys(name: str, rules: tuple[Rule | None, ...], home: str, summary: str = "", args: str = "",
           result: str = "", two_loops: bool = False, most: Bounds = NO_BOUNDS,
           but: Callable[..., Tensor] | None = None, **keywords: Any) -> Function:
    """The public function of a row that SciPy computes; for keywords see :func:`called`.

    With ``two_loops`` integers for the first operand have a row, and SciPy's loop, of their own;
    for ``most`` and ``but`` see :func:`within`.
    """
    if most and summary:
        summary += "\n\nNaN where {}, which takes SciPy as many steps.".format(" or ".join(
            f"``x{k + 1}`` is beyond {min(map(abs, bounds)):.0e}" for k, bounds in most.items()))
    op = called(name, rules, home, **keywords)
    if two_loops:
        integers = called(name, (None, *rules[1:]), home, own=f"{name}_whole", whole=1)
        return several(op, summary, args, result, integers, most)
    if op.whole or most or op.arity > 2:
        return several(op, summary, args, result, most=most, but=but)
    return (unary if op.arity == 1 else binary)(op, summary, args, result)


def scipy_rows(home: str) -> Callable[..., Function]:
    """Return the function that declares the rows of a module that SciPy computes.

    It takes a name, a summary, operands and result of the example, and a derivative rule for each
    operand; for keywords see :func:`called`.
    """
    def documented(name: str, summary: str, args: str, result: str, *rules: Rule | None,
                   **keywords: Any) -> Function:
        return scipys(name, rules, home, summary, args, result, **keywords)

    return documented


def _special(function: Function) -> Function:
    """With an example that says where the function is found."""
    if function.__doc__:
        function.__doc__ = function.__doc__.replace(">>> ag.", ">>> ag.special.")
    return function


def spread_alike(*arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays of one shape, of any number of axes: NumPy's function for it takes 32.

    >>> import numpy as np
    >>> from agnesi.ops.elementwise.formula import spread_alike
    >>> [x.shape for x in spread_alike(np.ones(2), np.ones((3, 1)))]
    [(3, 2), (3, 2)]
    """
    shape = shapes.broadcast(*(x.shape for x in arrays))
    return [np.broadcast_to(x, shape) for x in arrays]


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, the constant coefficient first."""
    total = x * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        total = total * x + c
    return total


def chebyshev(m: Any, t: Any, coefficients: Sequence[float]) -> Any:
    """A Chebyshev series for t in [-1, 1], by Clenshaw's recurrence."""
    if m.single:
        coefficients = _leading(tuple(coefficients))
    twice = t + t
    last, total = twice * 0.0 + coefficients[-1], twice * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[1:-2]):
        last, total = total, twice * total - last + c
    return t * total - last + coefficients[0]


def power_series(m: Any, t: Any, coefficients: Sequence[float]) -> Any:
    """A power series for t in [0, 1], by Horner's scheme."""
    if m.single:
        coefficients = _leading(tuple(coefficients))
    total = t * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        total = t * total + c
    return total


@functools.cache
def _leading(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """The coefficients without the last ones, which single precision rounds away together."""
    sizes = [abs(c) for c in coefficients]
    count = len(sizes)
    while sum(sizes[count - 1:]) <= _ROUNDED_AWAY * max(sizes):
        count -= 1
    return coefficients[:count]


def no_slope(name: str, operand: str, order: str = "") -> Any:
    """The rule of an operand whose derivative, of some order, is not known in closed form."""

    def rule(g: Tensor) -> Tensor:
        text = f"{name} has no {order}derivative to {operand}; hold it with ag.stop_gradient"
        raise GradientError(at(text))

    return rule


def fixed(name: str, count: int) -> tuple[Any, ...]:
    """The rules of so many parameters without a known derivative."""
    return (no_slope(name, "its parameters"),) * count
