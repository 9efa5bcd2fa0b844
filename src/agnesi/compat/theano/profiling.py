"""Profiles of functions in Theano's words: ``function(..., profile=True).profile.summary()``."""

from __future__ import annotations

import sys
from typing import Any


class ProfileStats:
    """The times of a function that was compiled with ``profile=True``.

    Attributes
    ----------
    fct_callcount : int
        How often it was called.
    fct_call_time : float
        How long compiled code ran, in seconds.
    """

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    @property
    def fct_callcount(self) -> int:
        return int(self._compiled.profile().calls)

    @property
    def fct_call_time(self) -> float:
        return float(self._compiled.profile().seconds)

    def summary(self, file: Any = None, n_ops_to_print: int = 20, n_apply_to_print: int = 20
                ) -> None:
        """Print the times of all kernels, and sums by operation and line.

        :param file: Where to; by default ``sys.stderr``, as there.
        :type file: file, optional
        :param n_ops_to_print, n_apply_to_print: Ignored: there are few kernels.
        """
        print(self._compiled.profile(), file=file or sys.stderr)
