"""Neural networks: modules, layers, losses, initial values."""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.errors import no_attribute as _no_attribute
from agnesi.core.exports import shown as _shown
from agnesi.nn import functional as functional
from agnesi.nn import init as init
from agnesi.nn.activations import ELU as ELU
from agnesi.nn.activations import GELU as GELU
from agnesi.nn.activations import LeakyReLU as LeakyReLU
from agnesi.nn.activations import LogSoftmax as LogSoftmax
from agnesi.nn.activations import PReLU as PReLU
from agnesi.nn.activations import ReLU as ReLU
from agnesi.nn.activations import ReLU6 as ReLU6
from agnesi.nn.activations import Sigmoid as Sigmoid
from agnesi.nn.activations import SiLU as SiLU
from agnesi.nn.activations import Softmax as Softmax
from agnesi.nn.activations import Softplus as Softplus
from agnesi.nn.activations import Tanh as Tanh
from agnesi.nn.attention import MultiheadAttention as MultiheadAttention
from agnesi.nn.attention import TransformerEncoderLayer as TransformerEncoderLayer
from agnesi.nn.borders import CircularPad1d as CircularPad1d
from agnesi.nn.borders import CircularPad2d as CircularPad2d
from agnesi.nn.borders import CircularPad3d as CircularPad3d
from agnesi.nn.borders import ConstantPad1d as ConstantPad1d
from agnesi.nn.borders import ConstantPad2d as ConstantPad2d
from agnesi.nn.borders import ConstantPad3d as ConstantPad3d
from agnesi.nn.borders import ReflectionPad1d as ReflectionPad1d
from agnesi.nn.borders import ReflectionPad2d as ReflectionPad2d
from agnesi.nn.borders import ReflectionPad3d as ReflectionPad3d
from agnesi.nn.borders import ReplicationPad1d as ReplicationPad1d
from agnesi.nn.borders import ReplicationPad2d as ReplicationPad2d
from agnesi.nn.borders import ReplicationPad3d as ReplicationPad3d
from agnesi.nn.borders import ZeroPad1d as ZeroPad1d
from agnesi.nn.borders import ZeroPad2d as ZeroPad2d
from agnesi.nn.borders import ZeroPad3d as ZeroPad3d
from agnesi.nn.cells import GRUCell as GRUCell
from agnesi.nn.cells import LSTMCell as LSTMCell
from agnesi.nn.cells import RNNCell as RNNCell
from agnesi.nn.columns import Fold as Fold
from agnesi.nn.columns import Unfold as Unfold
from agnesi.nn.convs import Conv1d as Conv1d
from agnesi.nn.convs import Conv2d as Conv2d
from agnesi.nn.convs import Conv3d as Conv3d
from agnesi.nn.convs import ConvTranspose1d as ConvTranspose1d
from agnesi.nn.convs import ConvTranspose2d as ConvTranspose2d
from agnesi.nn.convs import ConvTranspose3d as ConvTranspose3d
from agnesi.nn.ctc import CTCLoss as CTCLoss
from agnesi.nn.elementary import Add as Add
from agnesi.nn.elementary import CMul as CMul
from agnesi.nn.elementary import Euclidean as Euclidean
from agnesi.nn.elementary import Identity as Identity
from agnesi.nn.elementary import Mul as Mul
from agnesi.nn.elementary import WeightedEuclidean as WeightedEuclidean
from agnesi.nn.embedding import Embedding as Embedding
from agnesi.nn.embedding import EmbeddingBag as EmbeddingBag
from agnesi.nn.embedding import SparseLinear as SparseLinear
from agnesi.nn.layers import CrossEntropyLoss as CrossEntropyLoss
from agnesi.nn.layers import Dropout as Dropout
from agnesi.nn.layers import Dropout1d as Dropout1d
from agnesi.nn.layers import Dropout2d as Dropout2d
from agnesi.nn.layers import Dropout3d as Dropout3d
from agnesi.nn.layers import Flatten as Flatten
from agnesi.nn.layers import MSELoss as MSELoss
from agnesi.nn.layers import Sequential as Sequential
from agnesi.nn.layers import Unflatten as Unflatten
from agnesi.nn.linear import Linear as Linear
from agnesi.nn.maps import ConvMap2d as ConvMap2d
from agnesi.nn.module import Module as Module
from agnesi.nn.norms import BatchNorm1d as BatchNorm1d
from agnesi.nn.norms import BatchNorm2d as BatchNorm2d
from agnesi.nn.norms import BatchNorm3d as BatchNorm3d
from agnesi.nn.norms import GroupNorm as GroupNorm
from agnesi.nn.norms import InstanceNorm1d as InstanceNorm1d
from agnesi.nn.norms import InstanceNorm2d as InstanceNorm2d
from agnesi.nn.norms import InstanceNorm3d as InstanceNorm3d
from agnesi.nn.norms import LayerNorm as LayerNorm
from agnesi.nn.norms import LocalResponseNorm as LocalResponseNorm
from agnesi.nn.norms import RMSNorm as RMSNorm
from agnesi.nn.pairs import Bilinear as Bilinear
from agnesi.nn.pairs import CosineSimilarity as CosineSimilarity
from agnesi.nn.pairs import PairwiseDistance as PairwiseDistance
from agnesi.nn.pools import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from agnesi.nn.pools import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from agnesi.nn.pools import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from agnesi.nn.pools import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from agnesi.nn.pools import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from agnesi.nn.pools import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from agnesi.nn.pools import AvgPool1d as AvgPool1d
from agnesi.nn.pools import AvgPool2d as AvgPool2d
from agnesi.nn.pools import AvgPool3d as AvgPool3d
from agnesi.nn.pools import LPPool1d as LPPool1d
from agnesi.nn.pools import LPPool2d as LPPool2d
from agnesi.nn.pools import LPPool3d as LPPool3d
from agnesi.nn.pools import MaxPool1d as MaxPool1d
from agnesi.nn.pools import MaxPool2d as MaxPool2d
from agnesi.nn.pools import MaxPool3d as MaxPool3d
from agnesi.nn.pools import MaxUnpool1d as MaxUnpool1d
from agnesi.nn.pools import MaxUnpool2d as MaxUnpool2d
from agnesi.nn.pools import MaxUnpool3d as MaxUnpool3d
from agnesi.nn.recurrent import GRU as GRU
from agnesi.nn.recurrent import LSTM as LSTM
from agnesi.nn.recurrent import RNN as RNN
from agnesi.nn.resize import PixelShuffle as PixelShuffle
from agnesi.nn.resize import PixelUnshuffle as PixelUnshuffle
from agnesi.nn.resize import Upsample as Upsample

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.nn'", name)


def __dir__() -> list[str]:
    return _shown(__name__)
