"""Plots to files, by matplotlib."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.atomic import by_name
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor


def _axes() -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(at("plots need matplotlib: pip install 'agnesi[plot]'")) from None
    figure = Figure(layout="constrained")
    return figure, figure.add_subplot()


def _array(x: Any) -> np.ndarray:
    found = np.asarray(x.detach() if isinstance(x, Tensor) else x)
    if found.dtype.kind in "USO":
        raise TypeError(at(f"only numbers are drawn, not {typed(x)}; a file is path=..."))
    return found


def imshow(image: TensorLike, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Show an image or matrix, by matplotlib.

    :param image: (channels, height, width) of 1 or 3 channels, or (height, width).
    :param path: A file to write it to, by its ending.
    :param **options: For matplotlib's ``imshow``.
    :returns: The picture.
    :rtype: matplotlib.figure.Figure
    :raises ImportError: If matplotlib is not there.
    :raises TypeError: If a string is given for numbers; a file is named by ``path=``.
    :raises ShapeError: If it is no image.
    :see: image.hist, image.plot, data.write_image

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> try:
    ...     figure = image.imshow(ag.ones((3, 4, 4)))
    ... except ImportError:
    ...     figure = None
    """
    x = _array(image)
    if x.ndim not in (2, 3) or (x.ndim == 3 and x.shape[0] not in (1, 3)):
        raise ShapeError(at("imshow: an image is (1 or 3 channels, height, width) or (height, "
                            f"width), not {typed(as_tensor(image))}"))
    x = x[0] if x.ndim == 3 and x.shape[0] == 1 else np.moveaxis(x, 0, 2) if x.ndim == 3 else x
    figure, axes = _axes()
    axes.imshow(x, **({"cmap": "gray"} | options if x.ndim == 2 else options))
    axes.set_axis_off()
    return _written(figure, path)


def hist(x: TensorLike, bins: int = 30, path: str | os.PathLike[str] | None = None) -> Any:
    """Plot a histogram of values, by matplotlib.

    :param x: The values.
    :param bins: How many bars.
    :param path: A file to write it to, by its ending.
    :returns: The plot.
    :rtype: matplotlib.figure.Figure
    :raises ImportError: If matplotlib is not there.
    :raises TypeError: If a string is given for numbers; a file is named by ``path=``.
    :see: image.plot, histogram

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> try:
    ...     figure = image.hist(ag.arange(10.0))
    ... except ImportError:
    ...     figure = None
    """
    values = _array(x)
    figure, axes = _axes()
    axes.hist(values.ravel(), bins)
    return _written(figure, path)


def plot(*lines: TensorLike, path: str | os.PathLike[str] | None = None) -> Any:
    """Plot vectors as lines, by matplotlib.

    :like: hist
    :param *lines: Vectors, or matrices (points, 2) of x and y.
    :see: image.hist, image.imshow

    >>> import agnesi as ag
    >>> from agnesi import image
    >>> try:
    ...     figure = image.plot(ag.arange(10.0) ** 2)
    ... except ImportError:
    ...     figure = None
    """
    arrays = [*map(_array, lines)]
    figure, axes = _axes()
    for line in arrays:
        axes.plot(*(line.T if line.ndim == 2 else (line,)))
    return _written(figure, path)


def _written(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    if path is not None:
        with by_name(path) as name:
            figure.savefig(name)
    return figure
