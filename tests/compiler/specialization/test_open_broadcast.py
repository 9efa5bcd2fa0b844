"""Unknown sizes that broadcast: whatever is made of the sum of two variables has its real size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from tests.share import share


def _cond(u: Any, v: Any) -> Any:
    return ag.cond((u + v).sum() > 0, lambda c: c * u, lambda c: v * c + u, u * v)


def _while(u: Any, v: Any) -> Any:
    return ag.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + abs(u) + 1, u + v)


def _nested(u: Any, v: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        return ag.cond(c.sum() > x.sum(), lambda d: d * u, lambda d: d + v * x, c), c.mean()

    return ag.scan(step, u + v, u * v)


def _twice(u: Any, v: Any) -> Any:
    rows = u * v
    return ag.scan(lambda c, x: (ag.scan(lambda d, y: (d + x * y, d * u), c, rows)[0], c), u + v,
                   rows)


#: Functions of two matrices, any of whose axes may have size 1.
CASES: dict[str, Any] = {
    "add": lambda u, v: u + v,
    "three": lambda u, v: (u + v) * u[:, :1] - v[:1],
    "where": lambda u, v: ag.where(u > 0, u, v).mean(),
    "mean": lambda u, v: (u * v).mean(),
    "var": lambda u, v: (u - v).var(axis=0),
    "like": lambda u, v: ag.ones_like(u + v) * 2,
    "sizes": lambda u, v: ag.full((u * v).shape, 3.0).sum() * u,
    "flat": lambda u, v: (u * v).reshape((-1,)) ** 2,
    "reshape": lambda u, v: (u * v).reshape((v + u).shape[::-1]),
    "rows": lambda u, v: (u + v)[-1] * (u * v)[::-1],
    "join": lambda u, v: ag.concatenate([u + v, v * u], axis=1),
    "sort": lambda u, v: ag.sort(u * v, axis=0),
    "cumsum": lambda u, v: (u - v).cumsum(0),
    "softmax": lambda u, v: ag.softmax(u * v, axis=0),
    "matmul": lambda u, v: ag.matmul(u[:, :, None], v[:, None, :]).mean(),
    "einsum": lambda u, v: ag.einsum("ij,ij->j", u, v),
    "einsum of three": lambda u, v: ag.einsum("ij,ij,ik->kj", u, v, u * v),
    "cond": _cond,
    "captured": lambda u, v: ag.cond(u.sum() > v.sum(), lambda: (u + v) * u, lambda: v * 2 * u),
    "size in a body": lambda u, v: ag.cond(
        (u + v).sum() > 0, lambda: ag.ones((u + v).shape).sum(), lambda: ag.zeros(()) - 1),
    "scan": lambda u, v: ag.scan(lambda c, x: (c * x, c * u + v), u + v, u * v),
    "scan of nothing": lambda u, v: ag.scan(
        lambda c, _: (c + ag.ones((u + v).shape).sum(), None), ag.zeros(()), length=3)[0],
    "map": lambda u, v: ag.map(lambda row: row * u[0] + v[0], u + v),
    "while": _while,
    "fori": lambda u, v: ag.fori_loop(0, 3, lambda i, c: c * u + v * i, u - v),
    "nested": _nested,
    "loops in loops": _twice,
    "checkpoint": lambda u, v: ag.checkpoint(lambda a, b: (a * b + a) ** 2)(u, v),
}
#: Without a derivative (while), or where it is not asked for.
VALUES_ONLY = ("like", "size in a body", "scan of nothing")
SHAPES = [((1, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 1), (1, 3)), ((1, 1), (2, 3)), ((2, 3), (2, 3))]


def leaves(found: Any) -> list[Any]:
    return ag.tree.flatten(found)[0]


def objective(found: Any) -> Any:
    total = 0.0
    for y in leaves(found):
        total = total + (y * y + y).sum()
    return total


def with_gradients(name: str, u: Any, v: Any, grad: Any) -> list[Any]:
    found = leaves(CASES[name](u, v))
    if name in VALUES_ONLY:
        return found
    return [*found, *grad(lambda u, v: objective(CASES[name](u, v)), u, v)]


def of_values(name: str, a: Any, b: Any) -> list[Any]:
    return with_gradients(name, ag.tensor(a), ag.tensor(b),
                          lambda f, u, v: ag.grad(f, (0, 1))(u, v))


def numbers(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.share(10)
@pytest.mark.parametrize("optimizer", ["None", "fast_run"])
def test_results_have_the_sizes_that_broadcasting_gives(optimizer: str) -> None:
    u, v = T.dmatrix("u"), T.dmatrix("v")
    names = share(CASES, 2, optimizer)
    outputs = {
        f"{name} {i}": y for name in names for i, y in enumerate(with_gradients(
            name, u, v, lambda f, u, v: T.grad(f(u, v), [u, v], disconnected="zero")))
    }
    f = ag.function([u, v], outputs, optimizer=optimizer)
    for first, second in SHAPES if optimizer == "None" else SHAPES[:1]:
        a, b = numbers(first, 1), numbers(second, 2)
        found = f(a, b)
        for name in names:
            for i, wanted in enumerate(of_values(name, a, b)):
                y = found[f"{name} {i}"]
                assert y.shape == wanted.shape, (name, i, first, second)
                np.testing.assert_allclose(y, wanted.numpy(), rtol=1e-9, atol=1e-9,
                                           err_msg=f"{name} {i} of {first} and {second}")


def test_what_broadcast_can_be_given_or_replaced() -> None:
    u, v, w, z = T.dmatrix("u"), T.dmatrix("v"), T.dmatrix("w"), T.dmatrix("z")
    y = u + v
    used = (y * w + ag.ones((y * w).shape)).mean() * ag.ones(y.shape).sum()

    def wanted(y: Any, w: Any) -> Any:
        return (y * w + 1).mean() * y.size

    a, b = numbers((1, 3), 1), numbers((2, 1), 2)
    given = ag.function([z, w], used, givens={y: z})
    replaced = ag.function([z, w], ag.clone(used, {y: z * 2}))
    between = ag.function([y, w], used)
    for p, q in ((a, b), (b, a), (a, a)):
        np.testing.assert_allclose(given(p, q), wanted(p, q))
        np.testing.assert_allclose(between(p, q), wanted(p, q))
        np.testing.assert_allclose(replaced(p, q), wanted(p * 2, q))


def test_sizes_that_do_not_broadcast_are_an_error() -> None:
    u, v = T.dmatrix("u"), T.dmatrix("v")
    y = u * v
    functions = [y, ag.ones(y.shape), ag.cond(u.sum() > 0, lambda c: c * u, lambda c: c, y),
                 ag.cond(u.sum() > 0, lambda: ag.ones(y.shape).sum(), lambda: ag.zeros(()) - 1)]
    for outputs in functions:
        with pytest.raises(ag.ShapeError, match=r"sizes .* differ .*neither is 1(.|\n)*at "):
            ag.function([u, v], outputs)(numbers((2, 3), 0), numbers((3, 3), 0))
