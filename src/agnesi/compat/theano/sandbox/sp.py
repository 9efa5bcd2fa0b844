"""``theano.sparse.sandbox.sp``: convolutions of images that are rows of a matrix."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from agnesi.compat.theano import sparse
from agnesi.compat.theano.sparse import clean as clean
from agnesi.compat.theano.sparse import ensure_sorted_indices as ensure_sorted_indices
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.nnet.conv import conv2d
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at


def _sizes(inshp: Any, kshp: Any, strides: Any, mode: str) -> tuple[tuple[int, ...], np.ndarray]:
    """Channels, rows and columns of an image, and the rows and columns of the result."""
    image = (1, *inshp) if len(inshp) == 2 else tuple(inshp)
    if mode not in ("valid", "full"):
        raise ValueError(at(f"mode is 'valid' or 'full', not {mode!r}"))
    dx, dy = strides
    more = np.array(kshp) - 1
    whole = np.array(image[1:]) + (more if mode == "full" else -more)
    found = -(-whole // np.array((dy, dx)))
    if np.any(found <= 0):
        raise ValueError(at(f"a kernel of {tuple(kshp)} at steps of {(dx, dy)} does not fit into "
                            f"an image of {tuple(inshp)}"))
    return image, found


class ConvolutionIndices:
    """Where the ones are of a sparse matrix that gives all patches of an image."""

    @staticmethod
    def evaluate(inshp: Any, kshp: Any, strides: Any = (1, 1), nkern: int = 1,
                 mode: str = "valid", ws: bool = True) -> tuple[Any, ...]:
        """Row indices and column ends, the matrix' shape, "csc", and the shape of the result.

        Parameters
        ----------
        inshp : tuple of int
            (rows, columns) or (channels, rows, columns) of an image
        kshp : tuple of int
            (rows, columns) of a patch
        strides : tuple of int
            (columns, rows) from one patch to the next
        nkern, ws
            1 and True: others went out of use in Theano.
        mode : {"valid", "full"}
        """
        if not ws:
            raise ValueError(at("ws must be True"))
        (channels, height, width), outshp = _sizes(inshp, kshp, strides, mode)
        dx, dy = strides
        before = np.array(kshp) - 1 if mode == "full" else np.zeros(2, int)
        k, y, x, i, j = np.meshgrid(*map(np.arange, (channels, *outshp, *kshp)), indexing="ij")
        down, across = y * dy + i - before[0], x * dx + j - before[1]
        inside = (down >= 0) & (down < height) & (across >= 0) & (across < width)
        size = int(np.prod(kshp))
        rows = ((y * outshp[1] + x) * channels + k) * size + i * kshp[1] + j
        columns = (k * height + down) * width + across
        rows, columns = rows[inside], columns[inside]
        order = np.lexsort((rows, columns))
        shape = (int(np.prod(outshp)) * size * channels, channels * height * width)
        ends = np.searchsorted(columns[order], np.arange(shape[1] + 1))
        return rows[order].astype("int32"), ends.astype("int32"), shape, "csc", outshp

    @staticmethod
    def conv_eval(inshp: Any, kshp: Any, strides: Any = (1, 1), mode: str = "valid"
                  ) -> tuple[Any, ...]:
        """:meth:`evaluate` for weights that all places share."""
        return ConvolutionIndices.evaluate(inshp, kshp, strides, mode=mode)


convolution_indices = ConvolutionIndices()


def convolve(kerns: Any, kshp: Any, nkern: int, images: Any, imgshp: Any, step: Any = (1, 1),
             bias: Any = None, mode: str = "valid", flatten: bool = True
             ) -> tuple[Variable, np.ndarray]:
    """Apply kernels to images, none of which is turned over.

    :param kerns: (kernels, elements of a kernel)
    :type kerns: Variable
    :param kshp: (rows, columns) of a kernel
    :type kshp: tuple of int
    :param nkern: How many kernels there are.
    :param images: (images, elements of an image)
    :type images: Variable
    :param imgshp: (rows, columns) or (channels, rows, columns) of an image
    :type imgshp: tuple of int
    :param step: (columns, rows) from one place to the next
    :type step: tuple of int
    :param bias: One number a kernel.
    :type bias: Variable, optional
    :param mode:
    :type mode: {"valid", "full"}
    :param flatten: Whether the result is (images, kernels * places) or (images, kernels, places).
    :returns: The result, and (kernels, rows, columns) of it.
    :rtype: Variable, ndarray
    """
    image, outshp = _sizes(imgshp, kshp, step, mode)
    x = as_tensor_variable(images).reshape((-1, *image))
    w = as_tensor_variable(kerns).reshape((nkern, image[0], *kshp))
    y = conv2d(x, w, border_mode=mode, subsample=(step[1], step[0]), filter_flip=False)
    if bias is not None:
        b = as_tensor_variable(bias)
        y = y + (b.dimshuffle("x", 0, "x", "x") if b.ndim else b)
    return y.flatten(2 if flatten else 3), np.hstack((nkern, outshp))


def max_pool(images: Any, imgshp: Any, maxpoolshp: Any) -> tuple[Variable, np.ndarray]:
    """The greatest elements of patches side by side.

    :param images: (images, elements of an image)
    :type images: Variable
    :param imgshp: (rows, columns) or (channels, rows, columns) of an image
    :type imgshp: tuple of int
    :param maxpoolshp: Size of a patch.
    :type maxpoolshp: tuple of int
    :returns: (images, channels * patches), and (rows, columns) of the patches.
    :rtype: Variable, ndarray
    """
    image, outshp = _sizes(imgshp, maxpoolshp, maxpoolshp, "valid")
    x = as_tensor_variable(images).reshape((-1, *image))
    pool = importlib.import_module("agnesi.compat.theano.tensor.signal.pool")
    y = pool.pool_2d(x, ws=tuple(maxpoolshp), ignore_border=True,
                stride=(maxpoolshp[1], maxpoolshp[0]))
    return y.flatten(2), outshp


def __getattr__(name: str) -> Any:
    return getattr(sparse, name)  # what was here before it was public


#: The folder ``theano.sparse.sandbox``, whose only module is this one.
sandbox = sys.modules[f"{sparse.__name__}.sandbox"] = sys.modules[__name__]
sys.modules[f"{sparse.__name__}.sandbox.sp"] = sp = sys.modules[__name__]
sparse.sandbox = sandbox
_strictly(__name__)
