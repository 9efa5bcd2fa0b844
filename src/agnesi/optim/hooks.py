"""Functions that an optimizer calls around its step and around reading or loading its state."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from agnesi.core.op import typed
from agnesi.core.public import renamed
from agnesi.core.support.errors import at, call_user
from agnesi.nn.base.hooks import Hook, RemovableHandle

_number = itertools.count().__next__


class Hooked:
    """Base of optimizers: the registration of hooks, in the order of which they are called.

    A method that has hooks is replaced in the object, and only there: others cost nothing.
    """

    _hooks: tuple[Hook, ...] = ()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function before each step.

        :param hook: ``hook(optimizer, args, kwargs)``, with what ``step`` was given; may return
            a pair of others.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer

        >>> w = ag.zeros(1, requires_grad=True)
        >>> optimizer = ag.optim.SGD([w], lr=0.1)
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("step"))
        >>> (w * 2).sum().backward()
        >>> optimizer.step()
        step
        """
        return _registered(self, "step", "before", hook, False)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function behind each step.

        :param hook: ``hook(optimizer, args, kwargs)``, with what ``step`` was given.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer
        """
        return _registered(self, "step", "behind", hook, False)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False
                                     ) -> RemovableHandle:
        """Call a function before the state is read.

        :param hook: ``hook(optimizer)``.
        :param prepend: Whether it is called before the others.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer
        """
        return _registered(self, "state_dict", "before", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False
                                      ) -> RemovableHandle:
        """Call a function with the state that was read.

        :like: Hooked.register_state_dict_pre_hook
        :param hook: ``hook(optimizer, state_dict)``: changes it, or returns another.
        :see: optim.Optimizer
        """
        return _registered(self, "state_dict", "behind", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False
                                          ) -> RemovableHandle:
        """Call a function with a state before it is loaded.

        :like: Hooked.register_state_dict_pre_hook
        :param hook: ``hook(optimizer, state_dict)``, a copy: changes it, or returns another.
        :see: optim.Optimizer
        """
        return _registered(self, "load_state_dict", "before", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False
                                           ) -> RemovableHandle:
        """Call a function when a state was loaded.

        :like: Hooked.register_state_dict_pre_hook
        :see: optim.Optimizer
        """
        return _registered(self, "load_state_dict", "behind", hook, prepend)


class _WithHooks:
    """A method of an optimizer, and the hooks around it."""

    method: str

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def those(self, when: str) -> list[Callable[..., Any]]:
        """The hooks before or behind the method, each to be called with what it is given beside
        the optimizer."""
        return [functools.partial(self._call, hook.function) for hook in self.owner._hooks
                if hook.kind == f"{self.method} {when}"]

    def _call(self, hook: Callable[..., Any], *given: Any) -> Any:
        return call_user(hook, (self.owner, *given), {}, f"a hook of {self.method}",
                         "the optimizer and what its description says")


class _Step(_WithHooks):
    method = "step"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        for hook in self.those("before"):
            found = hook(args, keywords)
            if found is None:
                continue
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(at("a hook before step returns nothing, or a pair of arguments "
                                   f"and keywords, not {typed(found)}"))
            args, keywords = found
        result = type(self.owner).step(self.owner, *args, **keywords)
        for hook in self.those("behind"):
            hook(args, keywords)
        return result


class _StateDict(_WithHooks):
    method = "state_dict"

    def __call__(self, copy: bool = True) -> Any:
        for hook in self.those("before"):
            hook()
        state = type(self.owner).state_dict(self.owner, copy)
        for hook in self.those("behind"):
            found = hook(state)
            state = state if found is None else found
        return state


class _LoadStateDict(_WithHooks):
    method = "load_state_dict"

    @renamed(state_dict="state")
    def __call__(self, state: Any) -> None:
        state = dict(state) if isinstance(state, Mapping) else state
        for hook in self.those("before"):
            found = hook(state)
            state = state if found is None else found
        type(self.owner).load_state_dict(self.owner, state)
        for hook in self.those("behind"):
            hook()


_METHODS = {kind.method: kind for kind in (_Step, _StateDict, _LoadStateDict)}


def _registered(owner: Any, method: str, when: str, hook: Any, prepend: bool) -> RemovableHandle:
    if not callable(hook):
        raise TypeError(at(f"a hook is a function, not {typed(hook)}"))
    one = Hook(f"{method} {when}", _number(), hook)
    owner._hooks = (one, *owner._hooks) if prepend else (*owner._hooks, one)
    vars(owner)[method] = _METHODS[method](owner)
    return RemovableHandle(owner, one.number)
