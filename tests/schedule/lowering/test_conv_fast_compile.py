"""Convolutions under `fast_compile`: kernels that share code, with numbers from tables."""

from __future__ import annotations

import re

import numpy as np
import pytest

import agnesi as ag
from agnesi.runtime import machine

pytest.importorskip("llvmlite.binding")


def _net(x, first, second, third):
    x = ag.maximum(ag.conv2d(x, first, padding=1), 0)
    x = ag.maximum(ag.conv2d(x, second, padding=1), 0)
    return ag.tanh(ag.conv2d(x, third, padding=2))


def _loss(*values):
    y, back = ag.vjp(_net, *values)
    return (y, *back(y * y))


def _values(batch, dtype="float32"):
    rng = np.random.default_rng(5)
    shapes = ((batch, 32, 13, 14), (48, 32, 3, 3), (40, 48, 3, 3), (33, 40, 5, 5))
    return [ag.tensor((0.05 * rng.standard_normal(s)).astype(dtype)) for s in shapes]


def _close(found, expected, dtype):
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(other.numpy()).max(initial=0)))
        bound = (2e-4 if dtype == "float32" else 1e-11) * scale
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=bound)


@pytest.mark.skipif(
    machine.native().vector_bits < 512,
    reason="with 16 vector registers these layers are not worth Winograd's transforms",
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_of_other_sizes_share_their_code(dtype):
    values = _values(3, dtype)
    step = ag.jit(_loss, optimizer="fast_compile")
    _close(step(*values), _loss(*values), dtype)
    names = re.findall(r"^define [^@]*@(winograd\w*)\(", step.ir(), re.M)
    # For results, from images as users have them or not, and for filters.
    assert len(names) <= 3 < 4 < step.ir().count("call void @winograd")


def test_any_batch():
    step = ag.jit(_loss, optimizer="fast_compile")
    for batch in (2, 3, 5, 8, 1, 0, 4):
        values = _values(batch)
        _close(step(*values), _loss(*values), "float32")
    assert len(step.specialisations) <= 4


def test_threads_agree():
    values = _values(4)
    step = ag.jit(_loss, optimizer="fast_compile")
    before = ag.get_num_threads()
    try:
        ag.set_num_threads(1)
        alone = [x.numpy().copy() for x in step(*values)]
        ag.set_num_threads(2)
        for one, other in zip(step(*values), alone, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
    finally:
        ag.set_num_threads(before)
