"""``autograd.numpy.random``: NumPy's own."""

from numpy.random import *  # noqa: F403
