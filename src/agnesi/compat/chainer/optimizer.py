"""The base of Chainer's optimizers, and hooks that change gradients before a step."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from agnesi.core import options
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import GradientError, MissingKeyError, at, no_attribute, typed


class Optimizer:
    """Base of optimizers; a subclass gives ``update_one`` (or ``update_one_cpu``).

    Attributes
    ----------
    t : int
        Steps that were made, the present one included.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.compat.chainer import Optimizer
    >>> class Plain(Optimizer):
    ...     def update_one_cpu(self, param, grad, state):
    ...         param -= 0.5 * grad
    >>> w, g = np.array([1.0]), np.array([1.0])
    >>> optimizer = Plain()
    >>> optimizer.setup(((w,), (g,)))
    >>> optimizer.update()
    >>> w
    array([0.5])
    """

    t = 0
    epoch = 0
    target: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Hyperparameters are what the constructor takes, however they are set."""
        init: Any = inspect.unwrap(type(self).__init__)
        rules = options.checked(init).get(name) if inspect.isfunction(init) else None
        if rules and (error := options.refusal(name, rules, value)):
            raise type(error)(at(f"{type(self).__name__}: {error}"))
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in ("_hooks", "_entries", "_paths", "_states"):
            raise AttributeError(at(f"{type(self).__name__} has no parameters yet: call "
                                    "optimizer.setup(model) first"))
        raise no_attribute("chainer.Optimizer", name, self)

    def setup(self, params_grads: Any) -> None:
        """Begin with a model, a link, or a pair of parameters and gradients.

        Parameters
        ----------
        params_grads : FunctionSet, Link, or pair of tuples of arrays
        """
        self.t = 0
        self.epoch = 0
        self._hooks: dict[str, Callable[[Any], None]] = {}
        self.target = params_grads
        if isinstance(params_grads, type):
            raise TypeError(at(f"{type(self).__name__}.setup takes a link, as in setup(model), not "
                               f"the class {params_grads.__name__}: make one of it"))
        if hasattr(params_grads, "namedparams"):
            named = list(params_grads.namedparams())
            self._paths = [path for path, _ in named]
            self._entries = [p for _, p in named]
        else:
            if hasattr(params_grads, "collect_parameters"):
                params_grads = params_grads.collect_parameters()
            if not isinstance(params_grads, (list, tuple)) or len(params_grads) != 2 or not all(
                    isinstance(part, (list, tuple)) for part in params_grads):
                raise TypeError(at(f"{type(self).__name__}.setup takes a link, as in setup(model), "
                                   "or a pair of tuples of arrays, parameters and gradients, not "
                                   f"{typed(params_grads)}"))
            self._entries = [_Pair(p, g) for p, g in zip(*params_grads, strict=True)]
            self._paths = [f"/{i}" for i in range(len(self._entries))]
        self._states = [self.init_state(e.data, e.grad) for e in self._entries]

    @property
    def tuples(self) -> list[tuple[Any, Any, Any]]:
        """Parameters, gradients and states."""
        return [(e.data, e.grad, s) for e, s in zip(self._entries, self._states, strict=True)]

    def _followed(self) -> list[tuple[Any, Any, Any]]:
        return [t for t in self.tuples if t[1] is not None]

    def init_state(self, param: Any, grad: Any) -> Any:
        """Make the slots of a parameter, by reference."""
        return self.init_state_cpu(param, grad)

    def init_state_cpu(self, param: Any, grad: Any) -> Any:
        return None

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """One step for all parameters; with a function, along the gradient of what it returns."""
        if lossfun is not None:
            if not callable(lossfun):
                raise TypeError(at(f"{type(self).__name__}.update: lossfun must be a function that "
                                   f"gives the loss, as in update(model, x, t), not "
                                   f"{typed(lossfun)}; after loss.backward() it is update()"))
            self.zero_grads()
            loss = lossfun(*args, **kwds)
            if not hasattr(loss, "backward"):
                raise TypeError(at(f"{type(self).__name__}.update: lossfun must return the loss, a "
                                   f"Variable, not {typed(loss)}"))
            loss.backward()
            del loss
        self.call_hooks()
        if not self.t and all(e.grad is None or np.isnan(e.grad).all() for e in self._entries):
            raise GradientError(at(
                f"{type(self).__name__}.update: no parameter has a gradient: write "
                "model.zerograds() and loss.backward() before it, or update(lossfun, x, t)"))
        self.t += 1
        for param, grad, state in self._followed():
            self.update_one(param, grad, state)

    def update_one(self, param: Any, grad: Any, state: Any) -> None:
        """One step of a parameter, in place."""
        self.update_one_cpu(param, grad, state)

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} needs update_one(param, grad, state)")

    def zero_grads(self) -> None:
        """Set all gradients to zero."""
        for entry in self._entries:
            entry.zerograd()

    def compute_grads_norm(self) -> float:
        """The norm of all gradients together."""
        return math.sqrt(sum(float(np.vdot(g, g)) for _, g, _ in self._followed()))

    def clip_grads(self, maxnorm: float) -> None:
        """Scale gradients down to a norm, where theirs is larger."""
        norm = self.compute_grads_norm()
        if norm > maxnorm:
            for _, g, _ in self._followed():
                g *= maxnorm / norm

    def weight_decay(self, decay: float) -> None:
        """Add the gradient of the squares of parameters, times half of ``decay``."""
        for p, g, _ in self._followed():
            g += decay * p

    def accumulate_grads(self, grads: Iterable[Any]) -> None:
        """Add given gradients."""
        for (_, g, _), other in zip(self.tuples, grads, strict=True):
            g += other

    acumulate_grads = accumulate_grads

    def add_hook(self, hook: Callable[[Any], None], name: str | None = None) -> None:
        """Call something with the optimizer before each step."""
        if not callable(hook) or isinstance(hook, type):
            raise TypeError(at(f"{type(self).__name__}.add_hook: hook must be a function of the "
                               f"optimizer, as optimizer.WeightDecay(0.1) is, not {typed(hook)}"))
        name = name or getattr(hook, "name", None) or hook.__class__.__name__
        if name in self._hooks:
            raise KeyError(at(f"{type(self).__name__}.add_hook: there is a hook {name!r} already: "
                              "remove_hook it first, or give the new one another name"))
        self._hooks[name] = hook

    def remove_hook(self, name: str) -> None:
        """Call it no longer."""
        if name not in self._hooks:
            raise MissingKeyError(at(f"{type(self).__name__}.remove_hook: there is no hook "
                                     f"{name!r}, but {sorted(self._hooks)}"))
        del self._hooks[name]

    def call_hooks(self) -> None:
        """Call all hooks, as each step does first."""
        for hook in self._hooks.values():
            hook(self)

    def new_epoch(self) -> None:
        """Count an epoch."""
        self.epoch += 1

    def serialize(self, serializer: Any) -> None:
        """Hand the state to a serializer, which may give other values."""
        self.t = int(serializer("t", self.t))
        self.epoch = int(serializer("epoch", self.epoch))
        for path, state in zip(self._paths, self._states, strict=True):
            arrays = state if isinstance(state, (tuple, list)) else [state]
            for i, array in enumerate(a for a in arrays if a is not None):
                array[...] = serializer[f"{path[1:]}"](str(i), array)


GradientMethod = Optimizer


class _Pair:
    """An array and that of its gradient."""

    def __init__(self, data: Any, grad: Any) -> None:
        self.data, self.grad = data, grad

    def zerograd(self) -> None:
        self.grad.fill(0)


class WeightDecay:
    """A hook: :meth:`Optimizer.weight_decay`."""

    name = "WeightDecay"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, optimizer: Any) -> None:
        optimizer.weight_decay(self.rate)


class GradientClipping:
    """A hook: :meth:`Optimizer.clip_grads`."""

    name = "GradientClipping"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def __call__(self, optimizer: Any) -> None:
        optimizer.clip_grads(self.threshold)


class Lasso:
    """A hook: adds the gradient of the absolute values of parameters, times a rate."""

    name = "Lasso"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, optimizer: Any) -> None:
        for p, g, _ in optimizer.tuples:
            g += self.rate * np.sign(p)


_strictly(__name__)
