"""``agnesi.accelerator``: what programs ask of it, and that there is none.

Examples
--------
>>> import agnesi as ag
>>> ag.device("cuda" if ag.accelerator.is_available() else "cpu")
device(type='cpu')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute
from agnesi.cuda import device_count as device_count
from agnesi.cuda import is_available as is_available
from agnesi.cuda import synchronize as synchronize


def current_accelerator(check_available: bool = False) -> None:
    """The device that accelerates: there is none.

    :param check_available: Whether it must be usable.
    :see: device

    >>> import agnesi as ag
    >>> ag.accelerator.current_accelerator() is None
    True
    """


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.accelerator'", name)


_strictly(__name__)
