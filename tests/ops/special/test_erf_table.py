"""The error function without SciPy: what serves until that pays for its import."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from agnesi.ops.elementwise import formula
from agnesi.ops.special.erf_table import erf_from_table

POINTS = np.concatenate([np.linspace(-7, 7, 1001), np.geomspace(1e-300, 1, 201)])


def test_within_an_ulp_of_the_exact_one() -> None:
    mpmath = pytest.importorskip("mpmath")
    exact = np.array([float(mpmath.erf(x)) for x in POINTS.tolist()])
    assert np.all(np.abs(erf_from_table(POINTS) - exact) <= np.spacing(np.abs(exact)))


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300])
    found = erf_from_table(x)
    np.testing.assert_array_equal(found, [0.0, -0.0, 1.0, -1.0, np.nan, 5e-324, 1.0])
    np.testing.assert_array_equal(np.signbit(found[:2]), [False, True])


def test_many_are_computed_in_parts_and_in_their_order() -> None:
    x = np.random.default_rng(0).standard_normal((300, 70)).T
    each = np.array([erf_from_table(row) for row in x])
    np.testing.assert_array_equal(erf_from_table(x), each)


def test_scipys_serves_after_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(formula, "in_scipy", lambda name: asked.append(name) or np.negative)
    function = formula.scipy_later("erf", np.abs, call=formula._IMPORT // 2, element=0)
    found = [float(function(np.array([-1.0]))[0]) for _ in range(4)]
    assert found == [1.0, 1.0, 1.0, 1.0]
    assert asked == ["erf", "erf"]


def test_the_first_gelu_imports_no_scipy() -> None:
    code = """
        import sys
        import agnesi as ag
        y = ag.nn.functional.gelu(ag.tensor([0.5, -1.0]))
        assert "scipy.special" not in sys.modules
        print(y.tolist())
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True,
                         capture_output=True, text=True)
    assert ran.stdout.startswith("[0.3457")


def test_single_precision_is_rounded_once():
    x = np.concatenate([POINTS, [np.nan, np.inf, -np.inf, -0.0]]).astype(np.float32)
    exact = np.array([math.erf(v) for v in x])
    found = erf_from_table(x)
    close = np.abs(found - exact) <= 0.51 * np.spacing(np.abs(exact).astype(np.float32))
    assert np.all(close | np.isnan(exact))
    assert np.isnan(found[-4]) and found[-3:].tolist() == [1, -1, 0] and np.signbit(found[-1])
