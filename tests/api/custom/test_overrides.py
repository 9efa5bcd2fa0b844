"""Classes with ``__torch_function__`` answer our functions, as lazy matrices of libraries do."""

from __future__ import annotations

from typing import Any

import pytest

import agnesi as ag

FUNCTIONS = [ag.add, ag.mul, ag.matmul, ag.sum, ag.mean, ag.prod, ag.clone, ag.sub, ag.exp, ag.abs,
             ag.pow, ag.diagonal, ag.linalg.solve, ag.linalg.eigh, ag.unsqueeze, ag.isclose,
             ag.nn.functional.relu, ag.linalg.solve_triangular, ag.permute]


class Lazy:
    def __init__(self, x: Any) -> None:
        self.x = x

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
                           ) -> Any:
        if not any(function is f for f in FUNCTIONS):
            return NotImplemented
        assert types == (cls,)
        made = [a.x if isinstance(a, cls) else a for a in args]
        return cls(function(*made, **(kwargs or {})))


@pytest.mark.parametrize("call", [
    lambda x, y: ag.add(x, y), lambda x, y: ag.add(y, x), lambda x, y: ag.mul(x, 2),
    lambda x, y: ag.matmul(y, x), lambda x, y: ag.sum(x, -1), lambda x, y: ag.mean(x),
    lambda x, y: ag.prod(x, 0), lambda x, y: ag.clone(x), lambda x, y: ag.sub(x, x),
    lambda x, y: ag.exp(x), lambda x, y: ag.abs(x), lambda x, y: ag.pow(x, 2),
    lambda x, y: ag.diagonal(x, dim1=0, dim2=1), lambda x, y: ag.linalg.solve(x, y),
    lambda x, y: ag.unsqueeze(x, 0), lambda x, y: ag.isclose(x, y),
    lambda x, y: ag.nn.functional.relu(x), lambda x, y: ag.permute(x, (1, 0)),
    lambda x, y: ag.linalg.solve_triangular(x, y, upper=True), lambda x, y: y.matmul(x),
])
def test_functions_are_left_to_the_class_of_an_operand(call: Any) -> None:
    x, y = ag.tensor([[2.0, 1.0], [0.0, 3.0]]), ag.ones(2, 2)
    found = call(Lazy(x), y)
    assert type(found) is Lazy
    assert ag.array_equal(found.x, call(x, y))


@pytest.mark.parametrize("function", [
    ag.logdet, ag.amax, ag.nansum, ag.nanmean, ag.msort, ag.igamma, ag.std_mean, ag.full_like,
    ag.vecmat, ag.max, ag.linalg.cond, ag.linalg.vector_norm, ag.nn.functional.softplus,
    ag.nn.functional.linear, ag.special.jvp, ag.clamp_max, ag.sgn,
], ids=lambda f: f.__name__)
def test_a_class_is_asked_for_the_function_that_the_user_called(function: Any) -> None:
    known = []

    class Asked:
        @classmethod
        def __torch_function__(cls, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            known.append(f)

    for others in ((), (1,), (ag.ones(3, 3),)):
        try:
            function(Asked(), *others)
        except TypeError:  # called with too few or too many
            continue
    assert known and all(f is function or f.__name__ == function.__name__ for f in known)


def test_what_the_class_does_not_know_is_refused_as_ever() -> None:
    for call in (lambda: ag.sin(Lazy(1)), lambda: ag.cumsum(Lazy(1), 0), lambda: ag.exp(object())):
        with pytest.raises(TypeError, match="cannot make a tensor from"):
            call()
