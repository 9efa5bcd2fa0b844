"""Sample operands for functions that arrange, pick and write elements, or are made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from agnesi.api import functions as f
from agnesi.api.torch.parts import repeat_interleave
from agnesi.core.tensor import Tensor
from agnesi.ops.indexing import scatter
from agnesi.ops.numerics.scatter_reduce import index_reduce, scatter_reduce

Made = tuple[Callable[..., Tensor], tuple[np.ndarray, ...]]


def _uniform(seed: int, *shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(-2, 2, shape))


_A, _B, _V = _uniform(50, 3, 4), _uniform(51, 3, 4), _uniform(52, 4)
_T = _uniform(53, 2, 3, 4)
_I = np.array([[2, 0, 1, 1], [0, 0, 2, 1], [1, 2, 2, 0]])
_M = _A > 0
_Z = _T * np.exp(1j * _T)

#: Functions that are differentiable and take the operands beside them.
_SMOOTH: dict[str, Made] = {
    "addcdiv": (lambda a, b, c: f.addcdiv(a, b, c, value=0.5), (_A, _B, np.abs(_A) + 1)),
    "addcmul": (lambda a, b, c: f.addcmul(a, b, c, value=0.5), (_A, _B, _V)),
    "atleast_1d": (f.atleast_1d, (_V[0],)), "atleast_2d": (f.atleast_2d, (_V,)),
    "atleast_3d": (f.atleast_3d, (_A,)),
    "broadcast_arrays": (lambda a, v: f.add(*f.broadcast_arrays(a, v)), (_A, _V)),
    "broadcast_to": (lambda v: f.broadcast_to(v, (3, 4)), (_V,)),
    "expand": (lambda v: f.broadcast_to(v, (2, 4)), (_V,)),
    "concat": (lambda a, b: f.concat([a, b], axis=1), (_A, _B)),
    "stack": (lambda a, b: f.stack([a, b], axis=1), (_A, _B)),
    "hstack": (lambda a, b: f.hstack([a, b]), (_A, _B)),
    "vstack": (lambda a, v: f.vstack([a, v]), (_A, _V)),
    "dstack": (lambda a, b: f.dstack([a, b]), (_A, _B)),
    "split": (lambda a: f.multiply(*f.split(a, 2, axis=1)), (_A,)),
    "complex": (f.complex, (_A, _B)),
    "view_as_real": (f.view_as_real, (_Z,)),
    "bitcast": (lambda a: f.bitcast(a, "complex128"), (_A,)),
    "view_as_complex": (f.view_as_complex, (_A.reshape(3, 2, 2),)),
    "copy": (f.copy, (_A,)),
    "diag": (lambda v: f.diag(v, 1), (_V,)), "diag of matrices": (f.diag, (_A,)),
    "unfold by steps": (lambda a: f.unfold(a, 0, 2, 2), (_T,)),
    "diagonal": (lambda a: f.diagonal(a, 1, 1, 2), (_T,)),
    "dist": (lambda a, b: f.dist(a, b, 3), (_A, _B)),
    "dimshuffle": (lambda a: f.dimshuffle(a, 1, "x", 0), (_A,)),
    "expand_dims": (lambda a: f.expand_dims(a, 1), (_A,)),
    "squeeze": (lambda a: f.squeeze(a, 0), (_A[:1],)),
    "flatten": (lambda a: f.flatten(a, 2), (_T,)),
    "flip": (lambda a: f.flip(a, 1), (_A,)),
    "inner": (f.inner, (_A, _B)), "lerp": (lambda a, b: f.lerp(a, b, 0.3), (_A, _B)),
    "linear": (f.linear, (_A, _uniform(54, 5, 4), _uniform(55, 5))),
    "masked_fill": (lambda a: f.masked_fill(a, _M, 1.0), (_A,)),
    "matrix_transpose": (f.matrix_transpose, (_T,)),
    "moveaxis": (lambda a: f.moveaxis(a, 0, 2), (_T,)),
    "permute_dims": (lambda a: f.permute_dims(a, (2, 0, 1)), (_T,)),
    "transpose": (f.transpose, (_A,)), "swapaxes": (lambda a: f.swapaxes(a, 0, 2), (_T,)),
    "nan_to_num": (f.nan_to_num, (_A,)),
    "narrow": (lambda a: f.narrow(a, 1, 1, 2), (_A,)),
    "pad": (lambda a: f.pad(a, ((1, 0), (2, 1))), (_A,)),
    "ravel": (f.ravel, (_A,)), "reshape": (lambda a: f.reshape(a, (2, 6)), (_A,)),
    "repeat": (lambda a: f.repeat(a, 2, axis=0), (_A,)),
    "repeat_interleave": (lambda a: repeat_interleave(a, 2, 0), (_A,)),
    "roll": (lambda a: f.roll(a, (1, -1), (0, 1)), (_A,)),
    "tile": (lambda a: f.tile(a, (2, 1)), (_A,)),
    "trace": (lambda a: f.trace(a, 1), (_A,)),
    "tril": (lambda a: f.tril(a, 1), (_T,)), "triu": (f.triu, (_A,)),
    "as_strided": (lambda a: f.as_strided(a, (2, 3), (3, 2), 1), (_A,)),
    "unfold": (lambda a: f.unfold(a, 1, 2), (_uniform(56, 2, 4, 3),)),
    "take": (lambda a: f.take(a, [2, 0, 2], axis=0), (_A,)),
    "take_along_axis": (lambda a: f.take_along_axis(a, _I, 0), (_A,)),
    "gather": (lambda a: f.gather(a, 0, _I), (_A,)),
    "scatter": (lambda a, b: f.scatter(a, 0, _I[:1], b), (_A, _B[:1])),
    "scatter_add": (lambda a, b: f.scatter_add(a, 0, _I, b), (_A, _B)),
    "scatter_reduce": (lambda a, b: scatter_reduce(a, 0, _I, b, "prod"), (_A, _B)),
    "index_add": (lambda a, b: f.index_add(a, 0, [2, 0, 2], b), (_A, _B)),
    "index_reduce": (lambda a, b: index_reduce(a, 0, [2, 0, 2], b, "mean"), (_A, _B)),
    "index_put": (lambda a, v: f.index_put(a, ([0, 2],), v), (_A, _V)),
    "set_subtensor": (lambda a, v: scatter.set_subtensor(a[1], v), (_A, _V)),
    "inc_subtensor": (lambda a, v: scatter.inc_subtensor(a[1], v), (_A, _V)),
    "topk": (lambda a: f.topk(a, 2)[0], (_A,)),
    "conv3d": (f.conv3d, (_uniform(57, 1, 2, 3, 4, 3), _uniform(58, 3, 2, 2, 2, 2))),
    "full_like": (lambda a: f.full_like(a, 2.0) * a, (_A,)),
    "zeros_like": (lambda a: f.zeros_like(a) + a, (_A,)),
    "ones_like": (lambda a: f.ones_like(a) * a, (_A,)),
}
#: Functions with whole numbers or truth values as results.
_FLAT: dict[str, Made] = {
    "allclose": (f.allclose, (_A, _A + 1e-9)), "array_equal": (f.array_equal, (_A, _A.copy())),
    "isclose": (f.isclose, (_A, _A + 1e-9)), "argsort": (lambda a: f.argsort(a, axis=1), (_A,)),
}


def samples() -> Iterator[tuple[str, Callable[..., Tensor], tuple[np.ndarray, ...], bool]]:
    """Name, function, operands and whether there are gradients."""
    for table, smooth in ((_SMOOTH, True), (_FLAT, False)):
        for name, (function, operands) in table.items():
            yield name, _one(function), operands, smooth


def _one(function: Any) -> Callable[..., Tensor]:
    return lambda *xs: function(*xs)
