"""Calls of SciPy's inner loops: how many elements at a time, and what they give."""

import signal
import sys
import time

import numpy as np
import pytest

import agnesi as ag


class StoppedError(Exception):
    """What the handler of the signal raises."""


@pytest.mark.native_plans  # the scalar target calls NumPy
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
@pytest.mark.parametrize(("name", "operands"), [
    ("pbvv", (9e4, 2.0)), ("lpmv", (2.0, 9e4, 0.3)), ("smirnov", (2e4, 0.01)),
    ("hyperu", (0.01, 9e4, 9e4)),
])
def test_signals_end_it_however_long_an_element_takes(name, operands):
    """Elements of these orders take some hundred times as long as usual ones."""

    def handler(number, frame):
        raise StoppedError

    run = ag.jit(getattr(ag.special, name))
    run(*[ag.full((4000,), v) for v in (1.0, 1.0, 0.5)[-len(operands):]])
    given = [ag.full((4000,), v) for v in operands]
    old = signal.signal(signal.SIGPROF, handler)
    try:
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        with pytest.raises(StoppedError):
            run(*given)
            time.sleep(60)
        spent = time.process_time() - begin
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    assert spent < 0.35


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("shape", [(8,), (9,), (700,), (3, 300)])
def test_pieces_of_blocks_are_as_the_whole(dtype, shape):
    """Values are converted, broadcast and strided, beside some that take a thousand times as long
    as others."""
    rng = np.random.default_rng(0)
    x = ag.tensor(rng.uniform(1, 9, (*shape, 2)).astype(dtype))[..., 1]
    order = ag.tensor(rng.choice([1.0, 2.0, 3000.0], shape[-1:]))
    for f in (ag.special.jv, lambda v, x: ag.special.pbvv(v, x)[1]):
        np.testing.assert_array_equal(ag.jit(f)(order, x).numpy(), f(order, x).numpy())
