"""``autograd.Function`` of PyTorch: a ``forward`` and a ``backward`` that share a context."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.autodiff.custom import Pullback
from agnesi.autodiff.recording import no_grad
from agnesi.autodiff.rules import fitted, location_of
from agnesi.core.op import typed
from agnesi.core.support import tree
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import GradientError, at, call_user
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.expand import sum_to
from agnesi.ops.control.loop import applied
from agnesi.ops.sparse.words import is_sparse


def _spreads(shape: Any, wider: Any) -> bool:
    """Whether a value of the first shape may have been broadcast to the second."""
    pairs = zip(reversed(shape), reversed(wider), strict=False)
    return len(shape) <= len(wider) and all(n == 1 or n == m for n, m in pairs)


class FunctionCtx:
    """The values that ``forward`` of a :class:`Function` keeps for ``backward``; any attribute may
    be set.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument, whether it wants a gradient.
    saved_tensors : tuple of Tensor
        What :meth:`save_for_backward` was given.

    See Also
    --------
    autograd.Function

    Examples
    --------
    >>> import agnesi as ag
    >>> context = ag.autograd.FunctionCtx()
    >>> context.save_for_backward(ag.ones(2))
    >>> context.saved_tensors
    (tensor([1., 1.]),)
    """

    needs_input_grad: tuple[bool, ...] = ()
    _constant: tuple[Any, ...] = ()
    _filled = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "saved_tensors":
            raise AttributeError(at("ctx.saved_tensors: forward saved none; call "
                                    "ctx.save_for_backward(x) there"))
        raise AttributeError(at(f"ctx.{name}: forward kept nothing of that name; write ctx.{name} "
                                "= value there, or ctx.save_for_backward(x) for tensors"))

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arguments, results or other tensors for ``backward``.

        :param *tensors: Which ones.
        :type *tensors: Tensor, sparse tensor or None
        :raises TypeError: If one is no tensor.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor) and not is_sparse(t):
                raise TypeError(at(f"save_for_backward keeps tensors, not {typed(t)}; other values "
                                   "are attributes: ctx.scale = scale"))
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that no gradient flows through results.

        :param *tensors: Which ones of the results.
        """
        self._constant = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Refused: arguments are not changed in place.

        :param *tensors: Which ones.
        :raises GradientError: Always.
        """
        raise GradientError(at("forward of an autograd.Function returns new tensors, and changes "
                               "no argument in place: y = x.clone().add_(1)"))

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether ``backward`` is given zeros, and not None, for results without a gradient.

        :param value: Whether so; True by default.
        """
        self._filled = value


class Function:
    """A function whose derivative you write: ``forward(ctx, ...)``, ``backward(ctx, *gradients)``.

    Both are static methods on tensors; ``forward`` keeps on ``ctx`` what ``backward`` needs, which
    gives the gradient of each argument, or None.  Call it by ``apply``, eagerly, in compiled
    functions and under ``vmap``.  What ``forward`` does is not recorded; derivatives of
    ``backward`` give those of higher order.  ``setup_context(ctx, inputs, output)`` may keep
    things in the place of ``forward``, which then takes no ``ctx``.

    :param *args: None: a class is not called itself, but by ``apply``.
    :raises TypeError: If there are any.
    :see: custom_vjp, op, autograd.FunctionCtx

    >>> class Cube(ag.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x**2 * grad
    >>> ag.grad(lambda x: Cube.apply(x))(2.0)
    tensor(12.)
    """

    def __init__(self, *args: Any) -> None:
        if args:
            self(*args)  # which has the form of the call

    def __call__(self, *args: Any) -> Any:
        raise TypeError(at(f"{type(self).__name__} is not called itself: write "
                           f"{type(self).__name__}.apply(x)"))

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None = None

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results for arguments, of which tensors get gradients.

        :param *args: What ``forward`` takes.
        :returns: What ``forward`` returns, its tensors with the derivative.
        :raises TypeError: If the class has no ``forward`` or ``backward``.
        :raises GradientError: From ``backward``, if it does not give as many gradients as there are
            arguments.
        """
        for name in ("forward", "backward"):
            if not hasattr(cls, name):
                raise TypeError(at(f"{cls.__name__} has no static method {name}(ctx, ...)"))
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        with no_grad():
            if cls.setup_context is None:
                found = call_user(cls.forward, (ctx, *args), {}, cls.__name__,
                                  "a static method forward(ctx, *args)")
            else:
                found = call_user(cls.forward, args, {}, cls.__name__,
                                  "a static method forward(*args) where there is setup_context")
                call_user(cls.setup_context, (ctx, args, found), {}, cls.__name__,
                          "a static method setup_context(ctx, inputs, output)")
        if found is None:
            raise TypeError(at(f"{cls.__name__}.forward must return a tensor, or several, not "
                               "None: end it with `return`"))
        if not STATE.recording or not any(ctx.needs_input_grad):
            return tuple(found) if isinstance(found, (tuple, list)) else found
        return _Call(cls, ctx, args, found).results()


class _Call:
    """The operation that one differentiable call of a :class:`Function` records."""

    def __init__(self, cls: type[Function], ctx: FunctionCtx, args: Sequence[Any], found: Any
                 ) -> None:
        self.cls, self.ctx, self.args = cls, ctx, args
        self.single = not isinstance(found, (tuple, list))
        self.found = [found] if self.single else list(found)
        fixed = set(map(id, ctx._constant))
        self.flowing = [i for i, y in enumerate(self.found)
                        if isinstance(y, Tensor) and y.dtype.kind in "fcV" and id(y) not in fixed]
        self.leaves, self.shape = tree.flatten(vars(ctx))
        self.kept = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]

    def results(self) -> Any:
        """Return the results of ``forward``, with a record."""
        if not self.flowing:
            return self.found[0] if self.single else tuple(self.found)
        inputs = [a for a in self.args if isinstance(a, Tensor)]
        ys = [self.found[i] for i in self.flowing]
        saved = [self.leaves[i] for i in self.kept]
        own = tuple((k, j) for k, t in enumerate(saved) for j, y in enumerate(ys) if t is y)
        op = Pullback(self.cls.__name__, self._pullback, len(inputs), len(ys), own,
                      self.ctx._filled)
        made = applied(op, *inputs, *ys, *saved)
        for i, y in zip(self.flowing, made, strict=True):
            self.found[i] = y
        return self.found[0] if self.single else tuple(self.found)

    def _pullback(self, saved: Sequence[Tensor], gs: Sequence[Any]) -> list[Any]:
        """Gradients of the tensors among the arguments."""
        leaves = list(self.leaves)
        for i, t in zip(self.kept, saved, strict=True):
            leaves[i] = t
        ctx = copy.copy(self.ctx)
        vars(ctx).update(self.shape.build(leaves))
        given: list[Any] = [zeros_like(y) if isinstance(y, Tensor) and ctx._filled else None
                            for y in self.found]
        for i, g in zip(self.flowing, gs, strict=True):
            given[i] = g
        parts = call_user(self.cls.backward, (ctx, *given), {}, self.cls.__name__,
                          "a static method backward(ctx, *gradients), one for each result")
        parts = parts if isinstance(parts, tuple) else (parts,)
        if len(parts) < len(self.args) or any(p is not None for p in parts[len(self.args):]):
            raise GradientError(at(f"{self.cls.__name__}.backward returned {len(parts)} gradients "
                                   f"for {len(self.args)} arguments of forward"))
        return [self._fitting(i, x, parts[i]) for i, x in enumerate(self.args)
                if isinstance(x, Tensor)]

    def _fitting(self, i: int, x: Tensor, g: Any) -> Tensor | None:
        if g is None or x.dtype.kind not in "fcV":
            return None
        owner = f"{self.cls.__name__}.backward"
        try:
            found = as_tensor(g)
        except TypeError:
            raise GradientError(at(f"{owner} returned {typed(g)} as the gradient of argument {i}, "
                                   f"{typed(x)}; return a tensor of that shape, or None",
                                   location_of(self.cls.backward))) from None
        found = cast(found, x.dtype)
        if found.shape != x.shape and _spreads(x.shape, found.shape):
            found = sum_to(found, x.shape)  # as PyTorch adds what was broadcast
        return fitted(found, x, owner, f"argument {i}", self.cls.backward, GradientError)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A ``backward`` that has no derivative of its own; requesting one is an error.

    :param backward: ``backward(ctx, *gradients)``; nothing in it is recorded.
    :returns: The same, under ``@staticmethod``.
    :raises GradientError: If the derivative of what it gives is requested.
    :see: autograd.Function

    >>> class Double(ag.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @ag.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> ag.grad(Double.apply)(1.0)
    tensor(2.)
    """

    @functools.wraps(backward)
    def once(ctx: FunctionCtx, *gs: Any) -> Any:
        with no_grad():
            found = backward(ctx, *gs)
        single = not isinstance(found, tuple)
        parts = [found] if single else list(found)
        given = [t for t in (*gs, *tree.flatten(vars(ctx))[0]) if isinstance(t, Tensor)]
        places = [i for i, p in enumerate(parts) if isinstance(p, Tensor)]
        if places and STATE.recording and any(t._requires_grad for t in given):
            op = Pullback(backward.__qualname__, _refused, len(given), len(places))
            made = applied(op, *given, *(parts[i] for i in places))
            for i, part in zip(places, made, strict=True):
                parts[i] = part
        return parts[0] if single else tuple(parts)

    return once


def _refused(saved: Sequence[Tensor], gs: Sequence[Any]) -> list[Any]:
    raise GradientError(at("this backward is once_differentiable: it has no derivative, and so "
                           "the function has no second one"))
