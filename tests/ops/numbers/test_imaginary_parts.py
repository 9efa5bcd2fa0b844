"""Imaginary parts that a real result cannot hold are warned of, as in NumPy, in both modes."""

import warnings

import numpy as np
import pytest

import agnesi as ag

#: What writes complex numbers into real ones.
WRITES = {
    "fill_": lambda x, c: x.fill_(c[0]),
    "copy_": lambda x, c: x.copy_(c),
    "astype": lambda x, c: c.astype("float64"),
    "to": lambda x, c: c.to(ag.float64),
    "tensor": lambda x, c: ag.tensor(c, dtype="float64"),
    "sum": lambda x, c: ag.sum(c, dtype="float64"),
    "prod": lambda x, c: ag.prod(c, dtype="float64"),
    "mean": lambda x, c: ag.mean(c, dtype="float64"),
    "masked_fill": lambda x, c: x.masked_fill(x > 1, c[0]),
    "full": lambda x, c: ag.full((2,), c[0], dtype="float64"),
    "scatter": lambda x, c: ag.scatter(x, 0, ag.tensor([0, 1]), c),
}
#: What drops none.
OTHERS = {
    "bool": lambda c: c.astype("bool"), "complex64": lambda c: c.astype("complex64"),
    "same": lambda c: c.astype("complex128", copy=False), "real": lambda c: c.real,
    "std": ag.std, "norm": ag.linalg.norm, "eigvalsh": lambda c: ag.linalg.eigvalsh(c[:1, None]),
    "gradient": lambda c: ag.grad(lambda x: (abs(x * c) ** 2).sum())(ag.ones(2)),
}
MODES = pytest.mark.parametrize("jitted", [False, True])


@MODES
@pytest.mark.parametrize("name", WRITES)
def test_warned_of(name, jitted):
    c, x = ag.tensor(np.array([1 + 2j, 3j])), ag.tensor(np.array([1.0, 2.0]))
    function = ag.jit(WRITES[name]) if jitted else WRITES[name]
    with pytest.warns(np.exceptions.ComplexWarning):
        found = function(x, c)
    assert found.dtype == ag.float64


@MODES
@pytest.mark.parametrize("name", OTHERS)
def test_not_warned_of(name, jitted):
    function = ag.jit(OTHERS[name]) if jitted else OTHERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(ag.tensor(np.array([1 + 2j, 3j])))
