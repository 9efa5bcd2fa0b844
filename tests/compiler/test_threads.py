"""Results do not depend on the number of threads, bit for bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support import host

RNG = np.random.default_rng(0)
LONG = RNG.normal(size=1_000_003).astype("float32")
ROWS = RNG.normal(size=(1003, 517)).astype("float32")
A = RNG.normal(size=(301, 407)).astype("float32")
B = RNG.normal(size=(407, 259)).astype("float32")
IMAGES = RNG.normal(size=(5, 2, 61, 70)).astype("float32")
FILTERS = RNG.normal(size=(6, 2, 5, 5)).astype("float32")

KERNELS = {
    "elementwise": (lambda x: ag.tanh(x) * ag.exp(-x * x) + 1, LONG),
    "double": (lambda x: ag.log1p(x.astype("float64") ** 2), LONG),
    "sums of rows": (lambda x: x.sum(1), ROWS),
    "sums of columns": (lambda x: x.sum(0), ROWS),
    "softmax": (lambda x: ag.softmax(x, axis=1), ROWS),
    "layer norm": (
        lambda x: (x - x.mean(1, keepdims=True)) / ag.sqrt(x.var(1, keepdims=True)), ROWS
    ),
    "whole sum": (lambda x: ag.sin(x).sum(), LONG),
    "whole mean of doubles": (lambda x: (x.astype("float64") ** 2).mean(), LONG),
    "several sums": (lambda x: (x.sum(), (x * x).sum(), x.max()), ROWS),
    "product": (lambda x: ag.relu(x @ ag.asarray(B)) + 1, A),
    "transposed product": (lambda x: x.T @ x, A),
    "filters": (
        lambda x: ag.grad(lambda w: (ag.conv2d(x, w) ** 2).sum())(ag.asarray(FILTERS)), IMAGES
    ),
    "step": (lambda x: ag.grad(lambda q: (ag.tanh(q @ ag.asarray(B)) ** 2).sum())(x), A),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", KERNELS)
def test_equal_for_any_number_of_threads(name):
    function, x = KERNELS[name]
    compiled = ag.jit(function)
    results = []
    for count in (1, 2, 4, 3):
        ag.set_num_threads(count)
        for _ in range(2):
            found = compiled(ag.asarray(x))
            found = found if isinstance(found, tuple) else (found,)
            results.append([r.numpy().tobytes() for r in found])
    assert all(r == results[0] for r in results)


def test_the_setting_counts_from_the_next_call_on():
    function, x = KERNELS["product"]
    compiled = ag.jit(function)
    results, cores = [], host.cores()
    for most, count in [(0, cores), (1, 1), (2, min(2, cores)), (999, cores), (1, 1)]:
        with ag.config(threads=most):
            assert ag.get_num_threads() == count
            results.append(compiled(ag.asarray(x)).numpy().tobytes())
            np.testing.assert_allclose(function(ag.asarray(x)), compiled(ag.asarray(x)), rtol=1e-4)
    assert all(r == results[0] for r in results)


def test_asking_for_threads_and_the_setting_agree():
    before = ag.get_num_threads()
    try:
        ag.set_num_threads(1)
        assert ag.config.threads == ag.get_num_threads() == 1
        ag.config.threads = 0
        assert ag.get_num_threads() == host.cores()
    finally:
        ag.set_num_threads(before)


@pytest.mark.native_plans
@pytest.mark.parametrize("name", ["elementwise", "double", "sums of rows", "softmax", "layer norm",
                                  "product", "transposed product", "step"])
def test_the_kernels_are_parallel(name):
    function, x = KERNELS[name]
    compiled = ag.jit(function)
    compiled(ag.asarray(x))
    assert any(step.parallel for step in compiled.plan().steps)


def test_threads_that_need_the_runtime_first_share_one():
    """Of two, one would be freed with its addresses in use."""
    program = ("import threading, agnesi as ag\nx = ag.ones((700, 700))\n"
               "def run(): [ag.sort(x) for _ in range(9)]\n"
               "threads = [threading.Thread(target=run) for _ in range(4)]\n"
               "[t.start() for t in threads], [t.join() for t in threads]")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
