"""Products that a BLAS evaluates, where the policy says so."""

from __future__ import annotations

from agnesi.core.ir.calls.gemm import Library
from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.kernels import Matrix
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import name_of

#: Multiply-adds from which a product is worth a call of a library.
_MIN_CALL_MULTIPLY_ADDS = 1 << 12
#: Multiply-adds from which a library packs its operands first, which pays off from
#: ``_MIN_PACKED_ROWS`` rows and columns, or where it need not transpose the larger one: a layer of
#: 60 rows takes 1.2 to 1.4 times as long as generated code then, and a fifth less of a small
#: program's time to compile.
_PACKED_MULTIPLY_ADDS = 1 << 20
#: Rows and columns from which packing pays off.
_MIN_PACKED_ROWS = 56


def in_library(node: Node, library: Library, a: Matrix, b: Matrix) -> str:
    """The function for a product of ``a`` and ``b``, by dtype; empty where code is generated."""
    m, n, k = (*node.shape[-2:], node.inputs[0].shape[-1])
    if not is_static((m, n, k)) or m * n * k < (1 if library.every else _MIN_CALL_MULTIPLY_ADDS):
        return ""
    if library.every:
        return library.symbols.get(name_of(node.dtype), "")
    strided = (b.strides[-1] if m < n else a.strides[-2]) != 1
    low = _MIN_PACKED_ROWS if strided and m * n * k > _PACKED_MULTIPLY_ADDS else 2
    return library.symbols.get(name_of(node.dtype), "") if min(m, n) >= low else ""


def taps_in_library(node: Node, sizes: ConvSizes, library: Library) -> str:
    """Return the symbol of the library's product for a convolution whose filters have one element;
    empty for all others.

    Not where the library keeps threads of its own beside ours: they would wait for each other by
    turns, spinning; sixty such kernels took twice as long with two threads.
    """
    fits = library.threads > 0 and max(sizes.kernel) == 1
    return library.symbols.get(name_of(node.dtype), "") if fits else ""
