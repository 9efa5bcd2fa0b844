"""Array programs as people write them, on shapes that nothing was tuned for, in one spelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A function of arrays: `build` takes a library's `Words` and gives it.

    With `wrt`, the value and the gradient by these arguments are what is computed.
    """

    name: str
    build: Callable[[Words], Callable[..., Any]]
    arrays: tuple[np.ndarray, ...]
    wrt: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Words:
    """What the programs ask of a library beyond NumPy's functions, which are in `xp`."""

    xp: Any
    softmax: Callable[..., Any]
    log_softmax: Callable[..., Any]
    logsumexp: Callable[..., Any]
    sigmoid: Callable[..., Any]
    relu: Callable[..., Any]
    erf: Callable[..., Any]
    gammaln: Callable[..., Any]
    segment_sum: Callable[..., Any]  # (values, segment ids, number of segments)


def programs() -> list[Program]:
    """All programs, with their arrays."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return [
        *losses(normal), *tables(normal), *kernels(normal), *grids(normal),
        *networks(normal), *indices(normal, rng), *matrices(normal),
    ]


Normal = Callable[..., np.ndarray]


def losses(normal: Normal) -> list[Program]:
    """Log densities and losses of a million numbers."""
    v, w = normal(1_000_000), normal(1_000_000)
    both = (v, w)
    return [
        Program("normal log density", lambda x: lambda v, w: (
            -0.5 * ((v - w) / (1 + w * w)) ** 2 - x.xp.log(1 + w * w)).sum(), both, (0, 1)),
        Program("Student's t log density", lambda x: lambda v, w: (
            -2.5 * x.xp.log1p(v * v / 4) - x.xp.log1p(w * w)).mean(), both, (0, 1)),
        Program("Huber loss", lambda x: lambda v, w: x.xp.where(
            abs(v - w) < 1, 0.5 * (v - w) ** 2, abs(v - w) - 0.5).mean(), both, (0, 1)),
        Program("binary cross entropy of logits", lambda x: lambda v, w: (
            x.xp.maximum(v, 0) - v * x.sigmoid(w) + x.xp.log1p(x.xp.exp(-abs(v)))).mean(),
            both, (0,)),
        Program("gammaln", lambda x: lambda v: x.gammaln(v * v + 1).sum(), (v,), (0,)),
        Program("erf", lambda x: lambda v, w: (x.erf(v) * w).sum(), both, (0, 1)),
        Program("sin, cos", lambda x: lambda v, w: (x.xp.sin(v) * x.xp.cos(w)).sum(),
                both, (0, 1)),
        Program("variance", lambda x: lambda v: v.var(), (v,)),
        Program("mean, deviation, extremes", lambda x: lambda v: (
            v.mean(), v.std(), v.max(), v.min()), (v,)),
        Program("Kullback and Leibler of Gaussians", lambda x: lambda m, s: (
            -0.5 * (1 + s - m**2 - x.xp.exp(s)).sum(1)).mean(),
            (normal(512, 64), normal(512, 64)), (0, 1)),
        Program("Gaussian mixture", lambda x: lambda d, m, s, w: x.logsumexp(
            x.log_softmax(w, axis=0) - 0.5 * ((d[:, None] - m) / x.xp.exp(s)) ** 2 - s,
            axis=1).sum(), (normal(5000), normal(10), normal(10), normal(10)), (1, 2, 3)),
        Program("polynomial", lambda x: lambda v: (
            (((v * 0.1 + 0.2) * v + 0.3) * v + 0.4) * v + 0.5) * v + 0.6, (v,)),
        Program("Mandelbrot, 20 steps", _mandelbrot, (normal(100_000), normal(100_000))),
        Program("concatenate", lambda x: lambda v, w: x.xp.concatenate([v, w]), both),
    ]


def _mandelbrot(x: Words) -> Callable[..., Any]:
    def steps(a: Any, b: Any) -> Any:
        u, v, inside = a, b, 0 * a
        for _ in range(20):
            u, v = u * u - v * v + a, 2 * u * v + b
            inside = inside + (u * u + v * v < 4)
        return inside

    return steps


def tables(normal: Normal) -> list[Program]:
    """Rows and columns of a table, 1000 by 300."""
    table = normal(1000, 300)
    one, image = (table,), normal(16, 32, 28, 28)
    axes = (0, 2, 3)

    def whitened(x: Words, a: Any) -> Any:
        spread = x.xp.sqrt(a.var(axes, keepdims=True) + 1e-5)
        return (a - a.mean(axes, keepdims=True)) / spread

    return [
        Program("columns standardized", lambda x: lambda m: (m - m.mean(0)) / m.std(0), one),
        Program("rows standardized", lambda x: lambda m: (
            m - m.mean(1, keepdims=True)) / m.std(1, keepdims=True), one),
        Program("columns standardized, gradient", lambda x: lambda m: (
            ((m - m.mean(0)) / (m.std(0) + 1e-3)) ** 3).sum(), one, (0,)),
        Program("softmax of rows", lambda x: lambda m: (
            x.softmax(m, axis=1) ** 2).sum(), one, (0,)),
        Program("softmax of columns", lambda x: lambda m: x.softmax(m, axis=0), one),
        Program("softmax of columns, gradient", lambda x: lambda m: (
            x.softmax(m, axis=0) ** 2).sum(), one, (0,)),
        Program("logsumexp of rows", lambda x: lambda m: x.logsumexp(m, axis=1).sum(), one, (0,)),
        Program("logsumexp of columns", lambda x: lambda m: x.logsumexp(m, axis=0).sum(),
                one, (0,)),
        Program("layer norm", lambda x: lambda m, g, b: (
            ((m - m.mean(1)[:, None]) / x.xp.sqrt(m.var(1)[:, None] + 1e-5) * g + b) ** 2).sum(),
            (table, normal(300), normal(300)), (0, 1, 2)),
        Program("running sums of a million", lambda x: lambda v: x.xp.cumsum(v),
                (normal(1_000_000),)),
        Program("running sums of rows", lambda x: lambda m: (
            x.xp.cumsum(m, axis=1) ** 2).sum(), one, (0,)),
        Program("running sums of columns", lambda x: lambda m: x.xp.cumsum(m, axis=0), one),
        Program("medians of rows", lambda x: lambda m: x.xp.median(m, axis=1), one),
        Program("rows sorted", lambda x: lambda m: x.xp.sort(m, axis=1), one),
        Program("rows argsorted", lambda x: lambda m: x.xp.argsort(m, axis=1), one),
        Program("argmax of rows", lambda x: lambda m: m.argmax(1), one),
        Program("argmax of columns", lambda x: lambda m: m.argmax(0), one),
        Program("cosine similarity", lambda x: lambda a, b: (a * b).sum(1) / (
            x.xp.sqrt((a * a).sum(1)) * x.xp.sqrt((b * b).sum(1))), (table, normal(1000, 300))),
        Program("channels standardized", lambda x: lambda a: whitened(x, a), (image,)),
        Program("channels standardized, gradient", lambda x: lambda a: (
            x.relu(whitened(x, a)) ** 2).sum(), (image,), (0,)),
        Program("2x2 maxima", lambda x: lambda a: a.reshape(
            16, 32, 14, 2, 14, 2).max((3, 5)), (image,)),
        Program("2x2 maxima, gradient", lambda x: lambda a: (a.reshape(
            16, 32, 14, 2, 14, 2).max((3, 5)) ** 2).sum(), (image,), (0,)),
    ]


def kernels(normal: Normal) -> list[Program]:
    """Distances, kernels and what is done with square matrices."""
    points, square = (normal(300, 8),), (normal(256, 256),)
    table, samples = (normal(1000, 300),), (normal(500, 20),)

    def gram(x: Words, a: Any) -> Any:
        squares = (a * a).sum(1)
        return x.xp.exp(-0.5 * (squares[:, None] + squares - 2 * a @ a.T))

    def sinkhorn(x: Words, s: Any) -> Any:
        for _ in range(10):
            s = s - x.logsumexp(s, axis=1)[:, None]
            s = s - x.logsumexp(s, axis=0)[None, :]
        return x.xp.exp(s)

    return [
        Program("correlations", lambda x: lambda m: (
            (m - m.mean(0)).T @ (m - m.mean(0))) / (m.std(0)[:, None] * m.std(0)), table),
        Program("pairwise distances", lambda x: lambda m: (
            (m[:, None, :] - m[None, :, :]) ** 2).sum(-1), points),
        Program("pairwise distances, gradient", lambda x: lambda m: x.xp.exp(
            -((m[:, None, :] - m[None, :, :]) ** 2).sum(-1)).sum(), points, (0,)),
        Program("Gram matrix", lambda x: lambda a: gram(x, a), samples),
        Program("Gram matrix, gradient", lambda x: lambda a: gram(x, a).sum(), samples, (0,)),
        Program("double centring", lambda x: lambda s: (
            s - s.mean(0) - s.mean(1)[:, None] + s.mean()), square),
        Program("Sinkhorn, 10 steps", lambda x: lambda s: sinkhorn(x, s), square),
        Program("Sinkhorn, gradient", lambda x: lambda s: (sinkhorn(x, s) ** 2).sum(),
                square, (0,)),
        Program("outer sum", lambda x: lambda a, b: a[:, None] + b[None, :],
                (normal(1000), normal(1000))),
        Program("tanh of an outer product", lambda x: lambda a, b: x.xp.tanh(
            a[:, None] * b[None, :]).sum(), (normal(1000), normal(1000)), (0, 1)),
    ]


def grids(normal: Normal) -> list[Program]:
    """Neighbours on a line and on a grid, 1000 by 1000."""
    grid = (normal(1000, 1000),)

    def stencil(s: Any) -> Any:
        centre = s[1:-1, 1:-1]
        around = s[2:, 1:-1] + s[:-2, 1:-1] + s[1:-1, 2:] + s[1:-1, :-2]
        return centre + 0.1 * (around - 4 * centre)

    def filtered(x: Words, s: Any) -> Any:
        padded = x.xp.pad(s, ((2, 2), (0, 0)))
        return sum(padded[i : i + 1000] * c for i, c in enumerate((1.0, 4.0, 6.0, 4.0, 1.0)))

    return [
        Program("differences", lambda x: lambda v: (v[1:] - v[:-1]) ** 2, (normal(1_000_000),)),
        Program("total variation", lambda x: lambda s: x.xp.sqrt(
            (s[1:, :-1] - s[:-1, :-1]) ** 2 + (s[:-1, 1:] - s[:-1, :-1]) ** 2 + 1e-3).sum(),
            (normal(700, 700),), (0,)),
        Program("heat equation, a step", lambda x: stencil, grid),
        Program("heat equation, 4 steps", lambda x: lambda s: stencil(
            stencil(stencil(stencil(s)))), grid),
        Program("transposed copy", lambda x: lambda s: s.T * 2, grid),
        Program("added to its transpose", lambda x: lambda s: s + s.T, grid),
        Program("rolled", lambda x: lambda s: x.xp.roll(s, 3, axis=1) - s, grid),
        Program("padded and filtered", lambda x: lambda s: filtered(x, s), grid),
    ]


def networks(normal: Normal) -> list[Program]:
    """Regressions, attention and small networks."""
    heads, table = normal(64, 128, 64), normal(1000, 300)
    labels = np.sign(normal(1000))

    def attention(x: Words, q: Any, k: Any, v: Any) -> Any:
        return x.softmax(q @ k.swapaxes(1, 2) / 8, axis=-1) @ v

    def unit(x: Words, a: Any) -> Any:
        return a / x.xp.sqrt((a * a).sum(1))[:, None]

    return [
        Program("attention", lambda x: lambda q, k, v: attention(x, q, k, v), (heads,) * 3),
        Program("attention, gradient", lambda x: lambda q, k, v: (
            attention(x, q, k, v) ** 2).sum(), (heads,) * 3, (0, 1, 2)),
        Program("two layers", lambda x: lambda a, w, b, u: (
            (x.xp.tanh(a @ w + b) @ u) ** 2).mean(),
            (normal(256, 64), normal(64, 128), normal(128), normal(128, 10)), (1, 2, 3)),
        Program("logistic regression", lambda x: lambda m, w, y: x.xp.log1p(
            x.xp.exp(-y * (m @ w))).mean(), (table, normal(300), labels), (1,)),
        Program("Poisson regression", lambda x: lambda m, w, y: (
            x.xp.exp(m @ w) - y * (m @ w)).mean(),
            (0.01 * table, normal(300), abs(normal(1000))), (1,)),
        Program("contrastive loss", lambda x: lambda a, b: x.xp.trace(x.log_softmax(
            unit(x, a) @ unit(x, b).T * 10, axis=1)), (normal(256, 64), normal(256, 64)), (0, 1)),
    ]


def indices(normal: Normal, rng: np.random.Generator) -> list[Program]:
    """Gathers, one-hot codes and sums by group."""
    table, rows = normal(1000, 300), rng.integers(0, 1000, 5000)
    classes, groups = rng.integers(0, 100, 20_000), rng.integers(0, 1000, 100_000)
    return [
        Program("rows gathered", lambda x: lambda m, i: m[i], (table, rows)),
        Program("rows gathered, gradient", lambda x: lambda m, i: (m[i] ** 2).sum(),
                (table, rows), (0,)),
        Program("one-hot codes", lambda x: lambda i: (
            i[:, None] == x.xp.arange(100)) * np.float32(1), (classes,)),
        Program("sums by group", lambda x: lambda v, i: x.segment_sum(v, i, 1000),
                (normal(100_000), groups)),
    ]


def matrices(normal: Normal) -> list[Program]:
    """Products, factorizations and transforms."""
    square, batch = normal(200, 200), normal(1000, 8, 8)

    def definite(x: Words, s: Any) -> Any:
        n = s.shape[-1]
        return s @ s.swapaxes(-1, -2) + n * x.xp.eye(n, dtype=s.dtype)

    return [
        Program("matrix times vector", lambda x: lambda s, v: s @ v,
                (normal(1000, 1000), normal(1000))),
        Program("vector times matrix", lambda x: lambda s, v: v @ s,
                (normal(1000, 1000), normal(1000))),
        Program("X'X", lambda x: lambda m: m.T @ m, (normal(1000, 300),)),
        Program("quadratic forms", lambda x: lambda v, s: ((v @ s) * v).sum(1),
                (normal(2000, 50), normal(50, 50))),
        Program("batched product by einsum", lambda x: lambda a, b: x.xp.einsum(
            "bij,bkj->bik", a, b), (normal(64, 128, 64), normal(64, 128, 64))),
        Program("Cholesky factor", lambda x: lambda s: x.xp.linalg.cholesky(
            definite(x, s)), (square,)),
        Program("system of 200", lambda x: lambda s, b: x.xp.linalg.solve(definite(x, s), b),
                (square, normal(200))),
        Program("log determinant of 100", lambda x: lambda s: x.xp.linalg.slogdet(
            definite(x, s))[1], (normal(100, 100),), (0,)),
        Program("1000 inverses, 8x8", lambda x: lambda s: x.xp.linalg.inv(
            definite(x, s)), (batch,)),
        Program("trace of a product", lambda x: lambda s: x.xp.trace(s @ s.T @ s),
                (square,), (0,)),
        Program("Fourier transform of 2**16", lambda x: lambda v: abs(x.xp.fft.fft(v)),
                (normal(65536),)),
        Program("spectra of rows", lambda x: lambda m: abs(x.xp.fft.rfft(m, axis=1)),
                (normal(500, 256),)),
    ]
