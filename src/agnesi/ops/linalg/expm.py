"""The exponential of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base import arith
from agnesi.ops.base.compare import greater, isfinite
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import sum
from agnesi.ops.base.select import ceil, where
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import Scan, applied
from agnesi.ops.elementwise.explog import exp2, log2
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.base import SquareOp, adjoint, identity, square, times
from agnesi.ops.linalg.solve import SOLVE

#: Coefficients of Padé's approximants by degree, and the norm up to which each is exact enough
#: in double precision: Higham (2005), table 2.3.
_PADE: dict[int, tuple[float, tuple[float, ...]]] = {
    3: (1.495585217958292e-2, (120, 60, 12, 1)),
    5: (2.539398330063230e-1, (30240, 15120, 3360, 420, 30, 1)),
    7: (9.504178996162932e-1, (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)),
    9: (2.097847961257068, (17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160,
                            110880, 3960, 90, 1)),
    13: (5.371920351148152, (64764752532480000, 32382376266240000, 7771770303897600,
                             1187353796428800, 129060195264000, 10559470521600, 670442572800,
                             33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)),
}


#: More squares than the exponents of double precision allow for.
_MOST_SQUARES = 1024


def _sides(a: Any, one: Any) -> tuple[Any, Any]:
    """Denominator and numerator of degree 13, in six products: Higham (2005), 2.14 and 2.15.

    For arrays and for tensors.
    """
    c = [float(x) for x in _PADE[13][1]]
    second = a @ a
    fourth = second @ second
    sixth = second @ fourth

    def half(i: int) -> Any:
        high = sixth * c[12 + i] + fourth * c[10 + i] + second * c[8 + i]
        low = sixth * c[6 + i] + fourth * c[4 + i] + second * c[2 + i] + one * c[i]
        return low + sixth @ high

    even, odd = half(0), a @ half(1)
    return even - odd, even + odd


def _approximated(a: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Padé's approximant: even powers by themselves, odd ones are ``a`` times even ones."""
    square_of = a @ a
    power = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    even, odd = coefficients[0] * power, coefficients[1] * power
    for i in range(2, len(coefficients), 2):
        power = power @ square_of
        even = even + coefficients[i] * power
        odd = odd + coefficients[i + 1] * power
    odd = a @ odd
    return np.linalg.solve(even - odd, even + odd)


def _exponential(a: np.ndarray) -> np.ndarray:
    """Scaling and squaring: Higham (2005), algorithm 2.3."""
    norm = float(np.abs(a).sum(-2).max(initial=0))
    for degree, (bound, coefficients) in _PADE.items():
        if norm <= bound and degree < 13:
            return _approximated(a, coefficients)
    if not np.isfinite(norm):
        return np.full_like(a, np.nan)
    bound, _ = _PADE[13]
    halvings = max(0, int(np.ceil(np.log2(norm / bound))))
    result = np.linalg.solve(*_sides(a * 0.5**halvings, np.eye(a.shape[-1], dtype=a.dtype)))
    for _ in range(halvings):
        result = result @ result
    return result


def _each(x: Tensor) -> Tensor:
    """A number of every matrix beside its elements."""
    return reshape(x, (*x.shape, 1, 1))


def _squared(x: Tensor, counts: Tensor) -> Tensor:
    """Every matrix squared as often as its count says: a loop of the most iterations."""
    matrix_ = symbol(Node(None, (), x.shape, x.dtype))
    left = symbol(Node(None, (), counts.shape, counts.dtype))
    squared = where(greater(_each(left), 0), times(matrix_, matrix_), matrix_)
    ends = [graph_node(squared), graph_node(left - 1)]
    body = Body(FunctionGraph([graph_node(matrix_), graph_node(left)], ends))
    most = cast(greatest(counts, initial=0), dtypes.int64)
    scan = Scan(body, _MOST_SQUARES, 0, 2, 0, counted=True)
    return applied(scan, most, x, counts)[0]


@record
class Expm(SquareOp):
    """Exponentials of matrices, computed in double precision.

    The derivative in a direction is a block of the exponential of a matrix of blocks: Mathias
    (1996), theorem 2.1; the adjoint of that map is the derivative at the adjoint matrix.
    """

    name = "expm"
    keep_inputs = (0,)

    def perform(self, a: np.ndarray) -> np.ndarray:
        wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        flat = wide.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
        with np.errstate(all="ignore"):
            found = [_exponential(m) for m in flat]
            return np.array(found, a.dtype).reshape(a.shape)

    def decompose(self, a: Tensor) -> Tensor:
        wide = cast(a, dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64)
        norm: Any = sum(arith.abs(wide), -2)
        norm = greatest(norm, axis=-1, initial=0)
        bound, _ = _PADE[13]
        halvings = ceil(log2(where(greater(norm, bound), arith.multiply(norm, 1 / bound), 1)))
        halvings = where(isfinite(norm), halvings, 0)
        scale = where(isfinite(norm), exp2(arith.negative(halvings)), np.nan)
        small = arith.multiply(wide, _each(cast(scale, wide.dtype)))
        result = apply(SOLVE, *_sides(small, identity(small)))
        return cast(_squared(result, halvings), a.dtype)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (derivative_by_blocks(expm, adjoint(a), g),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        return derivative_by_blocks(expm, a, ts[0])


def derivative_by_blocks(function: Any, a: Tensor, change: Tensor) -> Tensor:
    """The derivative of a function of matrices, as a block of that of a matrix of blocks."""
    n = a.shape[-1]
    upper = concat([a, change], axis=-1)
    lower = concat([zeros_like(a), a], axis=-1)
    whole = concat([upper, lower], axis=-2)
    found: Tensor = function(whole)
    return found[..., :n, n:]


@planned
@public
def expm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices: ``1 + x + x @ x / 2 + ...``.

    :param x: Of shape (..., n, n).
    :returns: Of the shape of ``x``.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.logm, linalg.expm_frechet, linalg.sinhm, exp

    >>> ag.linalg.expm(ag.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return apply(Expm(), square(x))
