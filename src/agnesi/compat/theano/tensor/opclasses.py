"""Classes of operations as Theano's programs request them: ``isinstance(op, T.Elemwise)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import can_cast

from agnesi.compat.theano.node_ops import OpOfGraph
from agnesi.compat.theano.tensor import creation, elementwise, reductions, shaping, special
from agnesi.compat.theano.types import LOOPS
from agnesi.compat.theano.variable import lifted
from agnesi.core.support.errors import at
from agnesi.ops.sorting.sort import searchsorted

__all__ = [
    "ARange", "AdvancedSubtensor", "AdvancedSubtensor1", "All", "Argmax", "Blockwise",
    "BlockwiseWithCoreShape", "CAReduce", "CumOp",
    "DimShuffle", "Dot", "Elemwise", "ExtractDiag", "FillDiagonal", "FillDiagonalOffset",
    "IncSubtensor", "Join", "MakeVector", "Max", "Min", "Prod", "Repeat", "RepeatOp", "Reshape",
    "SearchsortedOp", "Softmax", "Split", "Subtensor", "Sum"]

class Kind(type):
    """A class of operations, by what they are; calling it gives what makes one of them."""

    test: Callable[[Any], bool]
    makes: Callable[..., Any] | None

    def __instancecheck__(cls, op: Any) -> bool:
        return type(op) is cls or (isinstance(op, OpOfGraph) and cls.test(op.op))

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if cls.makes is None:
            raise TypeError(f"{cls.__name__} is for isinstance(x.owner.op, {cls.__name__}) here; "
                            "expressions are made by the functions of theano.tensor")
        return super().__call__(*args, **keywords)


class _Made:
    """An operation that is applied to variables by calling it, with the settings it was made of."""

    makes: Callable[..., Any]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.settings = args, tuple(sorted(keywords.items()))
        self._apply = self.makes(*args, **keywords)

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        return self._apply(*operands, **keywords)

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and other.settings == self.settings

    def __hash__(self) -> int:
        return hash((type(self), repr(self.settings)))

    def __reduce__(self) -> Any:
        args, keywords = self.settings
        return _made_again, (type(self).__name__, args, dict(keywords))


def _made_again(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return globals()[name](*args, **keywords)


def kind(name: str, test: Callable[[Any], bool], makes: Callable[..., Any] | None = None) -> type:
    """A class whose instances are the operations for which a test holds."""
    return Kind(name, (_Made,), {"test": staticmethod(test),
                                 "makes": makes and staticmethod(makes)})


def named(name: str, *names: str, makes: Callable[..., Any] | None = None) -> type:
    """A class of the operations of some names."""
    return kind(name, lambda op: op.name in names, makes)


def _reducing(function: str) -> Callable[..., Any]:
    """What makes reductions: ``Sum(axis=0)(x)``."""
    def makes(axis: Any = None, dtype: Any = None, acc_dtype: Any = None, **ignored: Any) -> Any:
        given = {k: v for k, v in (("dtype", dtype), ("acc_dtype", acc_dtype)) if v is not None}
        return lambda x: getattr(reductions, function)(x, axis=axis, **given)

    return makes


_searchsorted = lifted(searchsorted)


def _ordering(input_ndim: Any, new_order: Any, **ignored: Any) -> Any:
    """``DimShuffle((False, False), (1, 0))(x)``."""
    return lambda x: x.dimshuffle(*new_order)


def _vector(dtype: Any = "int64") -> Any:
    """``MakeVector("int64")(a, b)``."""
    def made(*numbers: Any) -> Any:
        for x in map(creation.as_tensor_variable, numbers):
            if x.ndim:
                raise ValueError(at(f"MakeVector takes scalars, not {x!r} of {x.ndim} axes"))
            if not can_cast(x.dtype, dtype):
                raise TypeError(at(f"MakeVector: {dtype} does not hold all of {x.dtype}"))
        if not numbers:
            return creation.zeros((0,), dtype=dtype)
        return creation.cast(creation.stack(list(numbers)), dtype)

    return made


Elemwise = kind("Elemwise", lambda op: bool(op.pointwise),
                lambda scalar_op, inplace_pattern=None, name=None: scalar_op)
DimShuffle = named("DimShuffle", "permute_dims", makes=_ordering)
Reshape = named("Reshape", "reshape", makes=lambda ndim, name=None: (
    lambda x, shape: shaping.reshape(x, shape, ndim)))
Dot = named("Dot", "matmul", makes=lambda: reductions.dot)
Join = named("Join", "concat", makes=lambda *axis: lambda *xs: shaping.join(*axis, *xs))
CAReduce = kind("CAReduce", lambda op: hasattr(op, "axes") and hasattr(op, "keepdims"))
Sum, Prod, Max, Min, All = (
    named(n, n.lower(), makes=_reducing(n.lower())) for n in ("Sum", "Prod", "Max", "Min", "All"))
Scan = named("Scan", *LOOPS)
Softmax = named("Softmax", "softmax", makes=lambda axis=-1: (
    lambda x: special.softmax(x, axis=axis)))
Subtensor = kind("Subtensor", lambda op: type(op).__name__ == "Slice")
AdvancedSubtensor = AdvancedSubtensor1 = kind(
    "AdvancedSubtensor", lambda op: type(op).__name__ in ("Index", "Picked"))
IncSubtensor = named("IncSubtensor", "setitem", "index_add", "index_put")
ExtractDiag = named("ExtractDiag", "diagonal", makes=lambda offset=0, axis1=0, axis2=1, view=False:
                    lambda x: shaping.diagonal(x, offset, axis1, axis2))
Repeat = RepeatOp = named("Repeat", "repeat", makes=lambda axis=None: (
    lambda x, repeats: shaping.repeat(x, repeats, axis)))
SearchsortedOp = named("SearchsortedOp", "searchsorted", makes=lambda side="left": (
    lambda x, v, sorter=None: _searchsorted(x, v, side, sorter)))
CumOp = named("CumOp", "cumsum", "cumprod", makes=lambda axis=None, mode="add": (
    lambda x: (reductions.cumsum if mode == "add" else reductions.cumprod)(x, axis)))
FillDiagonal = named("FillDiagonal", "fill_diagonal", makes=lambda: shaping.fill_diagonal)
FillDiagonalOffset = named("FillDiagonalOffset", "fill_diagonal_offset",
                           makes=lambda: shaping.fill_diagonal_offset)
MakeVector = named("MakeVector", "stack", makes=_vector)
Split = named("Split", "getitem", makes=lambda len_splits, axis=None: lambda x, *axis_and_sizes:
              shaping.split(x, axis_and_sizes[-1], len_splits, (*axis_and_sizes[:-1], axis)[0]))
#: What is made for stacks goes by the operations of one: there is none around these.
Blockwise = BlockwiseWithCoreShape = named("Blockwise")
DeepCopyOp = named("DeepCopyOp", "copy", makes=lambda: elementwise.tensor_copy)
deep_copy_op = DeepCopyOp()
Argmax = named("Argmax", "argmax", makes=lambda axis=None: lambda x: reductions.argmax(
    x, axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis))
ARange = named("ARange", "arange", makes=lambda dtype=None: (
    lambda start, stop=None, step=1: creation.arange(start, stop, step, dtype)))
