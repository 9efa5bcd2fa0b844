"""Hooks on gradients: functions that see the gradient of a tensor, and may give another one.

A parameter's hooks are kept by the tensor, whose nodes are others in each record and trace; those
of a computed value by its node.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection
from typing import Any

from agnesi.autodiff.recording import is_leaf
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node
from agnesi.core.op import typed
from agnesi.core.public import explain_errors
from agnesi.core.support.errors import GradientError, at, call_user, shown
from agnesi.core.support.tracing import current_reads, is_tracing, outermost
from agnesi.core.tensor import Tensor

Hook = Callable[[Tensor], Any]


class Handle:
    """A handle that removes a hook.

    :see: Tensor.register_hook

    >>> import agnesi as ag
    >>> handle = ag.ones(2, requires_grad=True).register_hook(print)
    >>> handle.remove()
    """

    __slots__ = ("_hooks", "_number")

    _numbers = 0

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        Handle._numbers += 1
        self._hooks, self._number = hooks, Handle._numbers
        hooks[self._number] = hook

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self._number, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooked:
    """The hooks of all parameters and nodes."""

    def __init__(self) -> None:
        #: Whether there ever was one.
        self.any = False
        self.nodes: weakref.WeakKeyDictionary[Node, dict[int, Hook]] = weakref.WeakKeyDictionary()
        #: By the number of the object: tensors compare their elements.
        self.leaves: dict[int, tuple[Any, dict[int, Hook]]] = {}
        #: Parameters whose gradients compiled code computes that knows of no hooks, and that code.
        self.compiled: dict[int, tuple[Any, list[Any]]] = {}
        #: Code that computes gradients by its arguments, which had no hooks.
        self.unaware: weakref.WeakSet[Any] = weakref.WeakSet()

    def of(self, x: Tensor) -> dict[int, Hook]:
        """Return the hooks of a tensor by handle number, as a dict to add to."""
        if not self.any:
            self.any = True
            for code in list(self.unaware):
                code.retire("a hook was registered, which arguments may have")
        if not is_leaf(x) or is_tracing():
            held = self.nodes.setdefault(current(x), {})
            note = getattr(outermost(), "note_hooks", None)
            if note is not None:
                note(x, held)
            return held
        if id(x) not in self.leaves:
            for code in [ref() for ref in self.compiled.pop(id(x), (None, ()))[1]]:
                if code is not None:
                    code.retire(f"a hook of {typed(x)} was registered")
            key = id(x)
            self.leaves[key] = weakref.ref(x, functools.partial(self.leaves.pop, key)), {}
        return self.leaves[id(x)][1]

    def compile(self, x: Tensor, code: Any) -> None:
        """Record that compiled code computes the gradient of ``x``.

        Code for a parameter is retired by the parameter's first hook, code for an argument by the
        first hook of any tensor; once there is one, the code checks by guards whether the hooks
        have changed.
        """
        key = id(x)
        if x.array is None:
            self.unaware.add(code)
        elif key not in self.leaves:
            if key not in self.compiled:
                self.compiled[key] = (weakref.ref(x, functools.partial(self.compiled.pop, key)), [])
            held = self.compiled[key][1]
            held[:] = [ref for ref in held if ref() not in (None, code)] + [weakref.ref(code)]

    def among(self, nodes: Collection[Node]) -> list[Node]:
        """Return the nodes that have hooks."""
        return [n for n in nodes if n in self.nodes] if self.any else []

    def hear(self, nodes: Collection[Node]) -> bool:
        """Return whether a gradient at any of these nodes has hooks."""
        if not self.any or not (self.nodes or self.leaves):
            return False
        heard = {n for n, hooks in self.nodes.items() if hooks}
        return not heard.isdisjoint(nodes) or any(
            self.listen(n, n.handle()) for n in nodes if n.handle is not None)

    def listen(self, node: Node, owner: Tensor | None) -> bool:
        """Return whether the gradient at a node, or of its owner, has hooks."""
        return self.any and bool(
            self.nodes.get(node) or (owner is not None and id(owner) in self.leaves and any(
                type(hook) is not _Behind for hook in self.leaves[id(owner)][1].values())))

    def changed(self, node: Node, owner: Tensor | None, g: Tensor) -> Tensor:
        """Return the gradient at a node after its hooks, each of which may replace it."""
        hooks = dict(self.nodes.get(node, {}))
        if owner is not None and id(owner) in self.leaves:
            held = self._held(owner)
            hooks |= {n: hook for n, hook in held.items() if type(hook) is not _Behind}
        if hooks:
            from agnesi.ops.arrays.replicate import copy

            g = copy(g)  # hooks may change it in place, and others may have it, too
        for _, hook in sorted(hooks.items()):  # by handles, the first that was registered first
            found = call_user(hook, (g,), {}, "a hook", "hook(gradient)")
            if found is None:
                continue
            if not isinstance(found, Tensor) or found.shape != g.shape:
                kind = typed(found) if isinstance(found, Tensor) else shown(found)
                raise GradientError(at(f"a hook must give None or a gradient as {typed(g)}, "
                                       f"not {kind}"))
            g = found
        return g

    def _held(self, owner: Tensor) -> dict[int, Hook]:
        """Return the hooks of a parameter, and record that a trace reads them."""
        held = self.leaves[id(owner)][1]
        if (reads := current_reads()) is not None:
            reads.meet(held, f"the hooks of {typed(owner)}")
        return held

    def arrived(self, x: Tensor) -> None:
        """Call the hooks that wait until a gradient has been added to a parameter's ``grad``."""
        if id(x) in self.leaves or self.nodes:
            hooks = dict(self.nodes.get(current(x), {}))
            if id(x) in self.leaves:
                hooks |= self._held(x)
            for _, hook in sorted(hooks.items()):
                if type(hook) is _Behind:
                    call_user(hook.function, (x,), {}, "a hook", "hook(parameter)")


class _Behind:
    """A hook that is called after a gradient has been added to ``grad``."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        self.function = function

    def __call__(self, g: Tensor) -> None:
        """Ignore gradients that are still being computed."""


HOOKED = Hooked()


@explain_errors
def register_hook(self: Tensor, hook: Hook) -> Handle:
    """Let a function see the tensor's gradient whenever one is computed, and change it.

    In compiled functions it becomes part of the code, as all that it computes, until it is another
    one; functions that leave one at a tensor run eagerly.

    :param hook: It takes the gradient, and gives another one of that shape, or None.
    :type hook: callable
    :returns: ``handle.remove()`` takes the hook off.
    :raises GradientError: If the tensor does not require grad.
    :raises TypeError: If the hook is no function.

    >>> x = ag.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not callable(hook):
        raise TypeError(at(f"register_hook: hook must be a function, not {typed(hook)}"))
    if not self._requires_grad:
        raise GradientError(at(f"register_hook: {typed(self)} does not require grad, so it will "
                               "not have one; requires_grad=True makes it a parameter"))
    return Handle(HOOKED.of(self), hook)


@explain_errors
def register_post_accumulate_grad_hook(self: Tensor, hook: Hook) -> Handle:
    """Let a function be called whenever ``backward`` has added to the tensor's ``grad``.

    It may use the gradient up, as an optimizer's step does, and set ``grad`` to None.

    :param hook: It takes the tensor.
    :type hook: callable
    :returns: ``handle.remove()`` takes the hook off.
    :raises GradientError: If the tensor is no parameter.
    :raises TypeError: If the hook is no function.

    >>> w = ag.ones(2, requires_grad=True)
    >>> with w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(10)):
    ...     w.sum().backward()
    >>> w.grad
    tensor([10., 10.])
    """
    if not callable(hook):
        raise TypeError(at("register_post_accumulate_grad_hook: hook must be a function, not "
                           f"{typed(hook)}"))
    if not self._requires_grad or not is_leaf(self):
        raise GradientError(at("register_post_accumulate_grad_hook: only a parameter has a grad "
                               f"that is added to; {typed(self)} is none"))
    return Handle(HOOKED.of(self), _Behind(hook))
