"""Gradients to filters that read images and cotangents in place, called near a block ahead."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding")

from agnesi.codegen.kernels.conv import plan_convolution
from agnesi.codegen.kernels.conv.weight_plan import WeightPlan
from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.runtime import threads
from tests.codegen.kernels.conv.conv_kernels import (
    Runnable,
    conv_sizes,
    host,
    ordered,
    reference,
    shapes,
)

_L2 = 1 << 15
_LAST = (0, 2, 3, 1), (0, 2, 3, 1), (2, 3, 1, 0)


def _sizes(batch: int, channels: int, filters: int, image: tuple[int, int],
           kernel: tuple[int, int] = (1, 1), stride: int = 1, border: int = 0) -> ConvSizes:
    return conv_sizes(batch, 1, channels, filters, image, kernel, (stride,) * 2, (1, 1),
                      ((border, border),) * 2)


CASES = {
    "point": _sizes(4, 20, 100, (23, 25)),
    "point with few sums": _sizes(5, 13, 17, (40, 30)),
    "point strided": _sizes(5, 24, 72, (35, 38), stride=2),
    "point strided beyond": _sizes(3, 24, 50, (50, 41), stride=3, border=1),
    "strided": _sizes(3, 40, 33, (30, 31), (3, 3), 2, 1),
    "few channels": _sizes(3, 3, 48, (64, 66), (7, 7), 3, 3),
}
WHOLE = ("point", "point with few sums")
POINTS = (*WHOLE, "point strided", "point strided beyond")


def _operands(sizes: ConvSizes) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(sizes.image))
    return [
        ordered(rng.standard_normal(shape).astype("float32"), order)
        for shape, order in zip(shapes("weight", sizes), _LAST, strict=True)
    ]


@pytest.mark.share(4)
@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("case", CASES)
def test_values(case: str, vector_bits: int) -> None:
    """One, two and three threads do other numbers of units as one; results are the same."""
    sizes, here, results = CASES[case], host(vector_bits, l2=_L2), []
    a, b, out = _operands(sizes)
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            results.append(Runnable("weight", sizes, a, b, out, here)().copy())
    finally:
        threads.set_num_threads(before)
    exact = reference("weight", sizes, a.astype("float64"), b.astype("float64"))
    np.testing.assert_allclose(results[0], exact, rtol=1e-4, atol=1e-5 * abs(exact).max())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("case", CASES)
def test_plans(case: str) -> None:
    """Points have all places on one axis where memory has; few sums read cotangents in place."""
    here = host(512, l2=_L2)
    kernel = Runnable("weight", CASES[case], *_operands(CASES[case]), here).kernel
    plan = plan_convolution(kernel, here).parts[0]
    assert isinstance(plan, WeightPlan)
    assert plan.packed_b == (case == "strided")
    assert plan.packed_a == (case == "few channels")
    assert (plan.ahead[1] > 0) != plan.packed_b
    assert (plan.ahead[0] > 0) != plan.packed_a
    assert (plan.dense.batch == 1) == (case in WHOLE)
    if case in POINTS:
        assert plan.merged == plan.units


def test_near_operands_are_products() -> None:
    """What the second cache holds is not called; its gradients to many filters are products."""
    here = host(512, l2=1 << 22)
    kernel = Runnable("weight", CASES["point"], *_operands(CASES["point"]), here).kernel
    plan = plan_convolution(kernel, here).parts[0]
    assert isinstance(plan, tuple) or plan.ahead == (0, 0)
