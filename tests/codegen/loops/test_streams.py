"""Results that are written past the caches, which the processor does at multiples of 64 alone."""

import ctypes

import numpy as np

import agnesi as ag

#: Elements of float32, so many that a result is written past the caches, and no even number.
_MANY = 4_200_003


def _odd(n):
    """An array that begins at no multiple of 64."""
    memory = np.ones(4 * n + 128, np.uint8)
    start = -memory.ctypes.data % 64 + 4
    return memory[start:start + 4 * n].view(np.float32)


def test_code_for_open_sizes_that_expects_much_makes_little():
    f = ag.jit(lambda x: x * 2 + 1)
    for n in (_MANY, _MANY + 1, 100, 33, 2):
        assert (f(ag.ones(n)).numpy() == 3).all()
    kept = ag.jit(lambda x: x[x < 5])
    x = ag.tensor(np.arange(_MANY, dtype=np.float32))
    assert kept(x).tolist() == [0, 1, 2, 3, 4]


def test_results_in_the_memory_of_others():
    v = ag.symbolic.vector("v", dtype="float32")
    memory = _odd(_MANY)
    memory[:] = 1
    assert (np.asarray(ag.function([ag.In(v, mutable=True)], v * 2 + 1)(memory)) == 3).all()
    _, rows = ag.jit(lambda x: ag.scan(lambda c, _: (c, c * 2 + 1), x, length=2))(ag.ones(_MANY))
    assert (rows.numpy() == 3).all()
    f = ag.jit(lambda x: x * 2 + 1).c_function(ag.ones(_MANY))
    results, pointer = _odd(_MANY), ctypes.POINTER(ctypes.c_float)
    x = np.ones(_MANY, np.float32)
    assert f.ctypes(x.ctypes.data_as(pointer), results.ctypes.data_as(pointer)) == 0
    assert (results == 3).all()
