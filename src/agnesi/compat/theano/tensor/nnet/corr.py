"""``theano.tensor.nnet.corr`` and ``corr3d``: convolutions whose filters are not turned over."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.nnet.abstract_conv import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
)
from agnesi.core.keywords import strictly as _strictly


class _Correlation:
    """What is made of Theano's settings of these classes."""

    rank = 2

    def __init__(self, border_mode: Any = "valid", subsample: Any = None,
                 filter_dilation: Any = None, num_groups: int = 1, unshared: bool = False,
                 openmp: Any = None) -> None:
        super().__init__(None, None, border_mode, subsample,  # type: ignore[call-arg]
                         False, filter_dilation, num_groups, unshared)


class CorrMM(_Correlation, AbstractConv2d):
    """Correlation of images with filters: ``CorrMM(border_mode, subsample)(img, kern)``."""


class CorrMM_gradWeights(_Correlation, AbstractConv2d_gradWeights):  # noqa: N801 - Theano's name
    """Its gradient to the filters: ``op(img, topgrad, shape)``."""


class CorrMM_gradInputs(_Correlation, AbstractConv2d_gradInputs):  # noqa: N801 - Theano's name
    """Its gradient to the images: ``op(kern, topgrad, shape)``."""


class Corr3dMM(CorrMM):
    """Correlation of volumes with filters."""

    rank = 3


class Corr3dMM_gradWeights(CorrMM_gradWeights):  # noqa: N801 - Theano's name
    """Its gradient to the filters."""

    rank = 3


class Corr3dMM_gradInputs(CorrMM_gradInputs):  # noqa: N801 - Theano's name
    """Its gradient to the volumes."""

    rank = 3


_strictly(__name__)
