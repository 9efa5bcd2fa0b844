"""Sizes that only the call tells: what does not fit them is the error that eager code gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.symbolic as T

F: Any = ag.nn.functional
A, B, SHORT = (3, 4), (2, 4), (3, 3)

#: A function, shapes that fit, and shapes that do not.
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "narrow": (lambda x: ag.narrow(x, 0, 1, 2), [A], [B]),
    "narrow from the end": (lambda x: ag.narrow(x, 0, -3, 3), [A], [B]),
    "split": (lambda x: ag.split(x, 2, 0)[0], [B], [A]),
    "pad": (lambda x: F.pad(x, (-3, -1)), [A], [SHORT]),
    "glu": (F.glu, [A], [SHORT]),
    "matrix_power": (lambda x: ag.linalg.matrix_power(x, 1), [SHORT], [A, B]),
    "repeat_interleave": (lambda x: ag.repeat_interleave(x, 2, 0, output_size=6), [A], [B]),
    "interp": (lambda x, y: ag.interp(x[0], ag.sort(x[1]), y[:, 0]), [(A, (4, 1))], [(A, (6, 1))]),
    "average": (lambda x, y: ag.average(x, weights=y), [(A, A)], [(A, (1, 4)), (A, (3, 1))]),
    "tensordot": (lambda x, y: ag.tensordot(x, y, 2), [(A, A)], [(A, (4, 3)), (A, (2, 6))]),
    "nll_loss": (lambda x, y: F.nll_loss(x, ag.tensor([0, 1, 1]), y[0]), [(A, A)],
                 [(A, SHORT), (A, (1, 1))]),
    "bilinear": (lambda x, y: F.bilinear(x, y, ag.ones((2, 4, 4))), [(A, A)], [(A, (3, 1))]),
}


def outcome(f: Callable[..., Any], shapes: Any) -> Any:
    """The shape and the elements, or the error."""
    shapes = [shapes] if isinstance(shapes[0], int) else shapes
    rng = np.random.default_rng(0)
    try:
        return f(*(ag.tensor(rng.random(s)) for s in shapes)).tolist()
    except (ValueError, IndexError) as error:
        return type(error).__name__


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["function", "jit"])
def test_what_does_not_fit_is_refused(name: str, way: str) -> None:
    f, good, bad = CASES[name]
    variables = [T.dmatrix() for _ in range(f.__code__.co_argcount if name != "glu" else 1)]
    compiled: Any = ag.jit(f)
    if way == "function":
        compiled = ag.function(variables, f(*variables))
    else:
        for larger in ((6, 6), (8, 8)):
            outcome(compiled, [larger] * len(variables))
    for shapes in good:
        assert np.allclose(outcome(compiled, shapes), outcome(f, shapes), equal_nan=True)
    for shapes in bad:
        assert outcome(compiled, shapes) == outcome(f, shapes)
        assert isinstance(outcome(f, shapes), str)


def test_sizes_below_minus_one() -> None:
    with pytest.raises(ag.ShapeError, match="must not be negative"):
        T.dmatrix().reshape((-4, -1))
