"""Sample operands for every operation: what the parametrised checks of the operations run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.api import sparse, special
from agnesi.core.dispatch import apply
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays import replicate, types
from agnesi.ops.base import reduce
from agnesi.ops.base.arith import multiply
from agnesi.ops.base.elementwise import TABLE, Elementwise, call
from agnesi.ops.base.select import where
from agnesi.ops.contractions import composite, matmul
from agnesi.ops.contractions.einsum import einsum
from agnesi.ops.convolution import (
    conv,
    convolve,
    im2col,
    interpolate,
    pixels,
    pool,
    transposed,
    unpool,
)
from agnesi.ops.neural import losses, normalize, softmax
from agnesi.ops.numerics import pytorch, sets
from agnesi.ops.reductions import log_sums, positions, running, vector_norms
from agnesi.ops.signal import fft, frequencies
from agnesi.ops.sorting import ranked
from agnesi.ops.sorting.sort import argsort, searchsorted, sort
from agnesi.ops.special import tails  # noqa: F401 (its rows are in TABLE)
from agnesi.testing import arrangements, matrices
from agnesi.testing.domains import DOMAINS, ORDERED, VALUES

Operands = tuple[np.ndarray, ...]
_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((3, 4), (3, 4), (3, 4)), ((2, 1, 3), (4, 1), ()), ((), (), ()), ((0, 3), (3,), (1,)),
)
#: Where a row is smooth: an interval for each operand, where it is not (-2, 2) for all.
_DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "acos": ((-0.9, 0.9),), "acosh": ((1.1, 3.0),), "asin": ((-0.9, 0.9),),
    "atanh": ((-0.9, 0.9),), "cbrt": ((0.2, 3.0),), "digamma": ((0.3, 4.0),),
    "erfinv": ((-0.9, 0.9),), "lgamma": ((0.3, 4.0),), "log": ((0.1, 3.0),),
    "log10": ((0.1, 3.0),), "log1p": ((-0.5, 2.0),), "log2": ((0.1, 3.0),),
    "reciprocal": ((0.3, 3.0),), "rsqrt": ((0.2, 3.0),), "sqrt": ((0.2, 3.0),),
    "tan": ((-1.2, 1.2),),
    "divide": ((-2, 2), (0.5, 2)), "floor_divide": ((-3, 3), (0.5, 2)),
    "fmod": ((-3, 3), (0.5, 2)), "power": ((0.3, 2), (-2, 2)), "remainder": ((-3, 3), (0.5, 2)),
    "safe_divide": ((-2, 2), (0.5, 2)), "xlogy": ((-2, 2), (0.2, 3)),
    "clip": ((-3, 3), (-1, -0.5), (0.5, 1)),
    # special functions
    "gamma": ((0.3, 4),), "rgamma": ((-0.8, 4),), "trigamma": ((0.3, 4),),
    "beta": ((0.3, 4), (0.3, 4)), "betaln": ((0.3, 4), (0.3, 14)), "poch": ((0.5, 3), (0.2, 2)),
    "binom": ((2.5, 6), (0.3, 2)),
    "k0": ((0.3, 4),), "k1": ((0.3, 4),), "k0e": ((0.3, 4),), "k1e": ((0.3, 4),),
    "y0": ((0.5, 4),), "y1": ((0.5, 4),), "ndtri": ((0.05, 0.95),), "erfcinv": ((0.1, 1.9),),
    "logit": ((0.05, 0.95),), "xlog1py": ((-2, 2), (-0.5, 2)), "entr": ((0.1, 3),),
    "rel_entr": ((0.1, 3), (0.1, 3)), "kl_div": ((0.1, 3), (0.1, 3)),
    "huber": ((0.5, 1), (-0.4, 0.4)), "pseudo_huber": ((0.5, 2), (-3, 3)),
    "ellipk": ((-2, 0.9),), "ellipe": ((-2, 0.9),), "expi": ((0.2, 3),), "exp1": ((0.2, 3),),
    "ci": ((0.2, 3),),
}
#: Numbers that floating rows must treat as NumPy does.
_STRANGE = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 1e300])


@record
class Case:
    """An operation with sample operands."""

    function: Callable[..., Tensor]
    samples: tuple[Operands, ...]
    grads: bool = True


def _uniform(seed: int, shape: tuple[int, ...], bounds: tuple[float, float]) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(*bounds, shape))


def bounds(row: Elementwise) -> tuple[tuple[float, float], ...]:
    """Least and largest numbers of its samples, for each operand."""
    if row.name in ORDERED:
        orders, last = ORDERED[row.name]
        return (*((o, o) for o in orders), last)
    if row.name in VALUES:
        return tuple((v, v) for v in VALUES[row.name])
    known = {**_DOMAINS, **DOMAINS}
    return known.get(row.name, ((-2.0, 2.0),) * row.arity)


def operands(row: Elementwise, shapes: Sequence[tuple[int, ...]]) -> Operands:
    """Doubles in the row's domain, or what it takes in their place."""
    values = [_uniform(7 + i, s, b)
              for i, (s, b) in enumerate(zip(shapes, bounds(row), strict=False))]
    if "f" in row.kinds:
        return tuple(values)
    if "c" in row.kinds:
        return tuple(v + 0.5j * (v + 1) for v in values)
    return tuple(np.abs(v * 3).astype(np.uint32) for v in values)


#: Floats of 16 bits, by name: bfloat16 is not NumPy's own.
_NARROW = ("float16", "bfloat16")


def _narrow(xs: Operands, dtype: str) -> Operands:
    return tuple(x.astype(dtypes.as_dtype(dtype)) for x in xs)


def _of(row: Elementwise) -> Callable[..., Tensor]:
    return lambda *xs: call(row, xs)


def _elementwise() -> Iterator[tuple[str, Case]]:
    for name, row in sorted(TABLE.items()):  # families are loaded in any order
        if name == "where" or name in ORDERED or name in VALUES:
            continue
        samples = [operands(row, shapes) for shapes in _SHAPES]
        samples.append(tuple(v.T[::-1] for v in samples[0]))
        yield name, Case(_of(row), tuple(samples))
        if "f" in row.kinds:
            strange = (np.repeat(_STRANGE, len(_STRANGE)), np.tile(_STRANGE, len(_STRANGE)))
            edges = (*strange, np.full(len(_STRANGE) ** 2, 2.0))[: row.arity]
            yield f"{name} of strange numbers", Case(_of(row), (edges,), grads=False)
        if "f" in row.kinds and "c" in row.kinds:
            turned = tuple(v * np.exp(0.3j) for v in samples[0])
            yield f"{name} of complex numbers", Case(_of(row), (turned,))
    x, y = _uniform(1, (3, 4), (-2, 2)), _uniform(2, (4,), (-2, 2))
    yield "where", Case(where, ((x > 0, x, y), (np.array(True), y, np.array(0.5))))


_X = _uniform(3, (2, 3, 4), (-2, 2))
_ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]])


def _reductions() -> Iterator[tuple[str, Case]]:
    plain = ((_X,), (_X.T[::2],), (np.zeros((0, 3)),))
    full = plain[:2]
    for name in ("sum", "prod", "mean", "var", "std", "norm", "logsumexp", "max", "min"):
        function: Any = getattr(
            {"logsumexp": softmax, "norm": vector_norms}.get(name, reduce), name)
        samples = full if name in ("mean", "var", "std", "max", "min", "logsumexp") else plain
        yield name, Case(function, samples)
        yield f"{name} over axes", Case(
            lambda x, f=function: f(x, axis=(0, -1), keepdims=True), full
        )
        yield f"{name} over one axis", Case(
            lambda x, f=function: f(x, axis=-1), ((np.zeros((0, 3)),), *full)
        )
    turned = _X * np.exp(0.3j)
    yield "prod of complex numbers", Case(lambda x: reduce.prod(x, axis=(0, 2)), ((turned,),))
    yield "cumprod of complex numbers", Case(lambda x: running.cumprod(x, axis=1), ((turned,),))
    yield "prod beside zeros", Case(lambda x: reduce.prod(x, axis=1), ((_ZEROS,),))
    yield "sum of integers", Case(reduce.sum, ((np.arange(6, dtype=np.int8),), (_X > 0,)))
    for name in ("all", "any", "count_nonzero"):
        function = getattr(reduce, name)
        yield name, Case(function, ((_X > 1,), (_ZEROS,), (np.zeros((0, 2)),)))
    long = _uniform(8, (8200,), (-2, 2)).round(2)  # many alike
    for name in ("argmax", "argmin"):
        function = getattr(positions, name)
        yield name, Case(function, (*full, (np.array([1.0, np.nan, 2.0]),), (long,)))
        yield f"{name} over an axis", Case(lambda x, f=function: f(x, axis=1), full)
    for order in (0, 1, 3, np.inf, -np.inf):
        yield f"norm {order}", Case(lambda x, p=order: vector_norms.norm(x, p, axis=1), full)


def _running() -> Iterator[tuple[str, Case]]:
    for name in ("cumsum", "cumprod"):
        function: Any = getattr(running, name)
        yield name, Case(lambda x, f=function: f(x, axis=1), ((_X,), (_X.T,), (np.zeros((2, 0)),)))
        yield f"{name} beside zeros", Case(lambda x, f=function: f(x, axis=-1), ((_ZEROS,),))
        yield f"{name} of all", Case(function, ((_ZEROS,), (np.arange(5, dtype=np.int16),)))
    for name in ("cummax", "cummin"):
        function = getattr(ranked, name)
        yield name, Case(lambda x, f=function: f(x, axis=1).values,
                         ((_X,), (_X.T,), (np.zeros((2, 0)),)))
    yield "logcumsumexp", Case(lambda x: log_sums.running(x, 1),
                               ((_X,), (_X.T,), (np.zeros((2, 0)),)))
    for name in ("cumulative_sum", "cumulative_prod"):
        function = getattr(running, name)
        yield name, Case(lambda x, f=function: f(x, axis=0, include_initial=True), ((_ZEROS,),))


def _of_pytorch() -> Iterator[tuple[str, Case]]:
    """Functions that only PyTorch has."""
    a, b, c = (_uniform(30 + i, shape, (-1, 1)) for i, shape in enumerate(((3, 4), (4, 5), (3, 5))))
    near = a[0] + _uniform(33, (6, 4), (2, 3))
    for name in ("amax", "amin"):
        function = getattr(reduce, name)
        yield name, Case(lambda x, f=function: f(x, axis=1), ((_X,), (_X.T,)))
    yield "addmm", Case(lambda *xs: pytorch.addmm(*xs, beta=0.5, alpha=2.0), ((c, a, b),))
    yield "mm", Case(pytorch.mm, ((a, b), (b.T, a.T)))
    yield "bmm", Case(pytorch.bmm, ((np.stack([a, -a]), np.stack([b, b * 2])),))
    yield "cdist", Case(pytorch.cdist, ((a, near), (np.stack([a, -a]), near)))
    yield "index_select", Case(
        lambda x: pytorch.index_select(x, 1, np.array([2, 0, 2])), ((_X,), (_X.T,)))
    yield "kthvalue", Case(lambda x: ranked.kthvalue(x, 2, axis=1).values, ((_X,),))
    yield "mode", Case(lambda x: ranked.mode(x, axis=1).values, ((_X,),))


def _products() -> Iterator[tuple[str, Case]]:
    a, b, v = _X, _uniform(4, (4, 5), (-1, 1)), _uniform(5, (4,), (-1, 1))
    stack = _uniform(6, (2, 4, 5), (-1, 1))
    turned = (a[0] * np.exp(0.3j), b * np.exp(1j))
    yield "matmul", Case(matmul.matmul, (
        (a[0], b), (a, b), (a, stack), (a[:, None], stack), (b.T, a[0].T), (a, v), (v, b), (v, v),
        (v, stack), (a[0, :0], b), (a[:, :, :0], b[:0]), (a[0].astype(int), b.astype(int)), turned,
    ))
    yield "dot", Case(matmul.dot, ((a, stack), (a, v), (v, v), (v, v[0])))
    yield "vecdot", Case(matmul.vecdot, ((a, v), (v, v), (turned[0], turned[0] * 1j)))
    yield "outer", Case(matmul.outer, ((v, a[0]),))
    yield "tensordot", Case(
        lambda x, y: matmul.tensordot(x, y, axes=((2, 0), (1, 0))), ((a, stack),)
    )


def _sums_of_products() -> Iterator[tuple[str, Case]]:
    sizes = dict(zip("abijk", (2, 3, 2, 3, 4), strict=True))
    for text in (
        "ij,jk->ik", "ii", "ii->i", "iij->j", "ij->ji", "ij->", "aij,ajk->aik", "i,j",
        "...ij,...jk->...ik", "ij,ij", "ij,ij->ij", "ij,jk,ka->ia", "aij,akj->aik", "a,ab,b",
        "ij,k->k", ",i->i",
    ):
        shapes = [
            [3 if text.count("ii") else sizes[c] for c in part if c.isalpha()]
            for part in text.partition("->")[0].split(",")
        ]
        xs = tuple(_uniform(i, tuple(s), (-1, 1)) for i, s in enumerate(shapes))
        yield f"einsum {text}", Case(lambda *a, t=text: einsum(t, *a), (xs,))
    stack = _uniform(1, (2, 1, 3, 4), (-1, 1)), _uniform(2, (5, 4, 2), (-1, 1))
    yield "einsum of stacks", Case(lambda a, b: einsum("...ij,...jk->...ik", a, b), (stack,))


def _of_16_bits() -> Iterator[tuple[str, Case]]:
    """Yield operations that sum or move numbers of 16 bits; sums are float32, rounded once."""
    image, filters = _uniform(20, (2, 4, 7, 6), (-1, 1)), _uniform(21, (3, 4, 3, 2), (-1, 1))
    many, other = _uniform(22, (5, 300), (-1, 2)), _uniform(23, (300, 4), (-1, 1))
    functions: dict[str, tuple[Callable[..., Tensor], Operands]] = {
        "sum": (lambda x: reduce.sum(x, axis=1), (many,)),
        "prod": (lambda x: reduce.prod(x, axis=0), (many,)),
        "max": (lambda x: reduce.max(x, axis=1), (many,)),
        "mean": (reduce.mean, (many,)),
        "var": (lambda x: reduce.var(x, axis=0), (many,)),
        "norm": (lambda x: vector_norms.norm(x, 2, axis=1), (many,)),
        "argmax": (lambda x: positions.argmax(x, axis=1), (many,)),
        "cumsum": (lambda x: running.cumsum(x, axis=1), (many,)),
        "softmax": (softmax.softmax, (many,)),
        "logsumexp": (lambda x: softmax.logsumexp(x, axis=1), (many,)),
        "cross_entropy": (
            lambda x: losses.cross_entropy(x, np.array([2, 299, 0, 7, 11])), (many,)),
        "matmul": (matmul.matmul, (many, other)),
        "einsum": (lambda a, b: einsum("ij,jk->ki", a, b), (many, other)),
        "conv2d": (lambda x, w: conv.conv2d(x, w, padding=1), (image, filters)),
        "max_pool": (lambda x: pool.max_pool(x, 2), (image,)),
        "avg_pool": (lambda x: pool.avg_pool(x, 2), (image,)),
        "layer_norm": (lambda x: normalize.layer_norm(x, (7, 6)), (image,)),
        "sort": (lambda x: sort(x, axis=1), (many,)),
        "lookup": (lambda x: x[np.array([3, 0, 3])], (many,)),
        "comparison": (lambda x, y: where(x > y.mT[:1, :1], x, -x), (many, other)),
    }
    for name, (function, xs) in functions.items():
        samples = tuple(_narrow(xs, kind) for kind in _NARROW)
        yield f"{name} of 16 bits", Case(function, samples, grads=False)


def _softmaxes() -> Iterator[tuple[str, Case]]:
    labels = np.array([2, 0, 1])
    x, p = _uniform(8, (3, 4), (-3, 3)), _uniform(9, (3, 4), (0, 1))
    for name in ("softmax", "log_softmax"):
        function: Any = getattr(softmax, name)
        yield name, Case(function, ((x,), (_X,), (x.T,), (x * 300,)))
        yield f"{name} over axes", Case(lambda x, f=function: f(x, axis=(0, 1)), ((_X,),))
    yield "cross_entropy", Case(losses.cross_entropy, ((x, labels), (x, p)))
    yield "cross_entropy of images", Case(
        lambda x, y: losses.cross_entropy(x, y, axis=-1),
        ((np.stack([x, -x, x * 2]), np.array([labels, 2 - labels, labels])),)
    )
    yield "cross_entropy, weighted", Case(
        lambda x, y: losses.cross_entropy(x, y, weight=np.arange(4.0) + 1), ((x, labels), (x, p))
    )
    yield "cross_entropy of rows", Case(
        lambda x, y: losses.cross_entropy(x, y, reduction="none"), ((x, labels), (x, p))
    )
    yield "nll_loss", Case(losses.nll_loss, ((x, labels),))


def _windows() -> Iterator[tuple[str, Case]]:
    image = np.random.default_rng(10).permutation(80).reshape(1, 4, 5, 4) / 20
    filters = _uniform(11, (6, 2, 3, 2), (-1, 1))
    back = _uniform(12, (4, 2, 2, 3), (-1, 1))
    yield "conv2d", Case(lambda x, w: conv.conv2d(x, w, padding=1, groups=2), ((image, filters),))
    yield "conv1d", Case(conv.conv1d, ((image[0], filters[:, :1, 0].repeat(5, 1)),))
    yield "conv_transpose", Case(
        lambda x, w: transposed.conv_transpose(x, w, stride=2, padding=1), ((image, back),)
    )
    for name in ("max_pool", "avg_pool", "sum_pool"):
        function: Any = getattr(pool, name)
        yield name, Case(lambda x, f=function: f(x, 2, stride=1, padding=1), ((image,),))
    yield "max_pool's indices", Case(
        lambda x: pool.max_pool(x, 2, stride=1, padding=1, return_indices=True)[1], ((image,),),
        grads=False)
    yield "max_unpool", Case(
        lambda x: unpool.max_unpool(x, np.arange(80).reshape(image.shape)[:, :, ::-1] % 20, 1),
        ((image,),))
    yield "unfold", Case(lambda x: im2col.unfold(x, (2, 3), stride=(2, 1), padding=1), ((image,),))
    yield "fold", Case(lambda x: im2col.fold(x, (3, 4), 2, padding=(0, 1)),
                       ((image.reshape(2, 4, 10),),))
    yield "lp_pool", Case(lambda x: pool.lp_pool(x, 2, 2), ((image + 1,),))
    around = np.array([[0, 1, 4, 4, 2, 0], [1, 2, 4, 3, 2, 0]])
    between = interpolate.tables(around, around / 5 + 0.1, 5, np.float64)
    yield "interpolate", Case(lambda x: apply(interpolate.Sampled(2), x, *between), ((image,),))
    yield "pixel_shuffle", Case(lambda x: pixels.pixel_shuffle(x, 2), ((image,),))
    yield "pixel_unshuffle", Case(
        lambda x: pixels.pixel_unshuffle(x, 2), ((np.ascontiguousarray(image[:, :, :4]),),))
    known = np.ascontiguousarray(image[..., :2])
    yield "sum_pool of pairs", Case(lambda x: pool.sum_pool(x, (1, 2)), ((known,),))


def _normalizations() -> Iterator[tuple[str, Case]]:
    image = _uniform(13, (2, 4, 3, 2), (-2, 2))
    scale = _uniform(14, (4,), (0.5, 2)), _uniform(15, (4,), (-1, 1))
    yield "batch_norm", Case(
        lambda x, w, b: normalize.batch_norm(x, None, None, w, b), ((image, *scale),)
    )
    yield "instance_norm", Case(normalize.instance_norm, ((image, *scale),))
    yield "layer_norm", Case(lambda x: normalize.layer_norm(x, (3, 2)), ((image,),))
    yield "local_response_norm", Case(normalize.local_response_norm, ((image,),))


def _arrangements() -> Iterator[tuple[str, Case]]:
    a, v = _uniform(16, (3, 4), (-2, 2)), _uniform(17, (4,), (-2, 2))
    yield "diff", Case(
        lambda x, y: composite.diff(x, 2, axis=1, prepend=y, append=0.5), ((a, a[:, :2]),)
    )
    for name, function, xs, smooth in arrangements.samples():
        yield name, Case(function, (xs,), smooth)
    yield "diff of masks", Case(composite.diff, ((a > 0,),))
    yield "meshgrid", Case(lambda x, y: multiply(*replicate.meshgrid(x, y)), ((v, a[:, 0]),))
    yield "isin", Case(sets.isin, ((a, v), (np.arange(6) % 4, np.array([3, 1]))), grads=False)
    yield "searchsorted", Case(
        lambda x, y: searchsorted(x, y, sorter=argsort(x)), ((v, a),), grads=False
    )
    yield "astype", Case(lambda x: types.astype(x, "complex128"), ((a,),))


def _transforms() -> Iterator[tuple[str, Case]]:
    z = _X * np.exp(1j * _X)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        function: Any = getattr(fft, name)
        x = _X if name in ("rfft", "ihfft") else z
        yield name, Case(lambda x, f=function: f(x, norm="ortho"), ((x,), (x.T,)))
        yield f"{name} of odd length", Case(lambda x, f=function: f(x, 5, axis=1), ((x,),))
    yield "fft of real numbers", Case(fft.fft, ((_X,), (_X.astype(np.float32),)))
    for name in ("fft2", "ifft2", "ifftn", "rfft2", "irfft2"):
        function = getattr(fft, name)
        x = _X if name == "rfft2" else z
        yield name, Case(lambda x, f=function: f(x, (3, 2)), ((x,), (x.T,)))
    for name in ("fftshift", "ifftshift"):
        function = getattr(frequencies, name)
        yield name, Case(function, ((_X,), (z.T,), (np.zeros((0, 3)),)))
        yield f"{name} of an axis", Case(lambda x, f=function: f(x, axes=(1,)), ((_X,),))
    yield "fftn", Case(lambda x: fft.fftn(x, (3, 4), (0, 2)), ((z,),))
    yield "rfftn", Case(fft.rfftn, ((_X,),))
    yield "irfftn", Case(lambda x: fft.irfftn(x, (2, 3), norm="forward"), ((z,),))
    pairs = ((_X[0], _X[1, :2, :3]),)
    yield "fftconvolve", Case(lambda a, b: convolve.fftconvolve(a, b, "same"), pairs)


def _matrices() -> Iterator[tuple[str, Case]]:
    for name, sample in matrices.samples().items():
        yield name, Case(*sample)


def _ordered() -> Iterator[tuple[str, Case]]:
    for name, (orders, bounds) in ORDERED.items():
        row, x = TABLE[name], _uniform(18, (3, 4), bounds)
        yield name, Case(lambda x, row=row, o=orders: call(row, (*o, x)), ((x,), (x[:0],)))
        fixed = tuple(np.array([o, o + 1]) for o in orders)
        yield f"{name} of orders", Case(_of(row), ((*fixed, x[0, :2]),), grads=False)
    for name, values in VALUES.items():
        held = tuple(np.full((2, 3), v) for v in values)
        yield name, Case(_of(TABLE[name]), (held,), grads=False)


def _densities() -> Iterator[tuple[str, Case]]:
    x, w = _uniform(19, (3, 4), (-2, 2)), _uniform(20, (4,), (0.5, 2))
    yield "special.softmax", Case(special.softmax, ((x,),))
    yield "special.log_softmax", Case(lambda x: special.log_softmax(x, axis=0), ((x,),))
    yield "special.logsumexp", Case(lambda x, w: special.logsumexp(x, axis=1, b=w), ((x, w),))
    yield "special.log_expit", Case(special.log_expit, ((x,),))
    yield "special.multigammaln", Case(lambda x: special.multigammaln(x + 4, 3), ((x,),))
    yield "special.loggamma", Case(special.loggamma, ((np.abs(x) + 0.3,),))
    yield "special.factorial", Case(special.factorial, ((np.abs(x),),))


def _sparse() -> Iterator[tuple[str, Case]]:
    pattern = sparse.CSR(np.ones(5), [2, 0, 1, 1, 0], [0, 2, 2, 5], (3, 4))
    square = sparse.CSR(np.ones(5), [2, 0, 1, 1, 2], [0, 2, 3, 5], (3, 3))
    entries = _uniform(40, (5,), (1, 2))
    a, b = _uniform(41, (4, 2), (-1, 1)), _uniform(42, (3, 2), (-1, 1))
    yield "csr_product", Case(lambda d, x: pattern.with_data(d) @ x, ((entries, a),))
    yield "csc_product", Case(lambda d, x: pattern.with_data(d).T @ x, ((entries, b),))
    yield "sampled_product", Case(lambda x, y: sparse.sampling_dot(x, y, pattern).data, ((b, a),))
    yield "sparse_pick", Case(
        lambda d, e: (pattern.with_data(d) * pattern.with_data(e)).data, ((entries, entries),)
    )
    yield "sparse_product", Case(
        lambda d, e: (square.with_data(d) @ pattern.with_data(e)).data, ((entries, entries),)
    )
    yield "spsolve", Case(lambda d, x: sparse.spsolve(square.with_data(d), x), ((entries, b),))


def cases() -> dict[str, Case]:
    """Every operation's case, by name."""
    families = (
        _elementwise(), _reductions(), _running(), _of_pytorch(), _products(),
        _sums_of_products(), _softmaxes(),
        _of_16_bits(), _windows(), _normalizations(), _arrangements(), _transforms(), _matrices(),
        _ordered(), _densities(), _sparse(),
    )
    return {name: case for family in families for name, case in family}
