"""Neural networks: modules, layers, losses, initial values."""

from agnesi.nn import functional as functional
from agnesi.nn import init as init
from agnesi.nn.layers import AvgPool2d as AvgPool2d
from agnesi.nn.layers import CrossEntropyLoss as CrossEntropyLoss
from agnesi.nn.layers import Dropout as Dropout
from agnesi.nn.layers import Flatten as Flatten
from agnesi.nn.layers import LayerNorm as LayerNorm
from agnesi.nn.layers import MaxPool2d as MaxPool2d
from agnesi.nn.layers import MSELoss as MSELoss
from agnesi.nn.layers import ReLU as ReLU
from agnesi.nn.layers import Sequential as Sequential
from agnesi.nn.layers import Sigmoid as Sigmoid
from agnesi.nn.layers import Tanh as Tanh
from agnesi.nn.linear import Conv2d as Conv2d
from agnesi.nn.linear import Embedding as Embedding
from agnesi.nn.linear import Linear as Linear
from agnesi.nn.module import Module as Module
