"""Functions that an optimizer calls around its step and around reading or loading its state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from agnesi.core.op import typed
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

        :param hook: ``hook(optimizer, state_dict)``: changes it, or returns another.
        :param prepend: Whether it is called before the others.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer
        """
        return _registered(self, "state_dict", "behind", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False
                                          ) -> RemovableHandle:
        """Call a function with a state before it is loaded.

        :param hook: ``hook(optimizer, state_dict)``, a copy: changes it, or returns another.
        :param prepend: Whether it is called before the others.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer
        """
        return _registered(self, "load_state_dict", "before", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False
                                           ) -> RemovableHandle:
        """Call a function when a state was loaded.

        :param hook: ``hook(optimizer)``.
        :param prepend: Whether it is called before the others.
        :returns: Its ``remove()`` takes the hook away.
        :raises TypeError: If it is no function.
        :see: optim.Optimizer
        """
        return _registered(self, "load_state_dict", "behind", hook, prepend)


class _WithHooks:
    """A method of an object, and the hooks around it."""

    def __init__(self, owner: Any, method: str) -> None:
        self.owner, self.method = owner, method

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        owner, method = self.owner, self.method
        if method == "load_state_dict" and args and isinstance(args[0], Mapping):
            args = (dict(args[0]), *args[1:])
        for hook in self._those("before"):
            found = self._called(hook, *self._shown(args, keywords))
            if found is not None and method == "step":
                if not isinstance(found, tuple) or len(found) != 2:
                    raise TypeError(at("a hook before step returns nothing, or a pair of arguments "
                                       f"and keywords, not {typed(found)}"))
                args, keywords = found
            elif found is not None and method == "load_state_dict":
                args = (found, *args[1:])
        result = getattr(type(owner), method)(owner, *args, **keywords)
        for hook in self._those("behind"):
            if method == "state_dict":
                found = self._called(hook, result)
                result = result if found is None else found
            else:
                self._called(hook, *(self._shown(args, keywords) if method == "step" else ()))
        return result

    def _those(self, when: str) -> list[Hook]:
        return [h for h in self.owner._hooks if h.kind == f"{self.method} {when}"]

    def _shown(self, args: Any, keywords: Any) -> tuple[Any, ...]:
        """What a hook before the method is given beside the optimizer."""
        return {"step": (args, keywords), "state_dict": ()}.get(self.method, args[:1])

    def _called(self, hook: Hook, *given: Any) -> Any:
        return call_user(hook.function, (self.owner, *given), {}, f"a hook of {self.method}",
                         "the optimizer and what its description says")


def _registered(owner: Any, method: str, when: str, hook: Any, prepend: bool) -> RemovableHandle:
    if not callable(hook):
        raise TypeError(at(f"a hook is a function, not {typed(hook)}"))
    one = Hook(f"{method} {when}", _number(), hook)
    owner._hooks = (one, *owner._hooks) if prepend else (*owner._hooks, one)
    vars(owner)[method] = _WithHooks(owner, method)
    return RemovableHandle(owner, one.number)
