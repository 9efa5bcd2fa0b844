"""Fourier transforms in compiled code: ``codegen/library/lanes/fourier.py`` generates them by name.

What has a large prime factor becomes a convolution of a size that has none (Bluestein, 1970).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir import foreign
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import surely
from agnesi.core.ir.roots import roots
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import conj, multiply
from agnesi.ops.base.creation import constant, spread_constant
from agnesi.ops.base.native import Native
from agnesi.ops.indexing.join import concat

#: The greatest prime factor that steps are generated for.
_MAX_PRIME = 31
#: Elements of the longest transforms.
_MAX_LENGTH = 1 << 24
#: Elements that are transformed in one pass where there are as many rows as lanes.
_MAX_BATCHED_LENGTH = 256
_ROWS, _LANES = 8, 4
#: The longest columns that are transformed in one go, whatever is between their numbers.
_MAX_COLUMN_LENGTH = 4096
#: Columns that a unit of work has at least.
_MIN_UNIT_COLUMNS = 16


@functools.cache
def _factors(n: int, rows: bool) -> tuple[int, int] | None:
    """A size as a product of two that fit into the cache; None for large prime factors."""
    rest = n
    for p in range(2, _MAX_PRIME + 1):
        while rest % p == 0:
            rest //= p
    if rest != 1 or n > _MAX_LENGTH:
        return None
    if rows and n <= _MAX_BATCHED_LENGTH:
        return 1, n
    first = next((d for d in range(math.isqrt(n), _LANES - 1, -1) if n % d == 0), 1)
    return first, n // first


def factors(n: int, shape: Any) -> tuple[int, int] | None:
    """How a transform of rows of this shape is cut."""
    rows: Any = product(shape[:-1])
    return _factors(n, surely(lambda: rows >= _ROWS))


def ready(*sizes: Any) -> bool:
    """Return whether transforms of such sizes, at least one each, can be generated."""
    return HOOKS.compiles() and all(
        isinstance(n, int) and n > 0  # half of the length admits a convolution
        and (2 * n <= _MAX_LENGTH or _factors(n, False) is not None) for n in sizes)


def _call(kind: str, x: Any, cut: tuple[int, int], inverse: bool, *numbers: float) -> foreign.Call:
    n, size = cut[0] * cut[1], dtypes.real_of(x.dtype).itemsize
    name = "float32" if size == 4 else "float64"
    workspace = 512 * n if cut[0] == 1 else 384 * max(cut) + 4 * n * size
    rows = product(x.shape[:-1])
    given = foreign.number(rows), *(foreign.number(v, "double") for v in numbers)
    return _shared(f"{kind} {name} {cut[0]} {cut[1]} {'i' * inverse}", given, workspace,
                   foreign.shared_units(product(x.shape), rows))


def _shared(name: str, numbers: Any, workspace: int, units: int) -> foreign.Call:
    """A call whose units have ``workspace`` bytes each, rounded up to lines of the cache."""
    workspace = (workspace + 319) // 64 * 64
    return foreign.Call(
        f"generated:{name} {units} {workspace}",
        (foreign.operand(0), foreign.result(), foreign.scratch(), *numbers),
        scratch=(workspace * max(units, 1),), units=units,
    )


@record
class Lines(Native):
    """Transforms of rows of complex numbers, times a factor."""

    cut: tuple[int, int]
    inverse: bool
    factor: float
    name = "fft"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def foreign(self, x: Any) -> Any:
        return _call("fft", x, self.cut, self.inverse, self.factor)


@record
class Columns(Native):
    """Transforms along the axis before the last, times a factor."""

    lanes: int
    inverse: bool
    factor: float
    name = "fft"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def foreign(self, x: Any) -> Any:
        *_, n, columns = x.shape
        name = "float32" if dtypes.real_of(x.dtype).itemsize == 4 else "float64"
        numbers = product(x.shape[:-2]), columns, columns
        given = *map(foreign.number, numbers), foreign.number(self.factor, "double")
        units = 0
        if surely(lambda: columns >= 2 * _MIN_UNIT_COLUMNS):
            units = min(
                columns // _MIN_UNIT_COLUMNS, foreign.shared_units(product(x.shape), columns)
            )
        return _shared(f"columns {name} {self.lanes} {n} {'i' * self.inverse}", given, 256 * n,
                       units)


@record
class RealLines(Native):
    """Rows of real numbers to half of their spectrum; ``inner`` is for what stands for two."""

    cut: tuple[int, int]
    factor: float
    inner: float
    name = "rfft"

    def infer(self, x: Any) -> Any:
        return (*x.shape[:-1], x.shape[-1] // 2 + 1), dtypes.complex_of(x.dtype)

    def foreign(self, x: Any) -> Any:
        return _call("rfft", x, self.cut, False, self.factor, self.inner)


@record
class RealLinesBack(Native):
    """Half a spectrum to rows of real numbers."""

    cut: tuple[int, int]
    factor: float
    inner: float
    name = "irfft"

    def infer(self, x: Any) -> Any:
        return (*x.shape[:-1], 2 * (x.shape[-1] - 1)), dtypes.real_of(x.dtype)

    def foreign(self, x: Any) -> Any:
        return _call("rfft", x, self.cut, True, self.factor, self.inner)


def lines(x: Tensor, inverse: bool, factor: float) -> Tensor:
    """The transform of complex numbers along the last axis, whose size is a number."""
    n = x.shape[-1]
    cut = factors(n, x.shape)
    if cut is not None:
        return apply(Lines(cut, inverse, factor), x)
    if inverse:
        return conj(_convolved(conj(x), factor))
    return _convolved(x, factor)


def columns(x: Tensor, inverse: bool, factor: float) -> Tensor | None:
    """The transform along the axis before the last, if there are enough columns."""
    n, many = x.shape[-2:]
    if _factors(n, True) is None or n > _MAX_COLUMN_LENGTH:
        return None
    for lanes in (16, 8, 4):
        if surely(lambda lanes=lanes: many >= lanes):  # type: ignore[misc]
            return apply(Columns(lanes, inverse, factor), x)
    return None


def _convolved(x: Tensor, factor: float) -> Tensor:
    """The transform as a convolution with a chirp."""
    n = x.shape[-1]
    size = min(m << max(0, (2 * n - 2) // m).bit_length() for m in (1, 3, 5, 9, 15))
    chirp = roots(2 * n, np.arange(n) ** 2 % (2 * n))  # exp(-1j pi k**2 / n)
    phases = constant(chirp, x.dtype)
    spread = np.zeros(size, np.complex128)
    spread[:n] = chirp.conj()
    spread[size - n + 1:] = chirp[:0:-1].conj()
    weights = constant(np.fft.fft(spread) * (factor / size), x.dtype)
    behind = spread_constant((*x.shape[:-1], size - n), 0, x.dtype)
    given = concat([multiply(x, phases), behind], -1)
    found = lines(multiply(lines(given, False, 1.0), weights), True, 1.0)
    return multiply(found[..., :n], phases)


def real_lines(x: Tensor, factor: float, inner: float) -> Tensor:
    """Half the spectrum of real numbers along the last axis."""
    n = x.shape[-1]
    cut = _halved(n, x.shape)
    if cut is not None:
        return apply(RealLines(cut, factor, inner), x)
    found = lines(x.astype(dtypes.complex_of(x.dtype)), False, factor)[..., : n // 2 + 1]
    return found if inner == 1 else multiply(found, _weights(n, inner, found.dtype))


def real_lines_back(x: Tensor, n: int, factor: float, inner: float) -> Tensor:
    """Real numbers from half of their spectrum along the last axis."""
    cut = _halved(n, x.shape)
    if cut is not None:
        return apply(RealLinesBack(cut, factor, inner), x)
    if inner != 1:
        x = multiply(x, _weights(n, inner, x.dtype))
    if n > 2:
        x = concat([x, conj(x[..., (n - 1) // 2:0:-1])], -1)
    return lines(x, True, factor).real


def _halved(n: int, shape: Any) -> tuple[int, int] | None:
    """How the transform of half as many complex numbers is cut, if that serves."""
    return factors(n // 2, shape) if n % 2 == 0 and n >= 6 else None


def _weights(n: int, inner: float, dtype: np.dtype) -> Tensor:
    weights = np.ones(n // 2 + 1)
    weights[1 : (n + 1) // 2] = inner
    return constant(weights, dtypes.real_of(dtype))
