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
#: The same of declared variables alone; compiled functions know the sizes of each call.
DECLARED: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    # an axis of 1 beside a longer one, which would broadcast
    "cross_entropy": (F.cross_entropy, [(A, A), (A, (3, 1))], [((3, 1), A), ((1, 4), A)]),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy_with_logits(x, y),
                             [(A, A), (A, (1, 4))], [((3, 1), A), ((1, 4), A)]),
    "cosine_embedding_loss": (lambda x, y: F.cosine_embedding_loss(x, x, y[0]),
                              [(A, SHORT)], [(A, A), (A, (3, 1))]),
    "prelu": (lambda x, y: F.prelu(x, y[0]), [(A, A), (A, (3, 1))], [((3, 1), A), ((0, 1), A)]),
    "layer_norm": (lambda x, y: F.layer_norm(x, (4,), y[0]), [(A, A)], [((3, 1), A), (SHORT, A)]),
    "bmm": (lambda x, y: ag.bmm(x[None], y[:, :, None]), [((3, 4), (1, 4))], [((3, 4), (2, 4))]),
    "scatter": (lambda x, y: ag.scatter(x, 0, (y * 0).astype("int64"), y),
                [(A, A), (A, (5, 4)), (A, SHORT)], [((3, 1), A), (SHORT, A)]),
    "index_reduce": (lambda x, y: ag.index_reduce(x, 0, ag.arange(2), y, "amax"),
                     [(A, B)], [(A, A), (A, (2, 3)), (A, (1, 4))]),
    "mask": (lambda x, y: ag.sum(x[y > 0.5]), [(A, A)], [(A, (1, 4)), ((3, 1), A), (A, B)]),
    "place under a mask": (lambda x, y: written(x, y > 0.5), [(A, A)], [(A, (1, 4)), ((3, 1), A)]),
    "add_": (lambda x, y: ag.copy(x).add_(y), [(A, A), (A, (3, 1))], [((3, 1), A), ((1, 4), A)]),
    "jvp": (lambda x, y: ag.jvp(ag.sin, (x,), (y,))[1], [(A, A)], [(A, (1, 4)), ((3, 1), A)]),
    "vjp": (lambda x, y: ag.vjp(ag.sin, x)[1](y)[0], [(A, A)], [(A, (1, 4)), ((3, 1), A)]),
    # where no element is needed
    "vecdot": (ag.vecdot, [(A, A)], [((3, 1), (3, 0)), ((3, 0), (3, 2))]),
    "tensordot of one axis": (lambda x, y: ag.tensordot(x, y, 1), [(A, (4, 2))], [(A, (3, 0))]),
    "power 0": (lambda x: ag.linalg.matrix_power(x, 0), [SHORT], [A, (3, 0), (0, 3)]),
    "squeeze": (lambda x: ag.squeeze(x, 1), [(3, 1)], [A, (0, 4)]),
    "kthvalue": (lambda x: ag.kthvalue(x, 2, 0)[0], [A, (2, 0)], [(1, 4), (1, 0)]),
    "topk": (lambda x: ag.topk(x, 3, dim=0)[0], [A, (3, 0)], [B, (0, 4)]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x[:, :, None], 2), [(4, 3), (4, 0)], [A, (3, 0)]),
    "instance_norm": (lambda x: F.instance_norm(x[None]), [A], [(3, 1)]),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), [A], [(1, 4)]),
    "sum": (lambda x, y: ag.sum(ag.ensure(x, y < 0.9, "it is not")), [((3, 0), (0, 1))],
            [((3, 0), (40, 40))]),
}


def written(x: ag.Tensor, mask: ag.Tensor) -> ag.Tensor:
    """A copy with a number where a mask holds."""
    x = ag.copy(x)
    x[mask] = 7.0
    return x


def outcome(f: Callable[..., Any], shapes: Any) -> Any:
    """The shape and the elements, or the error."""
    shapes = [shapes] if isinstance(shapes[0], int) else shapes
    rng = np.random.default_rng(0)
    try:
        return f(*(ag.tensor(rng.random(s)) for s in shapes)).tolist()
    except (ValueError, IndexError, ag.GradientError) as error:
        return type(error).__name__


@pytest.mark.parametrize(("way", "name"), [
    *(("function", name) for name in CASES | DECLARED), *(("jit", name) for name in CASES)])
def test_what_does_not_fit_is_refused(way: str, name: str) -> None:
    f, good, bad = (CASES | DECLARED)[name]
    variables = [T.dmatrix() for _ in range(1 if isinstance(good[0][0], int) else 2)]
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


def test_sums_of_nothing_that_is_checked() -> None:
    """They stay sums for their checks; rules ask for their bounds."""
    def spread(x: ag.Tensor) -> ag.Tensor:
        return ag.concat([x[x > 9], x]).var() + ag.tanh(x[x < 0]).sum()

    assert np.isnan(ag.jit(spread)(ag.zeros(0)).item())
