"""Operations of discrete Fourier transforms.

Three linear operations, each with the adjoint of another as its gradient: complex transforms over
any axes, transforms of real numbers to half a spectrum, and back.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, product
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record, replace
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import cast
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.signal.transforms import columns, lines, ready, real_lines, real_lines_back

#: The norm with which the transform in the other direction is the adjoint.
ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
#: Elements up to which the layers of Python around a transform take longer than it.
_FEW_ELEMENTS = 2000
#: By NumPy's name of the norm: the scale code of the C function for forward transforms.
_SCALES = {"backward": 0, "ortho": 1, "forward": 2}


@functools.cache
def library() -> Any:
    """SciPy's transforms, which compute several rows at once, or NumPy's."""
    try:
        return importlib.import_module("scipy.fft")
    except ImportError:
        return np.fft


@functools.cache
def _direct(name: str) -> Any:
    """The C function behind SciPy's transforms, without the layers of Python around it, which take
    ten times as long as few numbers; None where there is none of that name."""
    for own in ("duccfft", "pocketfft"):  # the first from SciPy 1.18 on, with the same functions
        module = getattr(getattr(library(), f"_{own}", None), f"py{own}", None)
        if module is not None:
            return getattr(module, name, None)
    return None


class _Transform(LinearOp):
    """Base.  Axes count from the end, so that axes of examples may precede all others."""

    norm: str
    work = elements(8)

    def perform(self, x: np.ndarray) -> np.ndarray:
        shape, dtype = self.infer(x)
        if x.size == 0:
            return np.zeros(shape, dtype)
        few = self._of_few(x)
        return np.asarray(self._transformed(x) if few is None else few[0](x, *few[1]), dtype)

    def c_call(self, x: np.ndarray) -> Any:
        return self._of_few(x)

    def _of_few(self, x: np.ndarray) -> Any:
        """The C function and what it takes behind the numbers, where these are few."""
        name, options = self._call
        run = _direct(name) if 0 < x.size <= _FEW_ELEMENTS else None
        return None if run is None else (run, options)

    @property
    def _call(self) -> tuple[str, tuple[Any, ...]]:
        """The C function, and what it takes behind the numbers."""
        raise NotImplementedError

    def _transformed(self, x: np.ndarray) -> Any:
        raise NotImplementedError

    def batch(self, node: Any, xs: Any, rows: Any, length: Any) -> Tensor:
        return apply(self, xs[0])


@record
class Fft(_Transform):
    """Complex numbers to complex numbers."""

    axes: tuple[int, ...]
    inverse: bool
    norm: str
    name = "fft"

    def infer(self, x: Any) -> Any:
        for axis in self.axes:
            not_empty(x.shape[axis])
        return x.shape, spectral(x.dtype)

    @property
    def _call(self) -> tuple[str, tuple[Any, ...]]:
        norm = ADJOINT[self.norm] if self.inverse else self.norm
        return "c2c", (self.axes, not self.inverse, _SCALES[norm])

    def _transformed(self, x: np.ndarray) -> Any:
        run = library().ifftn if self.inverse else library().fftn
        return run(x, axes=self.axes, norm=self.norm)

    def decompose(self, x: Tensor) -> Any:
        if not ready(*(x.shape[a] for a in self.axes)) or 0 in x.shape:
            return None
        y = cast(x, spectral(x.dtype))
        for axis in reversed(self.axes):
            y = self._one(y, axis, _factor(self.norm, y.shape[axis], self.inverse))
        return y

    def _one(self, x: Tensor, axis: int, factor: float) -> Tensor:
        """The transform along one axis; those behind it are columns."""
        if axis != -1:
            front, rest = x.shape[:axis], x.shape[axis + 1:]
            flat = reshape(x, (*front, x.shape[axis], product(rest)))
            found = columns(flat, self.inverse, factor)
            if found is not None:
                return reshape(found, x.shape)
        return _along(x, axis, lambda z: lines(z, self.inverse, factor))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        adjoint = replace(self, inverse=not self.inverse, norm=ADJOINT[self.norm])
        return (cast(apply(adjoint, g), x.dtype),)


def _factor(norm: str, n: int, inverse: bool) -> float:
    """By what a transform of ``n`` numbers is multiplied."""
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def _along(x: Tensor, axis: int, transform: Any) -> Tensor:
    """A transform of the last axis, along another one."""
    return transform(x) if axis == -1 else moveaxis(transform(moveaxis(x, axis, -1)), -1, axis)


def _inner(y: np.ndarray, axis: int, n: int) -> Any:
    """The frequencies between zero and the highest of ``n`` numbers, which both stand for two."""
    where: list[Any] = [slice(None)] * y.ndim
    where[axis] = slice(1, (n + 1) // 2)
    return tuple(where)


@record
class RealFft(_Transform):
    """Real numbers to the half of their spectrum from which the other follows.

    ``doubled`` counts the frequencies that stand for two twice, as the adjoint of `RealIfft` does.
    """

    axis: int
    norm: str
    doubled: bool = False
    name = "rfft"

    def infer(self, x: Any) -> Any:
        n = x.shape[self.axis]
        not_empty(n)
        return with_size(x.shape, self.axis, n // 2 + 1), spectral(x.dtype)

    def perform(self, x: np.ndarray) -> np.ndarray:
        y = super().perform(x)
        if self.doubled and y.size:
            y[_inner(y, self.axis, x.shape[self.axis])] *= 2
        return y

    def c_call(self, x: np.ndarray) -> Any:
        return None if self.doubled else self._of_few(x)

    @property
    def _call(self) -> tuple[str, tuple[Any, ...]]:
        return "r2c", ((self.axis,), True, _SCALES[self.norm])

    def _transformed(self, x: np.ndarray) -> Any:
        return library().rfft(x, axis=self.axis, norm=self.norm)

    def decompose(self, x: Tensor) -> Any:
        n = x.shape[self.axis]
        if not ready(n) or 0 in x.shape:
            return None
        factor, inner = _factor(self.norm, n, False), 2.0 if self.doubled else 1.0
        return _along(x, self.axis, lambda z: real_lines(z, factor, inner))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        back = RealIfft(self.axis, x.shape[self.axis], ADJOINT[self.norm], not self.doubled)
        return (apply(back, g),)


@record
class RealIfft(_Transform):
    """Half a spectrum to ``n`` real numbers.

    ``halved`` counts the frequencies that stand for two once, as the adjoint of `RealFft` does.
    """

    axis: int
    n: Any
    norm: str
    halved: bool = False
    name = "irfft"

    def infer(self, x: Any) -> Any:
        not_empty(self.n)
        n, given = self.n, x.shape[self.axis]
        if isinstance(n, int) and isinstance(given, int) and given != n // 2 + 1:
            raise ShapeError(f"{n} real numbers have {n // 2 + 1} frequencies, not {given}")
        return with_size(x.shape, self.axis, self.n), dtypes.real_of(x.dtype)

    def perform(self, x: np.ndarray) -> np.ndarray:
        if self.halved and x.size:
            x = x.copy()
            x[_inner(x, self.axis, self.n)] *= 0.5
        return super().perform(x)

    def c_call(self, x: np.ndarray) -> Any:
        return None if self.halved else self._of_few(x)

    @property
    def _call(self) -> tuple[str, tuple[Any, ...]]:
        return "c2r", ((self.axis,), self.n, False, _SCALES[ADJOINT[self.norm]])

    def _transformed(self, x: np.ndarray) -> Any:
        return library().irfft(x, self.n, axis=self.axis, norm=self.norm)

    def decompose(self, x: Tensor) -> Any:
        n = self.n
        if not ready(n, x.shape[self.axis]) or 0 in x.shape:
            return None
        factor, inner = _factor(self.norm, n, True), 0.5 if self.halved else 1.0
        return _along(x, self.axis, lambda z: real_lines_back(z, n, factor, inner))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(RealFft(self.axis, ADJOINT[self.norm], not self.halved), g),)


def spectral(dtype: np.dtype) -> np.dtype:
    """The dtype of a spectrum; transforms in native code have 32 bits or more."""
    if dtype.itemsize == 2:
        raise DTypeError(f"transforms take float32, float64 and complex numbers, not {dtype}")
    return dtype if dtype.kind == "c" else dtypes.complex_of(dtype)


def with_size(shape: Any, axis: int, n: Any) -> Any:
    """A shape with another size along an axis."""
    sizes = list(shape)
    sizes[axis] = n
    return tuple(sizes)


def not_empty(n: Any) -> None:
    """An error for transforms of nothing."""
    if not isinstance(n, Dim) and n < 1:
        raise ValueError(f"a transform takes at least 1 number, not {n}")
