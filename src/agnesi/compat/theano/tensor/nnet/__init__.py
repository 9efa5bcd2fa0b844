"""``theano.tensor.nnet``: activations, losses, convolutions, batch normalisation."""

import sys

from agnesi.compat.theano.tensor.nnet import abstract_conv as abstract_conv
from agnesi.compat.theano.tensor.nnet import blocksparse as blocksparse
from agnesi.compat.theano.tensor.nnet import conv3d2d as conv3d2d
from agnesi.compat.theano.tensor.nnet import corr as corr
from agnesi.compat.theano.tensor.nnet import corr as corr3d
from agnesi.compat.theano.tensor.nnet import ctc as ctc
from agnesi.compat.theano.tensor.nnet.abstract_conv import conv2d_transpose as conv2d_transpose
from agnesi.compat.theano.tensor.nnet.abstract_conv import separable_conv2d as separable_conv2d
from agnesi.compat.theano.tensor.nnet.activations import *  # noqa: F403
from agnesi.compat.theano.tensor.nnet.bn import batch_normalization as batch_normalization
from agnesi.compat.theano.tensor.nnet.bn import (
    batch_normalization_test as batch_normalization_test,
)
from agnesi.compat.theano.tensor.nnet.bn import (
    batch_normalization_train as batch_normalization_train,
)
from agnesi.compat.theano.tensor.nnet.conv import conv2d as conv2d
from agnesi.compat.theano.tensor.nnet.conv import conv3d as conv3d
from agnesi.compat.theano.tensor.nnet.losses import *  # noqa: F403
from agnesi.compat.theano.tensor.nnet.neighbours import images2neibs as images2neibs
from agnesi.compat.theano.tensor.nnet.neighbours import neibs2images as neibs2images
from agnesi.core.keywords import strictly as _strictly

for _name in ("nnet", "sigm"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]
sys.modules[f"{__name__}.corr3d"] = corr3d  # whose names are in the other, too
_strictly(__name__)
