"""Inner loops of universal functions in compiled code: broadcasting, dtypes, sizes, kept code."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.special as reference

import agnesi as ag
from agnesi.core.ir.calls import ufuncs
from agnesi.ops.base import elementwise

rng = np.random.default_rng(9)


def plan(f):
    return str(f.plan())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_operands_broadcast_and_are_converted(dtype):
    """Blocks that are not full, axes that are not one, operands in other orders."""
    a, x = rng.uniform(0.5, 3, (7, 1)).astype(dtype), rng.uniform(0.1, 5, (3, 1, 601)).astype(dtype)
    f = ag.jit(lambda a, x: ag.special.gammainc(a, x))
    expected = reference.gammainc(a, x).astype(dtype)
    np.testing.assert_array_equal(f(a, x).numpy(), expected)
    turned = ag.jit(lambda a, x: ag.special.gammainc(a.T, x.T[:, 0] + 1) * 2)
    wide = np.asarray(x.T[:, 0] + np.array(1, dtype))
    expected = reference.gammainc(a.T[:, :3], wide).astype(dtype) * np.array(2, dtype)
    np.testing.assert_array_equal(turned(a[:3], x).numpy(), expected)
    assert "C function gammainc" in plan(f) and "python" not in plan(turned)


def test_sizes_at_run_time():
    f = ag.jit(lambda a, x: ag.special.jv(a[:, None], x))
    for n in (5, 8, 1, 2000, 0, 9):
        a, x = rng.uniform(0, 3, n % 7 + 1), rng.uniform(0, 9, n)
        np.testing.assert_array_equal(f(a, x).numpy(), reference.jv(a[:, None], x))


def test_several_results_whole_orders_and_complex_numbers():
    x = rng.uniform(0.5, 2, 300)
    f = ag.jit(lambda x: (*ag.special.airy(x), ag.special.eval_hermite(3, x)))
    for found, expected in zip(f(x), (*reference.airy(x), reference.eval_hermite(3, x)),
                               strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    g = ag.jit(ag.special.wofz)
    np.testing.assert_array_equal(g(x + 1j).numpy(), reference.wofz(x + 1j))
    whole = rng.integers(1, 99, (5, 60))
    h = ag.jit(lambda a, b: ag.gcd(a, b.T))
    np.testing.assert_array_equal(h(whole, whole.T[::-1].copy()).numpy(),
                                  np.gcd(whole, whole[:, ::-1]))
    assert not any("python" in plan(k) for k in (f, g, h))


def test_loops_that_are_not_there():
    assert ufuncs.ufunc("scipy.special.no_such") is None
    assert ufuncs.ufunc("no_such_module.f") is None
    assert ufuncs.types("numpy.gcd", "float64", "float64") is None
    assert ufuncs.types("numpy.gcd", "int64", "int64") in ("ll->l", "qq->q")


_KEPT = """
import sys
if {missing}:
    sys.modules["scipy"] = None
import numpy as np, agnesi as ag
f = ag.jit(lambda a: ag.special.gammainc(a, a * 2))
print(float(f(ag.tensor(np.linspace(0.5, 3, 300))).sum()), "agnesi.runtime.llvm_api" in sys.modules,
      ": python" in str(f.plan()))
"""


@pytest.mark.long
def test_kept_code_with_and_without_scipy(tmp_path):
    """Kept code is used where SciPy is found; without it, Python computes our own series."""
    told = []
    for missing in (False, True, False):
        run = subprocess.run(
            [sys.executable, "-c", _KEPT.format(missing=missing)], capture_output=True, text=True,
            env={**os.environ, "AGNESI_CACHE_DIR": str(tmp_path)}, check=True)
        told.append(run.stdout.split())
    sums = [float(words[0]) for words in told]
    np.testing.assert_allclose(sums, sums[0], 1e-13)
    assert [words[2] for words in told] == ["False", "True", "False"]
    assert told[2][1] == "False"


def test_long_work_of_few_elements_goes_aside(monkeypatch):
    """A loop of SciPy's takes microseconds for an element: some thousand wait for no signal."""
    seen = []

    def aside(work, run, *args):
        seen.append(work)
        return run(*args)

    monkeypatch.setattr(elementwise, "aside", aside)
    few, many = ag.full((100,), 2.0), ag.full((2500,), 2.0)
    ag.special.mathieu_a(few, few)
    assert not seen
    np.testing.assert_array_equal(ag.special.mathieu_a(many, many)[0],
                                  ag.special.mathieu_a(few, few)[0])
    ag.special.mathieu_modcem2(many, many, many * 0.1)
    assert len(seen) == 3
