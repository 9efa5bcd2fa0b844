"""Powers and products of several matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir import dims
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.storage.leaves import COPY
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import as_tensor, common, pair
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape, sized
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.contractions import matmul
from agnesi.ops.contractions.matmul import product_of
from agnesi.ops.linalg.base import check_square, identity
from agnesi.ops.linalg.solve import inv


@planned
@public
def matrix_power(x: TensorLike, n: int, /, *, out: Tensor | None = None) -> Tensor:
    """The power ``n`` of square matrices, by squaring; of the inverse for negative ones.

    :param x: Of shape (..., n, n).
    :param n: The exponent.
    :returns: Of the shape of ``x``.
    :raises ShapeError: If ``x`` are no square matrices.
    :raises LinAlgError: For negative powers of singular matrices.
    :see: linalg.inv, linalg.expm, power

    >>> ag.linalg.matrix_power(ag.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    x, n = as_tensor(x), operator.index(n)
    power = n
    if len(x.shape) < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {x.shape}")
    check_square(x.shape)
    given, x = x.shape, sized(x, -1, x.shape[-2])
    if n == 0:  # of no element of x
        return of_shape("matrix_power", broadcast_to(identity(x), x.shape), given,
                        f"the matrices must be square: shape {given}")
    if n < 0:
        x, n = inv(x), -n
    result: Tensor | None = None
    while True:
        if n & 1:
            result = x if result is None else product_of(result, x)
        n >>= 1
        if n == 0:
            break
        x = product_of(x, x)
    return apply(COPY, x) if result is None or power == 1 else result


@planned
@public
def multi_dot(arrays: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        At least two; the first and the last may be vectors.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        A matrix; a vector or number where the ends are vectors.

    Raises
    ------
    ShapeError
        If neighbours do not fit, or one in the middle is no matrix.
    ValueError
        If there are less than two.

    See Also
    --------
    matmul, einsum

    Notes
    -----
    The order is found as in Cormen et al., Introduction to Algorithms, 15.2.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.linalg.multi_dot([ag.ones((2, 9)), ag.ones((9, 9)), ag.ones(9)])
    tensor([81., 81.])
    """
    xs = list(common(*arrays))
    if len(xs) < 2:
        raise ValueError(f"a product needs at least two matrices, not {len(xs)}")
    first, last = len(xs[0].shape) == 1, len(xs[-1].shape) == 1
    if first:
        xs[0] = reshape(xs[0], (1, *xs[0].shape))
    if last:
        xs[-1] = reshape(xs[-1], (*xs[-1].shape, 1))
    for x in xs:
        if len(x.shape) != 2:
            raise ShapeError(f"the operands must be matrices, not of shape {x.shape}")
    sizes = [xs[0].shape[0], *(x.shape[1] for x in xs)]
    best = _splits([n if isinstance(n, int) else 1 for n in sizes])

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return xs[i]
        k = best[i, j]
        return matmul.matmul(product(i, k), product(k + 1, j))

    result = product(0, len(xs) - 1)
    kept = [n for n, gone in zip(result.shape, (first, last), strict=True) if not gone]
    return reshape(result, tuple(kept)) if first or last else result


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices ``i`` to ``j``."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length

            def at(k: int, i: int = i, j: int = j) -> int:
                return cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]

            best[i, j] = min(range(i, j), key=at)
            cost[i, j] = at(best[i, j])
    return best


@planned
@public
def kron(a: TensorLike, b: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Kronecker's product: blocks of ``b``, each times one element of ``a``.

    :param a, b: With fewer axes than the other, one gets axes of size 1 in front.
    :returns: Sizes are the products of the operands' sizes.
    :see: outer, linalg.khatri_rao

    >>> ag.kron(ag.tensor([1, 10]), ag.tensor([5, 6]))
    tensor([ 5,  6, 50, 60])
    """
    a, b = pair(a, b)
    rank = max(len(a.shape), len(b.shape))
    outer = (*(1,) * (rank - len(a.shape)), *a.shape)
    inner = (*(1,) * (rank - len(b.shape)), *b.shape)
    spread = reshape(a, tuple(n for m in outer for n in (m, 1)))
    blocks = reshape(b, tuple(n for m in inner for n in (1, m)))
    shape = tuple(dims.product(pair_) for pair_ in zip(outer, inner, strict=True))
    return reshape(arith.multiply(spread, blocks), shape)
