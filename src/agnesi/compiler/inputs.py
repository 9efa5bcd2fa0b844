"""Inputs of ``ag.function``."""

from __future__ import annotations

from agnesi.core.tensor import Tensor


class In:
    """An input of a function, with what may be done to it.

    Parameters
    ----------
    variable : Tensor
        The input.
    mutable : bool
        The function may overwrite the caller's array, and return results in its memory.

    See Also
    --------
    function, shared

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> double = ag.function([ag.In(x, mutable=True)], x + x)
    """

    def __init__(self, variable: Tensor, *, mutable: bool = False) -> None:
        self.variable = variable
        self.mutable = mutable
