"""Variables: arrays that know which function made them, and gather gradients."""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from agnesi.core.support import dtypes
from agnesi.core.support.errors import at, no_attribute, typed

#: What operators are, set by ``forms/math.py``: name -> function of variables and numbers.
OPERATORS: dict[str, Callable[..., Any]] = {}


class Flag:
    """Whether a variable keeps no history: on, off, or what other inputs of a function say."""

    def __init__(self, value: bool | None) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (bool, str, Flag, type(None))) and self.value is flag(other).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return {True: "ON", False: "OFF", None: "AUTO"}[self.value]


_NAMES = {"on": True, "off": False, "auto": None}


def flag(value: Any) -> Flag:
    """A flag of what a user gave: a bool, or "on", "off" or "auto"."""
    if isinstance(value, Flag):
        return value
    if isinstance(value, str):
        if value.lower() not in _NAMES:
            raise ValueError(f"volatile must be a bool, 'on', 'off' or 'auto', not {value!r}")
        return Flag(_NAMES[value.lower()])
    if not isinstance(value, (bool, np.bool_, NoneType)) and value not in (0, 1):
        raise TypeError(f"volatile must be a bool, 'on', 'off' or 'auto', not {typed(value)}")
    return Flag(None if value is None else bool(value))


def common(flags: list[Flag], name: str) -> Flag:
    """Return the flag that follows from the flags of a function's inputs."""
    values = {f.value for f in flags} - {None}
    if len(values) > 1:
        raise ValueError(f"{name}: volatile and non-volatile variables cannot be mixed as inputs; "
                         "set x.volatile of all to the same")
    return Flag(values.pop() if values else None)


class Variable:
    """An array with the history of how it was computed, as in Chainer.

    Parameters
    ----------
    data : numpy.ndarray
    volatile : bool or {"on", "off", "auto"}
        Whether nothing that is computed from it is remembered.
    name : str, optional
    grad : numpy.ndarray, optional

    Attributes
    ----------
    data, grad : numpy.ndarray
        ``grad`` is None until gradients arrive.
    creator : Function or None
        Which function made it.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.compat.chainer import Variable
    >>> x = Variable(np.array([5], dtype=np.float32))
    >>> y = x**2 - 2 * x + 1
    >>> y.backward()
    >>> y.data, x.grad
    (array([16.], dtype=float32), array([8.], dtype=float32))
    """

    __array_priority__ = 200
    __array_ufunc__ = None

    def __init__(self, data: Any, volatile: Any = False, name: str | None = None,
                 grad: Any = None) -> None:
        if data is None:
            raise TypeError(at("a Variable holds a numpy.ndarray, not None"))
        self.data = data
        self._volatile = flag(volatile)
        self.name = name
        self._grad = grad
        self.creator: Any = None
        self.rank = 0

    @property
    def data(self) -> Any:
        """The array; None of a parameter whose shape is not known yet."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        if not isinstance(data, np.ndarray) and data is not None:
            raise TypeError(at(f"Variable.data must be a numpy.ndarray, not {typed(data)}: "
                               "np.array(..., dtype=np.float32)"))
        if data is not None and data.dtype.kind not in "biufcV":
            raise TypeError(at(f"Variable.data must be an array of numbers, not {typed(data)}"))
        self._data = data

    array = data

    @property
    def volatile(self) -> Any:
        """Whether nothing that is computed from it is remembered."""
        return self._volatile

    @volatile.setter
    def volatile(self, value: Any) -> None:
        self._volatile = flag(value)

    @property
    def grad(self) -> Any:
        """The gradient, of the shape and dtype of the data; None before one arrived."""
        return self._grad

    @grad.setter
    def grad(self, g: Any) -> None:
        if g is not None:
            checked(g, self.data, "grad")
        self._grad = g

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def label(self) -> str:
        """Its shape and type, for drawings."""
        return f"{self.shape}, {self.dtype}" if self.shape else str(self.dtype)

    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return self.data.size

    def __str__(self) -> str:
        return self.name or repr(self)

    def __repr__(self) -> str:
        return f"<variable {self.name}>" if self.name else f"<variable {self.label}>"

    def __bool__(self) -> bool:
        raise NotImplementedError(at("the truth of a Variable: use its data"))

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> Any:
        raise NotImplementedError(at("comparison of Variables: compare their data"))

    __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __float__(self) -> float:
        raise TypeError(at(f"{self!r} is no number: float(x.data) is the one in its array"))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(at(f"{self!r} cannot be assigned to: functions.where and functions.concat "
                           "make another one of it, and x.data[key] = value forgets its history"))

    def __reduce__(self) -> Any:
        return Variable, (self.data, self._volatile, self.name, self._grad)

    def __deepcopy__(self, memo: Any) -> Variable:
        return Variable(self.data.copy(), self._volatile, self.name,
                        None if self._grad is None else self._grad.copy())

    def __getattr__(self, name: str) -> Any:
        if name in OPERATORS and not name.startswith("_"):
            return OPERATORS[name].__get__(self)
        raise no_attribute("chainer.Variable", name, self)

    def set_creator(self, gen_func: Any) -> None:
        """Note which function made it."""
        if not hasattr(gen_func, "rank"):
            raise TypeError(at("Variable.set_creator: gen_func must be the chainer.Function that "
                               f"made the variable, not {typed(gen_func)}"))
        self.creator = gen_func
        self.rank = gen_func.rank + 1

    def zerograd(self) -> None:
        """Set the gradient to zero, in its own memory."""
        if self._grad is None:
            self._grad = np.zeros_like(self.data)
        else:
            self._grad.fill(0)

    def cleargrad(self) -> None:
        """Forget the gradient."""
        self._grad = None

    def copydata(self, var: Variable) -> None:
        """Take the data of another one, in its own memory."""
        np.copyto(self.data, var.data)

    def addgrad(self, var: Variable) -> None:
        """Add the gradient of another one."""
        if var.grad is not None:
            if self._grad is None:
                self._grad = var.grad.copy()
            else:
                self._grad += var.grad

    def to_cpu(self) -> Variable:
        """The variable itself, which is in the processor's memory."""
        return self

    def to_gpu(self, device: Any = None) -> Variable:
        """The variable itself: devices are the processor."""
        return self

    def backward(self, retain_grad: bool = False) -> None:
        """Send gradients back to what it was computed from, adding to those of root variables.

        :param retain_grad: Whether gradients of what is between are kept.
        :raises ValueError: If there are several elements and no ``grad`` was set.
        """
        if self._grad is None and not self._in_another():
            if self.data.size != 1:
                raise ValueError(at(f"backward() of {typed(self)} needs its gradient: set y.grad "
                                    "first, as only single numbers begin with 1"))
            self._grad = np.ones_like(self.data)
        _propagate(self, retain_grad)

    def _in_another(self) -> bool:
        """Whether another result of the same function has a gradient, which goes back too."""
        others = getattr(self.creator, "outputs", None) or ()
        return any(y is not None and y._grad is not None for y in [y() for y in others])

    def unchain_backward(self) -> None:
        """Forget how it was computed, and all that it was computed from."""
        functions = [self.creator]
        while functions:
            function = functions.pop()
            if function is not None and function.inputs is not None:
                functions.extend(x.creator for x in function.inputs)
                function.unchain()


def checked(array: Any, like: Any, what: str) -> None:
    """Refuse an array of another shape or dtype."""
    if not isinstance(array, np.ndarray):
        raise TypeError(at(f"{what} must be a numpy.ndarray, not {typed(array)}"))
    if array.dtype != like.dtype:
        raise TypeError(at(f"{what} is {typed(array)}, the data {typed(like)}"))
    if array.shape != like.shape:
        raise ValueError(at(f"{what} is {typed(array)}, the data {typed(like)}"))


def _propagate(end: Variable, retain: bool) -> None:
    order = itertools.count()
    waiting: list[Any] = []
    met: set[int] = set()
    #: Whose gradient is not its own memory yet.
    shared: set[int] = {id(end)}
    arrived: set[int] = {id(end)}

    def add(function: Any) -> None:
        if function is not None and id(function) not in met:
            met.add(id(function))
            heapq.heappush(waiting, (-function.rank, next(order), function))

    add(end.creator)
    while waiting:
        _, _, function = heapq.heappop(waiting)
        outputs = [y() for y in function.outputs]
        gys = tuple([None if y is None else y.grad for y in outputs])
        xs = function.inputs
        with np.errstate(all="ignore"):
            gxs = function.backward(tuple([x.data for x in xs]), gys)
        if not isinstance(gxs, tuple) or len(gxs) != len(xs):
            raise TypeError(f"{function.label}.backward must return a tuple with a gradient (or "
                            f"None) for each of its {len(xs)} inputs")
        if not retain:
            for y in outputs:
                if y is not None and y is not end:
                    y._grad = None
        for x, gx in zip(xs, gxs, strict=True):
            if gx is None:
                continue
            gx = np.asarray(gx)
            checked(gx, x.data, f"{function.label}: the gradient of an input")
            _arrive(x, gx, shared, arrived)
            add(x.creator)


def _arrive(x: Variable, gx: Any, shared: set[int], arrived: set[int]) -> None:
    """Add a gradient; that of an inner variable starts again in each backward pass."""
    root = x.creator is None
    if x._grad is None or (not root and id(x) not in arrived):
        x._grad = gx
        shared.add(id(x))
    elif id(x) in shared:
        x._grad = np.asarray(x._grad + gx)
        shared.discard(id(x))
    else:
        x._grad += gx
    arrived.add(id(x))


def _operator(name: str) -> Any:
    def method(self: Variable, *others: Any) -> Any:
        return OPERATORS[name](self, *others)

    return method


for _name in ("add radd sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul neg abs "
              "getitem").split():
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))


def as_variable(x: Any) -> Variable:
    """A variable of whatever may stand for one; arrays join any history."""
    if isinstance(x, Variable):
        return x
    array = np.asarray(x)
    if array.dtype.kind not in "biufc" and array.dtype != dtypes.bfloat16:
        called = "; call it and pass the result" if callable(x) else ""
        raise TypeError(at(f"a function of variables takes variables and arrays of numbers, not "
                           f"{typed(x)}{called}"))
    return Variable(array, volatile="auto")


def weak(xs: Any) -> tuple[Any, ...]:
    """Weak references, through which functions know their outputs."""
    return tuple(weakref.ref(x) for x in xs)
