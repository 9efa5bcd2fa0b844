"""Products of compressed rows as kernels."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.core.ir.kernels import Buffer, Sparse
from agnesi.core.ir.node import Node
from agnesi.core.target import Target


def sparse(root: Node, inputs: list[Buffer], results: list[Buffer],
           copied: Callable[[Node], Buffer], target: Target) -> Sparse | None:
    """The kernel of an operation; None where it is no such product, or of other dtypes.

    ``copied`` gives the memory of an operand's copy in one piece.
    """
    if root.op.template != "sparse" or not target.supports("sparse") or root.dtype.name not in (
        "float32", "float64", "int32", "int64"
    ):
        return None
    given = [b if b.contiguous else copied(n) for n, b in zip(root.inputs, inputs, strict=True)]
    if not all(b.contiguous for b in (*given, *results)):
        return None
    return Sparse([root], kind=root.op.name, inputs=given, results=results)
