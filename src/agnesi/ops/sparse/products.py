"""Products of compressed rows and dense matrices: a sum over three factors, for each of them.

With rows ``i`` of entries ``k`` (from ``indptr[i]`` to ``indptr[i + 1]``) in columns
``c = indices[k]``, all three come from ``sum of data[k] * a[i, j] * b[c, j]``, so that the
derivatives of each are the other two.  ``indptr`` ends with the number of entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size, is_settled, product
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conjugate
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import made
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.linearity import BilinearOp
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import Arange


def check_pattern(indices: Any, indptr: Any) -> None:
    """Both are vectors of int32 or int64."""
    for what, x in (("indices", indices), ("indptr", indptr)):
        if len(x.shape) != 1:
            raise ShapeError(f"{what} must be a vector, not of shape {x.shape}")
        if x.dtype.name not in ("int32", "int64"):
            raise DTypeError(f"{what} must be int32 or int64, not {x.dtype}")


def _same(what: str, a: Size, b: Size) -> None:
    if a != b and is_settled((a, b)):
        raise ShapeError(f"{what}: {a} and {b}")


def _times(data: np.ndarray, x: np.ndarray, indices: np.ndarray, indptr: np.ndarray,
           columns: int | None = None) -> np.ndarray:
    """Rows times a matrix; the transpose of rows with so many ``columns`` times one.

    By the functions behind SciPy's matrices, because making such a matrix takes longer than most
    products.
    """
    from scipy.sparse import _sparsetools

    if x.dtype == dtypes.float16:
        wide = _times(data.astype(np.float32), x.astype(np.float32), indices, indptr, columns)
        return wide.astype(x.dtype)
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    rows, width = len(indptr) - 1, x.shape[1]
    shape = (rows, len(x)) if columns is None else (columns, rows)
    result = np.zeros((shape[0], width), x.dtype)
    kind = "csr_matvec" if columns is None else "csc_matvec"
    vectors = (np.ravel(x), np.ravel(result))
    if width == 1:
        getattr(_sparsetools, kind)(*shape, indptr, indices, data, *vectors)
    else:
        getattr(_sparsetools, f"{kind}s")(*shape, width, indptr, indices, data, *vectors)
    return result


class _Product(BilinearOp):
    """The common part of the three forms; ``rows`` of each operand are marked as in
    ``ops.batching``.
    """

    template = "sparse"
    keep_inputs = (0, 1, 2, 3)

    work = elements(16)

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
        """The matrices of all examples along the diagonal of one."""
        wide = [x if r else broadcast_to(x, (length, *x.shape))
                for x, r in zip(xs, rows, strict=True)]
        found: Tensor = apply(self.diagonal(length), *self.joined(wide, length))
        return reshape(found, (length, *node.shape))

    def diagonal(self, length: Any) -> Op:
        return self

    def joined(self, xs: list[Tensor], length: Any) -> list[Tensor]:
        raise NotImplementedError


def _flat(x: Tensor) -> Tensor:
    return reshape(x, (product(x.shape[:2]), *x.shape[2:]))


def joined_pattern(indices: Tensor, indptr: Tensor, columns: Any,
                   length: Any) -> tuple[Tensor, Tensor]:
    """Return the CSR indices and row starts of the block-diagonal matrix of all examples.

    :param indices: Columns of the elements, (length, elements).
    :param indptr: Starts of the rows, (length, rows + 1).
    """
    number = reshape(made(Arange(0, 1, length, dtypes.int64), length), (length, 1))
    position = _flat(cast(indices, dtypes.int64) + number * columns)
    starts = _flat(cast(indptr[:, :-1], dtypes.int64) + number * indices.shape[1])
    end = made(Arange(0, 1, 1, dtypes.int64), 1) + length * indices.shape[1]
    return position, concat([starts, end])


def _columns_of_all(x: Tensor) -> Tensor:
    """(examples, n, p) to (n, examples * p)."""
    x = moveaxis(x, 0, 1)
    return reshape(x, (x.shape[0], product(x.shape[1:])))


@record
class RowProduct(_Product):
    """``y[i, j] = sum of data[k] * x[c, j]``: compressed rows times a matrix."""

    name = "csr_product"

    def infer(self, data: Any, x: Any, indices: Any, indptr: Any) -> Any:
        check_pattern(indices, indptr)
        _same("data and indices have different lengths", data.shape[0], indices.shape[0])
        return (indptr.shape[0] - 1, x.shape[1]), x.dtype

    def perform(self, data: np.ndarray, x: np.ndarray, indices: np.ndarray,
                indptr: np.ndarray) -> np.ndarray:
        found = HOOKS.run(self, (data, x, indices, indptr), data.size * x.shape[1])
        if found is None:
            found = _times(data, x, indices, indptr)
        return found

    def vjp(self, g: Tensor, y: Tensor, data: Tensor, x: Tensor, indices: Tensor,
            indptr: Tensor) -> tuple[Any, ...]:
        return (
            apply(SAMPLED, g, conjugate(x), indices, indptr) if data._requires_grad else None,
            apply(ColumnProduct(x.shape[0]), conjugate(data), g, indices, indptr)
            if x._requires_grad else None,
            None, None,
        )

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
        found = side_by_side(self, node, xs, rows, length)
        return super().batch(node, xs, rows, length) if found is None else found

    def joined(self, xs: list[Tensor], length: Any) -> list[Tensor]:
        data, x, indices, indptr = xs
        return [_flat(data), _flat(x), *joined_pattern(indices, indptr, x.shape[1], length)]


@record
class ColumnProduct(_Product):
    """``y[c, j] = sum of data[k] * x[i, j]``: the transpose of compressed rows times a matrix."""

    columns: Any
    name = "csc_product"

    def infer(self, data: Any, x: Any, indices: Any, indptr: Any) -> Any:
        check_pattern(indices, indptr)
        _same("data and indices have different lengths", data.shape[0], indices.shape[0])
        _same("rows of the operands differ", indptr.shape[0] - 1, x.shape[0])
        return (self.columns, x.shape[1]), x.dtype

    def perform(self, data: np.ndarray, x: np.ndarray, indices: np.ndarray,
                indptr: np.ndarray) -> np.ndarray:
        found = HOOKS.run(self, (data, x, indices, indptr), data.size * x.shape[1])
        if found is None:
            found = _times(data, x, indices, indptr, self.columns)
        return found

    def vjp(self, g: Tensor, y: Tensor, data: Tensor, x: Tensor, indices: Tensor,
            indptr: Tensor) -> tuple[Any, ...]:
        return (
            apply(SAMPLED, conjugate(x), g, indices, indptr) if data._requires_grad else None,
            apply(ROWS, conjugate(data), g, indices, indptr) if x._requires_grad else None,
            None, None,
        )

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
        found = side_by_side(self, node, xs, rows, length)
        return super().batch(node, xs, rows, length) if found is None else found

    def diagonal(self, length: Any) -> Op:
        return ColumnProduct(self.columns * length)

    def joined(self, xs: list[Tensor], length: Any) -> list[Tensor]:
        data, x, indices, indptr = xs
        return [_flat(data), _flat(x), *joined_pattern(indices, indptr, self.columns, length)]


@record
class SampledProduct(_Product):
    """``data[k] = sum over j of a[i, j] * b[c, j]``: a product where a pattern has entries."""

    work = elements(64)
    name = "sampled_product"

    def infer(self, a: Any, b: Any, indices: Any, indptr: Any) -> Any:
        check_pattern(indices, indptr)
        _same("inner sizes differ", a.shape[1], b.shape[1])
        _same("rows of the pattern and the first factor differ", indptr.shape[0] - 1, a.shape[0])
        return (indices.shape[0],), a.dtype

    def perform(self, a: np.ndarray, b: np.ndarray, indices: np.ndarray,
                indptr: np.ndarray) -> np.ndarray:
        found = HOOKS.run(self, (a, b, indices, indptr), indices.size * a.shape[1])
        if found is not None:
            return found
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        result = np.empty(len(indices), a.dtype)
        step = max(1, (1 << 20) // max(1, a.shape[1]))
        for k in range(0, len(indices), step):
            part = slice(k, k + step)
            result[part] = np.einsum("kj,kj->k", a[rows[part]], b[indices[part]])
        return result

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor, indices: Tensor,
            indptr: Tensor) -> tuple[Any, ...]:
        return (
            apply(ROWS, g, conjugate(b), indices, indptr) if a._requires_grad else None,
            apply(ColumnProduct(b.shape[0]), g, conjugate(a), indices, indptr)
            if b._requires_grad else None,
            None, None,
        )

    def joined(self, xs: list[Tensor], length: Any) -> list[Tensor]:
        a, b, indices, indptr = xs
        return [_flat(a), _flat(b), *joined_pattern(indices, indptr, b.shape[1], length)]


ROWS = RowProduct()
SAMPLED = SampledProduct()


def side_by_side(op: Op, node: Node, xs: list[Tensor], rows: list[bool],
                 length: Any) -> Tensor | None:
    """All examples as columns, where there is one sparse matrix for all of them."""
    data, x, indices, indptr = xs
    if rows[0] or rows[2] or rows[3]:
        return None
    found: Tensor = apply(op, data, _columns_of_all(x), indices, indptr)
    return moveaxis(reshape(found, (node.shape[0], length, node.shape[1])), 1, 0)
