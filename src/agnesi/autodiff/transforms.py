"""Transformations: grad, value_and_grad, vjp, jvp."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar, overload
from weakref import WeakSet

import numpy as np

from agnesi.autodiff.accumulation import Apart
from agnesi.autodiff.bodies import BodyTrace
from agnesi.autodiff.forward import push, slope, tangent_for
from agnesi.autodiff.reached import absent, asked
from agnesi.autodiff.recording import alias, detach, enable_grad
from agnesi.autodiff.reverse import backprop, beginnings, goes_outside, seed
from agnesi.core.dispatch import current, notice
from agnesi.core.integers import is_integer
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.programs import is_declaring
from agnesi.core.public import higher, renamed
from agnesi.core.support import dtypes, tree
from agnesi.core.support.config import HOOKS, STATE, switched
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import DTypeError, GradientError, at, call_user
from agnesi.core.support.foreign import attribute_of, has
from agnesi.core.support.tracing import current_trace, is_number_of_trace, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.transformed import name_of, transformed
from agnesi.ops.base.convert import as_tensor, check_unmasked
from agnesi.ops.base.creation import ones_like, zeros_like

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@overload
def grad(  # type: ignore[overload-overlap]  # a tensor is no list of its rows here
    cost: Tensor, wrt: Tensor, grad_outputs: TensorLike | None = ..., *,
    create_graph: bool = ..., disconnected: Literal["error", "zero", "none"] = ...,
    consider_constant: Sequence[Tensor] = ...,
) -> Tensor: ...


@overload
def grad(
    cost: Tensor, wrt: Iterable[Tensor], grad_outputs: TensorLike | None = ..., *,
    create_graph: bool = ..., disconnected: Literal["error", "zero"] = ...,
    consider_constant: Sequence[Tensor] = ...,
) -> list[Tensor]: ...


@overload
def grad(
    cost: Tensor, wrt: Iterable[Tensor], grad_outputs: TensorLike | None = ..., *,
    create_graph: bool = ..., disconnected: Literal["none"],
    consider_constant: Sequence[Tensor] = ...,
) -> list[Tensor | None]: ...


@overload
def grad(
    cost: Callable[P, Any], wrt: int | Sequence[int] | None = ..., *,
    argnums: int | Sequence[int] = ..., has_aux: bool = ...,
) -> Callable[P, Any]: ...


@higher
@renamed(argnum="argnums", retain_graph="", func="cost")
def grad(cost: Tensor | Callable[..., Any],
         wrt: Tensor | Iterable[Tensor] | int | Sequence[int] | None = None,
         grad_outputs: TensorLike | None = None, *, argnums: int | Sequence[int] = 0,
         has_aux: bool = False, create_graph: bool = False,
         disconnected: Literal["error", "zero", "none"] = "error",
         consider_constant: Sequence[Tensor] = ()) -> Any:
    """Gradient of a result, or of a function.

    ``grad(cost, wrt)`` is the gradient of a scalar tensor, computed or symbolic, with respect to
    one tensor or a list of them; intermediate results are allowed.  ``grad(f, argnums=0)`` is the
    function that computes the gradient of ``f``; arguments may be nested containers of tensors.

    :param cost: What to differentiate.
    :type cost: Tensor or callable
    :param wrt: With respect to what; for a function, the same as ``argnums``.
    :type wrt: Tensor or sequence of Tensor
    :param grad_outputs: Cotangent of ``cost``; needed where it is not a scalar.
    :param argnums: Which arguments of the function to differentiate.
    :param has_aux: Whether the function returns ``(value, something else)``; the result is then
        ``(gradient, something else)``.
    :param create_graph: Record the gradient of computed tensors too, so that it can be
        differentiated again.
    :param disconnected: What to give for a tensor that the cost does not depend on.
    :param consider_constant: Intermediate results through which no gradient flows.
    :returns: Like ``wrt``; a function for a function.
    :rtype: Tensor, list of Tensor, or callable
    :raises TypeError: If ``wrt`` is missing, or what is differentiated is no float tensor.
    :raises GradientError: If the cost is no scalar and ``grad_outputs`` is missing or of another
        shape; if it does not depend on a tensor and ``disconnected`` is "error"; if a value was
        changed in place since.
    :raises ValueError: If ``disconnected`` is another.
    :see: value_and_grad, vjp, jvp, jacobian, hessian, Tensor.backward

    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> ag.grad(x**3, x)
    tensor(27.)
    >>> ag.grad(ag.grad(lambda x: x**3))(3.0)
    tensor(18.)
    """
    if not isinstance(cost, Tensor) and callable(cost):
        return gradient_function(cost, argnums if wrt is None else wrt, has_aux)
    if wrt is None:
        raise TypeError(at("grad(cost, wrt) needs the tensors to differentiate with respect to"))
    given: Any = wrt
    targets: list[Tensor] = [given] if isinstance(given, Tensor) else list(given)
    _check_operands(cost, targets)
    for x in consider_constant:
        if not isinstance(x, Tensor):
            raise TypeError(at(f"grad: consider_constant holds tensors, not {typed(x)}"))
    root = current(cost)
    if isinstance(current_trace(), BodyTrace):
        root = current_trace().reaching(root, targets)
    constants = {current(x) for x in consider_constant}
    symbolic = cost.array is None and not (is_tracing() and current_trace().of_values)
    nodes = beginnings(targets, [root], symbolic)
    record = STATE.recording and (create_graph or symbolic)
    with recording(record):
        g = seed(cost, grad_outputs, "grad")
        reached = asked() if disconnected != "zero" and is_tracing() else None
        flowing = backprop({root: g}, [n for ns in nodes for n in ns], constants, flags=reached)
        found, apart = flowing if reached is None else reached.existing(flowing), Apart(g)
        if goes_outside(root, targets, constants):
            notice("passing")
            disconnected = "zero"
        results = [
            absent(cost, x, ns, constants, disconnected, flowing) if found.keys().isdisjoint(ns)
            else apart(functools.reduce(operator.add, [found[n] for n in ns if n in found]))
            for x, ns in zip(targets, nodes, strict=True)
        ]
    return results[0] if isinstance(wrt, Tensor) else results


def recording(on: bool) -> switched:
    """A context in which operations are recorded, or not."""
    return switched(recording=on)


def _check_operands(cost: Any, targets: list[Any]) -> None:
    for x in (cost, *targets):
        if not isinstance(x, Tensor):
            raise TypeError(at(f"grad takes tensors, or a function of tensors, not {typed(x)}"))
    if not is_inexact(cost.dtype):
        raise TypeError(at(f"the cost must be float or complex, not {typed(cost)}"))


# -- functions ------------------------------------------------------------------------------
def gradient_function(f: Function, argnums: Any, has_aux: bool = False, owner: str = "grad"
                      ) -> Function:
    """The function that computes the gradient; ``owner`` is the caller that errors name."""
    both = _both(f, argnums, has_aux, owner)

    def gradient(*args: Any, **keywords: Any) -> Any:
        value, result = both(*args, **keywords)
        return (result, value[1]) if has_aux else result

    return transformed(gradient, owner, gradient_function, f, argnums, has_aux, owner)


@higher
@renamed(argnum="argnums")
def value_and_grad(
    f: Callable[P, R], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[P, tuple[R, Any]]:
    """The function that computes both ``f`` and its gradient.

    :param f: A function of tensors, modules, or nested containers of them, whose result is a scalar
        tensor.  The gradient to a module is a dict with those to its parameters, by name.
    :param argnums: Which arguments to differentiate.
    :param has_aux: Whether ``f`` returns ``(value, something else)``.
    :returns: It takes what ``f`` takes, and gives ``(value, gradient)``, or ``((value, something
        else), gradient)``.
    :raises TypeError: By that function, if ``f`` does not return a tensor.
    :raises GradientError: By that function, if ``f`` does not return a scalar.
    :see: grad, vjp

    >>> ag.value_and_grad(lambda p: (p["w"] ** 2).sum())({"w": ag.tensor([1.0, 2.0])})
    (tensor(5.), {'w': tensor([2., 4.])})
    """

    return _both(f, argnums, has_aux, "value_and_grad")


def _both(f: Function, argnums: Any, has_aux: bool, owner: str) -> Function:
    def both(*args: Any, **keywords: Any) -> Any:
        inputs = Inputs(owner, args, argnums)
        result = inputs.call(f, keywords)
        y, aux = pair_of(owner, f, result) if has_aux else (result, None)
        if not isinstance(y, Tensor):
            raise TypeError(
                at(f"{owner}: {name_of(f)} must return a tensor, not {typed(y)}"
                   + _returned(y, has_aux))
            )
        if y.shape != ():
            raise GradientError(at(
                f"{owner}: {name_of(f)} must return a scalar, not {typed(y)}: reduce it, as with "
                ".sum() or .mean(); ag.jacobian has the derivatives of all elements"))
        if not is_inexact(y.dtype):
            raise TypeError(at(f"{owner}: {name_of(f)} must return a float or complex scalar, not "
                               f"{typed(y)}, which has no gradient"))
        keep = inputs.outer([y])
        with inputs.sought(keep):
            found = slope(y, inputs.nodes) or backprop({current(y): seed(y)}, inputs.nodes)
            gradient = inputs.like_arguments(found)
        if not keep:
            y, aux = free((y, aux))
        return ((y, aux) if has_aux else y), gradient

    return transformed(both, owner, _both, f, argnums, has_aux, owner)


def check_tuples(owner: str, f: Function, **given: Any) -> None:
    """Refuse arguments of a function that do not come in a tuple."""
    for name, value in given.items():
        if not isinstance(value, (tuple, list)):
            raise TypeError(at(
                f"{owner}: {name} must be a tuple with an entry for each argument of {name_of(f)}, "
                f"not {typed(value)}: write {owner}(f, (x,), (t,))"))


def pair_of(owner: str, f: Function, result: Any) -> Any:
    """Return the two parts of a function's result; only the first is differentiated."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(at(f"{owner}: {name_of(f)} must return (value, something else) with "
                           f"has_aux=True, not {typed(result)}"))
    return result


def _returned(y: Any, has_aux: bool) -> str:
    """Return the end of a message for a function that returned no tensor: what to write instead."""
    if isinstance(y, (tuple, list)) and not has_aux:
        return "; for (value, something else) pass has_aux=True"
    if isinstance(y, (int, float, np.ndarray, np.generic)):
        return "; float(), .item() and .numpy() give values without a record"
    return "; a function without return gives it" if y is None else ""


def _one(f: Function, cotangents: tuple[Any, ...]) -> Any:
    """Return the single cotangent that a pullback was called with."""
    if len(cotangents) != 1:
        raise TypeError(at("vjp: the pullback takes one cotangent, which is like what "
                           f"{name_of(f)} returned, not {len(cotangents)}: those of several "
                           "results are one tuple"))
    return cotangents[0]


def listed(shape: tree.Tree, name: str) -> str:
    """Return the paths of the leaves of a nest as text."""
    return ", ".join(shape.paths(name)) or "nothing"


def free(nest: Any) -> Any:
    """Return results without the record that only the transformation needed."""
    return tree.map_leaves(
        lambda x: detach(x)
        if isinstance(x, Tensor) and x._requires_grad and x.node is not None and x.node.op
        else x,
        nest,
    )


def opened(nest: Any, owner: str = "jvp") -> tuple[Any, Callable[[Any], Any]]:
    """Return a nest with dicts of parameters in place of modules, and a function that restores the
    modules.
    """
    leaves, shape = tree.flatten(nest)
    parts = [dict(x.named_parameters()) if has(x, "with_parameters") else x for x in leaves]
    if all(p is x for p, x in zip(parts, leaves, strict=True)):
        return nest, lambda nest: nest
    for p, x in zip(parts, leaves, strict=True):
        if p is not x and not p:
            raise GradientError(
                at(f"{owner}: cannot differentiate with respect to {type(x).__name__}: it has no "
                   "parameters that require grad")
            )

    def closed(nest: Any) -> Any:
        tensors = iter(tree.flatten(nest)[0])
        return shape.build([
            x.with_parameters({name: next(tensors) for name in p}) if p is not x else next(tensors)
            for p, x in zip(parts, leaves, strict=True)
        ])

    return shape.build(parts), closed


#: Stand-ins of transformations whose function has run: they have no gradients any more, though
#: what a transformation around them records was computed from them.
_FINISHED: WeakSet[Node] = WeakSet()


def _begins(node: Node) -> bool:
    """Return whether gradients may be requested at a node: a leaf, or a stand-in of a derivative.
    """
    return (node.requires_grad and node not in _FINISHED
            and not any(n.requires_grad for n in node.inputs))


#: Beside them a number of Python's is one of them.
_DOUBLES = ("float64", "complex128")


class Inputs:
    """The arguments of a transformed function, with fresh tensors in place of those that are
    differentiated.
    """

    def __init__(self, owner: str, args: tuple[Any, ...],
                 argnums: int | Sequence[int] | None = None) -> None:
        self.owner = owner
        self.args = list(args)
        self.was_recording, self.single = STATE.recording, isinstance(argnums, int)
        numbers = range(len(args)) if argnums is None else argnums
        chosen = [numbers] if isinstance(numbers, int) else numbers
        self.numbers = [self._number(i) for i in chosen]
        indices = [i % len(args) for i in self.numbers]
        if len({*indices}) < len(indices):
            twice = next(i for i in indices if indices.count(i) > 1)
            raise ValueError(at(f"{owner}: argnums names argument {twice} more than once: "
                                f"{typed(argnums)}"))
        if none := [i for i in self.numbers if args[i] is None]:
            raise TypeError(at(f"{owner}: cannot differentiate with respect to argument {none[0]}, "
                               "which is None"))
        given, closed = opened(tuple(args[i] for i in self.numbers), owner)
        leaves, self.shape = tree.flatten(given)
        wide = any(type(x) is not Tensor for x in leaves) and any(
            str(attribute_of(x, "dtype")) in _DOUBLES and not is_number_of_trace(x)
            for x in tree.flatten(args)[0])
        self.originals = [self._float(x, wide) for x in leaves]
        self.fresh = [alias(x) for x in self.originals]
        self.nodes: list[Node] = [current(x) for x in self.fresh]
        for i, arg in zip(self.numbers, closed(self.shape.build(self.fresh)), strict=True):
            self.args[i] = arg

    def _number(self, i: int) -> int:
        if not is_integer(i):
            raise TypeError(at(f"{self.owner}: argnums must be integers, not {typed(i)}"))
        if not -len(self.args) <= i < len(self.args):
            raise ValueError(
                at(f"{self.owner}: argnums names argument {i}, but the function was given "
                   f"{len(self.args) or 'none'} by position; arguments of which a derivative is "
                   "taken are given without a name")
            )
        return i % len(self.args)

    def _float(self, x: Any, wide: bool) -> Tensor:
        """Return an argument as a tensor; a Python number becomes float64 if ``wide``."""
        try:
            check_unmasked(x)
        except DTypeError as error:
            raise DTypeError(at(f"{self.owner}: {error}")) from None
        try:
            t = as_tensor(x)
        except TypeError:
            t = None
        if t is None or not is_inexact(t.dtype):
            raise TypeError(
                at(
                    f"{self.owner}: cannot differentiate with respect to {typed(x)}: only float "
                    "and complex tensors have gradients; choose the arguments with argnums, or "
                    "convert it"
                )
            )
        number = wide and (type(x) is float or (is_number_of_trace(x) and t.dtype.kind == "f"))
        return as_tensor(x, dtypes.float64) if number else t

    def call(self, f: Function, keywords: dict[str, Any]) -> Any:
        """Return the function's recorded result for the stand-ins."""
        with enable_grad():
            return call_user(f, tuple(self.args), keywords, self.owner)

    @contextmanager
    def sought(self, recorded: bool) -> Iterator[None]:
        """A context for taking derivatives with respect to the stand-ins; after it there are
        none.
        """
        _FINISHED.difference_update(self.nodes)
        with recording(recorded):
            yield
        self.finish()

    def finish(self) -> None:
        """Mark the stand-ins as finished, so that outer transformations do not record for them."""
        _FINISHED.update(self.nodes)

    def outer(self, results: list[Tensor]) -> bool:
        """Return whether the results may be differentiated again, so that everything must be
        recorded.
        """
        if not self.was_recording:
            return False
        if any(x._requires_grad or x.array is None for x in self.originals):
            return True
        ours = set(self.nodes)
        order = toposort([current(y) for y in results], lambda n: n in ours or not n.requires_grad)
        return any(_begins(n) and n not in ours for n in order)

    def like_arguments(self, found: dict[Node, Tensor], *cotangents: Tensor) -> Any:
        """Return gradients in nests like the arguments; zeros where none arrived."""
        apart = Apart(*cotangents)
        parts = [
            apart(found[n]) if n in found else zeros_like(x)
            for n, x in zip(self.nodes, self.originals, strict=True)
        ]
        nests = self.shape.build(parts)
        return nests[0] if self.single else nests


@overload
def vjp(f: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
        ) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...


@overload
def vjp(f: Callable[..., tuple[R, S]], *primals: Any, has_aux: Literal[True]
        ) -> tuple[R, Callable[..., tuple[Any, ...]], S]: ...


@higher
@renamed(func="f")
def vjp(f: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``f`` and the function that pulls cotangents back to its arguments.

    :param f: Of tensors, or nests of tensors.
    :param *primals: Its arguments.
    :type *primals: tensor or nest of tensors
    :param has_aux: Whether ``f`` gives a pair, of which the second is no part of what is
        differentiated.
    :returns value: ``f(*primals)``.
    :rtype: tensor or nest of tensors
    :returns pullback: ``pullback(cotangent) -> tuple`` with an entry for each argument.
    :rtype: callable
    :returns aux: With ``has_aux`` only.
    :rtype: object
    :raises ValueError: By ``pullback``, if the cotangent is another nest than the value.
    :raises GradientError: By ``pullback``, if the cotangent has another shape than the value.
    :raises TypeError: If ``f`` does not return a pair with ``has_aux``.
    :see: grad, jvp, jacrev, linearize

    >>> y, pullback = ag.vjp(lambda a, b: a * b, ag.tensor([1.0, 2.0]), ag.tensor([3.0, 4.0]))
    >>> pullback(ag.tensor([1.0, 1.0]))
    (tensor([3., 4.]), tensor([1., 2.]))
    """
    inputs = Inputs("vjp", primals)
    result = inputs.call(f, {})
    value, aux = pair_of("vjp", f, result) if has_aux else (result, None)
    ys, shape = tensors_of(f, value, "vjp")
    keep = inputs.outer(ys)
    nodes = [current(y) for y in ys]  # a trace that calls the pullback knows values alone

    def pullback(*cotangents: Any) -> tuple[Any, ...]:
        cotangent = _one(f, cotangents)
        gs, its_shape = tree.flatten(cotangent)
        if its_shape != shape:
            raise ValueError(
                at(f"vjp: the cotangent is {typed(cotangent)}, but {name_of(f)} returned "
                   f"{typed(value)}; give a cotangent of the same nest")
            )
        again = STATE.recording and (
            keep or any(isinstance(g, Tensor) and g._requires_grad for g in gs)
        )
        with inputs.sought(again):
            seeds: dict[Node, Tensor] = {}
            for node, y, g in zip(nodes, ys, gs, strict=True):
                g = seed(y, g, "vjp")
                seeds[node] = seeds[node] + g if node in seeds else g
            found: tuple[Any, ...] = inputs.like_arguments(
                backprop(seeds, inputs.nodes), *seeds.values()
            )
        return found

    inputs.finish()
    if not keep:
        value, aux = free((value, aux))
    return (value, pullback, aux) if has_aux else (value, pullback)


def tensors_of(f: Function, value: Any, owner: str) -> tuple[list[Tensor], tree.Tree]:
    """The tensors that a function returned, and their nest."""
    leaves, shape = tree.flatten(value)
    if value is None:
        raise TypeError(at(f"{owner}: {name_of(f)} must return tensors, not None, which a function "
                           "without return gives"))
    for y in leaves:
        if not isinstance(y, Tensor):
            raise TypeError(at(f"{owner}: {name_of(f)} must return tensors, not {typed(y)}"
                               f"{_returned(y, True)}"))
    return leaves, shape


@higher
@renamed(func="f", strict="")
def jvp(f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], *,
        has_aux: bool = False) -> tuple[R, R]:
    """The value of ``f`` and its derivative along ``tangents``, by forward mode.

    :param f: A function of tensors, or of nested containers of them.
    :param primals, tangents: Arguments of ``f``, and their directions: nests of the same shape.
    :type primals, tangents: sequence
    :returns value: ``f(*primals)``.
    :rtype: nest of Tensor
    :param has_aux: Whether ``f`` gives a pair, of which the second is no part of what is
        differentiated, but comes third in the result.
    :returns tangent: The derivative, like the value.
    :rtype: nest of Tensor
    :raises TypeError: If ``f`` does not return tensors.
    :raises ValueError: If tangents and primals are different nests.
    :raises GradientError: If a tangent has another shape than its argument.
    :see: vjp, linearize, jacfwd, grad

    >>> ag.jvp(lambda x: x**3, (ag.tensor(2.0),), (ag.tensor(1.0),))
    (tensor(8.), tensor(12.))
    """
    check_tuples("jvp", f, primals=primals, tangents=tangents)
    inputs = Inputs("jvp", tuple(primals))
    directions, its_shape = tree.flatten(opened(tuple(tangents))[0])
    if its_shape != inputs.shape:
        raise ValueError(at(
            f"jvp: the tangents are {typed(tuple(tangents))}, the primals {typed(tuple(primals))}: "
            "give a tangent for each, in the same nest"))
    value = inputs.call(f, {})
    value, *aux = pair_of("jvp", f, value) if has_aux else (value,)
    ys, shape = tensors_of(f, value, "jvp")
    again = inputs.outer(ys) or (
        STATE.recording and any(isinstance(t, Tensor) and t._requires_grad for t in directions)
    )
    with inputs.sought(again):
        pairs = zip(inputs.nodes, inputs.originals, directions, strict=True)
        moved = {node: tangent_for(x, t) for node, x, t in pairs}
        found, apart = push([current(y) for y in ys], moved), Apart(*moved.values())
        ts = []
        for y in ys:
            t = found.get(current(y))
            ts.append(zeros_like(y) if t is None else apart(t))
        result = shape.build(ts)
    value, *aux = (value, *aux) if again else free((value, *aux))
    return value, result, *aux


class _Gradients:
    """``y.grad`` of a declared expression: called with variables, it gives gradients of ``y``."""

    __slots__ = ("y",)

    def __init__(self, y: Tensor) -> None:
        self.y = y

    def __call__(self, wrt: Any, grad_outputs: TensorLike | None = None, **options: Any) -> Any:
        """As :func:`grad`; of an array without ``grad_outputs`` that of the sum of its elements."""
        if grad_outputs is None and self.y.ndim:
            grad_outputs = ones_like(self.y)
        return grad(self.y, wrt, grad_outputs, **options)

    def __repr__(self) -> str:
        return f"<gradients of {typed(self.y)}: call it with variables>"


def _gradients(y: Tensor) -> Any:
    declared = y.node is not None and y.node.op is not None and is_declaring()
    return _Gradients(y) if declared else None


HOOKS.gradients = _gradients
