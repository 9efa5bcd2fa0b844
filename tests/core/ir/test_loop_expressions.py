"""Python's operators on expressions of the loop language."""

from typing import Any

import numpy as np

from agnesi.core.ir import loops


def _x(dtype: str = "float32") -> Any:
    return loops.make("size", (), dtype, "x")


def test_operators_are_calls_and_numbers_take_the_dtype_of_the_other_operand() -> None:
    x, one = _x(), loops.const(1, "float32")
    assert x + 1 is loops.call("add", x, one) and 1 - x is loops.call("subtract", one, x)
    assert np.float64(1) / x is loops.call("divide", one, x)
    assert (x < 1) & ~x.eq(1) is loops.call(
        "logical_and", loops.call("less", x, one), loops.call("logical_not", x.eq(one)))
    assert abs(-x) is loops.call("abs", loops.call("negative", x))
    assert loops.where(x > 0, x, 0).args[2] is loops.const(0, "float32")
    assert loops.call("minimum", _x("int64"), 2).args[1] is loops.const(2, "int64")
    assert (x == x) is True and (x == one) is False  # equal expressions are one object
