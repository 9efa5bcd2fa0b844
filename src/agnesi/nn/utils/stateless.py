"""Modules called with other tensors than their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.exports import shown as _shown
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module


def functional_call(module: Module, parameters: Mapping[str, Tensor], args: Any,
                    kwargs: Mapping[str, Any] | None = None) -> Any:
    """Call a module with other tensors as parameters; it stays as it is.

    Parameters
    ----------
    module : Module
        The module.
    parameters : mapping of str to Tensor
        By the names of ``named_parameters``; others stay.
    args : object or tuple
        The arguments.
    kwargs : mapping, optional
        Arguments by name.

    Returns
    -------
    object
        What the module gives.

    Raises
    ------
    KeyError
        If a name is that of no parameter.

    See Also
    --------
    nn.Module.with_parameters

    Examples
    --------
    >>> import agnesi as ag
    >>> net = ag.nn.Linear(2, 1, bias=False)
    >>> call = ag.nn.utils.stateless.functional_call
    >>> call(net, {"weight": ag.ones((1, 2))}, ag.ones(2))
    tensor([2.])
    """
    given = args if isinstance(args, tuple) else (args,)
    return module.with_parameters(parameters)(*given, **(kwargs or {}))


def __dir__() -> list[str]:
    return _shown(__name__)


_strictly(__name__)
