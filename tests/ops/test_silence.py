"""Eager operations warn of no number, as compiled ones do not, whatever NumPy's settings are."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.nn import functional as F

ONES, LARGE = ag.ones(3), ag.tensor([1e38, -1e38])
ENDS = ag.tensor([[np.inf, -np.inf]])
STEEP = ag.tensor([[1e30, 0.0], [0.0, 1e30]])
PLACES = ag.tensor([0, 0])

CALLS = {
    "tensor of a list": lambda: ag.tensor([1e300]), "of an array": lambda: ag.asarray(
        np.array([1e300]), dtype="float32"),
    "of a number": lambda: ag.tensor(1e300), "full": lambda: ag.full((2,), 1e300),
    "number beside": lambda: ONES * 1e300, "masked_fill": lambda: ONES.masked_fill(ONES > 0, 1e300),
    "element": lambda: ag.ones(3).__setitem__(0, 1e300), "half": lambda: LARGE.half(),
    "arange": lambda: ag.arange(0, 1e300, 5e299), "linspace": lambda: ag.linspace(0, 1e300, 3),
    "logspace": lambda: ag.logspace(0, 300, 3), "geomspace": lambda: ag.geomspace(1, 1e300, 3),
    "mean of halves": lambda: ENDS.half().mean(), "sum": lambda: ENDS.sum(),
    "matmul": lambda: ENDS @ ENDS.T, "conv": lambda: F.conv1d(ENDS[None], ag.ones((1, 1, 2))),
    "conv of halves": lambda: F.conv1d(ENDS[None].half(), ag.ones((1, 1, 2)).half()),
    "conv_transpose": lambda: F.conv_transpose1d(ENDS[None], ag.ones((1, 1, 2))),
    "gradient of conv": lambda: ag.grad(lambda w: F.conv1d(ENDS[None], w).sum())(
        ag.ones((1, 1, 1))),
    "avg_pool": lambda: F.avg_pool1d(ENDS[None], 2), "interpolate": lambda: F.interpolate(
        ENDS[None], scale_factor=2, mode="linear"),
    "fold": lambda: F.fold(ag.tensor([[[np.inf], [np.inf]]]) * 1e38, (1, 2), (1, 2)),
    "index_add": lambda: ag.zeros(2).index_add(0, PLACES, ENDS[0]),
    "index_add of columns": lambda: ag.zeros((2, 2)).T.index_add(
        0, PLACES, ENDS.T @ ag.ones((1, 2))),
    "bincount": lambda: ag.bincount(PLACES, weights=ENDS[0]), "det": lambda: ag.linalg.det(STEEP),
    "solve": lambda: ag.linalg.solve(1 / STEEP.diagonal().diag(), ag.tensor([1e30, 1e30])),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_operation_warns(name):
    with np.errstate(all="raise"):
        CALLS[name]()
