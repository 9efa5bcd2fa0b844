"""Turn the recording of gradients on and off: no_grad, enable_grad, detach, unchain_backward."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, Self, TypeVar, overload

import numpy as np

from agnesi.core.dispatch import apply, current
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.keywords import strict
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import explain_errors, public
from agnesi.core.storage.consumed_results import SpentNode
from agnesi.core.storage.leaves import argument
from agnesi.core.storage.memory_order import note_memory_order
from agnesi.core.storage.views import share
from agnesi.core.support.config import MODE, STATE, TRACES, Mode, Switch, first_mode, settled
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import GradientError, at, user_where
from agnesi.core.support.tracing import is_known, is_tracing, note_beginning, note_flag, query_fact
from agnesi.core.tensor import CONSUMED, Tensor, register, symbol, wrap
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.identity import ALIAS, STOP

F = TypeVar("F", bound=Callable[..., Any])
_new = object.__new__


class _Called(type):
    """Metaclass that explains ``with ag.no_grad:`` without parentheses."""

    def __enter__(cls) -> Any:
        raise TypeError(at(f"write `with ag.{cls.__name__}():`, with parentheses"))

    def __exit__(cls, *error: object) -> None:
        pass


class Settled:
    """The mode with another ``recording``, for functions that set it and restore the one before in
    a ``finally``: if an interrupt strikes there first, it is restored as their frames end.

    :ivar mode: The mode to set; None once the one before is restored.
    """

    mode: Any = None

    def __init__(self, before: Mode, recording: bool) -> None:
        self._before = before
        self.mode = settled(recording)

    def __del__(self) -> None:
        if self.mode is not None and MODE.get() is self.mode:
            MODE.set(self._before)


class _Recording(Switch, metaclass=_Called):
    """Switch recording for a ``with`` block or a function; blocks nest."""

    __slots__ = ()

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """The switch; of a function, as ``@ag.no_grad`` gives it, the function under it."""
        switch = _new(cls)
        switch._stack = None
        if function is None:
            return switch
        if not callable(function):
            raise TypeError(at(f"{cls.__name__}() takes nothing, or the function that it "
                               f"decorates, not {typed(function)}"))
        return switch(function)

    def __call__(self, function: F) -> F:
        """The function, with recording switched while it runs."""

        recording = self.changes["recording"]

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            mode = MODE.get()
            other = Settled(mode, recording)
            try:
                MODE.set(other.mode)
                return function(*args, **keywords)
            finally:
                MODE.set(mode)
                other.mode = None

        return call  # type: ignore[return-value]


class no_grad(_Recording):  # noqa: N801 - used as a function
    """Operations inside are not recorded; as a ``with`` block or a decorator.

    :param function: A function to decorate; left out, the object is a ``with`` block.
    :type function: callable, optional
    :see: enable_grad, stop_gradient, is_grad_enabled

    >>> w = ag.ones(2, requires_grad=True)
    >>> with ag.no_grad():
    ...     w -= 0.5
    >>> w
    tensor([0.5, 0.5], requires_grad=True)
    """

    __slots__ = ()

    changes = MappingProxyType({"recording": False})
    first = first_mode(recording=False)


class enable_grad(_Recording):  # noqa: N801 - used as a function
    """Operations inside are recorded again, within :class:`no_grad`.

    :param function: A function to decorate; left out, the object is a ``with`` block.
    :type function: callable, optional
    :see: no_grad, is_grad_enabled

    >>> w = ag.ones(2, requires_grad=True)
    >>> with ag.no_grad(), ag.enable_grad():
    ...     print((w * 2).requires_grad)
    True
    """

    __slots__ = ()

    changes = MappingProxyType({"recording": True})
    first = first_mode(recording=True)


@strict
def is_grad_enabled() -> bool:
    """Return whether operations are recorded now.

    :returns: False inside of :class:`no_grad`.
    :see: no_grad, enable_grad

    >>> with ag.no_grad():
    ...     print(ag.is_grad_enabled())
    False
    """
    return STATE.recording


class Reads:
    """The values that gradient rules read while a function is traced, and the changes made in
    place.

    A trace keeps values in nodes, so it could use overwritten ones; it raises instead, as an eager
    run does.
    """

    __slots__ = ("changes", "kept")

    def __init__(self) -> None:
        #: Operands and result of the operations through which gradients flow.
        self.kept: dict[Node, tuple[Tensor, ...]] = {}
        #: The last change that was not recorded, by the memory's counter of changes.
        self.changes: dict[int, int] = {}

    def changed(self, target: Tensor) -> None:
        """Record a change in place that no gradient flows through."""
        counter: Any = target._version
        self.changes[id(counter)] = counter[0]

    def lost(self, node: Node) -> Iterator[Node]:
        """Yield the operands and the result of an operation that its rules read, and that were
        changed since.
        """
        if not self.changes or node not in self.kept:
            return
        *xs, y = self.kept[node]
        for i, x in enumerate(xs):
            if self._after(node, x) and node.op.needs(i, node.inputs):
                yield node.inputs[i]
        if node.op.needs_result(node.inputs) and self._after(node, y):
            yield node

    def _after(self, node: Node, x: Tensor) -> bool:
        return self.changes.get(id(x._version), 0) > node.serial


def last_change(x: Tensor) -> int:
    """The number of the last change of a tensor's memory, to compare with a later one."""
    counter = x._version
    if counter is None:
        counter = x._version = [0]
    next_serial()  # compiled code counts its changes again
    number: int = counter[0]
    return number


def detach(x: Tensor) -> Tensor:
    """The same value without its history: gradients stop here.  Memory is shared.

    :returns: A leaf that does not require grad; changes in place show in both.

    >>> w = ag.ones(2, requires_grad=True)
    >>> (w * 2).detach()
    tensor([2., 2.])
    """
    if not is_known(x):
        t = apply(STOP, x)
        share(t, STOP, x)
        return t
    family = x._version = x._version or [0]
    t = wrap(x.array)
    t._version = family
    t._name = x._name
    register(family, t)  # records note from now on what changes in place have to copy
    return t


@public
def stop_gradient(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Like ``x.detach()``, under JAX's name: gradients stop here.

    :param x: Of any shape and dtype.
    :returns: The same value; memory is shared.
    :see: no_grad, Tensor.detach, custom_vjp

    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> ag.grad(x * ag.stop_gradient(x), x)
    tensor(3.)
    """
    return detach(as_tensor(x))


def alias(x: Tensor) -> Tensor:
    """Return a new tensor of the same value that requires a gradient of its own; gradients flow on
    to ``x``.
    """
    if not is_known(x):
        inputs = (current(x),)
        t = symbol(Node(ALIAS, inputs, x.shape, x.dtype, x.weak, requires_grad=True))
        note_memory_order(t, ALIAS, (x,))
        return t
    t = detach(x)
    t._requires_grad = True
    if x._requires_grad or STATE.examples is not None:
        t.node = Node(ALIAS, (current(x),), x.shape, x.dtype, requires_grad=True)
    else:
        argument(t)
    return t


def begun(known: dict[int, tuple[Tensor, Node]], x: Tensor) -> Node:
    """Return the node at which gradients of a symbol begin for which ``requires_grad`` was set."""
    node: Any = x.node
    found = known.get(id(x))
    if found is None or found[1].inputs[0] is not node:
        start = Node(ALIAS, (node,), node.shape, node.dtype, node.weak, True, node.where,
                     handle=lambda: x)
        found = known[id(x)] = x, start
    return found[1]


def behind(before: Node, node: Node, begins: bool) -> Node:
    """Return the node of a value that replaces another one while nothing is recorded.

    Gradients flow to what the former value was computed from, unless they begin at the tensor
    itself.
    """
    if before.requires_grad and not begins:
        return Node(STOP.put, (before, node), node.shape, node.dtype, False, True, node.where)
    if not node.requires_grad:
        return node
    return Node(STOP, (node,), node.shape, node.dtype, node.weak, where=node.where)


def looking(x: Tensor, base: Node) -> Node:
    """Return the node of a view of ``base`` at its first use in a trace.

    Gradients flow to the base if eager ones would.
    """
    view: Any = x._view
    shape, dtype = view.op.infer(base)
    flows = base.requires_grad and view.op.differentiable
    node = Node(view.op, (base,), shape, dtype, requires_grad=flows, where=user_where(3))
    begins = x._requires_grad and is_leaf(x)
    if flows and (begins or (view.base.requires_grad and not x._requires_grad)):
        node = Node(STOP, (node,), shape, dtype, where=node.where)
    if begins:
        node = Node(ALIAS, (node,), shape, dtype, False, True, node.where, handle=lambda: x)
    return node


@explain_errors
def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Switch whether operations on a leaf are recorded; returns the tensor.

    :param requires_grad: Whether they are recorded.
    :returns: The tensor itself.
    :raises TypeError: If its dtype is neither floating nor complex, or the flag is no bool.
    :raises GradientError: If it was computed and shall not require grad.

    >>> ag.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    if not isinstance(requires_grad, bool | np.bool_):
        raise TypeError(
            f"requires_grad of {typed(x)} must be True or False, not {typed(requires_grad)}"
        )
    if requires_grad and not is_inexact(x.dtype):
        raise TypeError(
            f"only float and complex tensors can require grad, not {typed(x)}; convert it first"
        )
    if not requires_grad and not is_leaf(x):
        raise GradientError(at(f"{typed(x)} was computed; use .detach() to cut its history"))
    if x._requires_grad is not bool(requires_grad):
        note_flag(x)
        if requires_grad and TRACES.running:
            note_beginning(x)
        x._requires_grad = bool(requires_grad)
    return x


def get_requires_grad(x: Tensor) -> bool:
    """Return whether gradients are computed for a tensor."""
    if TRACES.running:  # it is a fact of a traced call
        of_symbol = x.array is None
        if of_symbol or MODE.get().reads is not None:
            query_fact(x, "requires_grad", of_symbol)
    return x._requires_grad


def set_requires_grad(x: Tensor, requires_grad: bool) -> None:
    """Perform ``x.requires_grad = requires_grad``; see :func:`requires_grad_`."""
    requires_grad_(x, requires_grad)


def retain_grad(x: Tensor) -> None:
    """Let ``backward`` keep the gradient of this intermediate result in its ``grad``.

    :raises GradientError: If the tensor does not require grad.

    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> z = 2 * x
    >>> z.retain_grad()
    >>> z.sum().backward()
    >>> z.grad
    tensor([1., 1.])
    """
    if not x._requires_grad:
        raise GradientError(at(f"retain_grad: {typed(x)} does not require grad, so it will not "
                               "have one; requires_grad=True makes it a parameter"))
    node = current(x)
    if node.op is not None:
        node.handle = weakref.ref(x)


def retains_grad(x: Tensor) -> bool:
    """Return whether ``backward`` keeps the gradient of this intermediate result."""
    node = current(x) if x._requires_grad else None
    return node is not None and node.op is not None and node.handle is not None


def zero_grad(x: Tensor) -> None:
    """Forget the gradient: ``x.grad`` is None again."""
    x.grad = None


def clear_grad(x: Tensor, to_none: bool) -> None:
    """Forget the gradient, or set it to zero; one that compiled code has used up is zeros again."""
    if not is_tracing() and (to_none or x._grad is CONSUMED):
        x._grad = None if to_none else wrap(np.zeros_like(x.array))
    elif to_none or x.grad is None:
        x.grad = None
    else:
        x.grad.zero_()


def is_leaf(x: Tensor) -> bool:
    """Return whether the tensor was not computed by a recorded operation, or its gradient begins
    at it all the same."""
    node = x.node
    if node is not None and node.op in (None, ALIAS) and x.array is None:
        if facts := query_fact(x, "is_leaf"):
            return bool(facts["is_leaf"])
        if x._requires_grad and STATE.examples is not None and STATE.examples.gives(node):
            return False  # it is a part of what has the gradient
    return node is None or node.op is None or not (x._requires_grad and node.requires_grad)


def get_is_leaf(x: Tensor) -> bool:
    """Return whether the tensor was not computed by a recorded operation, or its gradient begins
    at it all the same."""
    if x.array is not None:
        get_requires_grad(x)
    return is_leaf(x)


def grad_fn(x: Tensor) -> Node | None:
    """What computed the tensor, which ``backward`` goes through; None of others, and of leaves.

    >>> import agnesi as ag
    >>> w = ag.ones(2, requires_grad=True)
    >>> w.grad_fn is None, (2 * w).grad_fn is None
    (True, False)
    """
    return x.node if get_requires_grad(x) and not is_leaf(x) else None


def unchain_backward(x: Tensor) -> None:
    """Cut the whole history behind a tensor, so that its memory is freed.

    Everything that was computed on the way becomes a constant; parameters stay as they are.
    For truncated backpropagation through time.

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.ones(1, requires_grad=True)
    >>> h = w * 2
    >>> loss = h * 3
    >>> loss.unchain_backward()
    >>> h.owner is None
    True
    """
    if x.node is None:
        return
    for node in toposort([current(x)]):
        if node.op is not None and type(node) is not SpentNode:  # which others have, too
            node.op = None
            node.inputs = ()
            node.requires_grad = False


class Apply:
    """The operation that made a tensor: ``op``, ``inputs`` and ``outputs``."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def op(self) -> Op:
        """The operation."""
        op: Op = self._node.op
        return op

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the operation was applied to."""
        return tuple(_handle(n) for n in self._node.inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that the operation made."""
        return (_handle(self._node),)

    def __repr__(self) -> str:
        return f"Apply({self._node!r})"


def _handle(node: Node) -> Tensor:
    found = node.handle() if node.handle is not None else None
    return found if found is not None else symbol(node)


def owner(x: Tensor) -> Apply | None:
    """The operation that made this tensor; None for inputs, parameters and unrecorded results."""
    node = x.node
    return None if node is None or node.op is None else Apply(node)
