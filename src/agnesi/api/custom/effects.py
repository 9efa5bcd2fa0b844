"""Python in the middle of compiled code: callbacks and prints, in program order."""

from __future__ import annotations

import builtins
import re
import weakref
from collections.abc import Callable, Sequence
from string import Formatter
from typing import Any

import numpy as np

from agnesi.autodiff.recompute import After
from agnesi.core.dispatch import apply, assign, notice, record_many
from agnesi.core.op import Op
from agnesi.core.public import explain_errors
from agnesi.core.support import tree
from agnesi.core.support.config import HOOKS, STATE
from agnesi.core.support.foreign import parameters_of
from agnesi.core.support.record import record
from agnesi.core.support.tracing import current_trace, is_known, is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.core.transformed import name_of
from agnesi.ops.base.convert import as_tensor, check_unmasked
from agnesi.ops.control.loop import applied

#: What every effect reads and writes: it keeps them in order, and each of them alive.
_ORDER = wrap(np.zeros((), np.int8))

#: Traces in which there were effects.
_WITH_EFFECTS: weakref.WeakSet[Any] = weakref.WeakSet()

Types = tuple[tuple[tuple[Any, ...], np.dtype], ...]


@record
class Callback(Op):
    """A Python function of arrays; an ``effect`` also takes and gives what keeps the order."""

    function: Callable[..., Any]
    types: Types
    effect: bool = False
    copies = True
    keep_inputs = ()
    no_rule = ("give the function one with ag.op(vjp=...) or ag.custom_vjp, or keep gradients out "
               "of its arguments with ag.stop_gradient")

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.types) + self.effect
        self.__dict__["name"] = "print" if type(self.function) is _Line else "callback"

    def label(self) -> str:
        return f"callback[{getattr(self.function, '__name__', 'function')}]"

    def infer(self, *xs: Any) -> Any:
        types = (*self._first, *self.types)
        return types if len(types) > 1 else types[0]

    @property
    def _first(self) -> Types:
        return (((), _ORDER.dtype),) if self.effect else ()

    def perform(self, *xs: np.ndarray) -> Any:
        first, arrays = (xs[:1], xs[1:]) if self.effect else ((), xs)
        found = self.function(*[x.copy() for x in arrays])
        if type(found) is np.ndarray:
            leaves = [found] if self.types else []
        else:
            given = tree.flatten(found)[0] if self.types else []
            for v in given:
                check_unmasked(v)
            leaves = list(map(np.asarray, given))
        if len(leaves) != len(self.types):
            raise self._refused(leaves)
        results = [*first]
        for v, (shape, dtype) in zip(leaves, self.types, strict=True):
            if v.shape != shape or not (
                v.dtype == dtype or np.can_cast(v.dtype, dtype, "same_kind")
            ):
                raise self._refused(leaves)
            results.append(v.astype(dtype))  # a copy, as it may be an operand, or kept by the user
        return tuple(results) if len(results) > 1 else results[0]

    def _refused(self, leaves: Sequence[np.ndarray]) -> TypeError:
        wanted = [f"{d}{[*map(int, s)]}" for s, d in self.types]
        found = [f"{v.dtype}{list(v.shape)}" for v in leaves]
        return TypeError(
            f"{getattr(self.function, '__name__', 'the function')} returned "
            f"{', '.join(found) or 'nothing'} where {', '.join(wanted)} was declared"
        )


class _Rows:
    """A function of arrays, called for each example of some of its operands."""

    def __init__(self, function: Callable[..., Any], rows: Sequence[bool], length: int) -> None:
        self.function = function
        self.rows = rows
        self.length = length
        self.__name__ = name_of(function)

    def __call__(self, *arrays: np.ndarray) -> Any:
        found = []
        for i in range(self.length):
            given = [x[i] if r else x for x, r in zip(arrays, self.rows, strict=True)]
            found.append(tree.flatten(self.function(*given))[0])
        return tuple(np.stack(v) for v in zip(*found, strict=True))


def _effect(function: Callable[..., Any], types: Types, xs: Sequence[Tensor]) -> list[Tensor]:
    """Results of a function that is called whenever, and in the order in which, this runs."""
    op = Callback(function, types, True)
    if STATE.examples is not None and any(x.array is None for x in xs):
        length = STATE.examples.length

        def act(rows: Sequence[bool], *whole: Tensor) -> list[Tensor]:
            many = tuple(((length, *s), d) for s, d in types)
            return _effect(_Rows(function, rows, length), many, whole)

        found: list[Tensor] = STATE.examples.outside(act, op, xs, each=True)
        return found
    return ordered(op, xs)


def ordered(op: Op, xs: Sequence[Tensor]) -> list[Tensor]:
    """Results of an operation that runs whenever, and in the order in which, this does.

    It takes and gives what keeps the order of effects before all else.
    """
    if is_known(*xs):
        arrays: list[Any] = [x.array for x in xs]
        done = op.perform(_ORDER.array, *arrays)
        if op.outputs == 1:
            return []
        results = [wrap(v) for v in done]
        if STATE.recording and any(x._requires_grad for x in xs):
            record_many(results, op, (_ORDER, *xs))
        return results[1:]
    if not is_tracing():
        raise TypeError(
            "an effect has no place in a declared graph, whose operations run when their "
            "results are needed: give it a result and use that, or write a function for ag.jit"
        )
    token, *results = applied(op, _ORDER, *xs)
    if results:
        notice("acted")
    assign(_ORDER, token)
    _WITH_EFFECTS.add(current_trace())
    return results


def _behind_effects(condition: Tensor) -> Tensor:
    trace = current_trace()
    while trace is not None and trace not in _WITH_EFFECTS:
        trace = getattr(trace, "around", None)  # of a loop's body or a branch
    found: Tensor = condition if trace is None else apply(After(), condition, _ORDER)
    return found


HOOKS.behind_effects = _behind_effects


def _takes_nothing(function: Any) -> bool:
    """Return whether a function can be called without arguments; True where that is unknown."""
    if isinstance(function, np.ufunc):  # older ones of NumPy have no signature
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               for p in (parameters_of(function) or {}).values())


@explain_errors
def callback(function: Callable[..., Any], like: object, *args: Any, effect: bool = False) -> Any:
    """A Python function of NumPy arrays in the middle of tensors, compiled code included.

    It runs where its result is needed: never, if it is not, or once for calls with equal
    arguments.  With ``effect`` it runs once each time this is reached, in program order with all
    other effects, whatever becomes of its result.  It has no derivative, and requesting one is an
    error: :func:`agnesi.op` and ``custom_vjp`` give one, ``stop_gradient`` keeps gradients out.

    :param function: Takes an array for each of ``args``, and returns arrays like ``like``.
    :param like: What the results look like; only shapes and dtypes count.  None: no result, and an
        effect.
    :type like: nest of tensors or arrays, or None
    :param *args: Tensors, or what may stand for them.
    :type *args: array_like
    :param effect: Whether calling it does something besides its result.
    :returns: Like ``like``; None where that is None.
    :rtype: nest of Tensor
    :raises TypeError: If the function returns something else than it should.
    :see: print, op, custom_vjp, ensure

    >>> import agnesi as ag
    >>> import numpy as np
    >>> f = ag.jit(lambda x: ag.callback(np.sort, x, x * 2) + 1)
    >>> f(ag.tensor([3.0, 1.0]))
    tensor([3., 7.])
    """
    if not args and like is not None and not _takes_nothing(function):
        name = name_of(function)
        raise TypeError(f"{name} takes operands, and none are given: the second argument only "
                        f"says what the result looks like; write callback({name}, x, x) for a "
                        "result like x")
    xs = [as_tensor(x) for x in args]
    leaves, shape = ([], None) if like is None else tree.flatten(like)
    models = [x if hasattr(x, "dtype") else as_tensor(x) for x in leaves]
    types = tuple((tuple(x.shape), np.dtype(x.dtype)) for x in models)
    if effect or like is None:
        results = _effect(function, types, xs)
    else:
        results = list(applied(Callback(function, types), *xs))
    return None if shape is None else shape.build(results)


@record
class _Printed(Op):
    """The first operand; all are printed when it is computed."""

    function: Callable[..., Any]
    name = "print"
    keep_inputs = ()

    def infer(self, x: Any, *xs: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        self.function(*xs)
        return xs[0].copy()

    def vjp(self, g: Tensor, y: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        return (g, *(None,) * (len(xs) - 1))

    def jvp(self, ts: Any, y: Tensor, *xs: Tensor) -> Any:
        return ts[0]


class _Line:
    """Prints arrays as a format string says."""

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text = text
        self.names = names
        self.__name__ = "print"

    def __call__(self, *arrays: np.ndarray) -> tuple[()]:
        values = [np.array(x) for x in arrays]
        first = len(values) - len(self.names)
        named = dict(zip(self.names, values[first:], strict=True))
        builtins.print(self.text.format(*values[:first], **named), flush=True)
        return ()


@explain_errors
def print(text: Any, *args: Any, **named: Any) -> Any:
    """Print a line each time this is reached, in compiled code too, in program order.

    In a declared graph, where nothing is reached, the line is printed when the result is computed.

    :param text: A format string, as for ``str.format``; values come as NumPy arrays.  Where it
        names none, or is a tensor, they follow each other as with Python's own ``print``.
    :type text: str
    :param *args: Tensors, or what may stand for them.
    :type *args: array_like
    :param **named: The same, for the names in the format string.
    :type **named: array_like
    :returns: The first value, unchanged, to be used in a declared graph.
    :rtype: Tensor or None
    :raises TypeError: If the format string does not fit the values.
    :see: callback, ensure

    >>> @ag.jit
    ... def f(x):
    ...     ag.print("sum {} of {x}", x.sum(), x=x)
    ...     return x * 2
    >>> y = f(ag.tensor([1.0, 2.0]))
    sum 3.0 of [1. 2.]
    """
    if not isinstance(text, str):
        text, args = "", (text, *args)
    if "{" not in text:
        text = " ".join([text] * bool(text) + ["{}"] * len(args))
    wanted = [field for _, field, _, _ in Formatter().parse(text) if field is not None]
    missing = [w for w in (re.split(r"[.\[]", field)[0] for field in wanted)
               if w and not w.isdigit() and w not in named]
    if missing:
        raise TypeError(f"the text has {{{missing[0]}}}, which is none of the arguments by name, "
                        f"{', '.join(named) or 'as there are none'}")
    line = _Line(text, tuple(named))
    xs = [as_tensor(x) for x in (*args, *named.values())]
    if not is_tracing() and STATE.examples is None and any(x.array is None for x in xs):
        return apply(_Printed(line), *xs)
    _effect(line, (), xs)
    return xs[0] if xs else None
