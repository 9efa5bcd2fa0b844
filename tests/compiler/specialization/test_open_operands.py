"""Operands that must have a shape, in graphs of open sizes: checked when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.nn import functional as F

Function = Callable[..., Any]
#: A function, shapes that fit, and shapes that do not; eagerly the latter are a ShapeError.
CASES: dict[str, tuple[Function, list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b), [(1, 1, 3, 3), (1, 1, 2, 2), (1,)],
               [(1, 1, 3, 3), (1, 1, 2, 2), (2,)]),
    "conv_transpose1d": (lambda x, w, b: F.conv_transpose1d(x, w, b),
                         [(1, 2, 3), (2, 1, 2), (1,)], [(1, 2, 3), (2, 1, 2), (3,)]),
    "instance_norm": (lambda x, w: F.instance_norm(x, weight=w), [(1, 2, 3), (2,)],
                      [(1, 1, 3), (2,)]),
    "group_norm": (lambda x, w: F.group_norm(x, 1, bias=w), [(1, 2, 3), (2,)], [(1, 1, 3), (2,)]),
    "layer_norm": (lambda x: F.layer_norm(x, (2,)), [(3, 2)], [(3, 3)]),
    "rms_norm": (lambda x: F.rms_norm(x, (2,)), [(3, 2)], [(3, 1)]),
    "vecdot": (ag.vecdot, [(4, 2), (2,)], [(4, 1), (2,)]),
    "vdot": (ag.vdot, [(2,), (2,)], [(2,), (1,)]),
    "bincount": (lambda x, w: ag.bincount(ag.astype(x, "int64"), w, length=6), [(3,), (3,)],
                 [(3,), (1,)]),
    "histogram": (lambda x, w: ag.histogram(x, 2, weights=w)[0], [(3,), (3,)], [(3,), (1,)]),
    "histogram_bin_edges": (lambda x, w: ag.histogram_bin_edges(x, 2, weights=w), [(3,), (3,)],
                            [(3,), (1,)]),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, [0, 1]), [(2, 3)], [(1, 3)]),
}


def arrays(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.arange(np.prod(s)).reshape(s).astype("float32") for s in shapes]


@pytest.mark.parametrize("name", CASES)
def test_other_sizes_are_refused_when_the_graph_runs(name: str) -> None:
    f, good, bad = CASES[name]
    given = [T.tensor("float32", (None,) * len(s)) for s in good]
    run = ag.function(given, f(*given))
    expected = f(*[ag.asarray(a) for a in arrays(good)])
    np.testing.assert_allclose(run(*arrays(good)), expected.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ag.ShapeError):
        f(*[ag.asarray(a) for a in arrays(bad)])
    with pytest.raises(ValueError, match=r"shape|sizes|number per channel"):
        run(*arrays(bad))


@pytest.mark.parametrize("count", [0, -1])
def test_no_parts_of_an_open_axis_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="equal parts"):
        ag.split(T.vector("x"), count)


def test_orders_that_only_the_run_knows_are_checked_by_what_is_loaded() -> None:
    run = ag.jit(lambda n, x: ag.special.spherical_jn(n, x))
    np.testing.assert_allclose(run(ag.tensor(1.0), ag.tensor(0.5)).numpy(), 0.1625370, rtol=1e-5)
    with pytest.raises(ValueError, match="whole numbers"):
        run(ag.tensor(1.5), ag.tensor(0.5))
