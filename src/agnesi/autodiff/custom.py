"""Functions whose derivative the user gives: ``custom_vjp`` and ``custom_jvp``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.autodiff.reverse import transposed
from agnesi.autodiff.rules import check_linked, fitted, location_of
from agnesi.autodiff.vmap import vmap
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strict_class
from agnesi.core.op import Op
from agnesi.core.support import tree
from agnesi.core.support.config import STATE, switched
from agnesi.core.support.errors import GradientError, at, call_user, typed
from agnesi.core.tensor import Tensor
from agnesi.core.transformed import name_of
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled, zeros_like
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.control.loop import applied

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@strict_class
class _Custom(Generic[P, R]):
    """Base of the decorators: a function, its rule, and the positions of arguments that are not
    differentiated; without a function, a decorator for one.
    """

    @overload
    def __new__(cls, function: Callable[P, R], nondiff_argnums: Sequence[int] = ...) -> Self: ...

    @overload
    def __new__(cls, function: None = ..., *, nondiff_argnums: Sequence[int]  # type: ignore[misc]
                ) -> Callable[[Callable[..., Any]], custom_vjp[..., Any]]: ...

    def __new__(cls, function: Function | None = None, nondiff_argnums: Sequence[int] = ()) -> Any:
        if function is None and nondiff_argnums:
            return functools.partial(cls, nondiff_argnums=nondiff_argnums)
        return super().__new__(cls)

    def __init__(self, function: Callable[P, R], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(function):
            raise TypeError(at(f"{type(self).__name__} takes a function, not {typed(function)}"))
        functools.update_wrapper(self, function)  # before its attributes, which may be there too
        self._function: Function = function
        self._nondiff = tuple(nondiff_argnums)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def _name(self) -> str:
        return name_of(self._function)

    def _ready(self) -> bool:
        raise NotImplementedError

    def _differentiated(self, given: Sequence[Any], inputs: list[Tensor], rebuild: Function,
                        fixed: list[Any]) -> Any:
        raise NotImplementedError

    def __call__(self, *given: P.args, **keywords: P.kwargs) -> R:
        args: Any = _positional(self._function, given, keywords)
        if not self._ready():
            raise TypeError(
                at(f"{self._name} has no derivative rule yet: define it with " + self._how)
            )
        numbers = [i for i in range(len(args)) if i not in self._nondiff]
        leaves, shape = tree.flatten(tuple(args[i] for i in numbers))
        indices = [i for i, x in enumerate(leaves) if isinstance(x, (Tensor, np.ndarray, float))]
        inputs = [as_tensor(leaves[i]) for i in indices]
        if not STATE.recording or not any(x._requires_grad for x in inputs):
            return self._function(*args)

        def rebuild(tensors: Sequence[Any]) -> tuple[Any, ...]:
            filled = list(leaves)
            for i, x in zip(indices, tensors, strict=True):
                filled[i] = x
            built: tuple[Any, ...] = shape.build(filled)
            return built

        fixed = [args[i] for i in self._nondiff if i < len(args)]
        return self._differentiated(args, inputs, rebuild, fixed)

    _how = ""

    def _whole(self, parts: Sequence[Any], fixed: Sequence[Any]) -> list[Any]:
        """Merge the differentiated and the other arguments in their order."""
        rest, kept = iter(parts), iter(fixed)
        return [next(kept) if i in self._nondiff else next(rest)
                for i in range(len(parts) + len(fixed))]


def _positional(function: Function, args: tuple[Any, ...],
                keywords: dict[str, Any]) -> tuple[Any, ...]:
    if not keywords:
        return args
    bound = inspect.signature(function).bind(*args, **keywords)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            at(f"{name_of(function)}: {', '.join(bound.kwargs)} can only be passed by name, "
               "but derivative rules get their arguments by position")
        )
    return bound.args


def _tensors(name: str, nest: Any) -> tuple[list[Tensor], tree.Tree]:
    leaves, shape = tree.flatten(nest)
    for y in leaves or [nest]:
        if not isinstance(y, (Tensor, np.ndarray, float)):
            raise TypeError(at(f"{name} must return tensors, not {type(y).__name__}"))
    return [as_tensor(y) for y in leaves], shape


# -- reverse ----------------------------------------------------------------------------------
@strict_class
class custom_vjp(_Custom[P, R]):  # noqa: N801 - used as a decorator
    """A decorator for functions whose reverse-mode derivative you give, with ``defvjp``.

    ``f.defvjp(forward, backward)``: ``forward`` takes what ``f`` takes and returns ``(result,
    residuals)``, a nest of whatever the derivative needs; ``backward(residuals, cotangent)``
    returns a tuple with the cotangent of each argument, None for zero.  Derivatives of ``backward``
    give those of higher order.  It works wherever operations do: on values, in records, in graphs,
    under ``jit`` and ``vmap``.

    :param function: What to compute without derivatives.
    :type function: callable
    :param nondiff_argnums: Arguments without derivative, of any type; ``backward`` gets them first.
    :see: custom_jvp, vjp, op, stop_gradient

    >>> @ag.custom_vjp
    ... def clipped(x):
    ...     return x * 1.0
    >>> clipped.defvjp(lambda x: (x * 1.0, ()), lambda _, g: (ag.clip(g, -1.0, 1.0),))
    >>> ag.grad(lambda x: 5 * clipped(x))(2.0)
    tensor(1.)
    """

    _how = "f.defvjp(forward, backward)"
    _forward: Function | None = None
    _backward: Function | None = None

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Give the derivative: see :class:`custom_vjp`.

        :param forward: ``forward(*args) -> (result, residuals)``.
        :param backward: ``backward(residuals, cotangent)``, a tuple with the cotangent of each
            argument.
        :raises TypeError: If one is no function.
        """
        for what, rule in (("forward", forward), ("backward", backward)):
            if not callable(rule):
                raise TypeError(at(f"{self._name}.defvjp: {what} must be a function, not "
                                   f"{typed(rule)}"))
        self._forward, self._backward = forward, backward

    def _ready(self) -> bool:
        return self._forward is not None

    def _differentiated(self, given: Sequence[Any], inputs: list[Tensor], rebuild: Function,
                        fixed: list[Any]) -> Any:
        if self in STATE.ruled:
            return self._later(given, inputs, rebuild, fixed)
        result, residuals = self._ruled(given)
        ys, shape = _tensors(self._name, result)
        saved, saved_shape = tree.flatten(residuals)
        indices = [i for i, x in enumerate(saved) if isinstance(x, Tensor)]
        static = [None if isinstance(x, Tensor) else x for x in saved]

        def pullback(tensors: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
            residuals = list(static)
            for i, x in zip(indices, tensors, strict=True):
                residuals[i] = x
            given = (*fixed, saved_shape.build(residuals), shape.build(gs))
            parts = call_user(self._backward, given, {}, f"the backward rule of {self._name}",
                              "backward(residuals, cotangent), behind arguments that are fixed")
            return self._placed(parts, inputs, rebuild)

        kept = [saved[i] for i in indices]
        op = Pullback(self._name, pullback, len(inputs), len(ys))
        return shape.build(applied(op, *inputs, *ys, *kept))

    def _ruled(self, given: Sequence[Any]) -> tuple[Any, Any]:
        """Call the forward rule; return the result and the residuals."""
        with switched(ruled=(*STATE.ruled, self)):
            found = self._forward(*given)  # type: ignore[misc]
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(
                at(f"the forward rule of {self._name} must return (result, residuals), not "
                   f"{type(found).__name__}")
            )
        return found

    def _later(self, given: Sequence[Any], inputs: list[Tensor], rebuild: Function,
               fixed: list[Any]) -> Any:
        """Return a call from inside the forward rule itself, whose rule is applied when that call
        is differentiated.
        """
        with no_grad():
            ys, shape = _tensors(self._name, self._function(*given))

        def pullback(tensors: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
            _, residuals = self._ruled(self._whole(rebuild(tensors), fixed))
            parts = self._backward(*fixed, residuals, shape.build(gs))  # type: ignore[misc]
            return self._placed(parts, inputs, rebuild)

        op = Pullback(self._name, pullback, len(inputs), len(ys))
        return shape.build(applied(op, *inputs, *ys, *inputs))

    def _placed(self, parts: Any, inputs: Sequence[Tensor], rebuild: Function) -> list[Any]:
        """Return the cotangents of the tensors among the arguments, in order."""
        model = rebuild([_Position(i) for i in range(len(inputs))])
        parts = parts if isinstance(parts, tuple) else (parts,)
        if len(parts) != len(model):
            raise GradientError(
                at(f"the backward rule of {self._name} returned {len(parts)} cotangents for "
                   f"{len(model)} arguments")
            )
        results: list[Any] = [None] * len(inputs)
        for part, like in zip(parts, model, strict=True):
            if part is None:
                continue
            leaves, its_shape = tree.flatten(like)
            found, shape = tree.flatten(part)
            if its_shape != shape:
                raise GradientError(
                    at(f"the backward rule of {self._name} returned {typed(part)} as the cotangent "
                       f"of the argument {_describe(like, inputs)}; give the same nest")
                )
            for leaf, g in zip(leaves, found, strict=True):
                if isinstance(leaf, _Position) and g is not None:
                    results[leaf.number] = self._fitting(g, inputs[leaf.number])
        return results

    def _fitting(self, g: Any, x: Tensor) -> Tensor | None:
        if x.dtype.kind not in "fcV":
            return None
        return fitted(g, x, f"the backward rule of {self._name}", "an argument", self._backward,
                      GradientError)


def _describe(like: Any, inputs: Sequence[Tensor]) -> str:
    """Return the structure of an argument as text, with the types of its tensors."""
    leaves, shape = tree.flatten(like)
    return typed(shape.build([inputs[x.number] if isinstance(x, _Position) else x for x in leaves]))


class _Position:
    """A leaf that stands for the tensor with this number."""

    def __init__(self, number: int) -> None:
        self.number = number


class Pullback(Op):
    """The results of a function with a reverse rule; operands are the arguments, the results and
    the residuals.

    ``own`` pairs the positions of residuals that are results with those of the results, whose
    derivative is this one. Unless ``filled``, the rule gets None for missing cotangents.
    """

    #: What compiled code depends on, which knows nothing of derivatives.
    _fields = ("arguments", "outputs")

    def __init__(self, name: str, pullback: Function, arguments: int, results: int,
                 own: tuple[tuple[int, int], ...] = (), filled: bool = True) -> None:
        self.name = name  # type: ignore[misc]
        self.pullback = pullback
        self.arguments = arguments
        self.outputs = results  # type: ignore[misc]
        self.own, self.filled = own, filled
        self.keep_output = bool(own)  # type: ignore[misc]

    def label(self) -> str:
        return f"custom_vjp[{self.name}]"

    @property
    def _own(self) -> slice:
        return slice(self.arguments, self.arguments + self.outputs)

    def needs(self, i: int, inputs: Any) -> bool:
        return i >= self.arguments + self.outputs

    def infer(self, *xs: Any) -> Any:
        types = tuple((x.shape, x.dtype) for x in xs[self._own])
        return types if self.outputs > 1 else types[0]

    def perform(self, *xs: np.ndarray) -> Any:
        return xs[self._own] if self.outputs > 1 else xs[self.arguments]

    def decompose(self, *xs: Tensor) -> Any:
        return xs[self._own] if self.outputs > 1 else xs[self.arguments]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = list(g) if self.outputs > 1 else [g]
        if self.filled:
            gs = [zeros_like(x) if c is None else c for c, x in zip(gs, xs[self._own], strict=True)]
        kept, ys = list(xs[self.arguments + self.outputs:]), y if self.outputs > 1 else (y,)
        for index, result in self.own:
            kept[index] = ys[result]
        found = self.pullback(kept, gs)
        check_linked(found, gs, self.name)
        return (*found, *(None,) * (len(xs) - len(found)))

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Any:
        like = node.inputs[: self.arguments]

        def each(kept: list[Tensor], gs: list[Tensor]) -> list[Tensor]:
            return [filled(x.shape, 0, x.dtype) if g is None else g
                    for g, x in zip(self.pullback(kept, gs), like, strict=True)]

        def pullback(kept: Sequence[Tensor], gs: Sequence[Tensor]) -> list[Any]:
            found = vmap(each)(list(kept), list(gs))
            return [g if x.dtype.kind in "fcV" else None for g, x in zip(found, like, strict=True)]

        full = [x if r else broadcast_to(x, (length, *x.shape))
                for x, r in zip(xs, rows, strict=True)]
        op = Pullback(self.name, pullback, self.arguments, self.outputs, self.own)
        found = applied(op, *full)
        return found if self.outputs > 1 else found[0]


# -- forward ----------------------------------------------------------------------------------
@strict_class
class custom_jvp(_Custom[P, R]):  # noqa: N801 - used as a decorator
    """A decorator for functions whose forward-mode derivative you give, with ``defjvp``.

    ``f.defjvp(rule)``: ``rule(primals, tangents)`` gets tuples of arguments and of their
    directions, and returns ``(result, its direction)``, which is linear in the directions.  Reverse
    mode transposes the rule; derivatives of it give those of higher order.  It works wherever
    operations do.  ``f.defjvps(*rules)`` takes a rule ``rule(tangent, result, *primals)`` for each
    argument, or None.

    :param function: What to compute.
    :type function: callable
    :param nondiff_argnums: Arguments without derivative, of any type; the rule gets them first.
    :see: custom_vjp, jvp, op

    >>> @ag.custom_jvp
    ... def log1pexp(x):
    ...     return ag.log1p(ag.exp(x))
    >>> log1pexp.defjvps(lambda t, y, x: t * (1 - 1 / (1 + ag.exp(x))))
    >>> ag.grad(log1pexp)(100.0)
    tensor(1.)
    """

    _how = "f.defjvp(rule)"
    _rule: Function | None = None

    def defjvp(self, rule: Function) -> None:
        """Give the derivative: see :class:`custom_jvp`.

        :param rule: ``rule(primals, tangents) -> (result, its direction)``.
        """
        self._rule = rule

    def defjvps(self, *rules: Function | None) -> None:
        """Give a derivative for each argument: see :class:`custom_jvp`.

        :param *rules: ``rule(tangent, result, *primals)`` for each argument.
        :type *rules: callable or None
        """

        call: Function = self

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            y: Any = call(*primals)
            parts = [call_user(r, (t, y, *primals), {}, "a rule of defjvps",
                               "rule(tangent, result, *primals)")
                     for r, t in zip(rules, tangents, strict=True) if r is not None]
            return y, functools.reduce(lambda a, b: a + b, parts) if parts else zeros_like(y)

        self._rule = rule

    def _ready(self) -> bool:
        return self._rule is not None

    def _differentiated(self, given: Sequence[Any], inputs: list[Tensor], rebuild: Function,
                        fixed: list[Any]) -> Any:
        name = self._name
        with switched(recording=False):
            ys, shape = _tensors(name, self._function(*given))

        types = [Node(None, (), y.shape, y.dtype) for y in ys]

        def pushed(xs: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
            assert self._rule is not None
            try:
                found = call_user(self._rule, (*fixed, rebuild(xs), rebuild(ts)), {},
                                  f"the rule of {name}", "rule(primals, tangents), behind "
                                  "arguments that are fixed")
            except TypeError as error:
                if "tuple" not in str(error) or "\n  at " in str(error):
                    raise
                raise TypeError(at(f"the rule of {name}: {error}; rule(primals, tangents) gets two "
                                   "tuples: (x,), (t,) = primals, tangents",
                                   location_of(self._rule))) from error
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(at(f"the rule of {name} must return (result, its direction), not "
                                   f"{typed(found)}", location_of(self._rule)))
            moves, its_shape = tree.flatten(found[1])
            if its_shape != shape:
                raise GradientError(at(
                    f"the rule of {name} returned {typed(found[1])} as the direction of "
                    f"{typed(shape.build(ys))}; rule(primals, tangents) gets two tuples: "
                    "(x,), (t,) = primals, tangents", location_of(self._rule)))
            return [fitted(t, y, f"the rule of {name}", "the direction of a result", self._rule,
                           GradientError) for t, y in zip(moves, types, strict=True)]

        op = _Push(name, pushed, len(inputs), len(ys))
        return shape.build(applied(op, *inputs, *ys))


class _Push(Op):
    """The results of a function with a forward rule; operands are the arguments and the results."""

    #: What compiled code depends on, which knows nothing of derivatives.
    _fields = ("arguments", "outputs")

    def __init__(self, name: str, push: Function, arguments: int, results: int) -> None:
        self.name = name  # type: ignore[misc]
        self.push = push
        self.arguments = arguments
        self.outputs = results  # type: ignore[misc]
        self.keep_inputs = tuple(range(arguments))  # type: ignore[misc]

    def label(self) -> str:
        return f"custom_jvp[{self.name}]"

    def infer(self, *xs: Any) -> Any:
        types = tuple((x.shape, x.dtype) for x in xs[self.arguments:])
        return types if self.outputs > 1 else types[0]

    def perform(self, *xs: np.ndarray) -> Any:
        return xs[self.arguments:] if self.outputs > 1 else xs[-1]

    def decompose(self, *xs: Tensor) -> Any:
        return xs[self.arguments:] if self.outputs > 1 else xs[-1]

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        own = xs[: self.arguments]
        ts = [zeros_like(x) if t is None else t for t, x in zip(ts, own, strict=False)]
        found = self.push(own, ts)
        return tuple(found) if self.outputs > 1 else found[0]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        """Return the cotangents as the transpose of the forward rule, which is linear in the
        tangents.
        """
        own = xs[: self.arguments]

        def push(us: list[Any]) -> list[Tensor]:
            return self.push(own, [zeros_like(x) if u is None else u
                                   for u, x in zip(us, own, strict=True)])

        gs = list(g) if self.outputs > 1 else [g]
        return (*transposed(push, own, gs), *(None,) * self.outputs)

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Any:
        full = [x if r else broadcast_to(x, (length, *x.shape))
                for x, r in zip(xs, rows, strict=True)]

        def push(xs: Sequence[Tensor], ts: Sequence[Tensor]) -> list[Tensor]:
            found: list[Tensor] = vmap(self.push)(list(xs), list(ts))
            return found

        found = applied(_Push(self.name, push, self.arguments, self.outputs), *full)
        return found if self.outputs > 1 else found[0]
