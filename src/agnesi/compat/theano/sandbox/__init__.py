"""``theano.sandbox``: random streams; what became ``tensor.nlinalg`` and ``nnet.neighbours``."""

import sys

from agnesi.compat.theano.sandbox import cuda as cuda
from agnesi.compat.theano.sandbox import rng_mrg as rng_mrg
from agnesi.compat.theano.sandbox import sp as sp
from agnesi.compat.theano.tensor import nlinalg as linalg
from agnesi.compat.theano.tensor import slinalg as solve
from agnesi.compat.theano.tensor.nnet import activations as softsign
from agnesi.compat.theano.tensor.nnet import blocksparse as blocksparse
from agnesi.compat.theano.tensor.nnet import neighbours as neighbours

for _name, _module in (("linalg", linalg), ("linalg.ops", linalg), ("neighbours", neighbours),
                       ("softsign", softsign), ("solve", solve), ("blocksparse", blocksparse)):
    sys.modules[f"{__name__}.{_name}"] = _module
