"""Modules called with other tensors than their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.api.functions import stack
from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.public import renamed as _renamed
from agnesi.core.support.errors import StateError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.base.tree import replaced

_Given = Mapping[str, Tensor] | tuple[Mapping[str, Tensor], ...]


@_renamed(parameter_and_buffer_dicts="parameters", parameters_and_buffers="parameters",
          tie_weights="")
def functional_call(module: Module, parameters: _Given, args: object = (),
                    kwargs: Mapping[str, Any] | None = None, *, strict: bool = False) -> Any:
    """Call a module with other tensors as parameters or buffers; it stays as it is.

    :param module: The module.
    :param parameters: By the names of ``named_parameters`` and ``named_buffers``; others stay.
    :type parameters: mapping of str to Tensor, or tuple of such
    :param args: The arguments.
    :type args: object or tuple
    :param kwargs: Arguments by name.
    :param strict: Whether all must be given.
    :returns: What the module gives.
    :raises KeyError: If a name is that of no parameter and no buffer, or one is missing and
        ``strict``.
    :see: nn.Module.with_parameters, func.stack_module_state

    >>> net = ag.nn.Linear(2, 1, bias=False)
    >>> ag.func.functional_call(net, {"weight": ag.ones((1, 2))}, ag.ones(2))
    tensor([2.])
    """
    named = dict(parameters) if isinstance(parameters, Mapping) else {
        name: x for part in parameters for name, x in part.items()}
    buffers = dict(module.named_buffers())
    if strict:
        missing = (dict(module.named_parameters()) | buffers).keys() - named
        if missing:
            raise StateError(at(f"functional_call: strict, and {sorted(missing)} are missing"))
    changed = {id(buffers[name]): named.pop(name) for name in [*named] if name in buffers}
    given = args if isinstance(args, tuple) else (args,)
    return replaced(module.with_parameters(named), changed, Module)(*given, **(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters of modules of one kind, and their buffers, each stacked along a first axis.

    :param models: At least one.
    :returns: Parameters and buffers by name, for :func:`functional_call` under ``vmap``.
    :rtype: tuple of dict
    :raises ValueError: If there is no module, or they are of different kinds.
    :see: vmap, func.functional_call

    >>> nets = [ag.nn.Linear(2, 1) for _ in range(3)]
    >>> weights, _ = ag.func.stack_module_state(nets)
    >>> call = lambda w, x: ag.func.functional_call(nets[0], w, x)
    >>> ag.vmap(call, (0, None))(weights, ag.ones(2)).shape
    (3, 1)
    """
    if len({type(m) for m in models}) != 1:
        raise ValueError(at("stack_module_state takes modules of one class, one or more"))
    parameters, buffers = ([dict(of(m)) for m in models]
                           for of in (Module.named_parameters, Module.named_buffers))
    with no_grad():
        return ({n: stack([p[n] for p in parameters]).requires_grad_() for n in parameters[0]},
                {n: stack([b[n] for b in buffers]) for n in buffers[0]})


_strictly(__name__)
