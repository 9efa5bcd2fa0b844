"""Scratch memory of convolutions by squares."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding")

from agnesi.codegen.kernels.conv import plan_convolution
from agnesi.codegen.kernels.conv.winograd.plan import WinogradPlan, WinogradWeightPlan
from tests.codegen.kernels.conv.conv_kernels import Runnable, conv_sizes, host, reference, shapes


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", ["forward", "input", "weight"])
@pytest.mark.parametrize("batch", [16, 17, 64])
def test_elements_of_squares_do_not_meet_in_few_sets_of_the_caches(kind, batch, monkeypatch):
    for way in (WinogradPlan, WinogradWeightPlan):
        monkeypatch.setattr(way, "cycles", lambda plan, l2: -1e12 / plan.passes)
    sizes = conv_sizes(batch, 1, 16, 32, (8, 8), (3, 3), (1, 1), (1, 1), ((1, 1),) * 2)
    *given, result = shapes(kind, sizes)
    a, b = (np.sin(np.arange(np.prod(s)) * 0.7).reshape(s).astype(np.float32) for s in given)
    out, here = np.empty(result, np.float32), host(512)
    run = Runnable(kind, sizes, a, b, out, here)
    (plan,) = plan_convolution(run.kernel, here).parts
    columns = plan.pitch if kind == "weight" else plan.width
    for squares, pitch in ((plan.source_tiles, plan.channel_pitch), (plan.tiles, columns)):
        assert squares * pitch * plan.itemsize % 1024
    run()
    np.testing.assert_allclose(out, reference(kind, sizes, a, b), rtol=1e-3, atol=1e-2)
