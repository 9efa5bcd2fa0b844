"""Threads of users may have small stacks: kernels keep their scratch elsewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite.binding")

#: Kernels of all kinds run on a thread with 256 kB; a crash shows whose name was told last.
PROGRAM = """
import sys, threading
import numpy as np
import agnesi as ag

rng = np.random.default_rng(0)

def t(*shape):
    return ag.tensor(rng.standard_normal(shape).astype("float32"))

def conv(x, w, **how):
    function = {3: ag.conv1d, 4: ag.conv2d, 5: ag.conv3d}[x.ndim]
    square = lambda x, w: (function(x, w, **how) ** 2).sum()
    both = ag.grad(square, argnums=(0, 1))
    return lambda x, w: (function(x, w, **how), *both(x, w)), (x, w)

def rows(a):
    return (a - a.mean(-1, keepdims=True)) / ag.sqrt(a.var(-1, keepdims=True) + 1e-5)

def steps(h, x, w):
    return ag.scan(lambda c, r: (ag.tanh(c @ w + r), c), h, x)[0]

CASES = {
    "1x1": conv(t(2, 512, 14, 14), t(512, 512, 1, 1)),
    "3x3": conv(t(2, 64, 28, 28), t(64, 64, 3, 3), padding=1),
    "strided": conv(t(2, 64, 28, 28), t(128, 64, 3, 3), padding=1, stride=2),
    "5x5": conv(t(1, 64, 27, 27), t(192, 64, 5, 5), padding=2),
    "7x7": conv(t(1, 3, 112, 112), t(64, 3, 7, 7), padding=3, stride=2),
    "depthwise": conv(t(1, 64, 56, 56), t(64, 1, 3, 3), padding=1, groups=64),
    "grouped": conv(t(1, 64, 28, 28), t(64, 16, 3, 3), padding=1, groups=4),
    "few filters": conv(t(1, 64, 32, 32), t(1, 64, 3, 3), padding=1),
    "1-D": conv(t(2, 64, 1000), t(64, 64, 9), padding=4),
    "3-D": conv(t(1, 16, 16, 16, 16), t(16, 16, 3, 3, 3), padding=1),
    "product": (lambda a, b: a @ b, (t(2048, 64), t(64, 2048))),
    "turned": (lambda a, b: ag.tanh(a.T @ b), (t(64, 2048), t(64, 2048))),
    "zeros": (lambda a, b: ag.relu(a) @ b, (t(512, 1024), t(1024, 512))),
    "sort": (lambda a: ag.sort(a), (t(50, 1000),)),
    "places": (lambda a: ag.argsort(a), (t(5000),)),
    "rows": (rows, (t(64, 3000),)),
    "columns": (lambda a: ag.exp(a).sum(0), (t(3000, 900),)),
    "scan": (steps, (t(64, 256), t(10, 64, 256), t(256, 256))),
    "transform": (lambda a: ag.fft.irfft(ag.fft.rfft(a)), (t(64, 1000),)),
    "systems": (lambda a, b: ag.linalg.solve(a, b), (t(300, 16, 16), t(300, 16, 16))),
    "many arguments": (lambda *xs: xs[0] + xs[-1], tuple(t(1) for _ in range(2500))),
}

def run():
    for name, (function, arguments) in CASES.items():
        print(name, flush=True)
        ag.jit(function, optimizer=sys.argv[1])(*arguments)
    print("eager", flush=True)
    function, arguments = CASES["3x3"]
    function(*arguments)
    print("done", flush=True)

threading.stack_size(256 << 10)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.share(3)
@pytest.mark.share(2)
@pytest.mark.parametrize("optimizer", [
    "fast_run", pytest.param("fast_compile", marks=pytest.mark.long)])
def test_kernels_need_little_of_the_stack(optimizer):
    command = [sys.executable, "-c", PROGRAM, optimizer]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split("\n")[-2:]) == (0, ["done", ""]), done.stderr
