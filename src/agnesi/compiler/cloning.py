"""Copies of expressions with variables replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.replay import has_sizes_of_values, replayed
from agnesi.core.calls.overriding import overridden
from agnesi.core.dispatch import graph_node
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.public import renamed
from agnesi.core.substitution import substituted
from agnesi.core.support.errors import at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.arrays.replicate import copy
from agnesi.ops.base.convert import as_tensor, cast

Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None


def replaced_by(givens: Any, owner: str = "function", what: str = "givens") -> dict[Any, Tensor]:
    """Return the replacements ``{variable: tensor}`` of a mapping; arrays and numbers are converted
    to the variable's dtype.

    :raises TypeError: If ``givens`` is no mapping (or pairs), or a key is no variable.
    """
    found: dict[Any, Tensor] = {}
    try:
        pairs = dict(givens or {})
    except (TypeError, ValueError):
        raise TypeError(at(f"{owner}: {what} is a mapping, or pairs, of variables and what takes "
                           f"their places, not {typed(givens)}")) from None
    for variable, value in pairs.items():
        if not isinstance(variable, Tensor):
            raise TypeError(at(f"{owner}: {what} maps variables to what takes their places, and "
                               f"{typed(variable)} is no variable"))
        new = as_tensor(value)
        if not isinstance(value, Tensor) and np.can_cast(new.dtype, variable.dtype, "same_kind"):
            new = cast(new, variable.dtype)
        found[variable] = new
    return found


@renamed(input="outputs")
@strict
def clone(outputs: Tensor | Sequence[Tensor], replace: Pairs = None, *,
          memory_format: object = None) -> Any:
    """Symbolic tensors with some of what they depend on replaced; of a tensor with a value, a copy.

    Without ``replace``, a tensor that has a value, or stands for one in a compiled function, gives
    a copy in memory of its own, through which gradients flow, as in PyTorch.

    :param outputs: What to rebuild.
    :type outputs: Tensor or sequence of Tensor
    :param replace: What to put instead of tensors: of the same dtype and number of axes, with
        sizes that fit.  The originals stay as they are.
    :type replace: mapping or pairs of Tensor to array_like
    :param memory_format: Taken from PyTorch's calls, and not needed.
    :type memory_format: object
    :returns: Like ``outputs``.
    :rtype: Tensor or list of Tensor
    :raises TypeError: If a replacement is of another type.
    :see: function, OpFromGraph

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x, z = T.vector("x"), T.vector("z")
    >>> y = ag.clone(x * 2, {x: ag.exp(z)})
    >>> y.eval({z: ag.zeros(2)})
    array([2., 2.])
    >>> ag.clone(x * 2, {x: [1.0, 2.0]}).eval()
    array([2., 4.])
    >>> ag.clone(ag.arange(3))
    tensor([0, 1, 2])
    """
    single = outputs if isinstance(outputs, Tensor) else None
    if single is not None and replace is None and (single.array is not None or is_tracing()):
        return copy(single)
    listed = isinstance(outputs, (list, tuple))
    wanted = [single] if single is not None else list(outputs) if listed else []
    if not wanted or not all(isinstance(t, Tensor) for t in wanted):
        if (found := overridden("clone", (outputs,), {})) is not NotImplemented:
            return found
        raise TypeError(at(f"clone: outputs are a tensor or a list of them, not {typed(outputs)}"))
    pairs = {graph_node(old): graph_node(new)
             for old, new in replaced_by(replace, "clone", "replace").items()}
    nodes = [graph_node(t) for t in wanted]
    if has_sizes_of_values(nodes):
        results = replayed(nodes, {old: symbol(new) for old, new in pairs.items()})
    else:
        results = [symbol(n) for n in substituted(nodes, pairs)]
    return results[0] if single is not None else results
