"""Control as Theano writes it: ``scan`` with taps and updates, ``until``, ``ifelse`` and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnesi.api.control.nests import Nest, call_user_function, decision, is_symbolic
from agnesi.api.control.steps import Loop
from agnesi.api.control.traced import Row, can_be_stepwise, chosen_graphs, tracing
from agnesi.core.dispatch import apply, assign
from agnesi.core.integers import integer, known_integer
from agnesi.core.ir.dims import combine
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import ShapeError, TraceError, at
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import where
from agnesi.ops.base.slices import flip
from agnesi.ops.control.loop import FirstRows
from agnesi.ops.indexing.masked import first_rows


class until:  # noqa: N801 - used as a function
    """The last of what the function of a :func:`scan` returns: stop behind this step if it holds.

    :param condition: A bool scalar.
    :type condition: Tensor
    :see: symbolic.scan

    >>> from agnesi import symbolic as T
    >>> x = T.fscalar("x")
    >>> powers, _ = T.scan(lambda p: (p * 2, T.until(p * 2 > x)), outputs_info=1.0, n_steps=10)
    >>> powers[-1].eval({x: 100.0})
    array(128.)
    """

    def __init__(self, condition: Tensor) -> None:
        self.condition = condition


class _Sequence:
    """A sequence and the rows of it that a step reads: those at its taps."""

    def __init__(self, given: Any) -> None:
        entry = _entry(given, "input", "sequences")
        self.x = as_tensor(entry["input"])
        self.taps = _listed(entry.get("taps", [0]))
        if not self.x.shape:
            raise ShapeError(at(f"scan: a sequence is {typed(self.x)}, a scalar without rows"))
        self.low, self.high = min(*self.taps, 0), max(*self.taps, 0)

    @property
    def steps(self) -> Any:
        """How many steps all taps have rows for."""
        return self.x.shape[0] - (self.high - self.low)

    def rows(self, steps: Any, backwards: bool) -> list[Tensor]:
        """A sequence for each tap."""
        x = flip(self.x, 0) if backwards else self.x
        return [x[tap - self.low: tap - self.low + steps] for tap in self.taps]


class _Output:
    """An output: what it begins with, and which of its earlier values a step reads."""

    def __init__(self, given: Any) -> None:
        entry = _entry(given, "initial", "outputs_info")
        initial = entry.get("initial")
        self.taps = [] if initial is None else _listed(entry.get("taps", [-1]))
        self.depth = max((-t for t in self.taps), default=0)
        if any(t >= 0 for t in self.taps):
            raise ValueError(at(f"scan: the taps of an output look back: {self.taps} must be < 0"))
        if len(set(self.taps)) < len(self.taps):
            raise ValueError(at(f"scan: the taps of an output are different: {self.taps}"))
        self.first: tuple[Any, ...] = ()
        if self.taps == [-1]:
            self.first = (initial,)
        elif self.taps:
            x = as_tensor(initial)
            if not x.shape or (isinstance(x.shape[0], int) and x.shape[0] < self.depth):
                raise ShapeError(
                    at(
                        f"scan: taps {self.taps} need {self.depth} first rows, but initial is "
                        f"{typed(x)}; give it a leading axis with the oldest value first"
                    )
                )
            self.first = tuple(x[i] for i in range(self.depth))

    def read(self, window: Sequence[Any]) -> list[Any]:
        """Values at the taps, of the last so many."""
        return [window[self.depth + tap] for tap in self.taps]


def _entry(given: Any, value: str, argument: str) -> Mapping[str, Any]:
    """The description of a sequence or output: a dict, or the value alone."""
    if not isinstance(given, Mapping):
        return {value: given}
    if unknown := [key for key in given if key not in (value, "taps", "return_steps", "inplace")]:
        raise TypeError(at(f"scan: {argument} are told by dict({value}=x, taps=[-1]); "
                           f"{unknown[0]!r} is none of these keys"))
    return given


def _listed(x: Any) -> list[Any]:
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]


class _Step:
    """The user's function on windows of the outputs' last values."""

    def __init__(self, fn: Callable[..., Any], outputs: list[_Output]) -> None:
        self.fn, self.outputs = fn, outputs
        #: What stays the same in all steps and is not handed to each of them.
        self.bound: tuple[Any, ...] = ()
        #: Whether it goes into a graph, whatever its operands are.
        self.symbolic = False

    def results(self, windows: Any, rows: Sequence[Any],
                given: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results of the function, and the condition to stop or None."""
        taps = [v for o, w in zip(self.outputs, windows, strict=False) for v in o.read(w)]
        found = call_user_function("scan", "fn(*rows, *earlier values, *non_sequences): "
                                   f"{len(rows)}, {len(taps)} and {len(given)} of them", self.fn,
                                   *rows, *taps, *given)
        stop, updates = None, {}
        parts = list(found) if isinstance(found, tuple) else [found]
        rest = []
        for part in parts:
            if isinstance(part, until):
                stop = part.condition
            elif isinstance(part, dict):
                updates = part
            else:
                rest.append(part)
        if len(rest) == 1 and isinstance(rest[0], list):
            rest = rest[0]
        for target, value in updates.items():
            self.symbolic = True
            assign(target, as_tensor(value, target.dtype), state=True)
        return rest, stop

    def probe(self, carry: Nest, rows: Sequence[Tensor], given: Sequence[Any]) -> bool:
        """Return whether the function returns a condition to stop."""
        stepwise = can_be_stepwise(current_trace())
        with tracing(*carry.tensors, *rows) as trace:
            trace.finds_sizes = stepwise
            windows = carry.build([trace.variable(t) for t in carry.tensors])
            row = [trace.variable(Row(x)) for x in rows]
            results, stop = self.results(windows, row, given)
        self.symbolic = self.symbolic or is_symbolic(*(c.outer for c in trace.captures.values()))
        if self.outputs and len(results) != len(self.outputs):
            raise TypeError(
                at(
                    f"scan: the function returns {len(results)} outputs, but outputs_info tells of "
                    f"{len(self.outputs)}; give None for those without earlier values"
                )
            )
        return stop is not None

    def __call__(self, carry: Any, rows: Any, *given: Any) -> Any:
        windows, _ = carry
        results, stop = self.results(windows, rows, given or self.bound)
        moved = tuple((*w[1:], r) if w else () for w, r in zip(windows, results, strict=False))
        stop = as_tensor(False) if stop is None else decision("scan", "until()", stop)
        return (moved, stop), tuple(results)


@strict
def scan(
    fn: Callable[..., Any],
    sequences: Tensor | Mapping[str, Any] | Sequence[Any] | None = None,
    outputs_info: Tensor | Mapping[str, Any] | Sequence[Any] | None = None,
    non_sequences: TensorLike | None = None,
    n_steps: TensorLike | None = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    *,
    strict: bool = False,
) -> tuple[Any, dict[Any, Any]]:
    """A loop over sequences, in Theano's words; :func:`agnesi.scan` is the same for nests.

    :param fn: Gets the sequences' rows, tap by tap, then earlier values of the outputs, then the
        non-sequences.  Returns an output or a list of outputs; beside them, in a tuple, a dict of
        updates of shared variables, and ``until(condition)``.
    :param sequences: Run over along their first axis.  ``dict(input=x, taps=[-1, 0, 1])`` gives a
        step several rows of ``x``, counted from its own.
    :type sequences: Tensor, dict, or list of them
    :param outputs_info: The value before the first step, for each output that a later step reads;
        None for the others.  ``dict(initial=x, taps=[-2, -1])`` gives a step several earlier
        values; the rows of ``x`` are those before the first step, the oldest first.
    :type outputs_info: Tensor, dict, None, or list of them
    :param non_sequences: What every step gets.
    :type non_sequences: Tensor or list of Tensor
    :param n_steps: How many steps to do; by default as many as there are rows.  Inside of other
        loops and of ``jit``, a tensor must be an input of the function, or be computed from sizes.
    :type n_steps: int, Dim or Tensor, optional
    :param truncate_gradient: Let gradients flow through the last so many steps only; -1 is all.
        Beside ``until`` the loop runs once more before, to count its steps.
    :param go_backwards: Begin with the last row of each sequence.
    :param strict: Refuse what ``fn`` uses without being given it; not the states that it changes,
        such as those of random streams.
    :returns outputs: Each output's values in all steps, in the order of the steps.  Where ``until``
        ended the loop, they have the rows of the steps that were done.  A compiled function that
        needs to know how many rows there are (not for the last one, ``outputs[-1]``, and in ``jit``
        not for sums of all) runs the loop without its results first.  Inside of other loops, where
        no shape changes from step to step, rows can be summed up, and the last one taken.
    :rtype: Tensor or list of Tensor
    :returns updates: New values of what the steps change, for ``updates`` of ``ag.function``.
    :rtype: dict
    :raises TypeError: If ``fn`` returns something else than outputs, updates and ``until``.
    :raises ValueError: If sequences, taps or steps do not fit.
    :see: agnesi.scan, symbolic.until, symbolic.map

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> before = dict(initial=ag.tensor([0, 1]), taps=[-2, -1])
    >>> fibonacci, _ = T.scan(lambda a, b: a + b, outputs_info=before, n_steps=8)
    >>> fibonacci
    tensor([ 1,  2,  3,  5,  8, 13, 21, 34])
    """
    _, ys, updates = looped(fn, sequences, outputs_info, non_sequences, n_steps, truncate_gradient,
                            go_backwards, strict)
    return (ys[0] if len(ys) == 1 else ys), updates


def looped(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any,
           n_steps: Any = None, truncate_gradient: int = -1, go_backwards: bool = False,
           strict: bool | str = False) -> tuple[list[Any], list[Tensor], dict[Any, Any]]:
    """What :func:`scan` computes: the last values of outputs that begin with some, None for others,
    all rows of each, and updates.  With ``strict="state"`` the function may use constants, too."""
    taken = [_Sequence(s) for s in _listed(sequences)]
    if isinstance(outputs_info, Mapping):
        outputs_info = [outputs_info]
    outputs = [_Output(o) for o in _listed(outputs_info)]
    steps = _steps(taken, n_steps)
    rows = [r for s in taken for r in s.rows(steps, go_backwards)]
    first, given = tuple(o.first for o in outputs), tuple(_listed(non_sequences))
    step = _Step(fn, outputs)
    try:
        stops = step.probe(Nest("scan", "outputs_info", first), rows, given)
    except TraceError:
        if is_symbolic(*rows, *given, *(v for window in first for v in window)):
            raise
        stops = True  # it reads values, which there are; it may stop
    if not strict and is_symbolic(*given):  # the graph around is known: gradients go through it
        step.bound, given = given, ()
    begin = Nest("scan", "outputs_info", (first, as_tensor(False)))
    begin.paths = [_written(p) for p in begin.paths]
    updates: dict[Any, Any] = {}
    loop = Loop(step, begin, Nest("scan", "sequences", rows), given)
    loop.length, loop.strict = steps, strict
    loop.until = (lambda carry: carry[1]) if stops else None
    cut = known_integer(truncate_gradient, "truncate_gradient")
    loop.cut = None if cut < 0 else cut
    loop.updates = updates if not is_tracing() else None
    loop.symbolic = step.symbolic or (not is_tracing() and is_symbolic(
        *begin.tensors, *loop.xs.tensors, *loop.given.tensors))
    loop.cropped = True
    (windows, _), ys, done = loop.run()
    for target, value in updates.items():
        if hasattr(target, "advance"):  # a state of random numbers
            target.advance(value)
    if stops:
        ys = [_done(y, done) for y in ys]
    return [w[-1] if w else None for w in windows], list(ys), updates


def _written(path: str) -> str:
    """Where a user wrote what is held with its taps, beside whether the loop ends."""
    return re.sub(r"^outputs_info\[0\](\[\d+\])\[\d+\]", r"outputs_info\1", path)


def _done(y: Tensor, done: Tensor) -> Tensor:
    """The rows of the steps that were done."""
    if done.array is None and (is_tracing() or STATE.examples is not None):
        return first_rows(y, done)
    rows = size_of(done)
    return y if y.shape[0] == rows else apply(FirstRows(rows), y)


def _steps(taken: Sequence[_Sequence], n_steps: Any) -> Any:
    known = [s.steps for s in taken]
    if n_steps is None:
        if not known:
            raise TypeError(at("scan needs sequences to run over, or n_steps"))
        found = known[0]
        for n in known[1:]:
            found = found - combine("max", found - n, 0)  # the smaller one
        return found
    return integer(n_steps, "n_steps", 0)


@strict
def switch(condition: TensorLike, then: TensorLike, otherwise: TensorLike) -> Tensor:
    """Elements of one or the other operand, both of which are computed: :func:`where`.

    :param condition: True, or not zero, where elements of ``then`` are taken.
    :param then, otherwise: The operands; all three broadcast.
    :returns: Of the broadcast shape and the promoted dtype of both.
    :raises ShapeError: If the shapes do not broadcast.
    :see: where, symbolic.ifelse

    >>> from agnesi import symbolic as T
    >>> x = T.fvector("x")
    >>> T.switch(x > 0, x, 0).eval({x: [-1.0, 2.0]})
    array([0., 2.], dtype=float32)
    """
    chosen = as_tensor(condition)
    return where(chosen if chosen.dtype.kind == "b" else not_equal(chosen, 0), then, otherwise)


@strict
def ifelse(condition: Tensor, then: TensorLike, otherwise: TensorLike) -> Any:
    """One of two results (or lists of results); what only the other one needs is not computed.

    Gradients flow to what the results were computed from.

    :param condition: A scalar: true, or not zero.
    :type condition: Tensor
    :param then, otherwise: Of the same types.
    :type then, otherwise: Tensor or list of Tensor
    :returns: Like the branches.
    :rtype: Tensor or list of Tensor
    :raises TypeError: If the condition is no scalar, or the branches are different nests.
    :see: symbolic.switch, cond

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.fvector("x")
    >>> y = T.ifelse(x.sum() > 0, x * 2, -x)
    >>> y.eval({x: ag.tensor([-1.0, -2.0])})
    array([1., 2.], dtype=float32)
    """
    chosen = as_tensor(condition)
    if chosen.dtype.kind != "b":
        chosen = not_equal(chosen, 0)
    chosen = decision("ifelse", "the condition", chosen)
    if not is_symbolic(chosen):
        return then if bool(chosen) else otherwise
    return chosen_graphs(chosen, then, otherwise)
