"""``theano.sandbox``: random streams."""

from agnesi.compat.theano.sandbox import rng_mrg as rng_mrg
