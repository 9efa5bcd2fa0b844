"""PyTorch's old path to :mod:`agnesi.amp`, whose names take no device here."""

from __future__ import annotations

from typing import Any

from agnesi import amp as _amp
from agnesi.core.keywords import strictly as _strictly


class autocast(_amp.autocast):  # noqa: N801
    """A region that PyTorch computes in fewer bits on GPUs, of which there are none.

    :param enabled: Whether it does.
    :param dtype: In what it would.
    :type dtype: dtype, optional
    :param cache_enabled: Taken from PyTorch's calls.
    :see: amp.autocast

    >>> with ag.cuda.amp.autocast():
    ...     y = ag.ones(2)
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled)


class GradScaler(_amp.GradScaler):
    """Scales losses on GPUs, of which there are none: nothing is scaled.

    :param init_scale: The first factor.
    :param growth_factor: By what it would grow.
    :param backoff_factor: By what it would fall.
    :param growth_interval: After how many steps it would grow.
    :param enabled: Whether it would do anything.
    :see: amp.GradScaler

    >>> ag.cuda.amp.GradScaler().get_scale()
    1.0
    """

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True
                 ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval,
                         enabled)


_strictly(__name__)
