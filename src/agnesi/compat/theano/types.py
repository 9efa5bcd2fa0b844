"""Types of variables and what computes them: ``TensorType``, ``Apply``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from agnesi.api.symbolic import variable
from agnesi.compat.theano.base.casting import frozen, given_array, least_dtype
from agnesi.compat.theano.node_ops import OpOfGraph
from agnesi.compat.theano.variable import (
    ATTRIBUTES,
    OWNER,
    RESULTS,
    VARIABLES,
    Constant,
    SharedVariable,
    Variable,
    wrapped,
)
from agnesi.compiler.shared import variable_of as shared_over
from agnesi.core.graph import constant_value, live_tensor
from agnesi.core.op import Item, item_of
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import symbol
from agnesi.ops.base.convert import as_tensor

#: Names of operations that are loops.
LOOPS = ("scan", "scan_stepwise", "while_loop")
#: What Theano calls types, by the axes along which they broadcast.
_KINDS = {(): "scalar", (False,): "vector", (False, False): "matrix", (False, True): "col",
          (True, False): "row"}


@dataclass(frozen=True, repr=False)
class TensorType:
    """A dtype and, for each axis, whether its size is 1; calling it makes a variable.

    Parameters
    ----------
    dtype : str
    broadcastable : sequence of bool
        True where the size is 1.
    shape : sequence of int or None, optional
        Sizes, None where one is open, in place of ``broadcastable``.
    """

    dtype: str
    broadcastable: tuple[bool, ...]
    shape: tuple[int | None, ...] = field(default=(), compare=False)

    def __init__(self, dtype: Any, broadcastable: Sequence[Any] = (), name: str | None = None,
                 shape: Sequence[Any] | None = None) -> None:
        if shape is None:
            shape = [1 if one else None for one in broadcastable]
        broadcastable = [n == 1 for n in shape]
        object.__setattr__(self, "shape", tuple(shape))
        kind = config.symbolic_float if dtype == "floatX" else dtype
        try:
            object.__setattr__(self, "dtype", np.dtype(kind).name)
        except TypeError:
            message = f"unsupported dtype {kind!r}; choose one of {dtypes.names()}"
            raise TypeError(at(message)) from None
        object.__setattr__(self, "broadcastable", tuple(bool(b) for b in broadcastable))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.broadcastable)

    def __call__(self, name: str | None = None, shape: Sequence[Any] | None = None) -> Variable:
        """A new input of this type, of sizes that are known where ``shape`` has them."""
        if name is not None and not isinstance(name, str):
            raise TypeError(at(f"{self}: name must be a string or None, not {typed(name)}"))
        sizes = self.shape if shape is None else tuple(shape)
        if len(sizes) != self.ndim or any(
                n is not None and m != n for n, m in zip(self.shape, sizes, strict=True)):
            raise ValueError(at(f"{self}: shape is {sizes}, and variables of this type have "
                                f"{self.shape}"))
        return wrapped(variable(name, self.dtype, sizes))

    make_variable = __call__

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """The value as an array of this type; TypeError where it is none."""
        array = given_array(value)
        right = array.ndim == self.ndim and (
            array.dtype == self.dtype or (not strict and
            (bool(allow_downcast) or np.can_cast(array.dtype, self.dtype)
             or self._holds(value, array)))
        )
        if not right:
            raise TypeError(f"{array.dtype}{list(array.shape)} is no {self}")
        return np.asarray(array, self.dtype)

    def _holds(self, value: Any, array: np.ndarray) -> bool:
        """Return whether a number or list of Python's is what it was in this dtype."""
        if isinstance(value, (np.ndarray, np.generic)) or array.dtype.kind not in "biu":
            return False
        return bool(np.array_equal(array.astype(self.dtype), array))

    def is_super(self, other: TensorType) -> bool:
        """Return whether every value of the other type is one of this."""
        return self.dtype == other.dtype and self.ndim == other.ndim and all(
            b or not a for a, b in zip(self.broadcastable, other.broadcastable, strict=True))

    def __str__(self) -> str:
        ones = tuple(self.broadcastable)
        kind = _KINDS.get(ones, str(ones) if any(ones) else f"{self.ndim}D")
        return f"TensorType({self.dtype}, {kind})"

    __repr__ = __str__


@cache
def type_of(dtype: str, shape: tuple[int | None, ...]) -> TensorType:
    """The type of a dtype and shape, which is one object."""
    return TensorType(dtype, shape=shape)


class _Computed(type):
    """The type of :class:`TensorVariable`: constants and shared variables do not belong to it."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls.__dict__.get("plain"):
            return isinstance(x, Variable) and not isinstance(x, (Constant, SharedVariable))
        return super().__instancecheck__(x)


class TensorVariable(Variable, metaclass=_Computed):
    """An input, or what is computed; what programs derive classes of their own from."""

    __slots__ = ()
    plain = True

    def __init_subclass__(cls) -> None:
        cls.plain = False


class Apply:
    """An operation on its inputs; ``inputs`` and ``outputs`` are lists of variables."""

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for y in outputs:
            if isinstance(y, Variable) and y.owner is not None:
                raise ValueError(at(f"Apply: the output {y!r} of {op} has an owner already, "
                                    f"{y.owner}: outputs are new, x.type()"))
        self.op, self.inputs, self.outputs = op, list(inputs), list(outputs)
        if (join := getattr(op, "join", None)) is not None:
            join(self.inputs, self.outputs)

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.inputs))})"


def _refuse(*args: Any, **keywords: Any) -> Any:
    raise TypeError(at("Apply: an operation keeps the inputs and outputs that it was applied "
                       "to; theano.clone(y, {x: z}) makes the expression of others"))


class _Unchanging(list[Any]):
    """The inputs or outputs of what has been applied."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = _refuse
    extend = insert = pop = remove = clear = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)


class _Applied(Apply):
    """A node of a graph that is complete, as Theano's programs read it."""

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.op = op
        self.__dict__.update(inputs=_Unchanging(inputs), outputs=_Unchanging(outputs))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("inputs", "outputs"):
            _refuse()
        super().__setattr__(name, value)


def owner_of(x: Variable) -> Apply | None:
    """Return the node that computes a variable; None for inputs, shared variables and constants."""
    node = getattr(x.tensor, "node", None)
    if isinstance(x, (Constant, SharedVariable)) or node is None or node.op is None:
        return None
    return applied(node.inputs[0] if type(node.op) is Item else node)


def applied(node: Any) -> Apply:
    """A node as Theano's programs read it: results of one operation have one owner."""
    if node.op.outputs == 1:
        outputs = [variable_of(node)]
    else:
        known: Any = RESULTS.get(node, {})
        outputs = [known[i] if i in known else variable_of(item_of(node, i))
                   for i in range(node.op.outputs)]
    return _Applied(op_of(node.op), [variable_of(n) for n in node.inputs], outputs)


def index_of(x: Variable) -> int | None:
    """The place of a variable among the outputs of its owner."""
    if owner_of(x) is None:
        return None
    op = x.tensor.node.op
    return op.index if type(op) is Item else 0


def variable_of(node: Any) -> Variable:
    """The variable that stands for a node of a graph."""
    live = live_tensor(node)
    value = None if live is not None else constant_value(node)
    if value is None:
        x = VARIABLES.get(node)
        if x is None and live is not None:
            x = getattr(node.handle, "variable", None)
            if x is None and node.where is None and not live.requires_grad:
                return VARIABLES.setdefault(node, Constant(live))  # what a constant became
            x = shared_over(live, node, node.name) if x is None else x
        found: Variable = wrapped(symbol(node) if x is None else x)
        return found
    return VARIABLES.setdefault(node, Constant(as_tensor(value)))


def op_of(op: Any) -> Any:
    """What a node says its operation is: the user's own, or a name for agnesi's."""
    made = OpOfScan if op.name in LOOPS else OpOfGraph
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
        return [variable_of(n) for n in nodes]

    @property
    def inputs(self) -> list[Any]:
        return self._variables(self.op.body.inputs)

    @property
    def outputs(self) -> list[Any]:
        return self._variables(self.op.body.outputs)


OWNER.append(owner_of)
ATTRIBUTES["index"] = index_of
ATTRIBUTES["type"] = lambda x: type_of(
    x.dtype, tuple(n if isinstance(n, int) else None for n in x._value.shape))


def constant(x: Any, name: str | None = None, ndim: int | None = None,
             dtype: Any = None) -> Variable:
    """A constant; Python's numbers have the smallest dtype that holds them, as in Theano."""
    array = given_array(x, least_dtype(x) if dtype is None and type(x) in (int, float) else dtype)
    if array.dtype.kind in "OSUMm":
        raise TypeError(at(f"constant: a constant is a number, or an array of numbers, not "
                           f"{typed(x)}"))
    found = Constant(as_tensor(frozen(array)))
    if name is not None:
        found.name = name
    return found
