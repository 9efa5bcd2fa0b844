"""Every function of NumPy's on tensors: its values and their slopes, or an error with the fix."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from types import GeneratorType

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import DTypeError, GradientError
from agnesi.core.support.tree import flatten

A = np.array([[0.53, 0.27], [0.13, 0.74]])
B = np.array([[1.51, -0.32], [0.71, 2.03]])
V, W = np.array([0.41, 0.93, 0.22]), np.array([0.31, 0.13, 0.7])
X, Y = np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.5])
MASK, ROWS = A > 0.3, np.array([[0], [1]])
#: Calls of a function on operands of which the floating ones are scaled, as ``s(operand)``.
FORMS = (
    lambda f, s: f(s(A)), lambda f, s: f(s(A), s(B)), lambda f, s: f([s(A), s(B)]),
    lambda f, s: f(s(V)), lambda f, s: f(s(V), s(W)), lambda f, s: f(s(A), 1),
    lambda f, s: f(s(A), 0, 1), lambda f, s: f(s(A), (1, 2)), lambda f, s: f(MASK, s(A), s(B)),
    lambda f, s: f(s(V), X, Y), lambda f, s: f(X, Y, s(V)), lambda f, s: f([[0, 1]], s(A)),
    lambda f, s: f([2, 1, 1], s(V)), lambda f, s: f(s(V), (2, 3)), lambda f, s: f(s(A), 1, s(B)[0]),
    lambda f, s: f(s(A), ROWS, 1), lambda f, s: f(X, s(V), 1), lambda f, s: f(s(V), np.add.reduce),
    lambda f, s: f(np.sum, 0, s(A)), lambda f, s: f(np.sum, s(A), [0, 1]),
    lambda f, s: f("ij,jk", s(A), s(B)), lambda f, s: f([MASK], [s(A)]),
    lambda f, s: f([[0, 1], [1, 0]], [s(A), s(B)]), lambda f, s: f(s(A + X[1])[None], 2),
    lambda f, s: f(s(A)[None] * X[:, None, None], 3), lambda f, s: f(s(A), [MASK], [abs, np.exp]),
)
#: Their results are matrices of which more are right, or hold what was in memory.
OTHERWISE = {"empty_like", "cholesky", "eigh", "eigvalsh", "lstsq"}
#: They write, show or read files.
LEFT_OUT = {"save", "savez", "savez_compressed", "savetxt"}


def functions():
    for space in (np, np.linalg, np.fft, np.lib.stride_tricks):
        for name, function in sorted(vars(space).items()):
            if name not in LEFT_OUT and (hasattr(function, "_implementation") or (
                    space is np and isinstance(function, np.ufunc))):
                yield f"{space.__name__}.{name}", function


def called(function, form, scaled):
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        result = form(function, scaled)
    if isinstance(result, GeneratorType):
        raise TypeError("no numbers")
    return result


def total(result):
    """A number to which every floating element of a result adds."""
    parts = []
    for i, part in enumerate(flatten(result)[0]):
        if getattr(part, "dtype", np.dtype(bool)).kind == "c":
            parts += [(part.real * (i + 1)).sum(), (part.imag * (i + 2)).sum()]
        elif getattr(part, "dtype", np.dtype(bool)).kind == "f":
            parts.append((part * (i + 1)).sum())
    return sum(parts[1:], parts[0]) if parts else None


def slope(function, form):
    def value(t):
        return total(called(function, form, lambda x: x * t))

    return (value(1 + 1e-6) - value(1 - 1e-6)) / 2e-6


def taken():
    """Functions with a form of which NumPy computes floating numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions():
            found = 0
            for form in FORMS:
                try:
                    if isinstance(function, np.ufunc):  # no operands to write into
                        assert form(lambda *operands: len(operands), np.copy) == function.nin
                    result = called(function, form, np.copy)
                    at_all = total(result)
                except Exception:
                    continue
                if at_all is not None and np.isfinite(at_all) and found < 2:
                    found += 1
                    yield pytest.param(name, function, form, id=f"{name}-{FORMS.index(form)}")


CASES = list(taken())


def backward(function, form):
    t = ag.tensor(1.0, dtype="float64", requires_grad=True)
    value = total(called(function, form, lambda x: ag.tensor(x) * t))
    if not value.requires_grad:  # it follows from shapes, or is a step function's
        return ag.tensor(0.0)
    value.backward()
    return ag.tensor(0.0) if t.grad is None else t.grad


def slopes(function, form):
    """The gradients that ``grad`` and the tape give, and numbers that know of none."""
    one = ag.tensor(1.0, dtype="float64")
    return (ag.grad(lambda t: total(called(function, form, lambda x: ag.tensor(x) * t)))(one),
            backward(function, form))


def refused(function, form):
    """Return whether a call says that a gradient would be lost, and what to write; or that our
    function, which it is then, does not take numbers as conditions.
    """
    try:
        slopes(function, form)
    except DTypeError as error:
        assert "compare it (x != 0)" in str(error) or "convert them with" in str(error)
        return True
    except (GradientError, TypeError) as error:
        assert "would lose the gradient" in str(error)
        assert "x.detach()" in str(error)
        return True
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "function", "form"), CASES)
def test_values_and_gradients_are_numpys(name, function, form):
    expected = called(function, form, np.copy)
    try:
        found = called(function, form, ag.tensor)
    except (ValueError, TypeError, IndexError, AttributeError) as error:  # stricter than NumPy
        assert "numpy_sweep.py" in str(error) or name.endswith(("linspace", "poly"))
        return
    exact = name.rpartition(".")[2] not in OTHERWISE
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        assert np.shape(a) == np.shape(b) or not exact
        if exact:
            np.testing.assert_allclose(np.asarray(a), b, 1e-6)
    if exact and not refused(function, form):
        for found in slopes(function, form):
            np.testing.assert_allclose(found.item(), slope(function, form), 1e-4, 1e-6)


@functools.cache
def ours():
    """One call of each function that gives tensors where a gradient is asked for."""
    found = {}
    for case in CASES:
        name, function, form = case.values
        with contextlib.suppress(Exception):
            known = name in found or name.rpartition(".")[2] in OTHERWISE
            if not known and not refused(function, form):
                found[name] = name, function, form
    return list(found.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(10))
def test_compiled_values_are_numpys(part):
    calls = ours()[part::10]
    assert len(calls) > 15
    expected = [called(f, form, np.copy) for _, f, form in calls]

    def run(t):
        return [called(f, form, lambda x: ag.tensor(x) * t) for _, f, form in calls]

    one = ag.tensor(1.0, dtype="float64")
    for (name, _, _), a, b in zip(calls, ag.jit(run)(one), expected, strict=True):
        for x, y in zip(flatten(a)[0], flatten(b)[0], strict=True):
            np.testing.assert_allclose(np.asarray(x), y, 1e-6, 1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore")
def test_batched_values_are_numpys():
    batched = 0
    for name, function, form in ours():
        expected = called(function, form, np.copy)
        try:
            found = ag.vmap(lambda t, f=function, form=form: called(
                f, form, lambda x: ag.tensor(x) * t))(ag.ones(1, dtype="float64"))
        except ag.TraceError as error:
            assert "examples of vmap" in str(error)
            continue
        batched += 1
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_allclose(np.asarray(a).reshape(np.shape(b)), b, 1e-6, 1e-12,
                                       err_msg=name)
    assert batched > 200
