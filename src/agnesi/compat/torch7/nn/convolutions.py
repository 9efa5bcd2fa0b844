"""Convolutions of sequences, images and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import FUNCTIONS, Tensor, new
from agnesi.compat.torch7.nn.layers import Weighted, batched
from agnesi.core.support.errors import at
from agnesi.nn import functional as F

__all__ = [
    "SpatialConvolution", "SpatialConvolutionLocal", "SpatialConvolutionMM",
    "SpatialConvolutionMap", "SpatialDepthWiseConvolution", "SpatialDilatedConvolution",
    "SpatialFullConvolution", "SpatialFullConvolutionMap", "TemporalConvolution",
    "TemporalRowConvolution", "VolumetricConvolution", "VolumetricDilatedConvolution",
    "VolumetricFullConvolution", "tables",
]


class SpatialConvolution(Weighted):
    """Images (planes, height, width) or batches of them, correlated with filters."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int | None = None) -> None:
        if min(kW, kH, dW, dH) < 1:
            raise ValueError(at(f"{type(self).__name__}: kW, kH, dW and dH must be at least 1, not "
                                f"{kW}, {kH}, {dW} and {dH}"))
        self._begin((nOutputPlane, nInputPlane, kH, kW), nOutputPlane, kW * kH * nInputPlane)
        self.steps, self.pads = (dH, dW), (padW if padH is None else padH, padW)
        self.dilation = 1, 1

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        return batched(lambda x: F.conv2d(x, w, b, stride=self.steps, padding=self.pads,
                                          dilation=self.dilation), x, 4)


SpatialConvolutionMM = SpatialConvolution


class SpatialDilatedConvolution(SpatialConvolution):
    """:class:`SpatialConvolution` with gaps between the elements of a window."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int | None = None, dilationW: int = 1,
                 dilationH: int = 1) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilation = dilationH, dilationW


class SpatialDepthWiseConvolution(Weighted):
    """Each plane of images correlated with filters of its own; their results follow each other."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int | None = None) -> None:
        self._begin((nOutputPlane, nInputPlane * kH * kW), (nOutputPlane, nInputPlane),
                    kW * kH * nInputPlane)
        self.sizes = nOutputPlane, nInputPlane, kH, kW
        self.steps, self.pads = (dH, dW), (padW if padH is None else padH, padW)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        outputs, planes, *window = self.sizes
        filters = ag.swapaxes(w.reshape(self.sizes), 0, 1).reshape((outputs * planes, 1, *window))
        bias = None if b is None else b.T.reshape(-1)
        return batched(lambda x: F.conv2d(x, filters, bias, stride=self.steps, padding=self.pads,
                                          groups=planes), x, 4)


class SpatialConvolutionLocal(Weighted):
    """Images of one size, with filters and a bias of their own at each place of the result."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, iW: int, iH: int, kW: int, kH: int,
                 dW: int = 1, dH: int = 1, padW: int = 0, padH: int | None = None) -> None:
        self.window, self.steps = (kH, kW), (dH, dW)
        self.pads = padW if padH is None else padH, padW
        high, wide = ((n + 2 * pad - k) // step + 1 for n, pad, k, step in zip(
            (iH, iW), self.pads, self.window, self.steps, strict=True))
        self._begin((high, wide, nOutputPlane, nInputPlane, kH, kW), (nOutputPlane, high, wide),
                    kW * kH * nInputPlane)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        high, wide, outputs = w.shape[:3]
        filters = w.reshape((high * wide, outputs, -1))

        def of_batch(x: Any) -> Any:
            columns = F.unfold(x, self.window, padding=self.pads, stride=self.steps)
            return ag.einsum("nkl,lok->nol", columns, filters).reshape((-1, outputs, high, wide))

        y = batched(of_batch, x, 4)
        return y if b is None else y + b


class tables:  # noqa: N801 - Torch7's name
    """Tables of connections for :class:`SpatialConvolutionMap`: rows (from plane, to plane)."""

    @staticmethod
    def full(nin: int, nout: int) -> Tensor:
        """Each plane to each."""
        return new([[i, j] for j in range(1, nout + 1) for i in range(1, nin + 1)], "float64")

    @staticmethod
    def oneToOne(nfeat: int) -> Tensor:
        """Each plane to the one of its number."""
        return new([[i, i] for i in range(1, nfeat + 1)], "float64")

    @staticmethod
    def random(nin: int, nout: int, nto: int) -> Tensor:
        """``nto`` planes to each; all are used once before one is used again."""
        rows: list[Any] = []
        left: list[Any] = []
        for j in range(1, nout + 1):
            if len(left) < nto:
                left = list(FUNCTIONS["randperm"](nin).array)
            rows += [[left.pop(0), j] for _ in range(nto)]
        return new(rows, "float64")


class SpatialConvolutionMap(Weighted):
    """Images correlated along the connections of a table, each with a filter of its own."""

    def __init__(self, conMatrix: Tensor, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        self.connTable, self.steps = conMatrix, (dH, dW)
        self.ends = conMatrix.array.astype(int) - 1
        self.planes = tuple(int(n) + 1 for n in self.ends.max(0))
        fan = int(np.max(np.bincount(self.ends[:, 1]))) * kW * kH
        self._begin((len(self.ends), kH, kW), self.planes[1], fan)

    def _dense(self, w: Any, order: tuple[int, int]) -> Any:
        """Filters between all planes, which are 0 where no connection is."""
        first, second = order
        shape = self.planes[first], self.planes[second]
        place = np.zeros((shape[0] * shape[1], len(self.ends)))
        place[self.ends[:, first] * shape[1] + self.ends[:, second], range(len(self.ends))] = 1
        flat = ag.asarray(place.astype(w.dtype)) @ w.reshape((len(self.ends), -1))
        return flat.reshape((*shape, *w.shape[1:]))

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        filters = self._dense(w, (1, 0))
        return batched(lambda x: F.conv2d(x, filters, b, stride=self.steps), x, 4)


class SpatialFullConvolution(Weighted):
    """The transposed convolution of images."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int = 0, adjW: int = 0, adjH: int = 0) -> None:
        self._begin((nInputPlane, nOutputPlane, kH, kW), nOutputPlane, kW * kH * nInputPlane)
        self.steps, self.pads, self.more = (dH, dW), (padH, padW), (adjH, adjW)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        return batched(lambda x: F.conv_transpose2d(
            x, w, b, stride=self.steps, padding=self.pads, output_padding=self.more), x, 4)


class SpatialFullConvolutionMap(SpatialConvolutionMap):
    """The transposed convolution of images along the connections of a table."""

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        filters = self._dense(w, (0, 1))
        return batched(lambda x: F.conv_transpose2d(x, filters, b, stride=self.steps), x, 4)


class TemporalConvolution(Weighted):
    """Sequences (steps, features), each window of which is mapped to new features."""

    def __init__(self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int = 1) -> None:
        self._begin((outputFrameSize, inputFrameSize * kW), outputFrameSize, kW * inputFrameSize)
        self.sizes = outputFrameSize, kW, inputFrameSize
        self.step = dW

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        filters = ag.swapaxes(w.reshape(self.sizes), 1, 2)
        return batched(lambda x: ag.swapaxes(F.conv1d(
            ag.swapaxes(x, 1, 2), filters, b, stride=self.step), 1, 2), x, 3)


class TemporalRowConvolution(Weighted):
    """Sequences (steps, features), each feature of which is correlated with a filter of its own."""

    def __init__(self, inputFrameSize: int, kW: int, dW: int = 1, featFirst: bool = False) -> None:
        self._begin((inputFrameSize, 1, kW), inputFrameSize, kW * inputFrameSize)
        self.step, self.featFirst = dW, featFirst

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        x = x if self.featFirst else ag.swapaxes(x, -1, -2)
        y = batched(lambda x: F.conv1d(x, w, b, stride=self.step, groups=len(w)), x, 3)
        return y if self.featFirst else ag.swapaxes(y, -1, -2)


class VolumetricConvolution(Weighted):
    """Volumes (planes, time, height, width) correlated with filters."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kT: int, kW: int, kH: int, dT: int = 1,
                 dW: int = 1, dH: int = 1, padT: int = 0, padW: int | None = None,
                 padH: int | None = None) -> None:
        self._begin((nOutputPlane, nInputPlane, kT, kH, kW), nOutputPlane,
                    kT * kW * kH * nInputPlane)
        wide = padT if padW is None else padW
        self.steps, self.pads = (dT, dH, dW), (padT, wide if padH is None else padH, wide)
        self.dilation = 1, 1, 1

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        return batched(lambda x: F.conv3d(x, w, b, stride=self.steps, padding=self.pads,
                                          dilation=self.dilation), x, 5)


class VolumetricDilatedConvolution(VolumetricConvolution):
    """:class:`VolumetricConvolution` with gaps between the elements of a window."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kT: int, kW: int, kH: int, dT: int = 1,
                 dW: int = 1, dH: int = 1, padT: int = 0, padW: int | None = None,
                 padH: int | None = None, dilationT: int = 1, dilationW: int = 1,
                 dilationH: int = 1) -> None:
        super().__init__(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
        self.dilation = dilationT, dilationH, dilationW


class VolumetricFullConvolution(Weighted):
    """The transposed convolution of volumes."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kT: int, kW: int, kH: int, dT: int = 1,
                 dW: int = 1, dH: int = 1, padT: int = 0, padW: int = 0, padH: int = 0,
                 adjT: int = 0, adjW: int = 0, adjH: int = 0) -> None:
        self._begin((nInputPlane, nOutputPlane, kT, kH, kW), nOutputPlane,
                    kT * kW * kH * nInputPlane)
        self.steps, self.pads, self.more = (dT, dH, dW), (padT, padH, padW), (adjT, adjH, adjW)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        return batched(lambda x: F.conv_transpose3d(
            x, w, b, stride=self.steps, padding=self.pads, output_padding=self.more), x, 5)
