"""Steps of sparse matrices, chains of Fourier transforms, and rows of several lengths."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value

#: Of matrices: ``s`` is one of them as a sparse one, of rows or columns.
SPARSE = (
    "ag.sparse.dense_from_sparse({s})", "ag.sparse.dot({s}, {y}.T)", "ag.sparse.dot({x}, {t})",
    "ag.sparse.dense_from_sparse(ag.sparse.mul({s}, {y}))", "ag.sparse.sp_sum({s}, axis={a})",
    "ag.sparse.dense_from_sparse(ag.sparse.add({s}, {s2}))", "ag.sparse.sp_sum({s})",
    "ag.sparse.dense_from_sparse({t}).T * 2", "ag.sparse.structured_dot({s}, {y}.T)",
    "ag.sparse.dense_from_sparse(ag.sparse.neg({s})) + {y}",
    "ag.sparse.dense_from_sparse(ag.sparse.col_scale({s}, {y}[0]))",
    "ag.sparse.dense_from_sparse(ag.sparse.row_scale({s}, {y}[:, 0]))",
    "ag.sparse.dense_from_sparse(ag.sparse.sub({s}, {s2})).sum({a})",
)
#: Of complex numbers along an axis ``a`` of ``n``; ``z`` is made of two values.
CHAINS = (
    "ag.real(ag.fft.ifft(ag.fft.fft({z}, axis={a}) * ag.fft.fft({y}, axis={a}), axis={a}))",
    "ag.fft.irfft(ag.fft.rfft({x}, axis={a}) * ag.conj(ag.fft.rfft({y}, axis={a})), {n}, axis={a})",
    "ag.abs(ag.fft.fft(ag.fft.fftshift({z}, {a}), axis={a}))",
    "ag.real(ag.fft.ifft(ag.exp(-0.1j * ag.arange({n})) * ag.fft.fft({l}), axis=-1))",
    "ag.imag(ag.fft.ifft2(ag.conj(ag.fft.fft2({w}))))", "ag.abs(ag.fft.fftn({z}, norm='ortho'))",
    "ag.real(ag.fft.fft(ag.fft.fft({z}, axis={a}), 2 * {n}, axis={a}))",
    "ag.fft.irfft2(ag.fft.rfft2({w2}) * 0.5j, {s2d})",
    "ag.fft.hfft(ag.fft.ihfft({x}, axis={a}), {n}, axis={a})",
    "ag.imag(ag.cumsum(ag.fft.fft({z}, axis={a}) / {n}, axis={a}))",
)
#: Of rows whose lengths are numbers of a value: ``c`` are 0 to 2 of them.
RAGGED = (
    "ag.repeat({r}, {c})", "ag.cumsum(ag.repeat({r}, {c}))", "ag.repeat({r}, {c})[::-1] * 2",
    "ag.concat([ag.repeat({r}, {c}), {r}])", "ag.bincount(ag.repeat(ag.arange({n}), {c}))",
    "ag.repeat({x}, {c0}, axis=0)", "ag.sort(ag.repeat({r}, {c}))",
    "ag.unique(ag.repeat({r}, {c}))", "ag.repeat({x}, {c0}, axis=0).sum(0)",
    "ag.split(ag.repeat({r}, {c}), [2])[0]", "ag.repeat({r}, {c})[ag.argsort(ag.repeat({r}, {c}))]",
)


def sparse(p: Pool, x: Value) -> Line | None:
    """A matrix by way of a sparse one; structured products have no slopes where there is nothing.
    """
    if x.ndim != 2 or x.dtype.name not in ("float32", "float64") or not 0 < x.size <= 400:
        return None
    y, kinds = p.alike(x), ("csr", "csc")
    made, other = (f"ag.sparse.{p.one(kinds)}_from_dense({v})" for v in (x, y))
    form = p.one(SPARSE)
    return Line(form.format(x=x, y=y, s=made, s2=other, t=f"ag.sparse.transpose({made})",
                            a=p.below(2)), not p.smooth)


def spectral(p: Pool, x: Value) -> Line | None:
    """A chain of Fourier transforms."""
    if x.dtype.name not in ("float32", "float64") or not x.ndim or not 0 < x.size <= 400:
        return None
    y, axis = p.alike(x), p.axis(x)
    z = f"({x} + 1j * {y})"
    form = p.one(CHAINS)
    if x.ndim < 2 and "2(" in form:
        return None
    return Line(form.format(x=x, y=y, z=z, a=axis, n=x.shape[-1] if "{l}" in form else
                            x.shape[axis], l=z, w=z, w2=x, s2d=x.shape[-2:]), False)


def ragged(p: Pool, x: Value) -> Line | None:
    """Elements repeated as often as values say."""
    if p.kind != "whole" or not x.ndim or not 0 < x.size <= 300 or x.kind in "bc":
        return None
    y = p.alike(x)
    n, counts = x.size, "ag.clip({}, 0, 2).astype('int64')"
    first = f"{y}.reshape({y}.shape[0], -1)[:, 0]"
    if not x.shape[0]:
        return None
    return Line(p.one(RAGGED).format(x=x, r=f"{x}.reshape(-1)", n=n,
                                     c=counts.format(f"{y}.reshape(-1)"),
                                     c0=counts.format(first)))


MAKERS = (sparse, spectral)
DECIDING = (ragged,)
