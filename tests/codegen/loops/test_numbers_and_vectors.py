"""Functions of elements give the same bits for numbers, vectors of one, registers and tails."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.base.elementwise import TABLE, call
from agnesi.testing.samples import operands

#: Those that may differ in the last bits: single numbers take shorter chains of instructions
#: (``codegen/vmath/low_latency.py``). Of vectors an element never depends on its neighbours.
EXCEPT = {"sin", "cos", "tanh", "betainc_daa", "betainc_dab", "betainc_dbb", "betainc_along"}
ROWS = [name for name, row in sorted(TABLE.items())
        if row.home.startswith("agnesi.") and row.foreign is None and "f" in row.kinds
        and name not in EXCEPT and name != "where"]


@pytest.mark.share(80)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_elements_do_not_depend_on_their_neighbours(name, dtype):
    row = TABLE[name]
    xs = [x.astype(dtype) for x in operands(row, ((21,),) * row.arity)]
    f = ag.jit(lambda *xs: call(row, xs))
    whole = np.asarray(f(*xs))
    np.testing.assert_array_equal(np.asarray(f(*[x[:3] for x in xs])), whole[:3])
    for i in (0, 4):
        np.testing.assert_array_equal(np.asarray(f(*[x[i:i + 1] for x in xs]))[0], whole[i])
        np.testing.assert_array_equal(np.asarray(f(*[x[i] for x in xs])), whole[i])
