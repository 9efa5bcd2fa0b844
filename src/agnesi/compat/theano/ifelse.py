"""``theano.ifelse``: one of two results, of which only one is computed."""

from __future__ import annotations

from typing import Any

from agnesi.api.control import taps
from agnesi.compat.theano.variable import bare, floats, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.ops.base.convert import as_tensor


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """One of two variables (or lists of variables), chosen by a scalar."""
    def tensors(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [as_tensor(bare(v)) for v in x]
        return as_tensor(bare(x))

    with floats():
        return wrapped(taps.ifelse(bare(condition), tensors(then_branch), tensors(else_branch)))


_strictly(__name__)
