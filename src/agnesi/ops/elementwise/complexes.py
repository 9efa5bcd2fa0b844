"""Complex numbers and their parts: made of two tensors, and looked at in place.

Gradients to complex numbers are ``dL/dre + i dL/dim`` for a real loss L: the direction of steepest
ascent, as in PyTorch; the cotangent of ``w = f(z)`` is multiplied with the conjugate of ``f'(z)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_settled
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import imag, multiply, real
from agnesi.ops.base.convert import as_tensor, cast, pair
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.expand import broadcast_to, sum_to
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.elementwise.trig import cos, sin


@record
class Complex(Op):
    """Complex numbers of real and imaginary parts."""

    work = elements(4)
    name = "complex"
    keep_inputs = ()
    pointwise = True

    def infer(self, re: Any, im: Any) -> Any:
        if re.dtype != im.dtype or re.dtype not in (dtypes.float32, dtypes.float64):
            raise DTypeError(
                f"parts have dtypes {re.dtype} and {im.dtype}; both must be float32 or float64"
            )
        return shapes.broadcast(re.shape, im.shape), dtypes.complex_of(re.dtype)

    def perform(self, re: np.ndarray, im: np.ndarray) -> np.ndarray:
        shape = shapes.broadcast(re.shape, im.shape)
        result = np.empty(shape, dtypes.complex_of(re.dtype))
        result.real, result.imag = re, im
        return result

    def vjp(self, g: Tensor, y: Tensor, re: Tensor, im: Tensor) -> tuple[Any, ...]:
        return (
            sum_to(real(g), re.shape) if re._requires_grad else None,
            sum_to(imag(g), im.shape) if im._requires_grad else None,
        )

    def jvp(self, ts: Any, y: Tensor, re: Tensor, im: Tensor) -> Any:
        parts = [zeros_like(x) if t is None else t for t, x in zip(ts, (re, im), strict=True)]
        return broadcast_to(apply(self, *parts), y.shape)

    def lower(self, at: Any, re: Any, im: Any) -> Any:
        dtype = dtypes.complex_of(dtypes.as_dtype(re.dtype)).name
        return loops.make("complex", (re.broadcast(at), im.broadcast(at)), dtype)


_COMPLEX = Complex()


@record
class Part(LinearOp):
    """One part of complex numbers, as a view of them."""

    imaginary: bool
    view = True
    names = ("real", "imag")

    @property
    def name(self) -> str:  # type: ignore[override]
        return "imag" if self.imaginary else "real"

    def infer(self, x: Any) -> Any:
        return x.shape, dtypes.real_of(x.dtype)

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x.imag if self.imaginary else x.real

    @property
    def put(self) -> Op:
        """The operation that gives the numbers with another part."""
        return PutPart(self.imaginary)

    def of(self, part: Tensor) -> Tensor:
        """Complex numbers with nothing but this part."""
        nothing = zeros_like(part)
        return apply(_COMPLEX, nothing, part) if self.imaginary else apply(_COMPLEX, part, nothing)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (self.of(g),)

    def lower(self, at: Any, x: Any) -> Any:
        return loops.call(self.name, x(*at))


def _check_parts(new: Any, shape: Any, dtype: np.dtype) -> None:
    """Refuse parts that do not go into the parts of complex numbers of a dtype."""
    if dtype.kind != "c" or new.dtype != dtypes.real_of(dtype):
        raise DTypeError(f"parts of {dtype} are not {new.dtype}")
    shapes.need_shape(shapes.broadcast(new.shape, shape), shape, "what is put")


@record
class PutPart(Op):
    """Complex numbers with one part replaced."""

    imaginary: bool
    work = elements(4)
    name = "put_part"
    keep_inputs = ()

    def infer(self, base: Any, new: Any) -> Any:
        _check_parts(new, base.shape, base.dtype)
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = base.copy()
        Part(self.imaginary).perform(result)[...] = new
        return result

    def _joined(self, base: Tensor, new: Tensor) -> Tensor:
        other = apply(Part(not self.imaginary), base)
        return apply(_COMPLEX, *((other, new) if self.imaginary else (new, other)))

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor) -> tuple[Any, ...]:
        own, other = Part(self.imaginary), Part(not self.imaginary)
        return other.of(apply(other, g)), sum_to(apply(own, g), new.shape)

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor) -> Any:
        return self._joined(*(zeros_like(x) if t is None else t
                              for t, x in zip(ts, (base, new), strict=True)))

    def decompose(self, base: Tensor, new: Tensor) -> Tensor:
        return self._joined(base, new)


@record
class AsReal(LinearOp):
    """Complex numbers as pairs of real ones along a new last axis, in the same memory."""

    name = "view_as_real"
    view = True

    def infer(self, x: Any) -> Any:
        return (*x.shape, 2), dtypes.real_of(x.dtype)

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x[..., None].view(dtypes.real_of(x.dtype))

    @property
    def put(self) -> Op:
        """The numbers with all parts replaced."""
        return PutPairs()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (_of_pairs(g),)

    def lower(self, at: Any, x: Any) -> Any:
        value, which = x(*at[:-1]), loops.index(at[-1])
        return loops.where(which.eq(0), loops.call("real", value), loops.call("imag", value))


@record
class PutPairs(Op):
    """Complex numbers that take all parts from pairs."""

    work = elements(4)
    name = "put_pairs"
    keep_inputs = ()

    def infer(self, base: Any, new: Any) -> Any:
        _check_parts(new, (*base.shape, 2), base.dtype)
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray) -> np.ndarray:
        return _paired(np.broadcast_to(new, (*base.shape, 2)))

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor) -> tuple[Any, ...]:
        return None, sum_to(apply(AsReal(), g), new.shape)

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor) -> Any:
        return zeros_like(y) if ts[1] is None else self.decompose(base, ts[1])

    def decompose(self, base: Tensor, new: Tensor) -> Tensor:
        return apply(AsComplex(), broadcast_to(new, (*base.shape, 2)))


@record
class AsComplex(LinearOp):
    """Pairs along the last axis as complex numbers, as a view where they are adjacent."""

    name = "view_as_complex"
    view = True

    def infer(self, x: Any) -> Any:
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise DTypeError(f"elements must be float32 or float64, not {x.dtype}")
        if not x.shape or (is_settled(x.shape[-1:]) and x.shape[-1] != 2):
            raise ShapeError(f"the last axis of shape {x.shape} must have size 2")
        return x.shape[:-1], dtypes.complex_of(x.dtype)

    def perform(self, x: np.ndarray) -> np.ndarray:
        if x.flags.c_contiguous and x.flags.aligned:
            return x.view(dtypes.complex_of(x.dtype))[..., 0]
        return _paired(x)

    def aliases(self, x: np.ndarray) -> bool:
        return bool(x.flags.c_contiguous)

    def undo(self, shape: Any) -> Op:
        """The operation that leads back: used when the view is changed in place."""
        return AsReal()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(AsReal(), g),)

    def lower(self, at: Any, x: Any) -> Any:
        dtype = dtypes.complex_of(dtypes.as_dtype(x.dtype)).name
        parts = tuple(x(*at, loops.Affine(i)) for i in (0, 1))
        return loops.make("complex", parts, dtype)


def _of_pairs(x: Tensor) -> Tensor:
    """Complex numbers that look into pairs, or into a copy of pairs that are strided."""
    return apply(AsComplex(), reshape(reshape(x, (-1,)), x.shape))


def _paired(x: np.ndarray) -> np.ndarray:
    """Pairs along the last axis as complex numbers of their own."""
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ShapeError(f"the last axis of shape {x.shape} must have size 2")
    return np.array(x, order="C").view(dtypes.complex_of(x.dtype))[..., 0]


def _parts(first: Any, second: Any) -> tuple[Tensor, Tensor]:
    """Two real operands as float32 or float64 tensors of one dtype."""
    a, b = pair(first, second)
    if a.dtype.kind == "c":
        raise DTypeError(f"parts must be real, not {typed(a)} and {typed(b)}")
    if a.dtype not in (dtypes.float32, dtypes.float64):
        kind = dtypes.real_of(dtypes.complex_of(dtypes.floating(a.dtype)))
        a, b = cast(a, kind), cast(b, kind)
    return a, b


@planned
@public
def complex(real: TensorLike, imag: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts, which broadcast.

    :param real, imag: Real operands; float64 parts make complex128, all others complex64.
    :type real, imag: tensor, array or number
    :param out: Takes the result.
    :returns: complex64 or complex128, of the broadcast shape.
    :raises DTypeError: For complex parts.
    :raises ShapeError: If the shapes do not broadcast.
    :see: polar, real, imag, view_as_complex

    >>> ag.complex(ag.tensor([1.0, 2.0]), ag.tensor([0.0, -1.0]))
    tensor([1.+0.j, 2.-1.j])
    """
    return apply(_COMPLEX, *_parts(real, imag))


@planned
@public
def polar(abs: TensorLike, angle: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers ``abs * exp(i angle)``.

    :like: complex
    :param abs, angle: Absolute values, and angles in radians; they broadcast.
    :type abs, angle: tensor, array or number
    :raises DTypeError: For complex operands.
    :see: complex, abs, angle

    >>> ag.polar(ag.tensor([1.0, 2.0]), 0.0)
    tensor([1.+0.j, 2.+0.j])
    """
    size, angle = _parts(abs, angle)
    return apply(_COMPLEX, multiply(size, cos(angle)), multiply(size, sin(angle)))


@planned
@public
def view_as_real(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers as pairs (real, imaginary) along a new last axis: a view.

    What is written into the view is written into the numbers.

    :param x: Complex, of shape (...).
    :returns: Of shape (..., 2).
    :raises DTypeError: For other dtypes.
    :see: view_as_complex, real, imag

    >>> ag.view_as_real(ag.tensor([1 + 2j, 3j]))
    tensor([[1., 2.],
            [0., 3.]])
    """
    x = as_tensor(x)
    if x.dtype.kind != "c":
        raise DTypeError(f"{typed(x)} is not complex")
    return apply(AsReal(), x)


@planned
@public
def view_as_complex(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Pairs (real, imaginary) along the last axis, of size 2, as complex numbers.

    :param x: Floats, of shape (..., 2).
    :returns: Of shape (...): a view of tensors that are contiguous, else a copy.
    :raises ShapeError: If the last axis has another size than 2.
    :raises DTypeError: For other dtypes than float32 and float64.
    :see: view_as_real, complex

    >>> ag.view_as_complex(ag.tensor([[1.0, 2.0], [0.0, 3.0]]))
    tensor([1.+2.j, 0.+3.j])
    """
    x = as_tensor(x)
    x = cast(x, dtypes.floating(x.dtype))
    AsComplex().infer(x)
    return _of_pairs(x)


def part(x: Tensor, imaginary: bool) -> Tensor:
    """A part of complex numbers as a view."""
    return apply(Part(imaginary), x)
