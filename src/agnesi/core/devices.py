"""Devices as objects: equal to their names, with PyTorch's attributes."""

from __future__ import annotations

from typing import Any

from agnesi.core.backend import DEVICES
from agnesi.core.keywords import strict_class
from agnesi.core.support.errors import at, shown

#: The name of the host, on which tensors are made.
NAME = "cpu"
#: Kinds that PyTorch's programs name before they check whether one is there: it is refused where
#: something is to be put there.
_ELSEWHERE = ("cuda", "mps", "xpu", "hip", "hpu", "xla")


@strict_class
class device(str):  # noqa: N801 - used as a function
    """Where tensors are, "cpu": a string with PyTorch's attributes.

    Programs may name "cuda:0" and other devices of PyTorch, but put nothing there.  Besides,
    "emulated" is a device for tests of programs, with a memory of its own (see
    :meth:`Tensor.to`).  As a block, ``with ag.device("cpu"):``, it changes nothing.

    Parameters
    ----------
    type : str or device
        "cpu", or "cpu:0"; "emulated"; "cuda" and the like.
    index : int, optional
        Of "cpu" only 0: there is one.

    Attributes
    ----------
    type : str
        Its name.
    index : int or None
        As it was given.

    Raises
    ------
    ValueError
        For any other device.

    See Also
    --------
    Tensor.device, cuda.is_available

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.device("cpu") == "cpu", ag.ones(2, device=ag.device("cpu")).device.type
    (True, 'cpu')
    """

    __slots__ = ("index",)

    index: int | None  # type: ignore[assignment]

    def __new__(cls, type: str | device, index: int | None = None) -> device:
        name, colon, number = type.partition(":") if isinstance(type, str) else ("", "", "")
        where = (int(number) if number.isdecimal() else number) if colon else index
        if name in _ELSEWHERE and (where is None or isinstance(where, int)):
            made = super().__new__(cls, name if where is None else f"{name}:{where}")
            made.index = where
            return made
        if name not in (NAME, *DEVICES) or where not in (None, 0):
            given = ", ".join(map(shown, (type,) if index is None else (type, index)))
            raise ValueError(at(f"there is one device, {NAME!r}, and not {given}"))
        made = super().__new__(cls, name)
        made.index = None if where is None else 0
        return made

    @property
    def type(self) -> str:
        """The kind of device, as PyTorch names it."""
        return str(self).partition(":")[0]

    def __repr__(self) -> str:
        where = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{where})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        if self.type in _ELSEWHERE:
            raise ValueError(at(f"there is one device, {NAME!r}, and not {str(self)!r}"))
        return self

    def __exit__(self, *error: object) -> None:
        pass


#: The host.
DEVICE = device(NAME)
