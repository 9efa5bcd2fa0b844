"""Signs of zero: sums of nothing but -0.0 are -0.0 eagerly and compiled; of nothing, 0.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

#: Functions of a vector or a matrix of zeros.
FUNCTIONS: dict[str, Any] = {
    name: getattr(ag, name) for name in (
        "sum", "mean", "prod", "max", "min", "nansum", "nanmean", "nanprod", "median", "nanmedian",
        "average", "logsumexp", "var", "std", "ptp", "nanmax", "nanmin", "cumsum", "cumprod",
        "nancumsum", "nancumprod")
} | {
    f"{name} along {axis}": lambda x, name=name, axis=axis: getattr(ag, name)(x, axis=axis)
    for name in ("sum", "mean", "nansum", "prod", "max", "cumsum", "cumprod", "trapezoid")
    for axis in (0, -1)
} | {
    "rows that stay": lambda x: ag.sum(x, 0, keepdims=True),
    "where": lambda x: ag.sum(x, where=ag.ones(x.shape, dtype=bool)),
    "initial": lambda x: ag.sum(x, initial=-0.0),
    "einsum": lambda x: ag.einsum("i...->...", x),
    "trace": lambda x: ag.trace(x) if x.ndim == 2 else x,
    "inner": lambda x: ag.inner(x, x),
    "norm": ag.linalg.norm,
    "broadcast": lambda x: ag.grad(lambda y: (y * x).sum())(ag.zeros((), dtype=x.dtype)),
    "one": lambda x: ag.sum(x[:1], axis=0),
}
#: Signs of zero in products of complex numbers depend on their order.
PRODUCTS = ("prod", "inner", "average", "broadcast", "trapezoid")
SHAPES = [(2,), (1,), (20,), (2, 3), (40, 50), (0,), (0, 3), (2, 0)]


def outcome(f: Any, x: Any) -> Any:
    try:
        return f(x).numpy()
    except (ValueError, TypeError) as error:
        return type(error).__name__


def bits(x: Any) -> Any:
    """Values with the signs of zeros; NaN without."""
    if isinstance(x, str):
        return x
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    return [(p.shape, np.where(np.isnan(p), 7, np.copysign(1, p) * (p == 0)).tolist())
            for p in parts]


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex128"])
def test_signs_of_zero_are_those_of_compiled_code(dtype: str) -> None:
    wrong = []
    zero = complex(-0.0, -0.0) if dtype == "complex128" else -0.0
    for shape in SHAPES if dtype == "float64" else SHAPES[::3]:
        x = ag.tensor(np.full(shape, zero)).astype(dtype)
        names = [n for n in FUNCTIONS if not isinstance(outcome(FUNCTIONS[n], x), str)
                 and not (dtype == "complex128" and any(p in n for p in PRODUCTS))]
        together = ag.jit(lambda x, names=tuple(names): [FUNCTIONS[n](x) for n in names])
        for name, y in zip(names, together(x), strict=True):
            eager, compiled = bits(outcome(FUNCTIONS[name], x)), bits(y.numpy())
            if eager != compiled:
                wrong.append((name, shape, eager, compiled))
    assert wrong == []


def test_sums_of_negative_zeros() -> None:
    for shape, wanted in (((2,), -0.0), ((1,), -0.0), ((0,), 0.0)):
        x = ag.full(shape, -0.0)
        for f in (ag.sum, ag.jit(ag.sum)):
            assert str(f(x).item()) == str(wanted)
        assert str(ag.cumsum(ag.full((2,), -0.0))[-1].item()) == "-0.0"


@pytest.mark.parametrize("name", ["asin", "acos", "asinh", "acosh", "atan", "atanh", "sqrt", "log"])
def test_parts_of_complex_inverses_that_are_zero_keep_their_sign(name):
    """They tell the side of a branch cut."""
    parts = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0]
    x = ag.tensor(np.array([complex(a, b) for a in parts for b in parts[:2]]
                           + [complex(b, a) for a in parts for b in parts[:2]]))
    found, eager = ag.jit(getattr(ag, name))(x).numpy(), getattr(ag, name)(x).numpy()
    for one, two in ((found.real, eager.real), (found.imag, eager.imag)):
        zero = (one == 0) & (two == 0)
        np.testing.assert_array_equal(np.signbit(one[zero]), np.signbit(two[zero]))
