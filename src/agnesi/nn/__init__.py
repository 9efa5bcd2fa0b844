"""Neural networks: modules, layers, losses, initial values.

In: tensors. Out: tensors; modules hold parameters, buffers and other modules.
What must hold: values and states are PyTorch's by its names; a module runs the same way eagerly,
compiled and under transforms.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.nn import attention as attention
from agnesi.nn import functional as functional
from agnesi.nn import init as init
from agnesi.nn import utils as utils
from agnesi.nn.base.containers import ModuleDict as ModuleDict
from agnesi.nn.base.containers import ModuleList as ModuleList
from agnesi.nn.base.containers import Parameter as Parameter
from agnesi.nn.base.containers import ParameterDict as ParameterDict
from agnesi.nn.base.containers import ParameterList as ParameterList
from agnesi.nn.base.hooks import RemovableHandle as RemovableHandle
from agnesi.nn.base.module import Module as Module
from agnesi.nn.base.summaries import Line as Line
from agnesi.nn.base.summaries import Summary as Summary
from agnesi.nn.base.summaries import summary as summary
from agnesi.nn.branches import Concat as Concat
from agnesi.nn.branches import ConcatTable as ConcatTable
from agnesi.nn.branches import Graph as Graph
from agnesi.nn.branches import Parallel as Parallel
from agnesi.nn.branches import ParallelTable as ParallelTable
from agnesi.nn.configs import from_config as from_config
from agnesi.nn.configs import to_config as to_config
from agnesi.nn.crf import CRF as CRF
from agnesi.nn.functions.elementary import Add as Add
from agnesi.nn.functions.elementary import CMul as CMul
from agnesi.nn.functions.elementary import Euclidean as Euclidean
from agnesi.nn.functions.elementary import Identity as Identity
from agnesi.nn.functions.elementary import Mul as Mul
from agnesi.nn.functions.elementary import WeightedEuclidean as WeightedEuclidean
from agnesi.nn.functions.fractional import FractionalMaxPool2d as FractionalMaxPool2d
from agnesi.nn.functions.fractional import FractionalMaxPool3d as FractionalMaxPool3d
from agnesi.nn.functions.noise import AlphaDropout as AlphaDropout
from agnesi.nn.functions.noise import FeatureAlphaDropout as FeatureAlphaDropout
from agnesi.nn.functions.noise import RReLU as RReLU
from agnesi.nn.functions.pairs import Bilinear as Bilinear
from agnesi.nn.functions.pairs import CosineSimilarity as CosineSimilarity
from agnesi.nn.functions.pairs import PairwiseDistance as PairwiseDistance
from agnesi.nn.functions.piecewise_activations import Hardshrink as Hardshrink
from agnesi.nn.functions.piecewise_activations import Hardsigmoid as Hardsigmoid
from agnesi.nn.functions.piecewise_activations import Hardswish as Hardswish
from agnesi.nn.functions.piecewise_activations import Hardtanh as Hardtanh
from agnesi.nn.functions.piecewise_activations import Softshrink as Softshrink
from agnesi.nn.functions.piecewise_activations import Threshold as Threshold
from agnesi.nn.functions.positions import KeyValueCache as KeyValueCache
from agnesi.nn.functions.smooth_activations import CELU as CELU
from agnesi.nn.functions.smooth_activations import GLU as GLU
from agnesi.nn.functions.smooth_activations import SELU as SELU
from agnesi.nn.functions.smooth_activations import LogSigmoid as LogSigmoid
from agnesi.nn.functions.smooth_activations import Mish as Mish
from agnesi.nn.functions.smooth_activations import Softmax2d as Softmax2d
from agnesi.nn.functions.smooth_activations import Softmin as Softmin
from agnesi.nn.functions.smooth_activations import Softsign as Softsign
from agnesi.nn.functions.smooth_activations import Tanhshrink as Tanhshrink
from agnesi.nn.layers.activations import ELU as ELU
from agnesi.nn.layers.activations import GELU as GELU
from agnesi.nn.layers.activations import LeakyReLU as LeakyReLU
from agnesi.nn.layers.activations import LogSoftmax as LogSoftmax
from agnesi.nn.layers.activations import PReLU as PReLU
from agnesi.nn.layers.activations import ReLU as ReLU
from agnesi.nn.layers.activations import ReLU6 as ReLU6
from agnesi.nn.layers.activations import Sigmoid as Sigmoid
from agnesi.nn.layers.activations import SiLU as SiLU
from agnesi.nn.layers.activations import Softmax as Softmax
from agnesi.nn.layers.activations import Softplus as Softplus
from agnesi.nn.layers.activations import Tanh as Tanh
from agnesi.nn.layers.attention import MultiheadAttention as MultiheadAttention
from agnesi.nn.layers.borders import CircularPad1d as CircularPad1d
from agnesi.nn.layers.borders import CircularPad2d as CircularPad2d
from agnesi.nn.layers.borders import CircularPad3d as CircularPad3d
from agnesi.nn.layers.borders import ConstantPad1d as ConstantPad1d
from agnesi.nn.layers.borders import ConstantPad2d as ConstantPad2d
from agnesi.nn.layers.borders import ConstantPad3d as ConstantPad3d
from agnesi.nn.layers.borders import ReflectionPad1d as ReflectionPad1d
from agnesi.nn.layers.borders import ReflectionPad2d as ReflectionPad2d
from agnesi.nn.layers.borders import ReflectionPad3d as ReflectionPad3d
from agnesi.nn.layers.borders import ReplicationPad1d as ReplicationPad1d
from agnesi.nn.layers.borders import ReplicationPad2d as ReplicationPad2d
from agnesi.nn.layers.borders import ReplicationPad3d as ReplicationPad3d
from agnesi.nn.layers.borders import ZeroPad1d as ZeroPad1d
from agnesi.nn.layers.borders import ZeroPad2d as ZeroPad2d
from agnesi.nn.layers.borders import ZeroPad3d as ZeroPad3d
from agnesi.nn.layers.cells import GRUCell as GRUCell
from agnesi.nn.layers.cells import LSTMCell as LSTMCell
from agnesi.nn.layers.cells import RNNCell as RNNCell
from agnesi.nn.layers.cells import RNNCellBase as RNNCellBase
from agnesi.nn.layers.columns import Fold as Fold
from agnesi.nn.layers.columns import Unfold as Unfold
from agnesi.nn.layers.convs import Conv1d as Conv1d
from agnesi.nn.layers.convs import Conv2d as Conv2d
from agnesi.nn.layers.convs import Conv3d as Conv3d
from agnesi.nn.layers.convs import ConvTranspose1d as ConvTranspose1d
from agnesi.nn.layers.convs import ConvTranspose2d as ConvTranspose2d
from agnesi.nn.layers.convs import ConvTranspose3d as ConvTranspose3d
from agnesi.nn.layers.embedding import Embedding as Embedding
from agnesi.nn.layers.embedding import EmbeddingBag as EmbeddingBag
from agnesi.nn.layers.embedding import SparseLinear as SparseLinear
from agnesi.nn.layers.hierarchies import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from agnesi.nn.layers.hierarchies import BinaryHierarchicalSoftmax as BinaryHierarchicalSoftmax
from agnesi.nn.layers.lazy import LazyBatchNorm1d as LazyBatchNorm1d
from agnesi.nn.layers.lazy import LazyBatchNorm2d as LazyBatchNorm2d
from agnesi.nn.layers.lazy import LazyBatchNorm3d as LazyBatchNorm3d
from agnesi.nn.layers.lazy import LazyConv1d as LazyConv1d
from agnesi.nn.layers.lazy import LazyConv2d as LazyConv2d
from agnesi.nn.layers.lazy import LazyConv3d as LazyConv3d
from agnesi.nn.layers.lazy import LazyConvTranspose1d as LazyConvTranspose1d
from agnesi.nn.layers.lazy import LazyConvTranspose2d as LazyConvTranspose2d
from agnesi.nn.layers.lazy import LazyConvTranspose3d as LazyConvTranspose3d
from agnesi.nn.layers.lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from agnesi.nn.layers.lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from agnesi.nn.layers.lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from agnesi.nn.layers.lazy import LazyLinear as LazyLinear
from agnesi.nn.layers.linear import Linear as Linear
from agnesi.nn.layers.maps import ConvMap2d as ConvMap2d
from agnesi.nn.layers.norms import BatchNorm1d as BatchNorm1d
from agnesi.nn.layers.norms import BatchNorm2d as BatchNorm2d
from agnesi.nn.layers.norms import BatchNorm3d as BatchNorm3d
from agnesi.nn.layers.norms import GroupNorm as GroupNorm
from agnesi.nn.layers.norms import InstanceNorm1d as InstanceNorm1d
from agnesi.nn.layers.norms import InstanceNorm2d as InstanceNorm2d
from agnesi.nn.layers.norms import InstanceNorm3d as InstanceNorm3d
from agnesi.nn.layers.norms import LayerNorm as LayerNorm
from agnesi.nn.layers.norms import LocalResponseNorm as LocalResponseNorm
from agnesi.nn.layers.norms import RMSNorm as RMSNorm
from agnesi.nn.layers.norms import SyncBatchNorm as SyncBatchNorm
from agnesi.nn.layers.older_names import Buffer as Buffer
from agnesi.nn.layers.older_names import Container as Container
from agnesi.nn.layers.older_names import CrossMapLRN2d as CrossMapLRN2d
from agnesi.nn.layers.older_names import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from agnesi.nn.layers.older_names import NLLLoss2d as NLLLoss2d
from agnesi.nn.layers.pools import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from agnesi.nn.layers.pools import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from agnesi.nn.layers.pools import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from agnesi.nn.layers.pools import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from agnesi.nn.layers.pools import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from agnesi.nn.layers.pools import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from agnesi.nn.layers.pools import AvgPool1d as AvgPool1d
from agnesi.nn.layers.pools import AvgPool2d as AvgPool2d
from agnesi.nn.layers.pools import AvgPool3d as AvgPool3d
from agnesi.nn.layers.pools import LPPool1d as LPPool1d
from agnesi.nn.layers.pools import LPPool2d as LPPool2d
from agnesi.nn.layers.pools import LPPool3d as LPPool3d
from agnesi.nn.layers.pools import MaxPool1d as MaxPool1d
from agnesi.nn.layers.pools import MaxPool2d as MaxPool2d
from agnesi.nn.layers.pools import MaxPool3d as MaxPool3d
from agnesi.nn.layers.pools import MaxUnpool1d as MaxUnpool1d
from agnesi.nn.layers.pools import MaxUnpool2d as MaxUnpool2d
from agnesi.nn.layers.pools import MaxUnpool3d as MaxUnpool3d
from agnesi.nn.layers.recurrent import GRU as GRU
from agnesi.nn.layers.recurrent import LSTM as LSTM
from agnesi.nn.layers.recurrent import RNN as RNN
from agnesi.nn.layers.recurrent import RNNBase as RNNBase
from agnesi.nn.layers.resize import PixelShuffle as PixelShuffle
from agnesi.nn.layers.resize import PixelUnshuffle as PixelUnshuffle
from agnesi.nn.layers.resize import Upsample as Upsample
from agnesi.nn.layers.sequential import Sequential as Sequential
from agnesi.nn.layers.shuffles import ChannelShuffle as ChannelShuffle
from agnesi.nn.layers.shuffles import UpsamplingBilinear2d as UpsamplingBilinear2d
from agnesi.nn.layers.shuffles import UpsamplingNearest2d as UpsamplingNearest2d
from agnesi.nn.layers.transformers import Transformer as Transformer
from agnesi.nn.layers.transformers import TransformerDecoder as TransformerDecoder
from agnesi.nn.layers.transformers import TransformerDecoderLayer as TransformerDecoderLayer
from agnesi.nn.layers.transformers import TransformerEncoder as TransformerEncoder
from agnesi.nn.layers.transformers import TransformerEncoderLayer as TransformerEncoderLayer
from agnesi.nn.layers.weightless import CrossEntropyLoss as CrossEntropyLoss
from agnesi.nn.layers.weightless import Dropout as Dropout
from agnesi.nn.layers.weightless import Dropout1d as Dropout1d
from agnesi.nn.layers.weightless import Dropout2d as Dropout2d
from agnesi.nn.layers.weightless import Dropout3d as Dropout3d
from agnesi.nn.layers.weightless import Flatten as Flatten
from agnesi.nn.layers.weightless import MSELoss as MSELoss
from agnesi.nn.layers.weightless import Unflatten as Unflatten
from agnesi.nn.losses.binary import BCELoss as BCELoss
from agnesi.nn.losses.binary import BCEWithLogitsLoss as BCEWithLogitsLoss
from agnesi.nn.losses.binary import HingeEmbeddingLoss as HingeEmbeddingLoss
from agnesi.nn.losses.binary import KLDivLoss as KLDivLoss
from agnesi.nn.losses.binary import SoftMarginLoss as SoftMarginLoss
from agnesi.nn.losses.classes import MultiLabelMarginLoss as MultiLabelMarginLoss
from agnesi.nn.losses.classes import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from agnesi.nn.losses.classes import MultiMarginLoss as MultiMarginLoss
from agnesi.nn.losses.classes import NLLLoss as NLLLoss
from agnesi.nn.losses.ctc import CTCLoss as CTCLoss
from agnesi.nn.losses.metric import CosineEmbeddingLoss as CosineEmbeddingLoss
from agnesi.nn.losses.metric import MarginRankingLoss as MarginRankingLoss
from agnesi.nn.losses.metric import TripletMarginLoss as TripletMarginLoss
from agnesi.nn.losses.metric import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from agnesi.nn.losses.regression import GaussianNLLLoss as GaussianNLLLoss
from agnesi.nn.losses.regression import HuberLoss as HuberLoss
from agnesi.nn.losses.regression import L1Loss as L1Loss
from agnesi.nn.losses.regression import PoissonNLLLoss as PoissonNLLLoss
from agnesi.nn.losses.regression import SmoothL1Loss as SmoothL1Loss
from agnesi.nn.mixtures import Inception as Inception
from agnesi.nn.mixtures import Maxout as Maxout
from agnesi.nn.mixtures import MixtureOfExperts as MixtureOfExperts
from agnesi.nn.parallel import DataParallel as DataParallel

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            found = getattr(_import_module("agnesi.nn.private"), name, None)
            if found is not None:
                return found
        raise _no_attribute("module 'agnesi.nn'", name)


_add_paths(__name__, """
    modules modules.activation modules.batchnorm modules.container modules.conv modules.dropout
    modules.instancenorm modules.linear modules.loss modules.module modules.normalization
    modules.padding modules.pooling modules.rnn modules.sparse modules.transformer
    modules.upsampling modules.utils parameter
""")
_strictly(__name__)
