"""Theano's variables: agnesi's symbolic tensors, with the attributes and methods Theano gives them.

A :class:`Variable` holds a tensor.  :func:`lifted` makes a function of tensors one of variables.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.streams.common import StreamState
from agnesi.compat.theano.base.casting import (
    alike,
    frozen,
    greater,
    greater_equal,
    less,
    less_equal,
)
from agnesi.compat.theano.base.tags import Tag, tag_of
from agnesi.compiler.shared import Shared
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.dims import Dim, product
from agnesi.core.op import Item
from agnesi.core.support.config import config
from agnesi.core.support.errors import at, no_attribute
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import as_tensor, cast

#: Variables by the node that they stand for: a node has one variable as long as it is in use.
VARIABLES: weakref.WeakValueDictionary[Any, Variable] = weakref.WeakValueDictionary()


def forwarding(where: str, module: Any, renamed: dict[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has another one's functions, lifted."""
    def found(name: str) -> Any:
        function = None if name.startswith("__") else getattr(module, renamed.get(name, name), None)
        if not callable(function):
            raise no_attribute(f"module {where!r}", name)
        return lifted(function)

    return found


def floats() -> Any:
    """Within it, floats whose dtype follows from no operand are ``config.floatX``."""
    return config(default_float=config.symbolic_float)


#: Functions whose operands get one dtype.
_PAIRED = frozenset((
    "add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "mod",
    "maximum", "minimum", "power", "pow", "switch", "where", "arctan2", "atan2", "hypot", "clip",
    "dot", "matmul", "outer", "inner", "kron", "tensordot", "logaddexp", "solve",
    "solve_triangular"))
#: Functions of one operand whose results are floats: float32 for integers below 32 bits.
_REAL = frozenset((
    "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan "
    "arcsinh arccosh arctanh erf erfc erfcx erfinv gamma lgamma digamma sigmoid softplus ceil "
    "floor trunc reciprocal degrees radians rad2deg deg2rad asin acos atan asinh acosh atanh"
).split())
#: Functions of one operand, which may be one of Python's numbers.
_UNARY = _REAL | {"square", "sqr", "sign", "sgn", "negative", "neg", "abs", "zeros_like",
                  "ones_like"}
#: What is computed with sizes stays a size.
_OF_SIZES = frozenset(f"__{name}__" for name in "add sub mul floordiv radd rsub rmul".split())


#: Comparisons of order.
_ORDERS = {"__lt__": less, "__le__": less_equal, "__gt__": greater, "__ge__": greater_equal}


def _operator(name: str) -> Any:
    order = _ORDERS.get(name)

    def unary(self: Variable) -> Any:
        return wrapped(getattr(self._value, name)())

    def binary(self: Variable, other: Any) -> Any:
        if isinstance(other, Sizes):
            other = other.vector()
        other, mine = bare(other), self.tensor
        if not (isinstance(mine, Dim) and name in _OF_SIZES and isinstance(other, (int, Dim))):
            mine, other = alike(mine, other)
        with floats():
            return wrapped(getattr(mine, name)(other) if order is None else order(mine, other))

    def compared(self: Variable, other: Any) -> Any:
        found = binary(self, other)
        if isinstance(found, Variable):
            found._is_comparison = True
        return found

    if name in ("__neg__", "__abs__", "__invert__", "__pos__"):
        return unary
    return binary if order is None else compared


#: Operators by the names of NumPy's functions, which arrays on their left side call.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "true_divide": operator.truediv, "power": operator.pow,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "matmul": operator.matmul,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
#: Methods and attributes of variables that the modules above define.
METHODS: dict[str, Callable[..., Any]] = {}
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
#: The function that returns the owner of a variable, which the module of types has.
OWNER: list[Callable[[Any], Any]] = []
#: Kinds of values that are no tensors, and what makes variables of them.
OTHERS: list[tuple[type, Callable[[Any], Any]]] = []


#: The variables of the results of operations that have several, by the node and their places.
RESULTS: weakref.WeakKeyDictionary[Any, weakref.WeakValueDictionary[int, Variable]] = (
    weakref.WeakKeyDictionary())
#: What is called with each new variable, where something is done about them.
MADE: list[Callable[[Variable], None]] = []


class Variable:
    """A symbolic expression, an input, or a constant, as in Theano.

    Operators and methods make new expressions.  ``==`` compares identities; elementwise it is
    :func:`~agnesi.compat.theano.tensor.eq`.

    Attributes
    ----------
    tensor : Tensor or Dim
        What agnesi computes with; a size that only the run knows is a Dim.
    """

    __slots__ = ("__dict__", "__weakref__", "_is_comparison", "tag", "tensor")
    __array_priority__ = 1000

    def __init__(self, type: Any, owner: None = None,
                 index: int | None = None, name: str | None = None) -> None:
        if owner is not None:
            raise TypeError(at(f"{self.__class__.__name__}: a variable that is computed is made by "
                               "its operation, op(x); one that is made of a type is an input"))
        self._is_comparison = False
        if callable(make := getattr(type, "make_variable", None)):
            self.rebind(make(name).tensor, None)
        else:  # a tensor, or a size
            self.tensor, self.tag = type, Tag()

    def rebind(self, tensor: Any, name: str | None) -> None:
        """Stand for a tensor from now on, and give it a name."""
        self.tensor, self.tag = tensor, tag_of(tensor.node)
        VARIABLES[tensor.node] = self
        if name is not None:
            self.name = name

    def __reduce__(self) -> Any:
        return wrapped, (self.tensor,)

    def __repr__(self) -> str:
        return self.name or repr(self.tensor)

    def __bool__(self) -> bool:
        if self._is_comparison:
            raise TypeError(at("Variables do not support boolean operations; T.eq, T.and_, T.switch"
                               " and ifelse make expressions of them"))
        return True

    def __iter__(self) -> Any:
        if not self._value.ndim:
            raise TypeError(at(f"a scalar has no axes, so it cannot be iterated over: {self!r}"))
        first = self._value.shape[0]
        if not isinstance(first, int):
            raise TypeError(at(f"a variable of unknown length cannot be iterated over: {self!r}; a "
                               "function of several variables takes them in a list"))
        return (self[i] for i in range(first))

    def _no_number(self) -> Any:
        """Refuse Python's conversions."""
        name = self.name or "x"
        raise TypeError(at(f"{self!r} is {self.type}, an expression without a value: "
                           f"{name}.eval({{...}}) or theano.function computes one, theano.scan "
                           "repeats as often as one says"))

    __float__ = __int__ = __index__ = __complex__ = _no_number

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """NumPy's functions are ours, and operators the variable's."""
        if ufunc.__name__ in ("equal", "not_equal"):  # array == variable: identity, as here
            return ufunc.__name__ == "not_equal"
        symbol = _OPERATORS.get(ufunc.__name__)
        function = METHODS.get(ufunc.__name__) or getattr(self._value, ufunc.__name__, None)
        if keywords.get("out", (None,))[0] is inputs[0]:  # of x += variable
            keywords = {}
        if method != "__call__" or keywords or (symbol is None and not callable(function)):
            raise TypeError(at(f"numpy.{ufunc.__name__} has no counterpart for variables; the "
                               "functions of theano.tensor take them"))
        if symbol is None:
            return getattr(self, ufunc.__name__)(*inputs[1:])
        a, b = (wrapped(as_tensor(frozen(x))) if isinstance(x, (np.ndarray, np.generic)) else x
                for x in inputs)
        return symbol(a, b)

    def __len__(self) -> int:
        raise TypeError(at(f"len() of a symbolic variable: use {self!r}.shape[0]"))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, list) and any(isinstance(k, slice) for k in key):
            key = tuple(key)
        x, key = self._value, bare(key)
        parts = key if isinstance(key, tuple) else (key,)
        if x.array is not None and not all(
                p is None or p is Ellipsis or isinstance(p, (int, slice)) for p in parts):
            x = symbol(graph_node(x))  # a graph says for set_subtensor what is selected of what
        return wrapped(x[key])

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(at(f"{self!r}[...] = value: a symbolic variable cannot be assigned to; "
                           "T.set_subtensor(x[key], value) gives a new one"))

    @property
    def owner(self) -> Any:
        """The operation and inputs that compute it, as an ``Apply``; None for what is given."""
        return OWNER[0](self)

    @owner.setter
    def owner(self, node: Any) -> None:
        raise AttributeError(at(f"{self!r}: the owner of a variable is what computes it, and stays;"
                                " theano.clone(y, {x: z}) makes the expression of others"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if (own := METHODS.get(name)) is not None:
            return functools.partial(own, self)
        if (known := ATTRIBUTES.get(name)) is not None:
            return known(self)
        if name in ("set_value", "get_value"):
            raise AttributeError(f"{self!r} is an expression, and no shared variable, which has "
                                 f"{name}(); theano.shared(value) makes one")
        found = getattr(self._value, name, None)
        if found is None and not hasattr(Tensor, name):
            raise no_attribute("theano.Variable", name, self)
        return lifted(found) if callable(found) else wrapped(found)

    __add__ = _operator("__add__")
    __sub__ = _operator("__sub__")
    __mul__ = _operator("__mul__")
    __truediv__ = _operator("__truediv__")
    __floordiv__ = _operator("__floordiv__")
    __mod__ = _operator("__mod__")
    __pow__ = _operator("__pow__")
    __matmul__ = _operator("__matmul__")
    __and__ = _operator("__and__")
    __or__ = _operator("__or__")
    __xor__ = _operator("__xor__")
    __lshift__ = _operator("__lshift__")
    __rshift__ = _operator("__rshift__")
    __radd__ = _operator("__radd__")
    __rsub__ = _operator("__rsub__")
    __rmul__ = _operator("__rmul__")
    __rtruediv__ = _operator("__rtruediv__")
    __rfloordiv__ = _operator("__rfloordiv__")
    __rmod__ = _operator("__rmod__")
    __rpow__ = _operator("__rpow__")
    __rmatmul__ = _operator("__rmatmul__")
    __rand__ = _operator("__rand__")
    __ror__ = _operator("__ror__")
    __rxor__ = _operator("__rxor__")
    __lt__ = _operator("__lt__")
    __le__ = _operator("__le__")
    __gt__ = _operator("__gt__")
    __ge__ = _operator("__ge__")
    __neg__ = _operator("__neg__")
    __abs__ = _operator("__abs__")
    __invert__ = _operator("__invert__")
    __pos__ = _operator("__pos__")

    @property
    def _value(self) -> Tensor:
        """The tensor, also where the variable stands for a size."""
        return as_tensor(self.tensor)

    @property
    def name(self) -> str | None:
        """Its name, for printing, or None."""
        return getattr(self.tensor, "name", None) or self.tag.name_of_node

    @name.setter
    def name(self, name: str | None) -> None:
        self.tensor.name = name
        self.tag.rename(name)

    @property
    def dtype(self) -> str:
        """The type of the elements, as a string."""
        return self._value.dtype.name

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._value.ndim

    @property
    def shape(self) -> Sizes:
        """The sizes: an integer variable for each axis."""
        return Sizes(wrapped(as_size(n)) for n in self._value.shape)

    @property
    def size(self) -> Variable:
        """How many elements there are."""
        found: Variable = wrapped(as_size(product(self._value.shape)))
        return found

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each axis, whether its size is known to be 1."""
        return tuple(isinstance(n, int) and n == 1 for n in self._value.shape)

    @property
    def T(self) -> Variable:  # noqa: N802
        """The axes in reverse order; it is named after this one."""
        found: Variable = wrapped(self._value.T)
        if self.name is not None and found.name is None:
            found.name = f"{self.name}.T"
        return found

    @property
    def real(self) -> Variable:
        """The real part."""
        return wrapped(self._value.real)

    @property
    def imag(self) -> Variable:
        """The imaginary part."""
        return wrapped(self._value.imag)


class Constant(Variable):
    """A variable whose value is known: of a tensor, or of a type and data."""

    __slots__ = ()

    def __init__(self, tensor: Any, data: Any = None, name: str | None = None) -> None:
        super().__init__(tensor if data is None else as_tensor(
            frozen(np.array(data, tensor.dtype))))
        self.tag.test_value = self.data
        if name is not None:
            self.name = name

    @property
    def data(self) -> np.ndarray:
        """The value."""
        found: np.ndarray = self.tensor.array
        return found

    value = data


class SharedVariable(Variable):
    """A variable with a value that lasts; :func:`~agnesi.compat.theano.shared` makes one."""

    __slots__ = ()

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The value: a copy, or with ``borrow`` the memory itself."""
        return self.tensor.get_value(borrow=borrow)

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Take another value of the same dtype and number of axes."""
        self.tensor.set_value(bare(value), borrow=borrow)

    @property
    def default_update(self) -> Any:
        """The expression whose value it takes after each call of a function that uses it."""
        return wrapped(self.tensor.default_update)

    @default_update.setter
    def default_update(self, value: Any) -> None:
        self.tensor.default_update = bare(value)

    @property
    def container(self) -> _Container:
        """The holder of the value: ``container.value``, ``container.data``."""
        return _Container(self)


class RandomStateSharedVariable(SharedVariable):
    """The state of a random variable."""

    __slots__ = ()


class _Container:
    """The value of a shared variable as an attribute."""

    def __init__(self, variable: SharedVariable) -> None:
        self.variable = variable

    @property
    def value(self) -> Any:
        return self.variable.get_value()

    @value.setter
    def value(self, value: Any) -> None:
        self.variable.set_value(value)

    data = storage = value


class Sizes(tuple):
    """The sizes of a variable: a tuple, and a vector where arithmetic is done with it."""

    __slots__ = ()

    def vector(self) -> Variable:
        """All sizes as one int64 vector."""
        return METHODS["vector"](list(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.vector(), name)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Sizes(tuple.__getitem__(self, key))
        return tuple.__getitem__(self, key) if isinstance(key, int) else self.vector()[key]

    def __add__(self, other: Any) -> Any:
        return Sizes((*self, *other)) if isinstance(other, tuple) else self.vector() + other

    def __mul__(self, other: Any) -> Any:
        return self.vector() * other

    __rmul__ = __mul__


def as_size(n: Any) -> Any:
    """A size as what a variable holds: run-time sizes stay sizes, known ones are constants."""
    return n if isinstance(n, Dim) else as_tensor(np.int64(n))


def wrapped(x: Any) -> Any:
    """Variables in place of tensors, in nests of tuples, lists and dicts."""
    if isinstance(x, Variable):
        return x
    if isinstance(x, Shared):
        return _made(RandomStateSharedVariable if isinstance(x, StreamState) else SharedVariable,
                     x, x.node)
    if isinstance(x, Tensor) and x._lazy:  # it has no node as long as its size is not known
        return Variable(x)
    if isinstance(x, Tensor):
        return _made(Variable, x, x.node) if x.array is None else Constant(x)
    if isinstance(x, Dim):
        return Variable(x)
    if type(x) in (tuple, list):
        return type(x)(wrapped(v) for v in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(wrapped(v) for v in x))
    if isinstance(x, dict):
        return type(x)((wrapped(k), wrapped(v)) for k, v in x.items())
    found = next((made for kind, made in OTHERS if isinstance(x, kind)), None)
    if found is not None:
        return found(x)
    return x.name if isinstance(x, np.dtype) else x


def _made(cls: type[Variable], x: Tensor, key: Any) -> Variable:
    found = VARIABLES.get(key)
    if found is None:
        found = VARIABLES[key] = cls(x)
        found.tag = tag_of(key)
        if type(key.op) is Item:
            RESULTS.setdefault(key.inputs[0], weakref.WeakValueDictionary())[key.op.index] = found
        for observer in MADE:
            observer(found)
    return found


def made_of(cls: type[Variable], x: Tensor) -> Variable:
    """The variable of a tensor, of the class with which a program made it."""
    return _made(cls, x, x.node)


def bare(x: Any) -> Any:
    """Tensors in place of variables, the inverse of :func:`wrapped`; "floatX" is its dtype."""
    if type(x) is str:
        return config.symbolic_float if x == "floatX" else x
    if isinstance(x, Variable):
        return x.tensor
    if isinstance(x, Sizes):
        return tuple(bare(v) for v in x)
    if isinstance(x, slice):
        return slice(bare(x.start), bare(x.stop), bare(x.step))
    if type(x) in (tuple, list):
        return type(x)(bare(v) for v in x)
    if isinstance(x, dict):
        return type(x)((bare(k), bare(v)) for k, v in x.items())
    return frozen(x) if type(x) is np.ndarray and x.dtype.kind in "biufc" else x


#: Functions whose results say nothing to Python's ``if``, as comparisons by operators.
_COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as one of variables."""
    name = getattr(function, "__name__", "")
    paired, compares, real = name in _PAIRED, name in _COMPARISONS, name in _REAL
    unary, first = name in _UNARY, 1 if name in ("switch", "where") else 0
    last = 2 if name == "tensordot" else 3

    @functools.wraps(function, updated=())
    def call(*args: Any, **keywords: Any) -> Any:
        given = bare(args)
        if paired:
            given = (*given[:first], *alike(*given[first:last]), *given[last:])
        elif unary and given:
            given = (*alike(given[0]), *given[1:])
        if real and given and isinstance(given[0], Tensor) and given[0].dtype.kind in "iub":
            kind = "float32" if given[0].dtype.itemsize < 4 else "float64"
            given = (cast(given[0], np.dtype(kind)), *given[1:])
        with floats():
            found = wrapped(function(*given, **{k: bare(v) for k, v in keywords.items()}))
        if compares and isinstance(found, Variable):
            found._is_comparison = True
        return found

    return call
