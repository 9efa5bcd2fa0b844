"""``x.data``: a tensor that shares memory with ``x`` and has no history."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.autodiff.recording import detach, no_grad
from agnesi.compiler.binding.new_memory import part, renew, shares_memory
from agnesi.core.ir.dims import Sizes
from agnesi.core.op import typed
from agnesi.core.public import explain_errors
from agnesi.core.support.config import STATE
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import DTypeError, TraceError, at, no_attribute
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor


def data(self: Tensor) -> Tensor | None:
    """The value without its history, in the same memory, as :meth:`detach` gives it.

    ``p.data -= rate * p.grad`` and ``p.data.zero_()`` change a parameter, also of a compiled
    function.  What is assigned is copied, into memory of its own: what ``p.data`` was before stays
    as it is, so that it can be assigned again.

    Returns
    -------
    Tensor or None
        A leaf that does not require grad; None of a symbolic expression, which has no value.

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.ones(2, requires_grad=True)
    >>> w.data *= 3
    >>> w
    tensor([3., 3.], requires_grad=True)
    """
    if self.array is None and not is_tracing() and STATE.examples is None:
        return None
    found = detach(self)
    if found.array is not None and not is_tracing():
        found.__class__ = Memory
    return found


class Memory(Tensor):
    """A tensor that also has the names of its NumPy array (``flags``, ``resize``), whose
    dtype and shape can be assigned, too.
    """

    __slots__ = ()
    dtype = property(lambda self: self.array.dtype,
                     lambda self, value: setattr(self.array, "dtype", value))
    shape = property(lambda self: Sizes(self.array.shape),
                     lambda self, value: setattr(self.array, "shape", value))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            return getattr(self.array, name)
        raise no_attribute("Tensor", name, self)


def _set_data(self: Tensor, value: Any) -> None:
    """Change the value, see :func:`data`."""
    if not isinstance(value, (Tensor, np.ndarray)) and np.shape(value) != self.shape:
        raise TypeError(f"x.data of {typed(self)} is a tensor, not {typed(value)}; "
                        "x.data.fill_(value) writes one number everywhere")
    given = as_tensor(value)
    if self._requires_grad and not is_inexact(given.dtype):
        raise DTypeError(f"x.data of {typed(self)}, which requires a gradient, cannot become "
                         f"{typed(given)}: convert it with .astype('{self.dtype}')")
    same = given.shape == self.shape and given.dtype == self.dtype
    symbolic = self.array is None or given.array is None
    if same and (is_tracing() or symbolic or np.may_share_memory(given.array, self.array)):
        if is_tracing() and not shares_memory(self, given):
            renew(self)
        with no_grad():
            detach(self).copy_(given)
        return
    if is_tracing() or symbolic:
        raise TraceError(at(f"x.data of {typed(self)} cannot become {typed(given)} here: the shape "
                            "and dtype of a state stay in compiled functions"))
    part(self, given.array)


_set_data.__name__ = "data"  # which errors name
set_data = explain_errors(_set_data)
