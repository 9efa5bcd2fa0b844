"""What a module of the user's does to the state of a model: methods and hooks of PyTorch's names.

Tensors are saved and loaded by :meth:`Module.state_dict` and :meth:`Module.load_state_dict` for the
whole model at once.  What is here changes the state behind the former and before the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from agnesi.core.support.errors import StateError, at
from agnesi.nn.base.hooks import Hooked, RemovableHandle

_EXTRA = "_extra_state"
#: What the own loading of a class has to call, or its tensors are not loaded by their names.
_LOADS = "loads"


class Stated(Hooked):
    """Base of modules: what a subclass overrides, and which hooks it has, for its state."""

    __slots__ = ()

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool
                            ) -> None:
        """A subclass may put more into ``destination``, which has the module's tensors already."""

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str,
                              local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:
        """A subclass may change the entries with ``prefix`` and call this, or load by itself."""
        local_metadata[_LOADS] = True

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function with each state that ``state_dict()`` of a model with this module gives.

        :param hook: ``hook(module, state_dict, prefix, local_metadata)``: changes the dict.
        :returns: Its ``remove()`` takes the hook away.

        >>> net = ag.nn.Linear(2, 1)
        >>> handle = net.register_state_dict_post_hook(
        ...     lambda module, state, prefix, about: state.pop(prefix + "bias"))
        >>> list(net.state_dict())
        ['weight']
        """
        return self._register("state", hook, False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function with each state before a model with this module loads it.

        :param hook: ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
            unexpected_keys, error_msgs)``: changes the dict, which is a copy.
        :returns: Its ``remove()`` takes the hook away.

        >>> net = ag.nn.Linear(1, 1)
        >>> def rename(module, state, prefix, *rest):
        ...     state[prefix + "bias"] = state.pop(prefix + "offset")
        >>> handle = net.register_load_state_dict_pre_hook(rename)
        >>> net.load_state_dict({"weight": [[1.0]], "offset": [2.0]}).missing_keys
        []
        """
        return self._register("load", hook, False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function when a model with this module has loaded a state, all that fits of it.

        :param hook: ``hook(module, incompatible_keys)``: may take names out of both lists, which
            count if loading is strict.
        :returns: Its ``remove()`` takes the hook away.

        >>> net = ag.nn.Linear(1, 1, bias=False)
        >>> handle = net.register_load_state_dict_post_hook(
        ...     lambda module, keys: keys.unexpected_keys.clear())
        >>> net.load_state_dict({"weight": [[1.0]], "scale": [2.0]}).unexpected_keys
        []
        """
        return self._register("loaded", hook, False)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """PyTorch's older name of :meth:`register_state_dict_post_hook`."""
        return self.register_state_dict_post_hook(hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any],
                                           with_module: bool = False) -> RemovableHandle:
        """PyTorch's older form of :meth:`register_load_state_dict_pre_hook`."""
        return self.register_load_state_dict_pre_hook(
            hook if with_module else partial(_without_module, hook))


def _without_module(hook: Callable[..., Any], module: Any, *rest: Any) -> Any:
    """Call a hook of PyTorch's older form."""
    return hook(*rest)


def _inside(model: Any) -> list[tuple[str, Any]]:
    """The modules of a model that have something to do with its state, and their prefixes."""
    return [(f"{name}." if name else "", module) for name, module in model._walk()
            if any(h.kind in ("state", "load", "loaded") for h in module._hooks)
            or _overrides(module, "_save_to_state_dict")
            or _overrides(module, "_load_from_state_dict") or _has_extra(module)]


def _overrides(module: Any, name: str) -> bool:
    return getattr(type(module), name) is not getattr(Stated, name)


def _has_extra(module: Any) -> bool:
    return hasattr(type(module), "get_extra_state")


def saved(model: Any, state: dict[str, Any], keep: bool) -> dict[str, Any]:
    """What the modules of a model make of its state."""
    for prefix, module in _inside(model):
        if _overrides(module, "_save_to_state_dict"):
            module._save_to_state_dict(state, prefix, keep)
        if _has_extra(module):
            state[prefix + _EXTRA] = module.get_extra_state()
        for hook in module._hooks:
            if hook.kind == "state":
                found = hook.function(module, state, prefix, {})
                state = found if isinstance(found, dict) else state
    return state


class Loading:
    """The state that a model is to load, as its modules change it."""

    def __init__(self, model: Any, state: Mapping[str, Any], strict: bool) -> None:
        self._inside = _inside(model)
        self.state: Mapping[str, Any] = state
        #: Prefixes whose modules have loaded their tensors themselves.
        self._by_hand: list[str] = []
        self._extra: list[tuple[Any, Any]] = []
        self._missing: list[str] = []
        self._unexpected: list[str] = []
        if self._inside:
            self.state = dict(state)
            errors: list[str] = []
            for prefix, module in self._inside:
                self._prepare(prefix, module, strict, errors)
            if errors:
                raise StateError(at(f"state for {type(model).__name__}: {'; '.join(errors)}"))

    def _prepare(self, prefix: str, module: Any, strict: bool, errors: list[str]) -> None:
        about: dict[str, Any] = {"version": None}
        rest = (self.state, prefix, about, strict, self._missing, self._unexpected, errors)
        for hook in module._hooks:
            if hook.kind == "load":
                hook.function(module, *rest)
        if _overrides(module, "_load_from_state_dict"):
            module._load_from_state_dict(*rest)
            if _LOADS not in about:
                self._by_hand.append(prefix)
        if _has_extra(module) and prefix + _EXTRA in self.state:
            self._extra.append((module, self.state.pop(prefix + _EXTRA)))  # type: ignore[attr-defined]

    def ours(self, names: list[str]) -> list[str]:
        """Those of names that no module has loaded itself."""
        return [n for n in names if not any(
            n.startswith(p) and "." not in n[len(p):] for p in self._by_hand)]

    def report(self, keys: Any) -> Any:
        """The names that do not fit, with those that modules have reported."""
        keys.missing_keys.extend(k for k in self._missing if k not in keys.missing_keys)
        keys.unexpected_keys.extend(k for k in self._unexpected if k not in keys.unexpected_keys)
        return keys

    @property
    def has_hooks_behind(self) -> bool:
        """Whether functions are called when all is loaded."""
        return any(h.kind == "loaded" for _, module in self._inside for h in module._hooks)

    def end(self, keys: Any) -> None:
        """Give the modules what is no tensor, when the tensors are loaded, and call their hooks."""
        for module, value in self._extra:
            module.set_extra_state(value)
        for _, module in self._inside:
            for hook in [h for h in module._hooks if h.kind == "loaded"]:
                hook.function(module, keys)
