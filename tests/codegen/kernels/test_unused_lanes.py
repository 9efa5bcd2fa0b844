"""Lanes that are not in use compute with zeros, not with what lies in the workspace.

Numbers below the normal ones take some processors a hundred times as long; the processor notes in
its status that it met one.
"""

import ctypes
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.host import ARCHITECTURE

F = ag.nn.functional
pytestmark = pytest.mark.skipif(
    (ARCHITECTURE, sys.platform) != ("x86_64", "linux"), reason="the status of this processor"
)
_MET_DENORMAL, _ALL = 0x2, 0x3F


def _gradient(x, w, g):
    w = w.detach().requires_grad_()
    return ag.grad((F.conv2d(x, w) * g).sum(), w)


CASES = [  # one of each place where operands are packed
    (lambda x, w, g: F.conv2d(x, w), (2, 3, 28, 32), (6, 3, 5, 5), "fast_run"),
    (lambda x, w, g: F.conv2d(x, w, stride=2), (2, 4, 28, 33), (6, 4, 3, 3), "fast_run"),
    (lambda x, w, g: F.conv2d(x, w), (5, 13, 14, 14), (6, 13, 7, 7), "fast_compile"),
    (_gradient, (2, 16, 16, 13), (12, 16, 3, 3), "fast_compile"),
]


@pytest.mark.parametrize(("function", "image", "filters", "optimizer"), CASES)
def test_what_lies_in_the_workspace_is_not_computed_with(function, image, filters, optimizer):
    libm, status = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
    places = [n - k + 1 for n, k in zip(image[2:], filters[2:], strict=True)]
    shapes = image, filters, (image[0], filters[0], *places)
    draw = np.random.default_rng(0).standard_normal
    given = [ag.tensor(draw(shape).astype("f")) for shape in shapes]
    tiny = [ag.full(s, 1e-40, dtype="float32") for s in ((2, 32, 64, 64), (32, 32, 3, 3))]
    with ag.config(threads=1, optimizer=optimizer):
        run, fill = ag.jit(function), ag.jit(lambda x, w: F.conv2d(x, w))
        run(*given)
        fill(*tiny)
        libm.fegetenv(status)
        status[7] &= ~_ALL
        libm.fesetenv(status)
        run(*given)
        libm.fegetenv(status)
    assert not status[7] & _MET_DENORMAL
