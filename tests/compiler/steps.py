"""More steps of random programs: orders, indices, divisions, bits, contractions, windows, parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class More:
    """Steps as in :mod:`tests.compiler.programs`; ``Run`` has what they share."""

    xp: Any
    smooth: bool
    most: int
    pool: list[Any]
    _other: Any
    _fitting: Any
    _alike: Any
    _over: Any

    # -- orders ---------------------------------------------------------------------------------
    def _sorted(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Sorted values or their places; equal values keep their order."""
        if not x.ndim or self.smooth or x.dtype.kind == "b":
            return None
        axis = j % x.ndim
        if k % 3 == 2:
            return self.xp.argsort(x, axis=axis, stable=True), max(x.shape[axis], 1)
        y = self.xp.sort(x, axis=axis)
        return (self.xp.flip(y, axis) if k % 3 else y), bound

    def _searched(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Where values belong in the sorted row of others."""
        y, _ = self._alike(x, j)
        if self.smooth or "b" in (x.dtype.kind, y.dtype.kind):
            return None
        row = self.xp.sort(y.reshape(-1))
        return self.xp.searchsorted(row, x, side=["left", "right"][k % 2]), max(row.shape[0], 1)

    def _middle(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Medians of whole numbers are halves; means and variances of smooth values."""
        if x.dtype.kind not in "f" or not all(x.shape):
            return None
        axes = self._over(x, j)
        if not self.smooth:
            return self.xp.median(x, axis=axes, keepdims=bool(k % 2)) * 2, 2 * bound
        spread = [self.xp.var, self.xp.mean, lambda v, **how: self.xp.sqrt(
            self.xp.var(v, **how) + 1)][k // 2 % 3]
        return spread(x, axis=axes, keepdims=bool(k % 2)), 1

    # -- indices that are values ----------------------------------------------------------------
    def _places(self, j: int, n: int, like: Any = None) -> Any:
        """Numbers below ``n``, made of a value: as many as it has, or of the shape of ``like``."""
        y, _ = self._other(j)
        y = y if y.dtype.kind in "iu" else self.xp.where(y > 0.25, 1, 0)
        flat = self.xp.astype(y.reshape(-1), "int64") + j
        if like is not None:
            reach = self.xp.arange(math.prod(like.shape)).reshape(like.shape)
            flat = flat[:1] if math.prod(flat.shape) else self.xp.zeros(1, dtype="int64")
            flat = reach * 3 + flat
        return flat % n

    def _gathered(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or not all(x.shape):
            return None
        axis = k % x.ndim
        n = x.shape[axis]
        if k % 2:
            return self.xp.take(x, self._places(j, n), axis=axis), bound
        return self.xp.take_along_axis(x, self._places(j, n, x), axis=axis), bound

    def _scattered(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Rows of a copy added to, or written at, places that may repeat."""
        if not x.ndim or not all(x.shape) or x.dtype.kind == "b":
            return None
        n = x.shape[0]
        places = self._places(j, n)[: 2 * LEAST]
        many = places.shape[0]
        if k % 3 == 0:
            y = self.xp.copy(x)
            y[places] = y[:1] * 2
            return y, 2 * bound
        rows = self.xp.broadcast_to(x[:1], (many, *x.shape[1:])) if k % 2 else x[places]
        return self.xp.index_add(x, 0, places, rows), bound * (1 + many)

    def _masked(self, x: Any, bound: float, j: int, k: int) -> Any:
        """A copy, written where another value is positive."""
        y, _ = self._alike(x, j)
        if self.smooth or x.dtype.kind == "b":
            return None
        z = self.xp.copy(x)
        if k % 2 and x.ndim:
            z[y.max(axis=tuple(range(1, x.ndim))) > 0 if all(x.shape) else y > 0] = k % 5
        else:
            z[y > 0] = k % 5
        return z, max(bound, 5)

    def _counted(self, x: Any, bound: float, j: int, k: int) -> Any:
        """How often each small number occurs; where something is."""
        if self.smooth or x.dtype.kind == "b":
            return None
        if k % 2:
            return self.xp.count_nonzero(x, axis=self._over(x, j)), math.prod(x.shape)
        places = self._places(j, 5)
        return self.xp.bincount(places, length=5), max(math.prod(places.shape), 1)

    # -- arithmetic of whole numbers ------------------------------------------------------------
    def _divided(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._fitting(x, j)
        if self.smooth or "b" in x.dtype.kind + y.dtype.kind or x.dtype.kind != y.dtype.kind:
            return None
        y = self.xp.where(y == 0, 3, y)
        return [
            lambda: (x // y, bound), lambda: (x % y, max(bound, other, 3)),
            lambda: (self.xp.fmod(x, y), max(bound, other, 3)),
            lambda: (self.xp.remainder(5, y), max(other, 5)),
            lambda: (self.xp.floor_divide(7, y), 8),
        ][k % 5]()

    def _rounded(self, x: Any, bound: float, j: int, k: int) -> Any:
        if self.smooth or x.dtype.kind != "f":
            return None
        how = [self.xp.floor, self.xp.ceil, self.xp.trunc, self.xp.round, self.xp.rint][k % 5]
        return how(x / [2, 4][j % 2]), bound

    def _bits(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._fitting(x, j)
        if x.dtype.kind not in "iu" or y.dtype != x.dtype:
            return None
        most = 2 * max(bound, other, 1) + 1
        return [
            lambda: (x & y, most), lambda: (x | y, most), lambda: (x ^ y, most),
            lambda: (x << (k % 3), bound * 4), lambda: (x >> (k % 3), bound + 1),
            lambda: (self.xp.bitwise_invert(x & 7), math.inf if x.dtype.kind == "u" else 9),
        ][k % 6]()

    # -- contractions ---------------------------------------------------------------------------
    def _contracted(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._alike(x, j)
        if x.dtype.kind == "b" or x.ndim > 3:
            return None
        count = math.prod(x.shape)
        scale = 1 / max(count, 1) if self.smooth else 1
        sums = bound * other * max(count, 1)
        if k % 4 == 0 or not x.ndim:
            return self.xp.vdot(x, y) * scale, sums
        if k % 4 == 1:
            flat, small = x.reshape(-1)[:30], y.reshape(-1)[:3]
            return self.xp.outer(flat, small), bound * other
        letters = "abc"[: x.ndim]
        kept = "".join(c for i, c in enumerate(letters) if j >> i & 1)
        return self.xp.einsum(f"{letters},{letters}->{kept}", x, y) * scale, sums

    def _traced(self, x: Any, bound: float, j: int, k: int) -> Any:
        if x.ndim < 2 or x.dtype.kind == "b":
            return None
        least = max(min(x.shape[-2:]), 1)
        y = self.xp.trace(x, offset=k % 3 - 1, axis1=-2, axis2=-1)
        return (y / least if self.smooth else y), bound * least

    # -- neighbours and parts -------------------------------------------------------------------
    def _differences(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or x.dtype.kind == "b" or not all(x.shape):
            return None
        wrap = math.inf if x.dtype.kind == "u" else 4 * bound
        return self.xp.diff(x, n=1 + k % 2, axis=j % x.ndim), wrap

    def _windows(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Sums or extremes over neighbours."""
        if not x.ndim or x.dtype.kind == "b" or x.ndim > 4 or x.shape[-1] < 1 + k % 4:
            return None
        size = 1 + k % 4
        y = self.xp.sliding_window_view(x, size, axis=-1)
        if self.smooth:
            return y.mean(-1), bound
        if not all(y.shape):
            return None
        return (y.max(-1), bound) if j % 2 else (y.sum(-1), bound * size)

    def _parts(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Parts of a value, exchanged or added."""
        if not x.ndim or x.dtype.kind == "b":
            return None
        axis = j % x.ndim
        n = x.shape[axis]
        if n > 1 and n % 2 == 0 and k % 2:
            first, second = self.xp.split(x, 2, axis=axis)
            return self.xp.concat([second, first], axis=axis), bound
        if not 1 < n < 20:
            return None
        rows = [self.xp.moveaxis(x, axis, 0)[i] for i in range(n)]
        return self.xp.stack([rows[i] + rows[(i * 3 + k) % n] for i in range(n)], axis), 2 * bound

    # -- complex numbers ------------------------------------------------------------------------
    def _turned(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Real numbers made by way of complex ones."""
        y, other = self._alike(x, j)
        if x.dtype.name not in ("float32", "float64") or y.dtype.kind != "f":
            return None
        z = x + y * np.array(1j, "complex64" if x.dtype.name == "float32" else "complex128")
        both = bound * bound + other * other
        product = [
            lambda: (self.xp.real(z * self.xp.conj(z)), both),
            lambda: (self.xp.imag(z * z), 2 * bound * other),
            lambda: (self.xp.real(self.xp.sum(z * (1 - 2j))), 3 * (bound + other) * z.size),
            lambda: (self.xp.imag(z.reshape(-1)[::-1] * 1j), bound),
        ]
        if not self.smooth:
            return product[k % 4]()
        return [
            lambda: self.xp.tanh(product[k % 2]()[0]), lambda: self.xp.abs(z + 3j),
            lambda: self.xp.real(self.xp.exp(z * 0.1)), lambda: self.xp.imag(z / (3 + z * 1j / 9)),
        ][k // 4 % 4](), 1

    # -- loops of unknown length ----------------------------------------------------------------
    def _until(self, x: Any, bound: float, j: int, k: int) -> Any:
        """Halved until nothing is large."""
        if x.dtype.kind not in "f" or not all(x.shape):
            return None
        y = self.xp.tanh(x) * 4 if self.smooth else x
        value = self.xp.while_loop(
            lambda v: self.xp.max(self.xp.abs(v)) > 2,
            lambda v: v / 2 if self.smooth else self.xp.trunc(v / 2), y)
        return value, bound

    def _each(self, x: Any, bound: float, j: int, k: int) -> Any:
        """A function of each row."""
        if not x.ndim or x.dtype.kind == "b" or not 0 < x.shape[0] < 20:
            return None
        if self.smooth:
            return self.xp.map(lambda row: self.xp.tanh(row) * row.sum(), x), 1
        return self.xp.map(lambda row: row * 2 - row[::-1] if row.ndim else row + 1, x), math.inf


LEAST = 8
