"""Operations of graphs as Theano's programs ask for them: ``x.owner.op == T.exp``, ``Elemwise``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from numpy import can_cast

from agnesi.api.symbolic import variable
from agnesi.compat.theano.variable import wrapped
from agnesi.core.support.errors import at

__all__ = [
    "ARange", "AdvancedSubtensor", "AdvancedSubtensor1", "All", "Argmax", "Blockwise",
    "BlockwiseWithCoreShape", "CAReduce", "CumOp",
    "DimShuffle", "Dot", "Elemwise", "ExtractDiag", "FillDiagonal", "FillDiagonalOffset",
    "IncSubtensor", "Join", "MakeVector", "Max", "Min", "Prod", "Repeat", "RepeatOp", "Reshape",
    "SearchsortedOp", "Softmax", "Split", "Subtensor", "Sum"]

#: Names of operations that are loops.
_LOOPS = ("scan", "scan_stepwise", "while_loop")
#: How many operands functions are tried with, to find out which operation they make.
_MOST_OPERANDS = 3


class OpOfGraph:
    """An operation of a graph; equal to the functions that make it.

    Parameters
    ----------
    op : Op
        Agnesi's, whose attributes this has, too.
    """

    __slots__ = ("op",)

    def __init__(self, op: Any) -> None:
        self.op = op

    def __getattr__(self, name: str) -> Any:
        if name == "op":  # a copy that has nothing yet
            raise AttributeError(name)
        return getattr(self.op, name)

    @property
    def scalar_op(self) -> OpOfGraph:
        """What an elementwise operation does with single numbers: the operation itself."""
        if not self.op.pointwise:
            raise AttributeError(f"{self.op.name} does not go element by element")
        return self

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, OpOfGraph):
            return bool(self.op == other.op)
        return self.op.name == name_of(other) if callable(other) else bool(self.op == other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)

    def __str__(self) -> str:
        return str(self.op)


def op_of(op: Any) -> Any:
    """What a node says its operation is: the user's own, or a name for agnesi's."""
    made = OpOfScan if op.name in _LOOPS else OpOfGraph
    return getattr(getattr(op, "function", None), "made_by", None) or made(op)


class OpOfScan(OpOfGraph):
    """A loop.

    Attributes
    ----------
    inputs, outputs : list of Variable
        Those of one step.
    """

    __slots__ = ()

    def _variables(self, nodes: Any) -> list[Any]:
        return [importlib.import_module("agnesi.compat.theano.types").variable_of(n) for n in nodes]

    @property
    def inputs(self) -> list[Any]:
        return self._variables(self.op.body.inputs)

    @property
    def outputs(self) -> list[Any]:
        return self._variables(self.op.body.outputs)


def name_of(function: Any) -> str | None:
    """Name of the operation that a function of ``theano.tensor`` makes, if it is one."""
    own = str(getattr(function, "__module__", "")).startswith("agnesi.")
    return _made_name(function) if own else None


@cache
def _made_name(function: Any) -> str | None:
    operands: list[Any] = []
    for _ in range(_MOST_OPERANDS):
        operands.append(wrapped(variable(None, "float64", (None, None))))
        try:
            made = function(*operands).owner
        except (TypeError, ValueError, AttributeError):
            continue
        if made is not None and [*map(id, made.inputs)] == [*map(id, operands)]:
            return str(made.op.name)
    return None


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


def _tensor(name: str) -> Any:
    """A function of ``theano.tensor``."""
    return getattr(importlib.import_module("agnesi.compat.theano.tensor"), name)


def _reducing(function: str) -> Callable[..., Any]:
    """What makes reductions: ``Sum(axis=0)(x)``."""
    def makes(axis: Any = None, dtype: Any = None, acc_dtype: Any = None, **ignored: Any) -> Any:
        given = {k: v for k, v in (("dtype", dtype), ("acc_dtype", acc_dtype)) if v is not None}
        return lambda x: _tensor(function)(x, axis=axis, **given)

    return makes


def _ordering(input_ndim: Any, new_order: Any, **ignored: Any) -> Any:
    """``DimShuffle((False, False), (1, 0))(x)``."""
    return lambda x: x.dimshuffle(*new_order)


def _vector(dtype: Any = "int64") -> Any:
    """``MakeVector("int64")(a, b)``."""
    def made(*numbers: Any) -> Any:
        for x in map(_tensor("as_tensor_variable"), numbers):
            if x.ndim:
                raise ValueError(at(f"MakeVector takes scalars, not {x!r} of {x.ndim} axes"))
            if not can_cast(x.dtype, dtype):
                raise TypeError(at(f"MakeVector: {dtype} does not hold all of {x.dtype}"))
        if not numbers:
            return _tensor("zeros")((0,), dtype=dtype)
        return _tensor("cast")(_tensor("stack")(list(numbers)), dtype)

    return made


Elemwise = kind("Elemwise", lambda op: bool(op.pointwise),
                lambda scalar_op, inplace_pattern=None, name=None: scalar_op)
DimShuffle = named("DimShuffle", "permute_dims", makes=_ordering)
Reshape = named("Reshape", "reshape", makes=lambda ndim, name=None: lambda x, shape: _tensor(
    "reshape")(x, shape, ndim))
Dot = named("Dot", "matmul", makes=lambda: _tensor("dot"))
Join = named("Join", "concat", makes=lambda *axis: lambda *xs: _tensor("join")(*axis, *xs))
CAReduce = kind("CAReduce", lambda op: hasattr(op, "axes") and hasattr(op, "keepdims"))
Sum, Prod, Max, Min, All = (
    named(n, n.lower(), makes=_reducing(n.lower())) for n in ("Sum", "Prod", "Max", "Min", "All"))
Scan = named("Scan", *_LOOPS)
Softmax = named("Softmax", "softmax", makes=lambda axis=-1: lambda x: _tensor("special").softmax(
    x, axis=axis))
Subtensor = kind("Subtensor", lambda op: type(op).__name__ == "Slice")
AdvancedSubtensor = AdvancedSubtensor1 = kind(
    "AdvancedSubtensor", lambda op: type(op).__name__ in ("Index", "Picked"))
IncSubtensor = named("IncSubtensor", "setitem", "index_add", "index_put")
ExtractDiag = named("ExtractDiag", "diagonal", makes=lambda offset=0, axis1=0, axis2=1, view=False:
                    lambda x: _tensor("diagonal")(x, offset, axis1, axis2))
Repeat = RepeatOp = named("Repeat", "repeat", makes=lambda axis=None: lambda x, repeats: _tensor(
    "repeat")(x, repeats, axis))
SearchsortedOp = named("SearchsortedOp", "searchsorted", makes=lambda side="left": (
    lambda x, v, sorter=None: _tensor("searchsorted")(x, v, side, sorter)))
CumOp = named("CumOp", "cumsum", "cumprod", makes=lambda axis=None, mode="add": lambda x: _tensor(
    "cumsum" if mode == "add" else "cumprod")(x, axis))
FillDiagonal = named("FillDiagonal", "fill_diagonal", makes=lambda: _tensor("fill_diagonal"))
FillDiagonalOffset = named("FillDiagonalOffset", "fill_diagonal_offset", makes=lambda: _tensor(
    "fill_diagonal_offset"))
MakeVector = named("MakeVector", "stack", makes=_vector)
Split = named("Split", "getitem", makes=lambda len_splits, axis=None: lambda x, *axis_and_sizes:
              _tensor("split")(x, axis_and_sizes[-1], len_splits, (*axis_and_sizes[:-1], axis)[0]))
#: What is made for stacks goes by the operations of one: there is none around these.
Blockwise = BlockwiseWithCoreShape = named("Blockwise")
DeepCopyOp = named("DeepCopyOp", "copy", makes=lambda: lambda x: _tensor("tensor_copy")(x))
deep_copy_op = DeepCopyOp()
Argmax = named("Argmax", "argmax", makes=lambda axis=None: lambda x: _tensor("argmax")(
    x, axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis))
ARange = named("ARange", "arange", makes=lambda dtype=None: lambda *ends: _tensor("arange")(
    *ends, dtype=dtype))
