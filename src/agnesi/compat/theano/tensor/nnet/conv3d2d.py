"""``theano.tensor.nnet.conv3d2d``: volumes whose second axis is time."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.nnet.conv import conv3d as _over_volumes
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly

#: Axes as :func:`agnesi.compat.theano.tensor.nnet.conv3d` wants them, and back: its own inverse.
_CHANNELS_SECOND = (0, 2, 1, 3, 4)


def conv3d(signals: Any, filters: Any, signals_shape: Any = None, filters_shape: Any = None,
           border_mode: Any = "valid") -> Variable:
    """Convolution of (volumes, time, channels, rows, columns) with filters of the same order.

    :param signals: (volumes, time, channels, rows, columns)
    :type signals: Variable
    :param filters: (filters, time, channels, rows, columns)
    :type filters: Variable
    :param signals_shape, filters_shape: What is known of their sizes.
    :type signals_shape: tuple of int or None
    :param border_mode: Where filters are: inside, wherever they touch, or centred.
    :type border_mode: {"valid", "full", "half"}
    """
    return _over_volumes(
        _swapped(signals), _swapped(filters), _reordered(signals_shape), _reordered(filters_shape),
        border_mode=border_mode).dimshuffle(*_CHANNELS_SECOND)


def _swapped(x: Any) -> Any:
    return as_tensor_variable(x).dimshuffle(*_CHANNELS_SECOND)


def _reordered(shape: Any) -> Any:
    return None if shape is None else tuple(shape[axis] for axis in _CHANNELS_SECOND)


_strictly(__name__)
