"""``agnesi.backends``: what programs set and ask of PyTorch's libraries, none of which is here.

Examples
--------
>>> import agnesi as ag
>>> ag.backends.cudnn.benchmark = True
>>> ag.backends.mps.is_available()
False
"""

from __future__ import annotations

import sys
from typing import Any

from agnesi.core.keywords import strictly as _strictly


class Backend:
    """A library that is not used; what is set on it is kept and changes nothing.

    Attributes
    ----------
    enabled, benchmark, deterministic, allow_tf32 : bool
        As they are set.

    See Also
    --------
    cuda.is_available

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.backends.cudnn.is_available()
    False
    """

    enabled: Any = False
    benchmark: Any = False
    deterministic: Any = True
    allow_tf32: Any = False

    def is_available(self) -> bool:
        """Return whether the library is used here.

        :returns: False.
        """
        return False

    def is_built(self) -> bool:
        """Return whether the library is part of this one.

        :returns: False.
        """
        return False


class _Cuda(Backend):
    """The one that has settings of products."""

    def __init__(self) -> None:
        self.matmul = Backend()


cuda = _Cuda()
cudnn, mps, mkldnn, mkl, openmp = (Backend() for _ in range(5))
for _name in "cuda cudnn mps mkldnn mkl openmp".split():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]  # import agnesi.backends.cudnn as cudnn


_strictly(__name__)
