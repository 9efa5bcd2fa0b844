"""Calls that compute sizes first, and hand them to native code as arguments without elements."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_adapter import CARRIERS, MISSED
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.support.tracing import is_tracing

#: What has a value, and is no part of a graph.
_VALUES = (np.ndarray, np.generic, int, float)


def sized_call(sizes_of: Callable[[tuple[Any, ...]], tuple[int, ...]], native: Callable[[], Any],
               dispatch: Callable[..., Any], fixed: Collection[tuple[int, ...]]) -> Any:
    """Return a function of positional arguments that runs native code chosen by their sizes.

    :param sizes_of: Gives the sizes of the arguments.
    :param native: Gives the code for such sizes; the code returns ``MISSED`` for arguments that it
        does not take.
    :param dispatch: Handles all other calls.
    :param fixed: Sizes for which there may be faster, specialized code.
    :type fixed: collection of tuple
    """
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords or is_tracing() or not all([isinstance(a, _VALUES) for a in args]):
            return dispatch(*args, **keywords)
        try:
            sizes = sizes_of(args)
        except Exception as error:  # raised by the general way, about the function of the user
            raise_if_from_signal(error)
            return dispatch(*args)
        code = None if sizes in fixed else native()
        found = MISSED if code is None else code(*args, *[CARRIERS[n] for n in sizes])
        return dispatch(*args) if found is MISSED else found

    return staticmethod(call)
