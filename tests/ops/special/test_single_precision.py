"""Functions of SciPy's in single precision, by its loops of double precision, rounded once."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import special

X = np.random.default_rng(0).uniform(0.1, 0.9, (3, 50))
#: Names and how many operands they have; SciPy's own loops had up to no digit left.
CALLS = {"kei": 1, "ker": 1, "berp": 1, "betainc": 3, "betaincinv": 3, "fdtr": 3, "stdtr": 2,
         "stdtrit": 2, "chndtr": 3, "gammainc": 2, "gammaincinv": 2, "poch": 2, "binom": 2,
         "hyp1f1": 3, "iti0k0": 1}


def first(found):
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_values(name, dtype):
    function = getattr(special, name)
    xs = [ag.tensor(x).astype(dtype) for x in X[:CALLS[name]]]
    exact = first(function(*[x.astype("float64") for x in xs])).astype(dtype)
    for run in (function, ag.jit(function)):
        found = first(run(*xs))
        assert found.dtype == dtype and ag.array_equal(found, exact)


def test_lists_take_the_dtype_of_tensors_in_traces_too():
    def call():
        return special.hyp1f1(ag.tensor([0.5, 0.25], dtype="bfloat16"), [2.0], [0.5])

    assert call().dtype == ag.jit(call)().dtype == "bfloat16"
