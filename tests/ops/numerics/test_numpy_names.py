"""NumPy's smaller functions beside NumPy: eager, compiled, with gradients where there are any."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.api.lazy_names import NAMES
from agnesi.core.support import tree
from agnesi.ops.contractions.paths import cost, greedy_path, optimal_path, path_cost

R = np.random.default_rng(5)
A = R.uniform(-2, 2, (3, 4))
B = R.uniform(-2, 2, (3, 4))
V = R.uniform(0.2, 2, 5)
W = np.array([3.0, np.nan, -1.0, 2.0, np.nan, 7.5])
N = np.where(R.uniform(size=(3, 4)) < 0.3, np.nan, A)
I = R.integers(-9, 9, (3, 4))  # noqa: E741 - integers
U = R.integers(0, 6, 20)
C = A + 1j * B
M = A > 0
EDGES = np.array([-2.0, -0.5, 0.1, 0.7, 2.0])
STRANGE = np.array([0.0, -0.0, 1.0, -1.5, 3.0, 8.0, np.inf, -np.inf, np.nan, 5e-324, 1e300])
SAMPLES = np.sort(V) + np.arange(5)

Call = Callable[..., Any]
#: Functions of NumPy's or our namespace and operands.  Names in brackets tell cases apart.
CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "deg2rad": (lambda xp, x: xp.deg2rad(x), (A,)),
    "rad2deg": (lambda xp, x: xp.rad2deg(x), (A,)),
    "degrees": (lambda xp, x: xp.degrees(xp.radians(x)), (A,)),
    "sinc": (lambda xp, x: xp.sinc(x), (A,)),
    "sinc (near 0)": (lambda xp, x: xp.sinc(x * 1e-5), (A,)),
    "logaddexp2": (lambda xp, x, y: xp.logaddexp2(x, y), (A, B)),
    "float_power": (lambda xp, x, y: xp.float_power(abs(x) + 0.1, y), (A, B)),
    "ldexp": (lambda xp, x, i: xp.ldexp(x, i), (A, I)),
    "ldexp (far)": (lambda xp, x: xp.ldexp(x, np.array([-1070, 1020, 2000, -2000])),
                    (np.array([3.0, 1.25, 1e-300, 1e300]),)),
    "frexp": (lambda xp, x: xp.frexp(x), (STRANGE,)),
    "spacing": (lambda xp, x: xp.spacing(x), (STRANGE[:-1],)),
    "modf": (lambda xp, x: xp.modf(x), (STRANGE,)),
    "divmod": (lambda xp, x, y: xp.divmod(x, y), (I, np.array(4))),
    "fix": (lambda xp, x: xp.fix(x), (STRANGE,)),
    "heaviside": (lambda xp, x: xp.heaviside(x, 0.5), (STRANGE,)),
    "gcd": (lambda xp, x, y: xp.gcd(x, y), (I, I.T.reshape(3, 4))),
    "lcm": (lambda xp, x, y: xp.lcm(x, y), (I, I.T.reshape(3, 4))),
    "bitwise_count": (lambda xp, x: xp.bitwise_count(x), (I * 123456789123,)),
    "bitwise_count (bytes)": (lambda xp, x: xp.bitwise_count(x), (I.astype(np.int8) * 14,)),
    "isposinf": (lambda xp, x: xp.isposinf(x), (STRANGE,)),
    "isneginf": (lambda xp, x: xp.isneginf(x), (STRANGE,)),
    "isreal": (lambda xp, x: xp.isreal(x), (C * M,)),
    "iscomplex": (lambda xp, x: xp.iscomplex(x), (C * M,)),
    "nansum": (lambda xp, x: xp.nansum(x, axis=0), (N,)),
    "nanprod": (lambda xp, x: xp.nanprod(x, axis=1, keepdims=True), (N,)),
    "nancumsum": (lambda xp, x: xp.nancumsum(x, axis=1), (N,)),
    "nancumprod": (lambda xp, x: xp.nancumprod(x), (N,)),
    "nanmax": (lambda xp, x: xp.nanmax(x), (N,)),
    "nanmin": (lambda xp, x: xp.nanmin(x, axis=1), (N,)),
    "nanargmax": (lambda xp, x: xp.nanargmax(x), (W,)),
    "nanargmin": (lambda xp, x: xp.nanargmin(x, axis=0), (W,)),
    "nanmean": (lambda xp, x: xp.nanmean(x, axis=0), (N,)),
    "nanvar": (lambda xp, x: xp.nanvar(x, axis=1, ddof=1), (N,)),
    "nanvar (complex)": (lambda xp, x: xp.nanvar(x, axis=1), (N + 1j,)),
    "nanstd": (lambda xp, x: xp.nanstd(x, keepdims=True), (N,)),
    "nanmedian": (lambda xp, x: xp.nanmedian(x, axis=1), (N,)),
    "nanquantile": (lambda xp, x: xp.nanquantile(x, [0.1, 0.6], axis=0), (N,)),
    "nanpercentile": (lambda xp, x: xp.nanpercentile(x, 30, axis=(0, 1), keepdims=True), (N,)),
    "percentile": (lambda xp, x: xp.percentile(x, [[10, 50], [70, 100]], axis=1), (A,)),
    "quantile (axes)": (lambda xp, x: xp.quantile(x, [0.2, 0.9], axis=(0, 1)), (A,)),
    "median (nan)": (lambda xp, x: xp.median(x, axis=1), (N,)),
    "flatnonzero": (lambda xp, x: xp.flatnonzero(x), (M,)),
    "argwhere": (lambda xp, x: xp.argwhere(x), (M,)),
    "bincount": (lambda xp, x: xp.bincount(x, minlength=9), (U,)),
    "bincount (weights)": (lambda xp, x, w: xp.bincount(x, w), (U, R.uniform(size=20))),
    "digitize": (lambda xp, x, b: xp.digitize(x, b), (A, EDGES)),
    "digitize (falling)": (lambda xp, x, b: xp.digitize(x, b, right=True), (A, EDGES[::-1])),
    "histogram": (lambda xp, x: xp.histogram(x, 5), (A,)),
    "histogram (edges)": (lambda xp, x, b: xp.histogram(x, b, density=True), (A, EDGES)),
    "histogram (range)": (
        lambda xp, x, w: xp.histogram(x, 4, range=(-1, 1.5), weights=w), (A, B)
    ),
    "histogram_bin_edges": (lambda xp, x: xp.histogram_bin_edges(x, "auto"), (A,)),
    "histogram2d": (lambda xp, x, y: xp.histogram2d(x, y, [3, 4]), (A[0], B[0])),
    "histogramdd": (lambda xp, x: xp.histogramdd(x, 3, density=True)[0], (A,)),
    "average": (lambda xp, x, w: xp.average(x, axis=1, weights=w), (A, abs(B))),
    "average (axis)": (lambda xp, x, w: xp.average(x, axis=1, weights=w, returned=True),
                       (A, abs(B[0]))),
    "ptp": (lambda xp, x: xp.ptp(x, axis=0), (A,)),
    "cov": (lambda xp, x: xp.cov(x), (A,)),
    "cov (columns)": (lambda xp, x, y: xp.cov(x, y, rowvar=False, bias=True), (A, B)),
    "cov (weights)": (lambda xp, x, w: xp.cov(x, fweights=np.array([1, 2, 3, 1]), aweights=w),
                      (A, abs(B[0]))),
    "cov (complex)": (lambda xp, x: xp.cov(x), (C,)),
    "corrcoef": (lambda xp, x: xp.corrcoef(x), (A,)),
    "tri": (lambda xp: xp.tri(3, 4, 1), ()),
    "tril_indices": (lambda xp: xp.tril_indices(3, k=1, m=4), ()),
    "triu_indices": (lambda xp: xp.triu_indices(4, -1), ()),
    "tril_indices_from": (lambda xp, x: xp.tril_indices_from(x), (A,)),
    "triu_indices_from": (lambda xp, x: xp.triu_indices_from(x, 1), (A,)),
    "diag_indices": (lambda xp: xp.diag_indices(3, 3), ()),
    "diag_indices_from": (lambda xp, x: xp.diag_indices_from(x), (A[:, :3],)),
    "mask_indices": (lambda xp: xp.mask_indices(4, xp.tril, -1), ()),
    "diagflat": (lambda xp, x: xp.diagflat(x, -1), (A,)),
    "vander": (lambda xp, x: xp.vander(x, 4), (V,)),
    "vander (rising)": (lambda xp, x: xp.vander(x, increasing=True), (I[0],)),
    "mgrid": (lambda xp: xp.mgrid[0:3, 1:7:2], ()),
    "mgrid (counted)": (lambda xp: xp.mgrid[0:1:5j, -1:1:3j], ()),
    "ogrid": (lambda xp: xp.ogrid[0:3, 1:7:2], ()),
    "indices": (lambda xp: xp.indices((2, 3)), ()),
    "indices (sparse)": (lambda xp: xp.indices((2, 3), sparse=True), ()),
    "ix_": (lambda xp, x: x[xp.ix_([0, 2], [1, 3, 3])], (A,)),
    "unravel_index": (lambda xp, x: xp.unravel_index(x, (2, 3)), (U,)),
    "unravel_index (F)": (lambda xp, x: xp.unravel_index(x, (2, 3), order="F"), (U,)),
    "ravel_multi_index": (
        lambda xp, x, y: xp.ravel_multi_index((x, y), (6, 6), order="F"), (U, U[::-1])
    ),
    "ravel_multi_index (modes)": (
        lambda xp, x, y: xp.ravel_multi_index((x, y), (3, 4), mode=("wrap", "clip")), (U, U[::-1])
    ),
    "identity": (lambda xp: xp.identity(3), ()),
    "geomspace": (lambda xp: xp.geomspace(1, 1000, 7), ()),
    "fromfunction": (lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3)), ()),
    "reshape (F)": (lambda xp, x: [xp.reshape(x, (2, -1), order="F"), x.reshape(-1, 2, order="F"),
                                   x.reshape((6, 2), order="C")], (A,)),
    "ravel (F)": (lambda xp, x: [xp.ravel(x, order="F"), x.ravel("F"), x[None].ravel(order="F")],
                  (A,)),
    "take (wrap)": (lambda xp, x: xp.take(x, [7, -9, 1], axis=1, mode="wrap"), (A,)),
    "take (clip)": (lambda xp, x: xp.take(x, [[70, -9], [1, 2]], mode="clip"), (A,)),
    "select (default)": (lambda xp, x: xp.select([x > 1, x > 0], [x, x * 2], default=-1.0), (A,)),
    "einsum (lists)": (lambda xp, x, y: xp.einsum(x, [0, 1], y, [2, 1], [0, 2]), (A, B)),
    "einsum (lists, dots)": (lambda xp, x: xp.einsum(x, [..., 3], x, [..., 3]), (A,)),
    "array (of elements)": (lambda xp, x: xp.array([[x[0, 0], 2.0], x[1, :2]]), (A,)),
    "tensordot (2)": (lambda xp, x, y: xp.tensordot(x, y, ([0, 1], [0, 1])), (A, B)),
    "angle (degrees)": (lambda xp, x, y: xp.angle(x + 1j * y, True), (A, B)),
    "array_equal (NaN)": (lambda xp, x: [xp.array_equal(x * xp.nan, x * xp.nan, equal_nan=e)
                                         for e in (False, True)], (A,)),
    "rot90": (lambda xp, x: [xp.rot90(x, k) for k in range(-1, 4)], (A,)),
    "fliplr": (lambda xp, x: xp.fliplr(xp.flipud(x)), (A,)),
    "rollaxis": (lambda xp, x: xp.rollaxis(x[None], 2), (A,)),
    "array_split": (lambda xp, x: xp.array_split(x, 3, axis=1), (A,)),
    "hsplit": (lambda xp, x: xp.hsplit(x, [1, 3]), (A,)),
    "vsplit": (lambda xp, x: xp.vsplit(x, 3), (A,)),
    "dsplit": (lambda xp, x: xp.dsplit(x[None], 2), (A,)),
    "column_stack": (lambda xp, x, y: xp.column_stack([x, y]), (A, A[:, 0])),
    "block": (lambda xp, x, y: xp.block([[x, y], [y, x]]), (A, B)),
    "block (deep)": (lambda xp, x: xp.block([[x, x], [xp.ones((1, 8))]]), (A,)),
    "append": (lambda xp, x, y: xp.append(x, y, axis=0), (A, B[:1])),
    "append (flat)": (lambda xp, x: xp.append(x, 2.5), (A,)),
    "delete": (lambda xp, x: xp.delete(x, [0, -1], axis=1), (A,)),
    "delete (slice)": (lambda xp, x: xp.delete(x, slice(1, 9, 3)), (A,)),
    "insert": (lambda xp, x: xp.insert(x, 1, 9.0, axis=1), (A,)),
    "insert (rows)": (lambda xp, x, y: xp.insert(x, [0, 3, 1], y, axis=0), (A, B)),
    "insert (one place)": (lambda xp, x: xp.insert(x, 2, [7.0, 8.0, 9.0], axis=1), (A,)),
    "insert (several at one)": (lambda xp, x: xp.insert(x, [1], [[7.0], [8.0], [9.0]], axis=1),
                                (A,)),
    "insert (flat)": (lambda xp, x: xp.insert(x, [2, 2, 12], [1.0, 2.0, 3.0]), (A,)),
    "resize": (lambda xp, x: xp.resize(x, (5, 3)), (A,)),
    "trim_zeros": (lambda xp, x: xp.trim_zeros(x), (np.array([0, 0, 1, 0, 2, 0]),)),
    "sliding_window_view": (lambda xp, x: getattr(xp, "lib", xp).stride_tricks.sliding_window_view(
        x, (2, 3)) if xp is np else xp.sliding_window_view(x, (2, 3)), (A,)),
    "ediff1d": (lambda xp, x: xp.ediff1d(x, to_begin=[1.0, 2.0], to_end=3.0), (A,)),
    "sort_complex": (lambda xp, x: xp.sort_complex(x), (C[0],)),
    "choose": (lambda xp, i, x, y: xp.choose(i, [x, y, 0.5]), (U[:4] % 3, A, B)),
    "choose (wrap)": (lambda xp, i, x: xp.choose(i, [x, x + 1], mode="wrap"), (I, A)),
    "compress": (lambda xp, x: xp.compress([True, False, True], x, axis=1), (A,)),
    "extract": (lambda xp, m, x: xp.extract(m, x), (M, A)),
    "piecewise": (lambda xp, x: xp.piecewise(x, [x < -1, x > 1], [lambda v: v * v, 3.0,
                                                                  lambda v: -v]), (A,)),
    "piecewise (of rows)": (lambda xp, x: xp.piecewise(x, [x[:, 0] > 0], [2.0, lambda v: v.sum()]),
                            (A,)),
    "piecewise (a row for each)": (lambda xp, x, m: xp.piecewise(x, m, [1.0, lambda v: v * v, 3.0]),
                                   (V[:2], np.array([[True, False], [False, False]]))),
    "select": (lambda xp, x, y: xp.select([x > 1, x < 0], [x, y], -1.0), (A, B)),
    "trapezoid": (lambda xp, y: xp.trapezoid(y, dx=0.5, axis=0), (A,)),
    "trapezoid (places)": (lambda xp, y, x: xp.trapezoid(y, x), (A, A[0])),
    "gradient": (lambda xp, f: xp.gradient(f), (A,)),
    "gradient (axis)": (lambda xp, f: xp.gradient(f, 0.5, axis=1, edge_order=2), (A,)),
    "gradient (uneven)": (lambda xp, f, x: xp.gradient(f, x, edge_order=2), (V, SAMPLES)),
    "interp": (lambda xp, x, xs, ys: xp.interp(x, xs, ys), (A * 4, SAMPLES, V)),
    "interp (outside)": (lambda xp, x, xs, ys: xp.interp(x, xs, ys, left=-1, right=9),
                         (A * 4, SAMPLES, V)),
    "interp (period)": (lambda xp, x, xs, ys: xp.interp(x, xs, ys, period=6), (A * 4, SAMPLES, V)),
    "unwrap": (lambda xp, x: xp.unwrap(x), (A * 5,)),
    "unwrap (integers)": (lambda xp, x: xp.unwrap(x, period=4), (I,)),
    "polyval": (lambda xp, p, x: xp.polyval(p, x), (V, A)),
    "polyadd": (lambda xp, p, q: xp.polyadd(p, q), (V, A[0])),
    "polysub": (lambda xp, p, q: xp.polysub(p, q), (A[0], V)),
    "polymul": (lambda xp, p, q: xp.polymul(p, q), (V, A[0])),
    "polydiv": (lambda xp, p, q: xp.polydiv(p, q), (V, A[0, :3])),
    "polyder": (lambda xp, p: xp.polyder(p, 2), (V,)),
    "polyint": (lambda xp, p: xp.polyint(p, 2, [1.0, 2.0]), (V,)),
    "poly": (lambda xp, x: xp.poly(x), (V,)),
    "polyfit": (lambda xp, x, y: xp.polyfit(x, y, 2), (SAMPLES, V)),
    "polyfit (weights)": (lambda xp, x, y: xp.polyfit(x, y, 3, w=V),
                          (SAMPLES, np.stack([V, V], 1))),
    "roots": (lambda xp, p: xp.roots(p), (V,)),
    "kron": (lambda xp, x, y: xp.kron(x, y), (A, B[0])),
    "i0": (lambda xp, x: xp.i0(x), (A,)),
    "lexsort": (lambda xp, x, y: xp.lexsort((x, y)), (I, I // 4)),
    "unique (axis)": (lambda xp, x: xp.unique(x, axis=0, return_counts=True), (I[[0, 1, 0]],)),
    "union1d": (lambda xp, x, y: xp.union1d(x, y), (I, U)),
    "intersect1d": (lambda xp, x, y: xp.intersect1d(x, y), (I, U)),
    "setdiff1d": (lambda xp, x, y: xp.setdiff1d(x, y), (I, U)),
    "setxor1d": (lambda xp, x, y: xp.setxor1d(x, y), (I, U)),
    "apply_along_axis": (lambda xp, x: xp.apply_along_axis(lambda r: r[::-1] * r[0], 0, x), (A,)),
    "lstsq (residuals)": (lambda xp, x, v: xp.linalg.lstsq(x, v)[1], (A[:, :2], A[:, 0])),
    "matvec": (lambda xp, x, v: xp.matvec(x, v), (C, C[0])),
    "vecmat": (lambda xp, v, x: xp.vecmat(v, x), (C[:, 0], C)),
    "vdot": (lambda xp, x, y: xp.vdot(x, y), (C, C.T[::-1].T)),
    "packbits": (lambda xp, x: xp.packbits(x, axis=1), (M,)),
    "packbits (little)": (lambda xp, x: xp.packbits(x, bitorder="little"), (I > 0,)),
    "unpackbits": (lambda xp, x: xp.unpackbits(x, axis=0, count=14), (U.astype(np.uint8),)),
    "unpackbits (little)": (lambda xp, x: xp.unpackbits(x, count=9, bitorder="little"),
                            (U[:1].astype(np.uint8),)),
    "array_equiv": (lambda xp, x: xp.array_equiv(x, x[None]), (A,)),
    "asarray_chkfinite": (lambda xp, x: xp.asarray_chkfinite(x), (A,)),
    "apply_over_axes": (lambda xp, x: xp.apply_over_axes(xp.sum, x, (0, 1)), (A,)),
    "einsum_path": (lambda xp, x, y: xp.einsum("ij,kj,kl,l->i", x, y, x, A[1],
                                               optimize=True), (A, B)),
    "around": (lambda xp, x: xp.around(x, 1), (A,)),
    "bartlett": (lambda xp: xp.bartlett(7), ()),
    "blackman": (lambda xp: xp.blackman(8), ()),
    "hamming": (lambda xp: xp.hamming(7), ()),
    "hanning": (lambda xp: xp.hanning(1), ()),
    "kaiser": (lambda xp: xp.kaiser(7, 5.0), ()),
    "cross": (lambda xp, x, y: xp.cross(x[:, :3], y[:, 1:]), (A, B)),
    "partition": (lambda xp, x: xp.sort(xp.partition(x, 2, axis=1)[:, :3], axis=1), (A,)),
    "argpartition": (lambda xp, x: xp.argpartition(x, 0, axis=1)[:, 0], (A,)),
    "unstack": (lambda xp, x: xp.unstack(x, axis=1), (A,)),
    "flipud": (lambda xp, x: xp.flipud(x), (A,)),
    "eye": (lambda xp: xp.eye(3, 4, k=1), ()),
    "linspace": (lambda xp: xp.linspace(0.0, 2.0, 5, endpoint=False), ()),
    "logspace": (lambda xp: xp.logspace(0.0, 2.0, 5), ()),
    "std": (lambda xp, x: xp.std(x, axis=1, ddof=1), (A,)),
    "var": (lambda xp, x: xp.var(x, ddof=2), (A,)),
}
#: The values decide the shape, so these are not compiled.
EAGER = {
    "argwhere", "bincount", "bincount (weights)", "extract", "flatnonzero", "histogram_bin_edges",
    "intersect1d", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique (axis)",
}
#: Piecewise constant, or their gradient is checked elsewhere.
FLAT = {
    "cov (complex)", "digitize", "digitize (falling)", "fix", "float_power", "frexp", "heaviside",
    "histogram", "histogram (edges)", "histogram2d", "histogramdd", "isneginf", "isposinf",
    "ldexp (far)", "mask_indices", "modf", "spacing", "tril_indices_from",
    "triu_indices_from", "diag_indices_from", "histogram_bin_edges", "around", "argwhere",
    "nanargmax", "nanargmin",
}


def leaves(nest: Any) -> list[Any]:
    nest = list(nest) if isinstance(nest, (tuple, list)) else nest
    return tree.flatten(nest)[0]


def agree(found: Any, expected: Any) -> None:
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        e = np.asarray(e)
        assert f.shape == e.shape
        assert f.dtype.kind == e.dtype.kind or (f.dtype.kind, e.dtype.kind) == ("i", "u")
        tolerance = 1e-9 if f.dtype in (np.float64, np.complex128) else 2e-6
        np.testing.assert_allclose(np.asarray(f), e, tolerance, tolerance)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_eager_is_numpy(name):
    f, operands = CASES[name]
    agree(f(ag, *map(ag.tensor, operands)), f(np, *operands))


@pytest.mark.share(8)
@pytest.mark.parametrize("name", [n for n in CASES if n not in EAGER and CASES[n][1]])
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_numpy(name):
    f, operands = CASES[name]
    agree(ag.jit(lambda *xs: f(ag, *xs))(*map(ag.tensor, operands)), f(np, *operands))


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [n for n in CASES if n not in EAGER and CASES[n][1]])
@pytest.mark.filterwarnings("ignore")
def test_batched_is_a_loop(name):
    """Over two examples of the first operand."""
    f, (first, *rest) = CASES[name]
    others = [ag.tensor(x) for x in rest]
    examples = np.stack([first, (first * 0.875).astype(first.dtype)])

    def function(x: Any) -> Any:
        return leaves(f(ag, x, *others))

    each = [function(ag.tensor(x)) for x in examples]
    for found, *expected in zip(ag.vmap(function)(ag.tensor(examples)), *each, strict=True):
        expected = np.stack([e.numpy() for e in expected])
        np.testing.assert_allclose(found.numpy(), expected, 1e-12, 1e-12)


DIFFERENTIABLE = [
    n for n, (_, xs) in CASES.items()
    if n not in FLAT and any(x.dtype == np.float64 and np.isfinite(x).all() for x in xs)
]


@pytest.mark.share(2)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    f, operands = CASES[name]

    def function(*xs: Any) -> Any:
        return [y for y in leaves(f(ag, *xs)) if y.dtype.kind in "fc"]

    ag.testing.check_grads(function, operands, order=1)


# -- in place -----------------------------------------------------------------------------------
WRITERS: dict[str, Call] = {
    "fill_diagonal": lambda xp, x: xp.fill_diagonal(x, 5.0),
    "fill_diagonal (values)": lambda xp, x: xp.fill_diagonal(x, np.array([1.0, 2.0])),
    "fill_diagonal (wrap)": lambda xp, x: xp.fill_diagonal(x.T, 3.0, wrap=True),
    "put": lambda xp, x: xp.put(x, [0, 5, -1], [1.0, 2.0]),
    "put (clip)": lambda xp, x: xp.put(x, [-3, 99], 7.0, mode="clip"),
    "put (wrap)": lambda xp, x: xp.put(x, [-3, 99], 7.0, mode="wrap"),
    "place": lambda xp, x: xp.place(x, M, [1.0, 2.0, 3.0]),
    "put_along_axis": lambda xp, x: xp.put_along_axis(x, np.array([[1]] * len(x)), 2.0, 1),
    "put_along_axis (flat)": lambda xp, x: xp.put_along_axis(x, np.array([3, 0]), [1.0, 2.0], None),
    "putmask": lambda xp, x: xp.putmask(x, M, [1.0, 2.0, 3.0]),
    "copyto": lambda xp, x: xp.copyto(x, B, where=M),
}


@pytest.mark.parametrize("name", WRITERS)
def test_writing_is_that_of_numpy(name):
    f, expected = WRITERS[name], A.copy()
    f(np, expected)
    x = ag.tensor(A)
    assert f(ag, x) is None
    np.testing.assert_array_equal(x.numpy(), expected)

    @ag.jit
    def compiled(y: Any) -> Any:
        y = y + 0.0
        f(ag, y)
        return y

    np.testing.assert_array_equal(compiled(ag.tensor(A)).numpy(), expected)


# -- as many as are asked for -------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 5, 12, 20])
def test_places_with_a_size(size):
    for run in (lambda f: f, ag.jit):
        found = run(lambda x: ag.nonzero(x, size=size, fill_value=(-1, 7)))(ag.tensor(M))
        for axis, (f, fill) in enumerate(zip(found, (-1, 7), strict=True)):
            expected = np.full(size, fill)
            places = M.nonzero()[axis][:size]
            expected[: len(places)] = places
            np.testing.assert_array_equal(f.numpy(), expected)
        rows = run(lambda x: ag.argwhere(x, size=size))(ag.tensor(M)).numpy()
        np.testing.assert_array_equal(rows[: M.sum()], np.argwhere(M)[:size])


@pytest.mark.share(2)
@pytest.mark.parametrize("size", [3, 30])
@pytest.mark.parametrize("x", [I, W, U], ids=["integers", "nan", "row"])
def test_unique_with_a_size(size, x):
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    for run in (lambda f: f, ag.jit):
        found = run(lambda x: ag.unique(
            x, return_index=True, return_inverse=True, return_counts=True, size=size, fill_value=77
        ))(ag.tensor(x))
        n = min(size, len(values))
        for f, e in zip(found, (values, first, inverse, counts), strict=True):
            if e is inverse:
                np.testing.assert_array_equal(f.numpy(), e)
            else:
                np.testing.assert_array_equal(f.numpy()[:n], e[:n])
        assert (found[0].numpy()[n:] == 77).all() and (found[3].numpy()[n:] == 0).all()


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets_with_a_size(name):
    expected = getattr(np, name)(I, U)
    found = ag.jit(lambda x, y: getattr(ag, name)(x, y, size=30, fill_value=99))(
        ag.tensor(I), ag.tensor(U)
    ).numpy()
    np.testing.assert_array_equal(found, np.pad(expected, (0, 30 - len(expected)),
                                                constant_values=99))


def test_bincount_without_a_length_in_compiled_code():
    counted = ag.jit(lambda x, w: (ag.bincount(x, minlength=3), ag.bincount(x, weights=w)))
    for given in ([0, 4, 4], [1, 0, 1], [7, 0, 2], [5, 0, 2], [9, 0, 2]):
        x, w = np.array(given), np.array([0.5, 2.0, 1.0])
        for found, wanted in zip(counted(ag.tensor(x), ag.tensor(w)),
                                 (np.bincount(x, minlength=3), np.bincount(x, w)), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted)
    with pytest.raises(ValueError, match="must not be negative"):
        counted(ag.tensor([0, -1, 2]), ag.tensor([0.5, 2.0, 1.0]))
    assert len(counted.specialisations) <= 3  # known sizes, then one for all


def test_bincount_with_a_length():
    found = ag.jit(lambda x: ag.bincount(x, length=4))(ag.tensor(U))
    np.testing.assert_array_equal(found.numpy(), np.bincount(U)[:4])
    with pytest.raises(ValueError, match="must not be negative"):
        ag.jit(lambda x: ag.bincount(x, length=4))(ag.tensor(U - 1))


# -- quantiles ----------------------------------------------------------------------------------
@pytest.mark.parametrize("method", [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
])
@pytest.mark.share(8)
@pytest.mark.parametrize("n", [1, 4, 7])
def test_methods_of_quantiles(method, n):
    x = R.normal(size=(2, n))
    q = np.array([0, 0.1, 0.25, 0.5, 0.625, 0.9, 1])
    expected = np.quantile(x, q, axis=1, method=method)
    for f in (ag.quantile, ag.nanquantile):
        np.testing.assert_allclose(f(ag.tensor(x), q, 1, method=method).numpy(), expected)
        inside = ag.jit(lambda x, q, f=f: f(x, q, 1, method=method))(ag.tensor(x), ag.tensor(q))
        np.testing.assert_allclose(inside.numpy(), expected)


@pytest.mark.parametrize("signature, function, shapes", [
    ("(n),()->(n)", lambda x, k: x * k, [(2, 3), (2,)]),
    ("(),(n)->(n)", lambda k, x: x * k, [(), (2, 3)]),
    ("( a,b ), () -> (a)", lambda x, k: x.sum(1) * k, [(4, 2, 3), (4,)]),
    ("(n),()->(),(n)", lambda x, k: (x.sum() * k, x * k), [(3,), (2,)])])
def test_vectorize_with_operands_that_are_numbers(signature, function, shapes):
    given = [np.arange(1.0, np.prod(s, dtype=int) + 1).reshape(s) for s in shapes]
    found = ag.vectorize(function, signature=signature)(*map(ag.tensor, given))
    expected = np.vectorize(function, signature=signature)(*given)
    for a, b in zip(*[(x if isinstance(x, tuple) else (x,)) for x in (found, expected)],
                    strict=True):
        np.testing.assert_allclose(a.numpy(), b)


def test_vectorize():
    f = ag.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
    np.testing.assert_allclose(f(A, B[0]).numpy(), (A * B[0]).sum(1))


@pytest.mark.parametrize("seed", range(6))
def test_the_optimal_path_is_never_dearer(seed):
    random = np.random.default_rng(seed)
    sizes = {n: int(random.integers(2, 9)) for n in "abcdefg"}
    terms = [frozenset(random.choice(list(sizes), 3, replace=False)) for _ in range(6)]
    costs = [
        path_cost(path(terms, frozenset("ab"), sizes), terms, frozenset("ab"), sizes)
        for path in (optimal_path, greedy_path)
    ]
    assert costs[0] <= costs[1]
    assert costs[0] <= 5 * cost(frozenset().union(*terms), sizes)


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", [(0, 2), (0, 1), (0, 1)]])
def test_einsum_in_any_order(optimize):
    text, operands = "ij,kj,kl,l->i", (A, B, A, B[0])
    found = ag.einsum(text, *operands, optimize=optimize)
    np.testing.assert_allclose(found.numpy(), np.einsum(text, *operands))
    path, told = ag.einsum_path(text, *operands, optimize=optimize)
    np.testing.assert_allclose(ag.einsum(text, *operands, optimize=path).numpy(), found.numpy())
    assert "multiplications" in told


#: Modules some of whose names are names of the library, too, and not all: most of those of special
#: functions are in ag.special.
OTHERS = {"agnesi.api.linalg", "agnesi.api.random", "agnesi.nn.functional", "numpy",
          "agnesi.ops.special.bessel", "agnesi.ops.special.special"}


def test_late_names_are_what_modules_offer():
    by_module: dict[str, set[str]] = {}
    for name, place in NAMES.items():
        module, _, attribute = place.partition(":")
        assert getattr(ag, name) is getattr(import_module(module), attribute)
        if attribute == name and module not in OTHERS:
            by_module.setdefault(module, set()).add(name)
    for module, names in by_module.items():
        offered = getattr(import_module(module), "__all__", None)
        assert offered is None or set(offered) == names


@pytest.mark.parametrize("worst, told", [(np.nan, r"\[nan, nan\]"), (np.inf, r"\[1.0, inf\]")])
def test_histograms_of_what_is_not_finite(worst, told):
    x = ag.tensor(np.array([1.0, worst]))
    for function in (ag.histogram, ag.histogram_bin_edges, lambda x: ag.histogram2d(x, x)):
        with pytest.raises(ValueError, match=f"autodetected range of {told} is not finite"):
            function(x)
    counts, _ = ag.histogram(x, 3, range=(0, 3))
    np.testing.assert_array_equal(counts.numpy(), np.histogram(x.numpy(), 3, (0, 3))[0])


def test_functions_of_vectors_may_decide_by_values():
    x = np.array([[1, 1, 2], [2, 0, 2]])
    found = ag.apply_along_axis(lambda r: ag.bincount(r).argmax(), 1, ag.tensor(x))
    assert found.tolist() == [1, 2]
    jitted = ag.jit(lambda x: ag.apply_along_axis(lambda r: ag.bincount(r).argmax(), 1, x))
    assert jitted(x).tolist() == [1, 2]


@pytest.mark.parametrize("text", [
    "xp.sort(v, kind='stable')", "xp.argsort(v, kind='mergesort')", "x.flatten('F')",
    "x.copy('C')", "x.copy(order='F')", "xp.zeros(n)", "x.reshape(n)", "xp.tile(x, n)",
    "xp.broadcast_to(v, n)", "xp.split(v, n)", "xp.partition(v, n - 1)", "xp.roll(x, (0, 2))",
    "xp.roll(x, n, axis=(0, 1))", "xp.sign(x, x)"])
def test_arguments_of_numpys(text):
    found = []
    for xp, make in ((np, np.array), (ag, ag.tensor)):
        names = {"xp": xp, "x": make(A[:2]), "v": make([3.0, 1.0, 2.0, 5.0]), "n": make([2, 4])}
        answer = eval(text, names)
        found.append([np.asarray(a) for a in (answer if isinstance(answer, list) else [answer])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize("text, told", [
    ("ag.amax(x, x)", "amax.*axis must be an integer"), ("ag.floor(n, out=x)", r"^floor\(int64"),
    ("ag.copyto(n, 2.5)", "2.5 does not fit into int64"), ("ag.unravel_index(n, 2.5)", "a size"),
    ("x.reshape(ag.tensor([1.0]))", "a size must be an integer")])
def test_arguments_that_numpy_refuses(text, told):
    with pytest.raises((TypeError, ValueError), match=told):
        eval(text, {"ag": ag, "x": ag.ones((2, 3)), "n": ag.tensor([1, 2])})


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "float32", "complex64"])
def test_derivatives_of_polynomials_count_as_numpys(dtype: str) -> None:
    p = np.array([100, 1, 90, 1]).astype(dtype)  # three times 100 is no uint8
    for m in (0, 1, 2, 5):
        found, wanted = ag.polyder(ag.tensor(p), m).numpy(), np.polyder(p, m)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype.kind == wanted.dtype.kind


def test_what_the_page_for_newcomers_says_of_numbers_that_are_not_numpys():
    n, b = ag.arange(3), ag.tensor([True, False])
    assert ag.sum(n, initial=1.5).item() == 4.5
    assert ag.max(n, initial=7.5).item() == 7.5
    for function in (ag.floor, ag.ceil, ag.trunc):
        assert function(b).dtype == ag.float32
    for found in (*ag.linalg.eig(ag.eye(2)), ag.linalg.eigvals(ag.eye(2)), ag.roots([1.0, -1.0])):
        assert found.dtype.kind == "c"
    assert ag.fft.irfftn(ag.ones((2, 3)), s=(2, -1)).shape == (2, 4)
    assert ag.linalg.qr(ag.eye(2), mode="r").shape == (2, 2)


@pytest.mark.parametrize("mask", [ag.triu, ag.tril, np.triu, lambda m, k: ag.triu(m, k) * m[:1]])
def test_indices_by_a_mask_within_transformations(mask):
    def f(x):
        return [x[ag.mask_indices(3, mask, k)] for k in (0, -1, 1)]

    x = ag.reshape(ag.arange(9.0), (3, 3))
    for found in (ag.jit(f)(x), [y[0] for y in ag.vmap(f)(x[None])]):
        assert [y.tolist() for y in found] == [y.tolist() for y in f(x)]
