"""Steps of the library's rarer functions: those with samples by themselves, the others as tables.

In the tables ``x`` is a tensor of floats, ``y`` another one of its type, ``a`` an axis, ``n`` its
size, ``m`` the last one, ``r`` a number that is never 0, ``d`` the dtype's name, ``q`` a number of
1 to 3.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.ops.base.elementwise import TABLE
from agnesi.testing.samples import Case, bounds, cases
from tests.fuzz.pool import Line, Pool, Value
from tests.fuzz.program import Input

#: Samples that are no functions of what they are given alone, or not to be told from others.
NOT_DRAWN = ("strange", "16 bits", "bitcast", "interpolate")
#: The most numbers of a sample.
NUMBERS = 120

#: Of any shape, which they keep.
EVERYWHERE = tuple(f"ag.nn.functional.{f}" for f in (
    "relu6({x})", "hardtanh({x})", "hardtanh({x}, -0.5, 2)", "hardsigmoid({x})", "hardswish({x})",
    "threshold({x}, 0.5, 2)", "hardshrink({x})", "softshrink({x})", "leaky_relu({x}, 0.1)",
    "elu({x})", "celu({x}, 0.7)", "selu({x})", "gelu({x})", "gelu({x}, approximate='tanh')",
    "mish({x})", "silu({x})", "softsign({x})", "tanhshrink({x})", "logsigmoid({x})",
    "softplus({x}, 2, 5)", "mse_loss({x}, {y})", "l1_loss({x}, {y}, reduction='none')",
    "smooth_l1_loss({x}, {y}, beta=0.5)", "huber_loss({x}, {y}, delta=0.7, reduction='sum')",
    "soft_margin_loss({x}, {y})", "poisson_nll_loss(ag.tanh({x}), {y}, reduction='none')",
    "hinge_embedding_loss({x}, ag.where({y} > 0, 1.0, -1.0).astype('{d}'))",
    "binary_cross_entropy_with_logits({x}, ag.sigmoid({y}))",
    "binary_cross_entropy(ag.sigmoid({x}), ag.sigmoid({y}), reduction='none')",
    "gaussian_nll_loss({x}, {y}, 1 + {x} * {x})", "prelu({x}, {x}.reshape(-1)[:1])",
    "margin_ranking_loss({x}, {y}, ag.sign({y}))")) + tuple(
    f"ag.distributions.{f}" for f in (
        "Normal({x}, 1 + {y} * {y}).log_prob({y})", "Normal({x}, 1.5).cdf({y})",
        "Laplace({x}, 2.0).log_prob({y})", "Gumbel({x}, 1.5).log_prob({y})",
        "Gamma(1 + {x} * {x}, 1.5).log_prob(1 + {y} * {y})", "Cauchy({x}, 1.0).log_prob({y})",
        "Beta(1 + {x} * {x}, 2.0).log_prob(ag.sigmoid({y}))",
        "Poisson(1 + {x} * {x}).log_prob(2.0)", "StudentT(3 + {x} * {x}, {y}, 1.0).log_prob(0.5)",
        "Exponential(1 + {x} * {x}).entropy()", "Bernoulli(logits={x}).log_prob(1.0)",
        "Binomial(4, logits={x}).log_prob(2.0)", "VonMises({x}, 1 + {y} * {y}).log_prob(0.3)",
        "LogNormal({x}, 1.5).log_prob(1 + {y} * {y})",
        "kl_divergence(ag.distributions.Normal({x}, 1.0), ag.distributions.Normal({y}, 2.0))",
        "Weibull(1 + {x} * {x}, 1.5).log_prob(1 + {y} * {y})"))
#: Of values with axes and elements.
LINES = (
    "ag.nn.functional.softmin({x}, {a})",
    # of two numbers: those of one are signs, whose slopes are what is left of large terms
    "ag.nn.functional.normalize(ag.stack([{x}, 1 + {x} * 0.5]), {q}, 0)",
    "ag.nn.functional.layer_norm({x}, ({m},))", "ag.nn.functional.rms_norm({x}, ({m},))",
    "ag.nn.functional.cosine_similarity(ag.stack([{x}, 1 + {x} * 0.5]), ag.stack([{y}, {x}]), 0)",
    "ag.nn.functional.pairwise_distance({x}, {y})",
    "ag.nn.functional.linear({x}, ag.cos(ag.arange(2 * {m}, dtype='{d}')).reshape(2, {m}))",
    "ag.fft.fft({x}, axis={a}).real", "ag.fft.rfft({x}, {n} + {q}, axis={a}).imag",
    "ag.abs(ag.fft.ifft({x}, {q}, axis={a}))", "ag.fft.irfft({x} + 1j * {y}, axis={a})",
    "ag.fft.hfft({x}, {n}, axis={a})", "ag.fft.fftshift({x}, {a})", "ag.fft.ifftshift({x})",
    "ag.real(ag.fft.fftn({x}) * ag.fft.ifftn({y}))",
    "ag.fft.irfftn(ag.fft.rfftn({x}), {x}.shape)",
    "ag.nn.functional.glu(ag.repeat({x}, 2, {a}), {a})",
    "ag.nn.functional.logsigmoid({x}).sum({a})", "ag.cumulative_trapezoid({x}, axis={a})",
    "ag.trapezoid({x}, axis={a})", "ag.gradient(ag.concat([{x}, {y}], {a}), axis={a})",
    "ag.diff({x}, axis={a})", "ag.kthvalue({x}, {n}, {a}).values", "ag.median({x}, {a})",
    "ag.msort({x})", "ag.logcumsumexp({x}, {a})", "ag.renorm({x}, 2, {a}, 1.5)",
    "ag.nanmean({x}, {a})", "ag.take_along_axis({x}, ag.argsort({y}, {a}, stable=True), {a})",
    "ag.amax({x}, {a})", "ag.scatter_add({x}, {a}, ag.argsort({y}, {a}, stable=True), {y})",
    "ag.aminmax({x})[1]", "ag.scatter({x}, {a}, ag.argsort({y}, {a}, stable=True), {y})",
    "ag.quantile({x}, 0.3, {a})",
    "ag.scatter_reduce({x}, {a}, ag.argsort({y}, {a}, stable=True) // 2, {y}, 'amax')",
    "ag.scatter_reduce({x}, {a}, ag.argsort({y}, {a}, stable=True) // 2, {y}, 'prod')",
    "ag.index_copy({x}, {a}, ag.arange({n}) , {y})", "ag.index_fill({x}, {a}, ag.arange(1), 2.0)",
    "ag.index_add({x}, {a}, ag.arange({n}) // 2, {y}, alpha=0.5)", "ag.nanmedian({x}, {a})",
    "ag.index_reduce({x}, {a}, ag.arange({n}) // 2, {y}, 'mean')", "ag.var_mean({x}, {a})[0]",
    "ag.masked_fill({x}, {y} > 0, -1.5)", "ag.masked_scatter({x}, {y} > 0, {y}.reshape(-1))",
    "(lambda t: (ag.put_along_axis(t, ag.argsort({y}, {a}, stable=True)[:1], 3, {a}), t)[1])("
    "{x} + 0)",
    "ag.unfold({x}, {a}, 1, 1)", "ag.vander({x}.reshape(-1)[:4], 3)",
    "ag.convolve({x}.reshape(-1), {y}.reshape(-1)[:3])",
    "ag.correlate({x}.reshape(-1), {y}.reshape(-1)[:3], 'full')",
    "ag.interp({x}, np.array([-1.0, 0.0, 2.0]), np.array([0.5, 2.0, 1.0]))",
    "ag.histc({x}, 4, -2.0, 2.0)", "ag.bucketize({x}, np.array([-1.0, 0.0, 2.0], '{d}'))",
    "ag.distributions.Categorical(logits={x}).log_prob(ag.zeros({x}.shape[:-1], dtype='int64'))",
    "ag.distributions.Categorical(logits={x}).entropy()",
    "ag.linalg.vector_norm({x}, ord={q}, axis={a})",
    "ag.distributions.Dirichlet(1 + {x} * {x}).log_prob(ag.softmax({y}, -1))",
)
#: Of images: a stack of channels of lines.
IMAGES = tuple(f"ag.nn.functional.{f}" for f in (
    "max_pool1d({v}, {q}, padding={q} // 2)", "avg_pool1d({v}, {q}, 1, {q} // 2)",
    "max_pool1d({v}, {q}, 1, {q} // 2, 1, True)", "lp_pool1d({v} + 3, 2, {q}, ceil_mode=True)",
    "avg_pool1d({v}, {q}, ceil_mode=True, count_include_pad=False)",
    "adaptive_avg_pool1d({v}, {q})", "adaptive_max_pool1d({v}, {q})",
    "conv1d({v}, {v}[:1, :, :{q}])", "conv1d({v}, {v}[:, :, :{q}], stride=2, padding=1)",
    "conv1d({v}, {v}[0, :, None, :{q}], padding='same', groups={c})",
    "conv_transpose1d({v}, {v}[:1, :1, :{q}].expand({c}, 2, -1), stride=2, padding=0)",
    "interpolate({v}, scale_factor=2, mode='nearest')",
    "interpolate({v}, {q} + 2, mode='linear')",
    "interpolate({v}, {q} + 1, mode='linear', align_corners=True)", "channel_shuffle({v}, {c})",
    "batch_norm({v}, None, None, training=True)", "instance_norm({v})", "group_norm({v}, {c})",
    "local_response_norm({v}, {q})", "pad({v}, ({q} - 1, 1), 'replicate')",
    "pad({v}, (1, {q}), 'circular')", "pad({v}, (-1, 1), value=2.0)",
    "max_pool2d({v}, {q}, 1, {q} // 2)", "avg_pool2d({v}, {q}, 1, {q} // 2, True, False)",
    "conv2d({v}[None], {v}[:1, None, :{q}, :{q}].expand({c2}, {c2}, -1, -1), padding=1)",
    "conv2d({v}[None], {v}[:, None, :1, :{q}], groups={c2}, dilation=2, padding=2)",
    "interpolate({v}[None], ({q}, 4), mode='bilinear')", "unfold({v}[None], {q}, padding=1)",
    "interpolate({v}[None], ({q} + 1, 3), mode='bicubic', align_corners=True)",
    "interpolate({v}[None], ({q}, 5), mode='area')", "adaptive_avg_pool2d({v}, ({q}, 2))",
    "fold(ag.nn.functional.unfold({v}[None], 2, padding=1), {v}.shape[1:], 2, padding=1)",
    "scaled_dot_product_attention({v}, {v} * 0.5, {v})",
    "scaled_dot_product_attention({v}, {v}, {v} + 1, is_causal=True)",
    "grid_sample({v}[None], ag.tanh(ag.stack([{v}, {v}], -1))[:1], align_corners=False)",
    "cross_entropy({v}, ag.zeros(({v}.shape[0], {v}.shape[2]), dtype=int), label_smoothing=0.1)",
    "kl_div(ag.log_softmax({v}, 1), ag.softmax({v} * 2, 1), reduction='batchmean')",
    "triplet_margin_loss({v}, {v} * 0.5, {v} + 1)",
    "pixel_shuffle(ag.repeat({v}[None], 4, 1), 2)",
))
#: Of square matrices; ``g`` is well conditioned, ``s`` symmetric with distinct eigenvalues.
SQUARE = tuple(f"ag.linalg.{f}" for f in (
    "eigvalsh({s})", "svdvals({s})", "slogdet({g})[1]", "expm({x} * 0.1)", "matrix_power({g}, 3)",
    "pinv({g})", "matrix_norm({g}, ord='nuc')", "matrix_norm({x})", "cond({g}, 'fro')",
    "inv({g}) @ {x}", "solve({g}, {y})", "solve_triangular({g}, {x}, upper=True)", "logm({g})",
    "sqrtm({g})", "cholesky({g} @ {g}.mT)", "lu_factor({g})[0]", "qr({g})[0] @ {x}", "qr({g})[1]",
    "det({g})", "eigh({s})[0] * {x}", "lstsq({g}, {x})[0]", "multi_dot([{x}, {y}, {x}])",
    "expm({s} * 0.1)", "matrix_norm({g}, ord=2)", "svd({s})[1]", "polar({g})[0]",
    "kron({x}, {y}[..., :1, :])"))


@cache
def _cases() -> dict[str, Case]:
    return {name: case for name, case in cases().items()
            if not any(word in name for word in NOT_DRAWN) and not _is_part(name.split()[0])}


def _is_part(name: str) -> bool:
    """Return whether a row is SciPy's part of a function whose code keeps operands from it that
    end the process."""
    row = TABLE.get(name)
    return row is not None and "scipy" in row.loop and (
        row.home.endswith("mathieu") or not hasattr(ag.special, name))


@cache
def _rows() -> list[str]:
    """Names of functions that work element by element on real floats."""
    return [n for n in _cases() if n in TABLE and TABLE[n].kinds.count("f") and n != "where"]


def given(p: Pool, first: int) -> tuple[tuple[Input, ...], Line] | None:
    """Operands of some sample as inputs with numbers from one on, and its call of them."""
    known = [n for n, c in _cases().items() if c.grads or not p.smooth]
    name = p.one(known)
    operands = p.one(_cases()[name].samples)
    arrays = [np.asarray(a) for a in operands]
    if sum(a.size for a in arrays) > NUMBERS:
        return None
    if p.chance(0.3):
        arrays = [a.astype("float32") if a.dtype == "float64" else a for a in arrays]
    names = [f"x{first + i}" for i in range(len(arrays))]
    inputs = tuple(Input(n, a) for n, a in zip(names, arrays, strict=True))
    return inputs, Line(f"sample({name!r})({', '.join(names)})", False)


def element(p: Pool, x: Value) -> Line | None:
    """Any function of single numbers; smooth programs stay where it is defined."""
    if x.dtype.name not in ("float32", "float64"):
        return None
    name = p.one(_rows())
    ends = bounds(TABLE[name])[-len(_cases()[name].samples[0]):]
    texts = [x.name] + [p.fitting(x)[0] for _ in ends[1:]]
    if p.smooth:
        if not _cases()[name].grads:
            return None
        texts = [f"({low!r} + {high - low!r} * ag.sigmoid({t}))" if low < high else repr(low)
                 for t, (low, high) in zip(texts, ends, strict=True)]
    return Line(f"sample({name!r})({', '.join(texts)})", False)


def _filled(p: Pool, forms: tuple[str, ...], x: Value, **more: Any) -> Line | None:
    axis = p.axis(x) if x.ndim else 0
    return Line(p.one(forms).format(
        x=x, y=p.alike(x), a=axis, n=x.shape[axis] if x.ndim else 1, q=1 + p.below(3),
        m=x.shape[-1] if x.ndim else 1, d=x.dtype.name, **more), False)


def _fits(x: Value, least: int) -> bool:
    return x.dtype.name in ("float32", "float64") and x.ndim >= least and 0 < x.size <= 400


def everywhere(p: Pool, x: Value) -> Line | None:
    return _filled(p, EVERYWHERE, x) if _fits(x, 0) else None


def lines(p: Pool, x: Value) -> Line | None:
    return _filled(p, LINES, x) if _fits(x, 1) else None


def images(p: Pool, x: Value) -> Line | None:
    if not _fits(x, 2) or x.ndim > 4:
        return None
    view = {2: f"{x}[None]", 3: x.name, 4: f"{x}[0]"}[x.ndim]
    shape = (1, *x.shape)[-3:]
    return _filled(p, IMAGES, x, v=view, c=shape[1], c2=shape[0])


def square(p: Pool, x: Value) -> Line | None:
    if not _fits(x, 2) or x.shape[-1] != x.shape[-2] or x.shape[-1] > 8:
        return None
    n = x.shape[-1]
    good = f"(ag.eye({n}, dtype='{x.dtype.name}') * {n + 2} + ag.tanh({x}))"
    symmetric = (f"(ag.diag(ag.arange({n}, dtype='{x.dtype.name}')) * 3 + "
                 f"0.1 * ag.tanh({x} + {x}.mT))")
    return _filled(p, SQUARE, x, g=good, s=symmetric)


MAKERS = (element, element, everywhere, everywhere, lines, lines, lines, images, images, square)
