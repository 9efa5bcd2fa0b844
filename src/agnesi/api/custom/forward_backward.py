"""Operations as a pair of methods on tuples of arrays, as Chainer has them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from agnesi.api.custom.double_backward import Traced, pulled, pushed
from agnesi.api.custom.effects import _effect
from agnesi.api.custom.probing import probed
from agnesi.api.custom.userops import locked, own_array, reading
from agnesi.autodiff.rules import Unknown
from agnesi.core.dispatch import record, record_many
from agnesi.core.op import Op, explain, give_name
from agnesi.core.support.config import STATE, switched
from agnesi.core.support.dtypes import fits, is_inexact
from agnesi.core.support.errors import DTypeError, GradientError, ShapeError, at
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled
from agnesi.ops.control.loop import applied

Arrays = tuple[Any, ...]

#: Calls of ``backward`` for one derivative in forward mode.
_MAX_BACKWARD_CALLS = 1 << 14


class Function:
    """A differentiable function of arrays: ``forward(inputs)``, ``backward(inputs, grads)``.

    Both take tuples of NumPy arrays and return tuples; ``backward`` gives the gradient of each
    input, or None.  (``forward_cpu`` and ``backward_cpu`` are the same under their older names.)
    Each call works on a copy of the object, so what ``forward`` keeps on ``self`` is there for
    ``backward``.  Attributes named in ``parameter_names`` are arrays that ``backward`` has
    gradients for, which it adds to those named in ``gradient_names``.

    Forward mode calls ``backward`` once for each element of the results.  For second derivatives
    both methods run once more, on symbols instead of arrays: where they are made of what tensors
    have, too (operators, NumPy's functions), that gives derivatives of any order; else they are an
    error.

    See Also
    --------
    op, Op, custom_vjp

    Examples
    --------
    >>> import agnesi as ag
    >>> class MulAdd(ag.Function):
    ...     def forward(self, inputs):
    ...         x, y, z = inputs
    ...         return x * y + z,
    ...     def backward(self, inputs, grads):
    ...         (x, y, z), (g,) = inputs, grads
    ...         return y * g, x * g, g
    >>> ag.grad(lambda x: MulAdd()(x, 3.0, 1.0))(2.0)
    tensor(3.)
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        forward = vars(cls).get("forward")
        code = getattr(getattr(forward, "__func__", forward), "__code__", None)
        if isinstance(forward, staticmethod) or (
                code is not None and code.co_varnames[:1] in (("ctx",), ("context",))):
            raise TypeError(at(
                f"{cls.__name__}: forward(ctx, x) and backward(ctx, g) are methods of a subclass "
                "of ag.autograd.Function; those of ag.Function are forward(self, inputs) and "
                "backward(self, inputs, grads), on tuples of arrays"))

    parameter_names: ClassVar[tuple[str, ...]] = ()
    gradient_names: ClassVar[tuple[str, ...]] = ()

    def forward(self, inputs: Arrays) -> Arrays:
        """The results, as a tuple.

        Parameters
        ----------
        inputs : tuple of numpy.ndarray
            Values of the operands.

        Returns
        -------
        tuple of numpy.ndarray
            The results.
        """
        found: Any = self._other("forward_cpu")(inputs)
        return found

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        """Gradients of the inputs, as a tuple; None where there is none.

        Parameters
        ----------
        inputs : tuple of numpy.ndarray
            Values of the operands.
        grad_outputs : tuple of numpy.ndarray
            Cotangents of the results.

        Returns
        -------
        tuple
            A numpy.ndarray of the shape of each input, or None.
        """
        if not hasattr(self, "backward_cpu"):
            return (None,) * len(inputs)
        found: Any = self._other("backward_cpu")(inputs, grad_outputs)
        return found

    def _other(self, name: str) -> Any:
        if not hasattr(self, name):
            raise NotImplementedError(at(f"{type(self).__name__} has no {name.split('_')[0]}"))
        return getattr(self, name)

    @property
    def parameters(self) -> Arrays:
        """The arrays that it learns."""
        return tuple(getattr(self, n) for n in self.parameter_names)

    @property
    def gradients(self) -> Arrays:
        """Return the sum of the gradients of each."""
        return tuple(getattr(self, n) for n in self.gradient_names)

    def __call__(self, *inputs: Any) -> Any:
        xs = [as_tensor(x) for x in inputs]
        op = _Applied(copy.copy(self), len(xs))
        if self.parameter_names and STATE.recording:  # gradients flow, whatever the inputs are
            anchor = wrap(np.zeros((), np.float32))
            anchor._requires_grad = True
            xs.append(anchor)
        known = is_known(*xs)
        results = op.run(xs) if known else op.symbolic(xs)
        return results[0] if len(results) == 1 else tuple(results)


def _same(a: Any, b: Any) -> bool:
    """Return whether two arrays hold the same numbers."""
    return a is b or np.array_equal(a, b, equal_nan=is_inexact(a.dtype))


class _Applied(Op):
    """One application of a :class:`Function`."""

    keep_output = True
    #: The inputs for which ``forward`` kept something last.
    seen: Arrays | None = None

    def __init__(self, function: Function, arity: int) -> None:
        self.function = function
        self.arity = arity
        give_name(self, type(function).__name__)

    def run(self, xs: Sequence[Tensor]) -> list[Tensor]:
        """On values."""
        arrays: list[Any] = [x.array for x in xs]
        try:
            results = [wrap(v) for v in self._forward(*arrays)]
        except (ValueError, TypeError, IndexError) as error:
            raise explain(error, self.name, tuple(xs[: self.arity])) from None
        self.outputs = len(results)  # type: ignore[misc]
        if STATE.recording and any(x._requires_grad for x in xs):
            if self.outputs == 1:
                record(results[0], self, tuple(xs))
            else:
                record_many(results, self, tuple(xs))
        return results

    def symbolic(self, xs: Sequence[Tensor]) -> list[Tensor]:
        """In a graph; how many results there are is found out on ones."""
        trial = [np.ones([n if isinstance(n, int) else 3 for n in x.shape], x.dtype) for x in xs]
        with switched(symbolic=None, trace=None, examples=None, recording=False):
            found = _Applied(copy.copy(self.function), self.arity)._forward(*trial)
        self.outputs = len(found)  # type: ignore[misc]
        return list(applied(self, *xs))

    def _forward(self, *arrays: np.ndarray) -> list[np.ndarray]:
        inputs, before = arrays[: self.arity], dict(vars(self.function))
        try:
            given = reading(self.function.forward, locked(inputs))
        except (TypeError, AttributeError) as error:
            if "tuple" in str(error):
                error.add_note("forward is given a tuple of arrays, and gives one: (x,) = inputs")
            raise
        found = self._tuple("forward", given)
        changed = any(v is not before.get(k) for k, v in vars(self.function).items())
        self.seen = inputs if changed else None
        return found

    def _recall(self, inputs: Arrays, ys: Arrays) -> None:
        """Let the function keep what it kept for these inputs: loops and ``vmap`` call ``forward``
        for others before they come to ``backward``."""
        if self.seen is None or all(map(_same, inputs, self.seen)):
            return
        if not all(map(_same, self._forward(*inputs), ys)):
            raise GradientError(
                "backward needs what forward kept for these inputs, which other calls of it have "
                "replaced; forward gives other results now, so that it cannot be run again")

    def _tuple(self, what: str, found: Any) -> list[Any]:
        if not isinstance(found, tuple):
            raise TypeError(
                f"{what} must return a tuple of arrays, not {type(found).__name__}; one result is "
                "`return y,`, with a comma"
            )
        if any(isinstance(v, (tuple, list)) for v in found):
            raise TypeError(f"{what} must return a tuple of arrays, not one of tuples: it is given "
                            "a tuple itself, as (x,) = inputs")
        if not found and what == "forward":
            raise TypeError(f"{what} must return a tuple of arrays, not an empty one")
        return [v if v is None and what == "backward" else own_array(v, what=what) for v in found]

    def infer(self, *xs: Any) -> Any:
        trial = _Applied(copy.copy(self.function), self.arity)
        trial.outputs = self.outputs  # type: ignore[misc]
        return probed(trial, xs)

    def perform(self, *xs: np.ndarray) -> Any:
        results = self._forward(*xs)
        if len(results) != self.outputs:
            raise TypeError(f"forward returned {len(results)} arrays here, and {self.outputs} for "
                            "others, on which compiled code finds out how many there are")
        return tuple(results) if self.outputs > 1 else results[0]

    def pull(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Gradients of the inputs that can have one: of inputs, then cotangents, then results."""
        inputs, gs = arrays[: self.arity], arrays[self.arity : self.arity + self.outputs]
        self._recall(inputs, arrays[self.arity + self.outputs :])
        found = self._tuple("backward", reading(self.function.backward, locked(inputs), locked(gs)))
        if len(found) != self.arity:
            raise ValueError(f"backward returned {len(found)} gradients for {self.arity} inputs")
        results = []
        for x, g in zip(inputs, found, strict=True):
            if g is not None and g.shape != x.shape:
                raise ShapeError(f"backward returned shape {g.shape} for an input of {x.shape}")
            if x.dtype.kind in "fcV":
                if g is not None and not fits(g.dtype, x.dtype):
                    raise DTypeError(f"backward returned {g.dtype} for an input of {x.dtype}")
                results.append(np.zeros_like(x) if g is None else g.astype(x.dtype, copy=False))
        return tuple(results)

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        inputs = xs[: self.arity]
        ys = y if self.outputs > 1 else (y,)
        gs = [filled(v.shape, 0, v.dtype) if c is None else c
              for v, c in zip(ys, g if self.outputs > 1 else (g,), strict=True)]
        types = tuple((tuple(x.shape), x.dtype) for x in inputs if x.dtype.kind in "fcV")
        if self.function.parameter_names:
            found = iter(_effect(self.pull, types, [*inputs, *gs, *ys]))
        else:
            found = iter(applied(_Pull(self, types), *inputs, *gs, *ys) if types else ())
        parts = [next(found) if x.dtype.kind in "fcV" else None for x in inputs]
        return (*parts, *(None,) * (len(xs) - self.arity))

    def push(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Tangents of the results: of inputs, then their tangents, then results.

        The transpose of ``backward``, element by element: it is linear in the cotangents.
        """
        inputs, ys = arrays[: self.arity], arrays[-self.outputs :]
        ts = arrays[self.arity : -self.outputs]
        self._recall(inputs, ys)
        whole = sum(y.size for y in ys)
        if whole > _MAX_BACKWARD_CALLS:
            raise GradientError(
                f"forward mode would call backward {whole} times, once for each element of the "
                "results; write it as ag.op with a rule jvp=")
        function = copy.deepcopy(self.function) if self.function.parameter_names else self.function
        gs, moves = [np.zeros_like(y) for y in ys], [np.zeros_like(y) for y in ys]
        for g, move in zip(gs, moves, strict=True):
            for place in np.ndindex(g.shape):
                g[place] = 1
                given = reading(function.backward, locked(inputs), locked(gs))
                parts = self._tuple("backward", given)
                found = [p for p, x in zip(parts, inputs, strict=True) if x.dtype.kind in "fcV"]
                move[place] = sum(np.vdot(p, t) for p, t in zip(found, ts, strict=True)
                                  if p is not None)
                g[place] = 0
        return tuple(moves)

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        inputs, ys = xs[: self.arity], y if self.outputs > 1 else (y,)
        moves = [filled(x.shape, 0, x.dtype) if t is None else t
                 for x, t in zip(inputs, ts, strict=False) if x.dtype.kind in "fcV"]
        types = tuple((tuple(v.shape), v.dtype) for v in ys)
        found = applied(_Push(self, types), *inputs, *moves, *ys)
        return found if self.outputs > 1 else found[0]


class _Linear(Op):
    """A call of ``backward``, or its transpose: linear in the operands between inputs and results.

    How it depends on the inputs is found out by tracing ``backward``.
    """

    trace: ClassVar[Callable[..., Traced]]
    transpose: ClassVar[type[_Linear]]

    def __init__(self, of: _Applied, types: Any) -> None:
        self.of = of
        self.types = types
        self.outputs = len(types)  # type: ignore[misc]
        self.name = of.name  # type: ignore[misc]

    def infer(self, *xs: Any) -> Any:
        return self.types if self.outputs > 1 else self.types[0]

    def resolve(self, known: Any) -> Op:
        return type(self)(self.of, tuple((tuple(map(known, s)), d) for s, d in self.types))

    def _middle(self, xs: Sequence[Any]) -> slice:
        return slice(self.of.arity, len(xs) - self.of.outputs)

    def _single(self, found: tuple[Any, ...]) -> Any:
        return found if self.outputs > 1 else found[0]

    def _unknown(self, why: str) -> GradientError:
        return GradientError(at(
            f"{self.name} has no second derivative to its inputs: {why}; write it in operations "
            "that tensors have, too, or as ag.op with vjp="))

    def _graph(self, xs: Sequence[Tensor]) -> Traced:
        """It as a graph of its operands without the results, if ``backward`` can be traced."""
        function, arity = self.of.function, self.of.arity
        if function.parameter_names:
            raise self._unknown("backward adds to arrays of parameters")
        try:
            return self.trace(function, xs[:arity], xs[len(xs) - self.of.outputs :])
        except Exception as error:
            raise_if_from_signal(error)
            why = str(error).partition("\n")[0].partition(". ")[0]
            raise self._unknown(
                f"backward works on arrays ({type(error).__name__}: {why})") from None

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        middle = self._middle(xs)
        if any(t is not None for t in ts[: middle.start]):
            graph, captured = self._graph(xs)
            given = *xs[: middle.stop], *captured
            return graph.jvp([*ts[: middle.stop], *(None,) * len(captured)], None, *given)
        moves = [filled(x.shape, 0, x.dtype) if t is None else t
                 for x, t in zip(xs[middle], ts[middle], strict=True)]
        return self._single(applied(self, *xs[: middle.start], *moves, *xs[middle.stop :]))

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        middle = self._middle(xs)
        unknown: Any = None
        if any(x._requires_grad for x in xs[: middle.start]):
            try:
                graph, captured = self._graph(xs)
            except GradientError as error:
                unknown = Unknown(error)
            else:
                found = graph.vjp(g, None, *xs[: middle.stop], *captured)
                return (*found[: middle.stop], *(None,) * self.of.outputs)
        gs = [filled(s, 0, d) if c is None else c
              for c, (s, d) in zip(g if self.outputs > 1 else (g,), self.types, strict=True)]
        types = tuple((tuple(x.shape), x.dtype) for x in xs[middle])
        other = self.transpose(self.of, types)
        found = applied(other, *xs[: middle.start], *gs, *xs[middle.stop :])
        return (*(unknown,) * middle.start, *found, *(None,) * self.of.outputs)


class _Pull(_Linear):
    """Gradients of inputs: of inputs, cotangents and results."""

    trace = staticmethod(pulled)

    def perform(self, *xs: np.ndarray) -> Any:
        return self._single(self.of.pull(*xs))


class _Push(_Linear):
    """Tangents of results: of inputs, their tangents and results."""

    trace = staticmethod(pushed)

    def perform(self, *xs: np.ndarray) -> Any:
        return self._single(self.of.push(*xs))


_Pull.transpose, _Push.transpose = _Push, _Pull
