"""Parameters that are functions of others: each by a module that computes it (PyTorch's)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.dispatch import assign
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.containers import ModuleDict, ModuleList
from agnesi.nn.base.module import Module
from agnesi.nn.utils.computed import base_of, compute, held, is_computed

M = TypeVar("M", bound=Module)

#: Values by list of parametrizations, while they are kept.
_kept: list[dict[int, Any]] = []


class ParametrizationList(ModuleList):
    """The functions that compute a parameter, and the tensors that they compute it from.

    Parameters
    ----------
    modules : iterable of Module
        Applied one after the other.
    original : Tensor
        The parameter as it was.

    Attributes
    ----------
    original : Tensor
        What it is computed from; ``original0``, ``original1`` and so on if that is several.

    See Also
    --------
    nn.utils.parametrize.register_parametrization

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    def __init__(self, modules: Iterable[Any], original: Tensor) -> None:
        super().__init__(modules)
        value: Any = original
        with no_grad():
            for module in reversed(self.entries):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        several = isinstance(value, (tuple, list))
        parts = list(value) if several else [value]
        self.names = tuple(f"original{k}" * several or "original" for k in range(len(parts)))
        for name, part in zip(self.names, parts, strict=True):
            if part is not original:
                part = wrap(np.array(part.array)).requires_grad_(original._requires_grad)
            setattr(self, name, part)

    def _entries(self) -> Iterator[tuple[str, Any]]:
        for name in vars(self).get("names", ()):
            if name in vars(self):
                yield name, vars(self)[name]
        yield from super()._entries()

    def forward(self) -> Tensor:
        first, *rest = self.entries
        value = first(*(getattr(self, name) for name in self.names))
        for module in rest:
            value = module(value)
        found: Tensor = value
        return found

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Set what the parameter is computed from, so that it becomes a value.

        :param value: Of the parameter's shape.
        :raises NotImplementedError: If a parametrization has no ``right_inverse``.
        """
        found: Any = value
        for module in reversed(self.entries):
            if not hasattr(module, "right_inverse"):
                raise NotImplementedError(at(f"{type(module).__name__} has no right_inverse, which "
                                             "tells what a value is computed from"))
            found = module.right_inverse(found)
        for name, part in zip(self.names, found if isinstance(found, (tuple, list)) else [found],
                              strict=True):
            getattr(self, name).copy_(part)


def _get(module: Any, name: str) -> Any:
    known = vars(module)["parametrizations"][name]
    if not _kept:
        return known()
    values = _kept[-1]
    if id(known) not in values:
        values[id(known)] = known()
    return values[id(known)]


def _set(module: Any, value: Any, name: str) -> None:
    vars(module)["parametrizations"][name].right_inverse(value)


def register_parametrization(module: M, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> M:
    """Let a parameter be computed by a module, from what the module's ``right_inverse`` gives.

    :param module: Whose parameter it is.
    :param tensor_name: Of the parameter.
    :param parametrization: Called with the original, or with what was computed so far.
    :param unsafe: Whether shape and dtype may become others.
    :returns: The module itself.
    :raises ValueError: If there is no such tensor, or shape or dtype become others.
    :see: nn.utils.parametrize.remove_parametrizations

    >>> class Symmetric(ag.nn.Module):
    ...     def forward(self, x):
    ...         return ag.triu(x) + ag.triu(x, 1).T
    >>> layer = ag.nn.Linear(3, 3)
    >>> layer = ag.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if is_parametrized(module, tensor_name):
        known = vars(module)["parametrizations"][tensor_name]
        before = getattr(module, tensor_name)
        known.append(parametrization)
        after = getattr(module, tensor_name)
    else:
        before = getattr(module, tensor_name, None)
        if not isinstance(before, Tensor):
            raise ValueError(at(f"register_parametrization: {type(module).__name__} has no tensor "
                                f"{tensor_name!r}"))
        known = ParametrizationList([parametrization], before)
        after = known()
    if not unsafe and (before.shape, before.dtype) != (after.shape, after.dtype):
        raise ValueError(at(f"register_parametrization: {tensor_name!r} would become {typed(after)}"
                            f", but was {typed(before)}; unsafe=True allows it"))
    if not is_parametrized(module, tensor_name):
        if "parametrizations" not in vars(module):
            module.parametrizations = ModuleDict()
        compute(module, tensor_name, partial(_get, name=tensor_name),
                partial(_set, name=tensor_name))
        vars(module)["parametrizations"][tensor_name] = known
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has a parameter that is computed, or a certain one is.

    :param module: The module.
    :param tensor_name: Of the parameter.
    :returns: Whether there is one.
    :see: nn.utils.parametrize.register_parametrization

    >>> ag.nn.utils.parametrize.is_parametrized(ag.nn.Linear(3, 3))
    False
    """
    known = vars(module).get("parametrizations", ())
    return bool(len(known)) if tensor_name is None else (
        tensor_name in known and is_computed(module, tensor_name))


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Let a parameter be one again.

    :like: register_parametrization
    :param leave_parametrized: Whether it keeps its present value instead of the original one.
    :raises ValueError: If the parameter is not computed, or has several originals to go back to.
    :see: nn.utils.parametrize.register_parametrization

    >>> layer = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> layer = ag.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(at(f"remove_parametrizations: {type(module).__name__}.{tensor_name} is "
                            "not computed by a parametrization"))
    known = vars(module)["parametrizations"][tensor_name]
    if not leave_parametrized and len(known.names) > 1:
        raise ValueError(at("remove_parametrizations: there are several originals; only "
                            "leave_parametrized=True is possible"))
    value = original = getattr(known, known.names[0])
    if leave_parametrized:
        with no_grad():
            value = wrap(np.array(getattr(module, tensor_name).array))
            if (value.shape, value.dtype) == (original.shape, original.dtype):
                value = assign(original, value)  # the one that optimizers know
            else:
                value._requires_grad = original.requires_grad
    held(module, tensor_name, value)
    del vars(module)["parametrizations"][tensor_name]
    if not len(vars(module)["parametrizations"]):
        del vars(module)["parametrizations"]
    return module


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parameter once within, however often it is read.

    Yields
    ------
    None
        Nothing.

    See Also
    --------
    nn.utils.parametrize.register_parametrization

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> with ag.nn.utils.parametrize.cached():
    ...     same = layer.weight is layer.weight
    >>> same
    True
    """
    _kept.append({})
    try:
        yield
    finally:
        _kept.pop()


def type_before_parametrizations(module: Module) -> type:
    """The class of a module before a parameter of it was computed.

    :param module: The module.
    :returns: Its class.
    :see: nn.utils.parametrize.is_parametrized

    >>> layer = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> ag.nn.utils.parametrize.type_before_parametrizations(layer) is ag.nn.Linear
    True
    """
    return base_of(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: M,
                                         tensor_name: str | None = None) -> M:
    """Let a module's parameters be computed as another one's are, from the same originals.

    :param from_module: Whose parametrizations are taken.
    :param to_module: Gets them.
    :param tensor_name: Of the only parameter to transfer.
    :returns: ``to_module``.
    :see: nn.utils.parametrize.register_parametrization

    >>> one = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> two = ag.nn.utils.parametrize.transfer_parametrizations_and_params(one, ag.nn.Linear(3, 2))
    >>> bool((one.weight == two.weight).all())
    True
    """
    for name in list(vars(from_module).get("parametrizations", ())):
        if tensor_name not in (None, name):
            continue
        known = vars(from_module)["parametrizations"][name]
        for part in known:
            register_parametrization(to_module, name, part, unsafe=True)
        there = vars(to_module)["parametrizations"][name]
        for own in known.names:
            setattr(there, own, getattr(known, own))
    return to_module


_strictly(__name__)
