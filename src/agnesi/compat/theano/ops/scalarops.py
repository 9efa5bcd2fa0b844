"""Operations on single numbers of one's own: ``scalar.UnaryScalarOp`` and kin, and their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.compat.theano.ops.base import Op
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.types import Apply, TensorType
from agnesi.compat.theano.variable import bare, wrapped
from agnesi.core.support.errors import at

__all__ = [
    "BinaryScalarOp", "ScalarOp", "UnaryScalarOp", "float_out", "int_out", "same_out",
    "same_out_nocomplex", "specific_out", "transfer_type", "upcast_out", "upcast_out_no_complex",
    "upgrade_to_float", "upgrade_to_float64", "upgrade_to_float_no_complex"]

#: What integers become where a result is a float.
_FLOAT_OF = {"bool": "float32", "int8": "float32", "int16": "float32", "int32": "float64",
             "int64": "float64", "uint8": "float32", "uint16": "float32", "uint32": "float64",
             "uint64": "float64"}


def _of(*dtypes: Any) -> list[TensorType]:
    return [TensorType(np.result_type(*map(np.dtype, dtypes)).name, ())]


def upcast_out(*types: TensorType) -> list[TensorType]:
    """The type that holds all operands."""
    return _of(*(t.dtype for t in types))


def upgrade_to_float(*types: TensorType) -> list[TensorType]:
    """The type that holds all operands, of which integers become floats."""
    return _of(*(_FLOAT_OF.get(t.dtype, t.dtype) for t in types))


def upgrade_to_float64(*types: TensorType) -> list[TensorType]:
    """float64, whatever the operands are."""
    return _of("float64")


def upcast_out_no_complex(*types: TensorType) -> list[TensorType]:
    """As :func:`upcast_out`, where no operand is complex."""
    return upcast_out(*_real(types))


def upgrade_to_float_no_complex(*types: TensorType) -> list[TensorType]:
    """As :func:`upgrade_to_float`, where no operand is complex."""
    return upgrade_to_float(*_real(types))


def _real(types: Sequence[TensorType]) -> Sequence[TensorType]:
    for t in types:
        if t.dtype.startswith("complex"):
            raise TypeError(at(f"the operation has no meaning for complex numbers: {t.dtype}"))
    return types


def same_out(type: TensorType) -> list[TensorType]:
    """The operand's type."""
    return [type]


def same_out_nocomplex(type: TensorType) -> list[TensorType]:
    """The operand's type, which is not complex."""
    return list(_real([type]))


def float_out(*types: TensorType) -> list[TensorType]:
    """float32."""
    return _of("float32")


def int_out(*types: TensorType) -> list[TensorType]:
    """int64."""
    return _of("int64")


def specific_out(*preferred: TensorType) -> Callable[..., list[TensorType]]:
    """Types that are given, whatever the operands are."""
    return lambda *types: list(preferred)


def transfer_type(*places: Any) -> Callable[..., list[TensorType]]:
    """For each result the type of the operand at a place, or a type that is given."""
    return lambda *types: [types[p] if isinstance(p, int) else p for p in places]


class ScalarOp(Op):
    """Base of operations on single numbers, which go element by element over tensors.

    ``impl(*numbers)`` returns one number (or a tuple); ``grad(inputs, output_grads)`` (or ``L_op``)
    returns expressions.

    :param output_types_preference: Gives the types of results for those of operands:
        :func:`upgrade_to_float` and kin, which is :func:`upcast_out` by default.
    :type output_types_preference: callable, optional
    :param name: What the operation is called where graphs are shown.
    """

    nin = -1
    nout = 1

    def __init__(self, output_types_preference: Any = None, name: str | None = None) -> None:
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise TypeError(at(f"{type(self).__name__}: output_types_preference must be a "
                                   f"function of types, not {output_types_preference!r}"))
            self.output_types_preference = output_types_preference
        self.name = name

    def __str__(self) -> str:
        return getattr(self, "name", None) or super().__str__()

    def impl(self, *numbers: Any) -> Any:
        """What the operation does with single numbers."""
        raise NotImplementedError(at(f"{type(self).__name__} has no impl(self, *numbers), which "
                                     "computes one number of its operands"))

    def output_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of results, as those of numbers."""
        preferred = getattr(self, "output_types_preference", upcast_out)(*types)
        return list(preferred) if isinstance(preferred, (list, tuple)) else [preferred]

    def make_node(self, *inputs: Any) -> Apply:
        """The operation on tensors that have been broadcast to one shape."""
        if self.nin >= 0 and len(inputs) != self.nin:
            raise TypeError(at(f"{type(self).__name__} takes {self.nin} operands, not "
                               f"{len(inputs)}"))
        given = [as_tensor_variable(x) for x in inputs]
        kinds = self.output_types([TensorType(x.dtype, ()) for x in given])
        if len(given) > 1:
            given = wrapped(list(F.broadcast_arrays(*map(bare, given))))
        pattern = given[0].broadcastable
        return Apply(self, given, [TensorType(k.dtype, pattern)() for k in kinds])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        """Compute each number by :meth:`impl`."""
        kinds = [x.dtype for x in node.outputs]
        found = np.vectorize(self.impl, otypes=kinds)(*inputs)
        for cell, value, kind in zip(
                output_storage, found if len(kinds) > 1 else [found], kinds, strict=True):
            cell[0] = np.asarray(value, kind)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Any:
        """The shape that the operands have."""
        return [shapes[0]] * len(node.outputs)


class UnaryScalarOp(ScalarOp):
    """Base of operations on one number."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """Base of operations on two numbers."""

    nin = 2
