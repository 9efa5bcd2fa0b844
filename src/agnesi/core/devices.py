"""The only device, as an object: equal to its name, with PyTorch's attributes."""

from __future__ import annotations

from typing import Any

from agnesi.core.support.errors import at, shown

#: The name of the only device.
NAME = "cpu"


class device(str):  # noqa: N801 - used as a function
    """The place where all tensors are, "cpu": a string with PyTorch's attributes.

    As a block, ``with ag.device("cpu"):``, it changes nothing.

    Parameters
    ----------
    type : str or device
        "cpu", or "cpu:0".
    index : int, optional
        Only 0: there is one.

    Attributes
    ----------
    type : str
        "cpu".
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

    def __new__(cls, type: Any, index: int | None = None) -> device:
        name, colon, number = type.partition(":") if isinstance(type, str) else ("", "", "")
        place = (int(number) if number.isdecimal() else number) if colon else index
        if name != NAME or place not in (None, 0):
            given = ", ".join(map(shown, (type,) if index is None else (type, index)))
            raise ValueError(at(f"there is one device, {NAME!r}, and not {given}"))
        made = super().__new__(cls, NAME)
        made.index = None if place is None else 0
        return made

    @property
    def type(self) -> str:
        """What kind of device it is."""
        return NAME

    def __repr__(self) -> str:
        place = "" if self.index is None else f", index={self.index}"
        return f"device(type={NAME!r}{place})"

    def __getnewargs__(self) -> tuple[str, int | None]:  # type: ignore[override]
        return NAME, self.index

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: object) -> None:
        pass


#: The only device.
DEVICE = device(NAME)
