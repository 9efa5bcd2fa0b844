"""Functions that compute in another dtype than their operands' inside of ``amp.autocast``.

The lists are PyTorch's for processors.  Functions in neither take operands as they are, and promote
them where their dtypes differ, such as ``cat`` and ``stack``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from agnesi.core.support.config import MODE, TRACES, WITNESSES, switched
from agnesi.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

#: Functions that compute in the region's dtype.
LOWER = frozenset("""
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose conv_transpose1d
    conv_transpose2d conv_transpose3d linear matmul mm multi_dot prelu scaled_dot_product_attention
    tensordot vecdot
""".split())
#: Functions that compute in float32.
FLOAT32 = frozenset("""
    binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky cholesky_inverse
    cholesky_solve cond cosine_embedding_loss cross_entropy ctc_loss det eig eigh eigvals eigvalsh
    fft fft2 fftn fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
    fractional_max_pool3d_with_indices grid_sample hfft hinge_embedding_loss huber_loss ifft ifft2
    ifftn ihfft inv irfft irfft2 irfftn istft kl_div l1_loss local_response_norm logdet lstsq
    lu_solve margin_ranking_loss matrix_exp matrix_rank max_unpool mse_loss multi_margin_loss
    multilabel_margin_loss nanquantile nll_loss pinv poisson_nll_loss polar prod qr quantile rfft
    rfft2 rfftn slogdet smooth_l1_loss soft_margin_loss solve solve_triangular stft svd svdvals
    tensorinv tensorsolve trace triplet_margin_loss view_as_complex
""".split())
#: Functions that take operands as they are, and so do those of the lists that they are made of.
AS_GIVEN = frozenset("""
    addmv batch_norm bilinear dot group_norm inner instance_norm kron layer_norm matrix_norm mv
    pdist rms_norm vdot
""".split())
#: Those among them whose results have the dtype of the first operand, whatever that of parameters.
_LIKE_FIRST = frozenset("batch_norm group_norm instance_norm layer_norm rms_norm".split())
#: Pools, which compute in float32 where they have three axes in space.
_POOLS = frozenset("adaptive_avg_pool adaptive_max_pool avg_pool max_pool".split())
#: What is in one list or another by its arguments.
_BY_ARGUMENTS = frozenset(("einsum", "pad", *_POOLS))


class casting(switched):  # noqa: N801 - used as a function
    """A ``with`` block whose functions cast their operands as ``amp.autocast`` says, or None:
    neither plans of calls nor native code of compiled functions know of it."""

    __slots__ = ()

    def __init__(self, dtype: np.dtype | None, **changes: Any) -> None:
        super().__init__(autocast=dtype, **changes)

    def __enter__(self) -> None:
        if self.changes["autocast"] is not None:
            TRACES.add(self)
            WITNESSES.add(self)
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        TRACES.remove(self)
        WITNESSES.remove(self)

    def __del__(self) -> None:
        super().__del__()
        TRACES.remove(self)
        WITNESSES.remove(self)


def casts(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, casting its operands inside of ``amp.autocast`` if it is in a list."""
    name = function.__name__
    if not any(name in found for found in (LOWER, FLOAT32, AS_GIVEN, _BY_ARGUMENTS)):
        return function

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        dtype = MODE.get().autocast
        if dtype is None:
            return function(*args, **keywords)
        target = _target(name, dtype, args, keywords)
        if target is NotImplemented:
            return function(*args, **keywords)
        with casting(None):
            if target is not None:
                args, keywords = cast(args, target), cast(keywords, target)
            found = function(*args, **keywords)
            return cast(found, args[0].dtype) if name in _LIKE_FIRST and args else found

    return call


def in_float32(method: F) -> F:
    """A method of a layer that computes in float32 inside of ``amp.autocast``, as its parameters
    are, and so do functions of the lists that it calls."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        if MODE.get().autocast is None:
            return method(self, *args, **keywords)
        target = np.dtype(np.float32)
        with casting(None):
            return method(self, *cast(args, target), **cast(keywords, target))

    return call  # type: ignore[return-value]


def _target(name: str, lower: np.dtype, args: Any, keywords: Any) -> Any:
    """The dtype that operands are cast to: None if they stay, NotImplemented if the function is in
    no list with these arguments."""
    if name in LOWER or (name == "einsum" and _sums(args)) or (
            name == "inner" and _least_axes(args) > 1):
        return lower
    if name in FLOAT32 or (name in _POOLS and _is_volume(*args, **keywords)) or (
            name == "pad" and _MODES.intersection(map(str, (*args[2:], *keywords.values())))):
        return np.dtype(np.float32)
    return None if name in AS_GIVEN else NotImplemented


#: Ways to pad in which that computes in float32.
_MODES = frozenset(("reflect", "replicate"))


def _is_volume(x: Any, *args: Any, **keywords: Any) -> bool:
    return getattr(x, "ndim", 0) == 5


def _least_axes(args: Any) -> int:
    return min((getattr(x, "ndim", 0) for x in args), default=0)


def _sums(args: Any) -> bool:
    """Return whether ``einsum`` is a product that is summed over, and not one of elements."""
    text = args[0] if args and isinstance(args[0], str) else ""
    inputs, _, result = text.partition("->")
    letters = {c for c in inputs if c.isalpha()}
    summed = letters - set(result) if "->" in text else {
        c for c in letters if inputs.count(c) > 1}
    return not text or ("," in inputs and bool(summed))


def cast(value: Any, dtype: np.dtype) -> Any:
    """Tensors of floats in other dtypes, but float64, in this one; also those in containers."""
    if isinstance(value, Tensor):
        own: Any = value
        lower = own.dtype.kind in "fV" and own.dtype.itemsize < 8
        return own.astype(dtype) if lower and own.dtype != dtype else own
    if type(value) in (list, tuple):
        return type(value)(cast(v, dtype) for v in value)
    return {k: cast(v, dtype) for k, v in value.items()} if type(value) is dict else value
