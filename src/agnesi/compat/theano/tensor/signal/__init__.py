"""``theano.tensor.signal``: pooling, and convolution of matrices."""

from agnesi.compat.theano.tensor.signal import conv as conv
from agnesi.compat.theano.tensor.signal import downsample as downsample
from agnesi.compat.theano.tensor.signal import pool as pool
