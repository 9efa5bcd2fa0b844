"""The checkers find what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.core.op import Op


class Cube(Op):
    """x**3, with rules that can be wrong."""

    name = "cube"

    def __init__(self, reverse: float = 3.0, forward: float = 3.0, rank: int = 0) -> None:
        self.reverse, self.forward, self.rank = reverse, forward, rank

    def infer(self, x: Any) -> Any:
        return x.shape[self.rank:], x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x**3

    def vjp(self, g: Any, y: Any, x: Any) -> Any:
        return (g * x * x * self.reverse,)

    def jvp(self, ts: Any, y: Any, x: Any) -> Any:
        return ts[0] * x * x * self.forward


X = np.array([[0.5, -1.0, 2.0]])


def test_right_rules_pass() -> None:
    ag.testing.check_op(lambda x: apply(Cube(), x), [[X]], order=3, compiled=False)


@pytest.mark.parametrize(
    ("op", "mode"), [(Cube(reverse=2.0), "reverse"), (Cube(forward=2.0), "forward")]
)
def test_wrong_rules_are_found(op: Cube, mode: str) -> None:
    with pytest.raises(AssertionError, match=f"^{mode} derivative is"):
        ag.testing.check_grads(lambda x: apply(op, x), [X])
    other = "fwd" if mode == "reverse" else "rev"
    ag.testing.check_grads(lambda x: apply(op, x), [X], modes=[other], order=1)


def test_wrong_types_are_found() -> None:
    with pytest.raises(AssertionError, match="promises float64"):
        ag.testing.check_op(lambda x: apply(Cube(rank=1), x), [[X]], grads=False)


def test_wrong_second_derivatives_are_found() -> None:
    with pytest.raises(AssertionError, match="rev-"):
        ag.testing.check_grads(lambda x: apply(HalfSquare(), x), [X], modes=["rev"])


class HalfSquare(Op):
    """x*x/2, whose derivative is told by a constant."""

    name = "half_square"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x * x / 2

    def vjp(self, g: Any, y: Any, x: Any) -> Any:
        return (g * x.detach(),)


def test_integers_are_held_and_nests_are_allowed() -> None:
    ag.testing.check_grads(
        lambda x, n: {"a": x * n, "b": (ag.sin(x),)}, [[1.0, 2.0], np.array([2, 3])]
    )


def test_complex_functions() -> None:
    ag.testing.check_grads(lambda z: ag.exp(z) * ag.abs(z), [np.array([0.5 + 1j, -1j])])


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="sideways"):
        ag.testing.check_grads(ag.sin, [X], modes=["sideways"])
