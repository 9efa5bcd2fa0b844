"""The one array type that users meet: a value, or a node of a graph, or both.

A tensor is a handle: a value (``array``, an ndarray) or a ``node``, or both, with the flag
``requires_grad``, the gradient, and a name. What it views, and what looks into it, is in
``core/storage/views.py``; its methods are bound by ``api/tensor/methods.py``.

A gradient that a jitted step makes and uses up does not exist outside of the step: ``grad`` then
holds the mark ``CONSUMED``, and reading it is an error. Native guards check that the mark is still
there. Gradients that add to earlier ones do exist.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any, NoReturn

import numpy as np

from agnesi.core.ir.dims import Sizes
from agnesi.core.ir.node import Node
from agnesi.core.support.config import HOOKS, MODE
from agnesi.core.support.errors import GradientError, at, no_attribute, shown, typed, warn
from agnesi.core.support.tracing import query_fact, refuse_new_name


class Absent:
    """A name of other libraries' tensors, whose error says what to use.

    With ``__getattr__`` NumPy would wait for an error for all that it looks for in an operand.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Tensor | None, owner: type) -> NoReturn:
        raise no_attribute("Tensor", self.name, instance)


class NearMiss(Absent):
    """A name so near to one that may be assigned that it can only be meant for that."""

    def __init__(self, name: str, meant: str) -> None:
        super().__init__(name)
        self.meant = meant

    def __set__(self, instance: Tensor, value: Any) -> NoReturn:
        raise AttributeError(at(f"{typed(instance)} has no attribute {self.name!r} to assign; "
                                f"did you mean {self.meant!r}?"))


class Called:
    """A method to which nothing can be assigned: programs that do so mean a call of it."""

    def __init__(self, method: Callable[..., Any]) -> None:
        functools.update_wrapper(self, method)
        self.method = method

    def __get__(self, instance: Tensor | None, owner: type) -> Any:
        return self.method if instance is None else MethodType(self.method, instance)

    def __set__(self, instance: Tensor, value: Any) -> NoReturn:
        name = self.method.__name__
        given = value if type(value) is bool and name == "requires_grad_" else ""
        raise TypeError(at(f"{name} of {typed(instance)} is a method, and cannot become "
                           f"{shown(value)}: it is called, as in x.{name}({given})"))


class _Listed(type):
    """A class that does not list the names that only say what to use."""

    def __dir__(cls) -> list[str]:
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            found.update(vars(base))
        return [n for n in type.__dir__(cls) if not isinstance(found.get(n), Absent)]

    def __call__(cls, *data: Any, **keywords: Any) -> Any:
        """``Tensor(data)``, or ``Tensor(*sizes)`` filled with zeros, as in PyTorch."""
        if cls is Tensor:
            return HOOKS.tensor(*data, **keywords)
        return super().__call__(*data, **keywords)


class Tensor(metaclass=_Listed):
    """An n-dimensional array that can be differentiated.

    A tensor holds a value (``array``, a NumPy array), or stands for a value to come (``node`` only,
    in symbolic programs and inside ``jit``).  Make one with :func:`agnesi.tensor`.  Programs may
    give it attributes of their own (``p.tag = "bias"``), which copies and pickles of it have, too,
    but not results of operations.

    Attributes
    ----------
    array : numpy.ndarray or None
        The value; None for a symbolic tensor.
    requires_grad : bool
        Whether operations on it are recorded so that gradients can flow to it.
    grad : Tensor or None
        What ``backward`` accumulated.
    name : str or None
        A name for printing.

    See Also
    --------
    tensor, asarray, symbolic.variable

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    #: Whether it stands for elements under a mask, on which operations may work as they are among
    #: the others (``ops/indexing/masked.py``).
    _lazy = False
    #: Whether its elements are in the memory of a device (``core/storage/device_tensors.py``).
    _placed = False
    #: Whether ``x += 1`` rebinds ``x`` to a new object, as for NumPy's scalars.
    _is_number = False
    __slots__ = (
        "__dict__", "__weakref__", "_element", "_grad", "_name", "_requires_grad", "_version",
        "_view", "array", "node",
    )

    array: np.ndarray | None
    node: Node | None
    _requires_grad: bool  # what the property checks that api/tensor/methods.py binds
    _grad: Any
    _view: Any
    _element: Any  # where an element was taken from; missing elsewhere
    _version: list[Any] | None  # the number of the last change, then weak references to views
    _name: str | None

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *getattr(self, "__dict__", ())})

    @property
    def shape(self) -> Sizes:
        """Sizes of the axes."""
        data = self.array
        shape = data.shape if data is not None else self.node.shape  # type: ignore[union-attr]
        return shape if type(shape) is Sizes else Sizes(shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        data = self.array
        return data.dtype if data is not None else self.node.dtype  # type: ignore[union-attr]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        data = self.array
        return data.ndim if data is not None else len(self.shape)

    @property
    def weak(self) -> bool:
        """Whether it came from Python scalars only and does not decide over dtypes."""
        return self.array is None and self.node.weak  # type: ignore[union-attr]

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` has accumulated for this tensor; None before.

        Of a declared expression a function: ``y.grad(wrt=[a, b])`` are expressions, too.
        """
        trace = MODE.get().trace
        if trace is not None:
            return trace.read_grad(self)  # type: ignore[no-any-return]
        if self._grad is CONSUMED:
            raise GradientError(
                at(
                    "this gradient was made and used up inside a jit-compiled step and does not "
                    "exist outside of it; compile the step with ag.jit(keep_grads=True) to keep it"
                )
            )
        if self.array is None and self._grad is None:
            return HOOKS.gradients(self)  # type: ignore[no-any-return]
        if self._grad is None and self._requires_grad and (node := self.node) is not None and (
                node.op is not None and node.requires_grad and node.handle is None):
            warn(f"grad of {typed(self)}, which was computed, is "
                 "None: backward() gives gradients to the tensors that it was computed from; "
                 "retain_grad() keeps this one's, too")
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None:
            _check_grad(self, grad)
        trace = MODE.get().trace
        if trace is not None:
            trace.write_grad(self, grad)
        else:
            self._grad = grad

    @property
    def name(self) -> str | None:
        if (facts := query_fact(self, "name")) is not None:
            return facts.get("name")  # type: ignore[no-any-return]
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(at(f"the name of {typed(self)} must be a string or None, not "
                               f"{typed(name)}"))
        refuse_new_name(self)
        self._name = name
        if self.node is not None and self.node.op is None:
            self.node.name = name


def alike(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors have one shape."""
    x: Any = a.node if a.array is None else a.array
    y: Any = b.node if b.array is None else b.array
    return x.shape == y.shape  # type: ignore[no-any-return]


class _Consumed:
    """Stands in ``_grad`` for a gradient that lived inside a compiled step only."""


CONSUMED = _Consumed()
_new = Tensor.__new__


def _check_grad(t: Tensor, grad: Any) -> None:
    if type(grad) is Tensor and (data := grad.array) is not None and (
            (own := t.array) is not None and data.shape == own.shape and data.dtype is own.dtype):
        return
    if not isinstance(grad, Tensor) and not getattr(grad, "is_sparse", False):
        raise TypeError(at(f"grad must be a Tensor or None, not {type(grad).__name__}"))
    if grad.shape != t.shape or grad.dtype != t.dtype:
        raise ValueError(
            at(
                f"grad has {grad.dtype}{list(grad.shape)}, but the tensor has "
                f"{t.dtype}{list(t.shape)}; both must agree"
            )
        )


def wrap(data: np.ndarray) -> Tensor:
    """A concrete tensor around an array, without a copy and without a record."""
    t = _new(Tensor)
    t.array = data
    t.node = None
    t._requires_grad = False
    t._grad = None
    t._view = None
    t._version = None
    t._name = None
    return t


_SLOTS = tuple(n for n in vars(Tensor)["__slots__"] if n[:2] != "__")


def as_kind(kind: Any, t: Tensor) -> Any:
    """The same tensor as one of a subclass."""
    found = kind.__new__(kind)
    for name in _SLOTS:
        if hasattr(t, name):
            setattr(found, name, getattr(t, name))
    return found


def symbol(node: Node) -> Tensor:
    """A symbolic tensor that stands for a node."""
    t = _new(Tensor)
    t.array = None
    t.node = node
    t._requires_grad = node.requires_grad
    t._grad = None
    t._view = None
    t._version = None
    t._name = node.name
    return t


def keep(t: Tensor, node: Node) -> None:
    """Keep a value for the gradient rules of a recorded node, and the count of its changes."""
    counter = t._version
    if counter is None:
        counter = t._version = [0]
    node.value = t.array
    node.version = counter
    if len(counter) > 1:  # others look into the memory
        register(counter, node)


def register(family: list[Any], t: Tensor | Node) -> None:
    """Let the family of tensors on one memory know a tensor, or a node that keeps one's value for a
    gradient, weakly.
    """
    before = len(family)
    family.append(weakref.ref(t))
    if before >= 32 and before & (before - 1) == 0:
        family[1:] = [ref for ref in family[1:] if ref() is not None]
