"""Hooks: functions that see a module's inputs, outputs and gradients, and may change them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

from agnesi.autodiff.custom import custom_vjp
from agnesi.core.op import typed
from agnesi.core.support import tree
from agnesi.core.support.errors import GradientError, at, call_user
from agnesi.core.tensor import Tensor

_number = itertools.count().__next__


class Hook(NamedTuple):
    """A function and when it is called."""

    kind: str
    number: int
    function: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False


class RemovableHandle:
    """The result of ``register_..._hook``; it removes the hook.

    :param module: Whose hook it is.
    :type module: Module
    :param number: The hook's.
    :see: nn.Module

    >>> net = ag.nn.Tanh()
    >>> with net.register_forward_hook(lambda module, args, output: output + 1):
    ...     net(ag.zeros(1))
    tensor([1.])
    >>> net(ag.zeros(1))
    tensor([0.])
    """

    def __init__(self, module: object, number: int) -> None:
        self._module: Any = module
        self._number = number

    def remove(self) -> None:
        """Take the hook away; nothing happens where it is gone."""
        module = self._module
        module._hooks = tuple(h for h in module._hooks if h.number != self._number)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class HookView(MutableMapping[int, Any]):
    """The hooks of one kind by number, as programs for PyTorch read, empty and replace them."""

    def __init__(self, module: Any, kind: str) -> None:
        self._module, self._kind = module, kind

    def _held(self) -> dict[int, Any]:
        return {h.number: h.function for h in self._module._hooks if h.kind == self._kind}

    def __getitem__(self, number: int) -> Any:
        return self._held()[number]

    def __setitem__(self, number: int, function: Callable[..., Any]) -> None:
        module = self._module
        if number in self:
            module._hooks = tuple(
                h._replace(function=function) if h.number == number else h for h in module._hooks)
        else:
            module._hooks = (*module._hooks, Hook(self._kind, number, function))

    def __delitem__(self, number: int) -> None:
        self._held()[number]
        RemovableHandle(self._module, number).remove()

    def __iter__(self) -> Iterator[int]:
        return iter(self._held())

    def __len__(self) -> int:
        return len(self._held())

    def __repr__(self) -> str:
        return repr(self._held())


def _hooks_of(kind: str) -> Any:
    """The property that gives the hooks of a kind, and replaces all of them."""

    def replace(module: Any, hooks: Any) -> None:
        view = HookView(module, kind)
        wanted = dict(hooks)
        view.clear()
        view.update(wanted)

    return property(lambda module: HookView(module, kind), replace)


class Hooked:
    """Base of modules: the methods that register hooks."""

    __slots__ = ()

    _forward_pre_hooks = _hooks_of("forward_pre")
    _forward_hooks = _hooks_of("forward")
    _backward_pre_hooks = _hooks_of("backward_pre")
    _backward_hooks = _hooks_of("backward")
    _state_dict_hooks = _hooks_of("state")
    _load_state_dict_pre_hooks = _hooks_of("load")
    _load_state_dict_post_hooks = _hooks_of("loaded")

    def _register(self, kind: str, function: Any, prepend: bool, **options: bool
                  ) -> RemovableHandle:
        this: Any = self
        if not callable(function):
            raise TypeError(at(f"a {kind} hook is a function, not {typed(function)}"))
        hook = Hook(kind, _number(), function, **options)
        this._hooks = (hook, *this._hooks) if prepend else (*this._hooks, hook)
        return RemovableHandle(self, hook.number)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """Call a function with the arguments before each ``forward``; it may give others.

        :param hook: ``hook(module, args)``, or ``hook(module, args, kwargs)``: gives None, or other
            arguments (and a pair of them and those by name).
        :param prepend: Whether it comes before those that there are.
        :param with_kwargs: Whether it gets arguments by name, too.
        :returns: Its ``remove()`` takes the hook away.

        >>> net = ag.nn.Identity()
        >>> handle = net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        >>> net(ag.ones(1))
        tensor([2.])
        """
        return self._register("forward_pre", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                              with_kwargs: bool = False, always_call: bool = False
                              ) -> RemovableHandle:
        """Call a function with what each ``forward`` gives; it may give something else.

        :like: Hooked.register_forward_pre_hook
        :param hook: ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)``:
            gives None, or another output.
        :param always_call: Whether it is called, with None, where ``forward`` fails.

        >>> net, seen = ag.nn.Tanh(), []
        >>> handle = net.register_forward_hook(lambda module, args, output: seen.append(output))
        >>> y = net(ag.zeros(2))
        >>> seen
        [tensor([0., 0.])]
        """
        return self._register("forward", hook, prepend, with_kwargs=with_kwargs, always=always_call)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False
                                        ) -> RemovableHandle:
        """Call a function with the gradients of the outputs; it may give others.

        :param hook: ``hook(module, grad_output)``, a tuple: gives None, or another tuple.
        :param prepend: Whether it comes before those that there are.
        :returns: Its ``remove()`` takes the hook away.
        """
        return self._register("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False
                                    ) -> RemovableHandle:
        """Call a function with the gradients of inputs and outputs; it may give other ones.

        :param hook: ``hook(module, grad_input, grad_output)``, tuples: gives None, or another
            ``grad_input``.
        :param prepend: Whether it comes before those that there are.
        :returns: Its ``remove()`` takes the hook away.

        >>> net = ag.nn.Identity()
        >>> handle = net.register_full_backward_hook(lambda module, gx, gy: (gx[0] * 10,))
        >>> ag.grad(lambda x: net(x).sum())(ag.ones(2))
        tensor([10., 10.])
        """
        return self._register("backward", hook, prepend)


def called(module: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a module that has hooks."""
    hooks: tuple[Hook, ...] = module._hooks
    count = len(args)
    for hook in hooks:
        if hook.kind == "forward_pre":
            args, keywords = _before(module, hook, args, keywords)
    heard: dict[str, tuple[Tensor, ...]] = {}
    backward = [h for h in hooks if h.kind.startswith("backward")]
    if any(h.kind == "backward" for h in backward):
        args = _tapped(args, lambda gs: _gradients(module, backward, gs, heard))
    try:
        output = module.forward(*args, **keywords)
    except Exception as error:
        for hook in hooks:
            if hook.always:
                _behind(module, hook, args, keywords, None)
        if isinstance(error, TypeError) and len(args) != count:
            error.args = (f"{error}, {len(args)} of which a forward_pre hook gave for {count}",)
        raise
    for hook in hooks:
        if hook.kind == "forward":
            found = _behind(module, hook, args, keywords, output)
            output = output if found is None else found
    if backward:
        output = _tapped(output, lambda gs: _outputs(module, backward, gs, heard))
    return output


def _before(module: Any, hook: Hook, args: Any, keywords: Any) -> tuple[Any, dict[str, Any]]:
    if hook.with_kwargs:
        found = _found(module, hook, "args, kwargs", args, keywords)
        return (args, keywords) if found is None else found
    found = _found(module, hook, "args", args)
    if found is None:
        return args, keywords
    return found if isinstance(found, tuple) else (found,), keywords


def _behind(module: Any, hook: Hook, args: Any, keywords: Any, output: Any) -> Any:
    if hook.with_kwargs:
        return _found(module, hook, "args, kwargs, output", args, keywords, output)
    return _found(module, hook, "args, output", args, output)


def _found(module: Any, hook: Hook, form: str, *given: Any) -> Any:
    """What a hook of the user's gives; of one that does not fit, the error says how it is
    called."""
    return call_user(hook.function, (module, *given), {},
                     f"{type(module).__name__}, a {hook.kind} hook", f"hook(module, {form})")


def _outputs(module: Any, hooks: list[Hook], gs: tuple[Any, ...], heard: dict[str, Any]) -> Any:
    for hook in hooks:
        if hook.kind == "backward_pre":
            found = _found(module, hook, "grad_output", gs)
            gs = gs if found is None else found
    heard["outputs"] = gs
    return gs


def _gradients(module: Any, hooks: list[Hook], gs: tuple[Any, ...], heard: dict[str, Any]) -> Any:
    for hook in hooks:
        if hook.kind == "backward":
            found = _found(module, hook, "grad_input, grad_output", gs, heard.get("outputs", ()))
            gs = gs if found is None else found
    return gs


def _tapped(nest: Any, changed: Callable[[tuple[Any, ...]], Any]) -> Any:
    """The same values, through which gradients come in the form that a function gives."""
    leaves, shape = tree.flatten(nest)
    places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.dtype.kind in "fcV"]

    @custom_vjp
    def same(*xs: Tensor) -> tuple[Tensor, ...]:
        return xs

    def backward(_: Any, gs: tuple[Any, ...]) -> tuple[Any, ...]:
        found = changed(tuple(gs))
        parts = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        for g, part in zip(gs, parts, strict=False):
            if isinstance(part, Tensor) and part.shape != g.shape:
                raise GradientError(at("a backward hook of a module must give None or gradients as "
                                       f"{typed(tuple(gs))}, not {typed(parts)}"))
        return parts

    same.defvjp(lambda *xs: (xs, ()), backward)
    for i, x in zip(places, same(*(leaves[i] for i in places)), strict=True):
        leaves[i] = x
    return shape.build(leaves)
