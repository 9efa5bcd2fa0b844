"""From tensors to Python and NumPy: numbers, lists, arrays, pickles."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Iterator, Mapping
from opcode import opmap
from typing import Any, NoReturn

import numpy as np

from agnesi.api.tensor import show
from agnesi.api.tensor.shared_memory import memory_of, seen_in
from agnesi.autodiff.recording import detach, is_leaf
from agnesi.core.dispatch import current
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir import dims
from agnesi.core.ir.dims import Dim, Size, Sizes
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.public import higher, planned
from agnesi.core.shapes import axis_of
from agnesi.core.storage.consumed_results import has_record, is_followed, is_spent
from agnesi.core.storage.leaves import is_differentiated
from agnesi.core.storage.lists import list_of
from agnesi.core.storage.memory_order import is_row_major
from agnesi.core.storage.views import looking_through
from agnesi.core.support.config import MODE, STATE, TRACES
from agnesi.core.support.errors import GradientError, MissingInputError, TraceError, at
from agnesi.core.support.tracing import current_trace, is_known, is_tracing, query_fact, within
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.ops.base import movement
from agnesi.ops.base.slices import FULL, views

#: So many elements are results of a compiled function by themselves.
_MOST_LISTED = 64
#: Shapes whose numbers of elements are kept.
_MOST_COUNTS = 1024
#: Rows that are made together where a program iterates over them.
_MOST_ROWS = 512
_size_of = tuple.__getitem__
_UNPACK = opmap["UNPACK_SEQUENCE"]


def value(x: Tensor, use: str) -> np.ndarray:
    """The array behind a tensor, or an error that says why ``use`` cannot have it."""
    if is_known(x):
        return x.array
    from agnesi.api.tensor.no_value import no_value

    raise no_value(x, use)


def _decided(x: Tensor, use: str) -> np.ndarray:
    """The array by which Python decides: while a function is traced for ``jit``, that of this call,
    which the compiled function compares with that of later ones.  What bodies of loops do not
    change has the value that it has outside."""
    if is_known(x):
        return x.array
    trace: Any = current_trace()
    if x.array is not None and hasattr(trace, "outward") and (
            trace.outward(current(x)) is not None):
        with within(trace.around):
            return _decided(x, use)
    decide = getattr(trace, "decide", None)
    found: np.ndarray | None = None if decide is None else decide(x, use)
    if found is None:
        from agnesi.api.tensor.no_value import no_value

        raise no_value(x, use)
    return found


#: What Python expects a TypeError of, as NumPy's arrays give it: ``bytes`` then takes elements.
_CONVERSIONS = frozenset(("int()", "float()", "complex()", "use as an index"))


def _one(x: Tensor, use: str, read: Callable[[Tensor, str], np.ndarray] = _decided) -> Any:
    if is_known(x) and (array := x.array).size == 1:
        return array.item()
    if dims.is_static(x.shape) and dims.product(x.shape) != 1:
        from agnesi.api.tensor.no_value import of_many

        kind = TypeError if use in _CONVERSIONS else ValueError
        raise kind(at(f"{use} takes a tensor of one element, not {typed(x)}{of_many(use)}"))
    return read(x, use).item()


def _deferred(x: Tensor) -> Any:
    """The only element: while a function is traced for ``jit``, a number that each call computes.
    """
    defer = getattr(current_trace(), "defer", None)
    number = None if defer is None else defer(x, "item()")
    return _one(x, "item()") if number is None else number


def item(self: Tensor, *index: Any) -> Any:
    """The only element (or the one at ``index``) as a Python number; no gradient flows through it.

    :param *index: One for each axis, or one into the flat elements.
    :type *index: int
    :returns: The number.
    :rtype: bool, int, float or complex
    :raises ValueError: If there are several elements and no index.
    :raises TraceError: While a graph is written.

    >>> ag.tensor([2.5]).item()
    2.5
    """
    if index:
        if is_known(self):
            try:
                return self.array.item(*index)
            except (IndexError, ValueError, TypeError) as error:
                raise type(error)(at(f"item: {typed(self)} has no element at "
                                     f"{', '.join(map(typed, index))}: {error}")) from None
        if len(index) == 1 and isinstance(index[0], tuple):  # as NumPy's
            index = index[0]
        rows: Any = self.reshape(-1) if len(index) == 1 else self
        return _deferred(rows[index])
    return _deferred(self)


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; no gradient flows through them.

    :returns: A number for a tensor without axes.
    :rtype: list or number
    :raises TraceError: While a graph is written.
    """
    found = _listed(self)
    return list_of(_decided(self, "tolist()")) if found is None else found


def _listed(x: Tensor) -> Any:
    """Nested lists of numbers that each call computes, of a few elements; None of others."""
    if is_known(x) or not dims.is_static(x.shape) or not 0 < dims.product(x.shape) <= _MOST_LISTED:
        return None
    defer = getattr(current_trace(), "defer", None)
    if defer is None:
        return None
    flat, found = x.reshape(-1), []
    for i in range(flat.shape[0]):
        found.append(defer(flat[i], "item()"))
        if found[-1] is None:
            return None
    for n in reversed(x.shape[1:]):
        found = [found[i:i + n] for i in range(0, len(found), n)]
    return found if x.shape else found[0]


@higher
def eval(self: Tensor, inputs: Mapping[Tensor, Any] | None = None) -> Any:
    """The value of a symbolic tensor, computed now by ``ag.function``.

    :param inputs: Values of the variables that it depends on.
    :type inputs: mapping of Tensor to array_like, optional
    :returns: The value; the tensor itself where it has one.
    :rtype: numpy.ndarray or Tensor
    :raises MissingInputError: If a variable has no value.
    :raises TypeError: If values are by name, and not by variable.

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.fscalar("x")
    >>> (x * x).eval({x: 3.0})
    array(9., dtype=float32)
    """
    if is_known(self) and not inputs:
        return self
    from agnesi.compiler.declaration import function  # late: it loads the compiler

    given = dict(inputs or {})
    for variable in given:
        if not isinstance(variable, Tensor):
            raise TypeError(at("eval: values are by variable, as in x.eval({x: value}); "
                               f"{typed(variable)} is no variable"))
    try:
        compiled = function(list(given), self)
    except MissingInputError as error:
        if is_tracing():
            value(self, "eval()")
        name = getattr(getattr(error, "variable", None), "name", None)
        if name is None:
            raise
        raise MissingInputError(at(f"eval: {typed(self)} depends on {name}, which has no value: "
                                   f"write eval({{{name}: value}})")) from None
    return compiled(*given.values())


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The NumPy array behind the tensor; no copy, so changes show in both.  No gradient flows.

    :param force: For PyTorch's users; nothing keeps an array from being given.
    :returns: Of the same shape and dtype.
    :raises TraceError: While a graph is written.

    >>> ag.tensor([1, 2]).numpy()
    array([1, 2])
    """
    return value(self, "numpy()")


def exported(x: Tensor, use: str) -> np.ndarray:
    """The array behind a tensor where it was not requested by name, so no gradient may be lost."""
    if is_known(x) and is_followed(x):
        raise lost(x, use)
    return value(x, use)


def lost(x: Tensor, use: str) -> GradientError:
    """The error where a gradient would end without a word."""
    if STATE.fixed:  # in the words of the library autograd
        return GradientError(at(
            f"{use} would lose the gradient of {typed(x)}: use the functions of autograd.numpy, or "
            "take autograd.tracer.getval(x) if none is to flow through it"))
    from agnesi.api.tensor.scipy_calls import counterpart

    name, own = counterpart(sys._getframe(1))
    if own:
        return GradientError(at(
            f"{name} would lose the gradient of {typed(x)}: write {own}, or x.detach() (or "
            "x.numpy(), x.item()) if no gradient is to flow through it"))
    return GradientError(at(
        f"{name or use} would lose the gradient of {typed(x)}: use functions of agnesi, as "
        "ag.asarray(...) for np.array(...) and ag.exp(x) for math.exp(x), or x.detach() (or "
        "x.numpy(), x.item()) if no gradient is to flow through it"
    ))


def _cut(x: Tensor, use: str) -> GradientError:
    """The error where a copy could not carry on what its gradient flows to."""
    return GradientError(at(f"{use} would lose the gradient of {typed(x)}: copy x.detach() if no "
                            "gradient is to flow through it, or take x.clone(), which keeps it"))


def _caller_does(instruction: str) -> bool:
    """Return whether Python called the caller of this function in such an instruction of its
    own."""
    frame: Any = sys._getframe(2)
    return frame.f_code.co_code[frame.f_lasti] == opmap[instruction]


def _is_unpacked_into_two(frame: Any) -> bool:
    code, place = frame.f_code.co_code, frame.f_lasti
    return bool(code[place] == _UNPACK and code[place + 1] == 2)


def _unwrapped(index: Tensor) -> TraceError:
    """The error where something that is no tensor is indexed by a symbol."""
    return TraceError(at(
        f"an array or a list is indexed by {show.symbolic(index)}, which has no value yet: wrap "
        "the array, ag.asarray(array)[index], so that it is a tensor that is indexed"
    ))


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:  # noqa: N807
    if not is_known(self) and self.dtype.kind in "biu" and _caller_does("BINARY_SUBSCR"):
        raise _unwrapped(self)
    use = "conversion to a NumPy array"
    if is_known(self) and is_followed(self) and _implicit(sys._getframe(1)):
        raise lost(self, use)
    data = value(self, use)
    if dtype is not None and data.dtype != dtype:
        if copy is False:
            raise ValueError(at(f"{typed(self)} cannot become {np.dtype(dtype)} without a copy"))
        return data.astype(dtype)
    return data.copy() if copy else data


def _check_number(x: Tensor) -> None:
    """Refuse to lose the gradient of a number that was not requested by name."""
    if x._requires_grad and MODE.get().recording and (use := _implicit(sys._getframe(2))) and (
            not is_spent(x)):
        raise lost(x, use)


def _implicit(frame: Any) -> str:
    """What in a frame reads a value without saying so; empty where the user does by name."""
    from agnesi.compiler.value_requests import implicit

    return implicit(frame)


def _check_box(x: Tensor, use: str) -> None:
    """Refuse a number of what is differentiated where no value changes in place: boxes of the
    library autograd are none."""
    if STATE.fixed and is_followed(x):
        raise GradientError(at(f"{use} would lose the gradient of {typed(x)}: leave it out, or "
                               "take autograd.tracer.getval(x) if none is to flow through it"))


def __bool__(self: Tensor, /) -> bool:  # noqa: N807
    note = getattr(current_trace(), "note_truth", None) if self.array is None else None
    if note is not None:
        note(self)
    return bool(_one(self, "bool()"))


def __int__(self: Tensor, /) -> int:  # noqa: N807
    _check_box(self, "int()")
    return int(_one(self, "int()"))


def __float__(self: Tensor, /) -> float:  # noqa: N807
    _check_box(self, "float()")
    found = float(_one(self, "float()"))  # the error for a tensor without a value says more
    _check_number(self)
    return found


def __complex__(self: Tensor, /) -> complex:  # noqa: N807
    _check_box(self, "complex()")
    found = complex(_one(self, "complex()"))
    _check_number(self)
    return found


def __index__(self: Tensor, /) -> int:  # noqa: N807
    if not is_known(self) and _caller_does("BINARY_SUBSCR"):
        raise _unwrapped(self)
    if self.dtype.kind not in "biu":
        raise TypeError(at(f"only integer tensors can be an index or count, not {typed(self)}: "
                           "convert it with .astype('int64')"))
    return int(_one(self, "use as an index"))


def __len__(self: Tensor) -> int:  # noqa: N807
    shape = self.shape
    if not shape:
        raise TypeError(at(f"len() of {typed(self)}, which has no axes; x.size counts elements"))
    n = shape[0]
    return n if isinstance(n, int) else n._no_number("len()")


def __iter__(self: Tensor) -> Iterator[Tensor]:  # noqa: N807
    if not self.shape:
        raise TypeError(at(f"{typed(self)} has no axes, so it cannot be iterated over; x.item() is "
                           "its value"))
    n: Any = self.shape[0]
    if isinstance(n, int) and n != 2 and _is_unpacked_into_two(sys._getframe(1)):
        raise ValueError(at(
            f"{'too many' if n > 2 else 'not enough'} values to unpack (expected 2): "
            f"{typed(self)} has {n} row{'s' * (n != 1)}; for values and indices, as of PyTorch's "
            "max, write x.max(dim=...)"))
    count = n if isinstance(n, int) else n._no_number("for, which iterates over rows,")
    return _rows(self, count)


def _rows(x: Any, count: int) -> Iterator[Tensor]:
    """The rows one after the other; made some at a time, more and more, where they are views."""
    first, block = 0, 1
    while first < count:
        last = min(first + block, count)
        if type(x) is not Tensor or x.ndim == 1 or TRACES.running or MODE.get().symbolic:
            yield from (x[i] for i in range(first, last))
        else:
            yield from views(x, ((i, *(FULL,) * (x.ndim - 1)) for i in range(first, last)))
        first, block = last, min(2 * block, _MOST_ROWS)


def __contains__(self: Tensor, element: Any) -> bool:  # noqa: N807
    found: Any = self == element
    return bool(found.any())


def __format__(self: Tensor, spec: str) -> str:  # noqa: N807
    if not spec and (self.ndim or not is_known(self)):
        return str(self)  # of one number without axes, what PyTorch and NumPy write: the number
    return format(_one(self, "format()", value), spec)


class Count(int):
    """A number of elements; called, it gives the shape or one size, as in PyTorch."""

    _shape: Sizes

    def __getitem__(self, axis: Any) -> NoReturn:
        raise TypeError(at("x.size is a number, of all elements: x.shape[i] and x.size(i) are the "
                           "size of an axis"))

    def __call__(self, dim: int | None = None) -> Any:
        if dim is None:
            return self._shape
        try:
            if type(dim) is int and 0 <= dim < len(self._shape):
                return _size_of(self._shape, dim)
            return self._shape[axis_of(dim, len(self._shape))]
        except (IndexError, TypeError) as error:
            raise type(error)(at(f"size({dim!r}) of shape {tuple(self._shape)}: {error}")) from None


class _Counts(dict[tuple[int, ...], Count]):
    """Numbers of elements by shapes, so that asking a tensor makes no object."""

    def __missing__(self, shape: tuple[int, ...]) -> Count:
        if len(self) >= _MOST_COUNTS:
            self.clear()
        count = self[shape] = Count(dims.product(shape))
        count._shape = Sizes(shape)
        return count


_COUNTS = _Counts()


def size(self: Tensor) -> Any:
    """Number of elements; ``size()`` and ``size(axis)`` give the shape and a size.

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.ones((2, 3))
    >>> x.size, x.size(), x.size(1)
    (6, (2, 3), 3)
    """
    data = self.array
    if data is not None:
        return _COUNTS[data.shape]
    number = dims.product(self.shape)
    return number if isinstance(number, Dim) else _COUNTS[self.shape]


def numel(self: Tensor) -> Size:
    """Number of elements.

    :returns: The product of the sizes.
    :rtype: int or Dim
    """
    data = self.array
    return dims.product(self.shape) if data is None else data.size


Sizes.numel = strict(Sizes.numel)  # type: ignore[method-assign]


def element_size(self: Tensor) -> int:
    """Bytes of one element.

    :returns: 4 for float32.
    """
    return self.dtype.itemsize


def nbytes(self: Tensor) -> Size:
    """Bytes of all elements."""
    return numel(self) * self.dtype.itemsize


def is_contiguous(self: Tensor, *, memory_format: object = None) -> bool:
    """Return whether the elements are contiguous in memory, in C order.

    :param memory_format: Taken from PyTorch's calls, and not needed.
    :type memory_format: object
    :returns: True for what has no or one element.
    """
    data = self.array
    if data is not None and not TRACES.running:
        return bool(data.flags.c_contiguous)
    if data is None:
        query_fact(self, "layout", True)
    return is_row_major(self)


def contiguous(self: Tensor, *, memory_format: object = None) -> Tensor:
    """The tensor itself if its elements are in C order, else a copy that does.

    :param memory_format: Taken from PyTorch's calls, and not needed.
    :type memory_format: object
    :returns: Of the same shape and dtype.
    """
    data = self.array
    contiguous = data is not None and not TRACES.running and data.flags.c_contiguous
    return self if contiguous else movement.contiguous(self)


@planned
def clone(self: Tensor, *, memory_format: object = None) -> Tensor:
    """A copy in memory of its own; gradients flow through it.

    :like: contiguous
    """
    from agnesi.ops.arrays.replicate import copy

    return copy(self)


@planned
def copy(self: Tensor, order: object = None) -> Tensor:
    """:func:`clone` by NumPy's name.

    :param order: Taken from NumPy's calls, and not needed.
    :type order: object
    :returns: Of the same shape and dtype.
    """
    return clone(self)


def _rebuild(data: np.ndarray, requires_grad: bool, name: str | None, view: Any = None) -> Tensor:
    t = wrap(data if view is None else seen_in(data, view))
    t._requires_grad = requires_grad
    t._name = name
    return t


def _reduced(thing: Any) -> Any:
    """Return what pickles keep of a node or a graph; the module that knows it is loaded on demand.
    """
    from agnesi.compiler.compilation import graph_serialization

    return graph_serialization.reduced(thing)


for _kind in (Node, FunctionGraph):
    copyreg.pickle(_kind, _reduced)


def _symbol_again(node: Any, name: str | None) -> Tensor:
    t = symbol(node)
    t._name = name
    return t


def _is_open(x: Tensor) -> bool:
    """Return whether what a graph is written for stands for the tensor, and no user's symbol."""
    return is_tracing() or (x.array is None and STATE.examples is not None)


def _has_record(x: Tensor) -> bool:
    """Return whether gradients flow through the tensor to what it was made from."""
    return has_record(x) or (
        x._requires_grad and MODE.get().recording and is_tracing() and not is_leaf(x))


def __reduce__(self: Tensor) -> Any:  # noqa: N807
    if self.array is None and not _is_open(self):
        return _symbol_again, (self.node, self._name)
    if is_known(self) and is_followed(self) and is_differentiated(self):
        raise _cut(self, "pickle")
    data = value(self, "pickle")
    root, view = memory_of(data)
    rest = (self._requires_grad and is_leaf(self), self._name)
    found = (data, *rest) if view is None else (root, *rest, view)
    return (_rebuild, found, vars(self)) if vars(self) else (_rebuild, found)


def __copy__(self: Tensor) -> Tensor:  # noqa: N807
    """The same memory in a tensor of its own; gradients flow on to what the value was made from."""
    made = _copied(self)
    if vars(self):
        vars(made).update(vars(self))
    return made


def _copied(self: Tensor) -> Tensor:
    if self.array is None and not _is_open(self):
        return _symbol_again(self.node, self._name)
    if not is_known(self) or _has_record(self):
        return self[...]
    return _rebuild(self.array, self._requires_grad and is_leaf(self), self._name)


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # noqa: N807
    """A copy in memory of its own; gradients flow through it, but a parameter's start again."""
    made = _deeply_copied(self, memo)
    if vars(self):
        from copy import deepcopy

        vars(made).update(deepcopy(vars(self), memo))
    return made


def _deeply_copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self.array is None and not _is_open(self):
        from copy import deepcopy

        return memo.setdefault(id(self), _symbol_again(deepcopy(self.node, memo), self._name))
    begins = self._requires_grad and is_leaf(self)
    recorded = _has_record(self)
    # Copies of tensors that share memory share theirs, which those that are being traced cannot.
    shared = looking_through(self)[0]
    if (recorded or _is_open(self)) and id(shared) not in memo:
        from agnesi.ops.arrays.replicate import copy

        made = copy(self) if recorded or not begins else copy(detach(self)).requires_grad_(True)
        memo[id(shared)] = memo[id(self)] = made
        made._name = self._name
        if begins and isinstance(self.grad, Tensor):
            made.grad = __deepcopy__(self.grad, memo)
        return made
    if recorded:
        raise _cut(self, "deepcopy beside another view of the same memory")
    root, view = memory_of(value(self, "deepcopy"))
    if id(root) not in memo:
        memo[id(root)] = root.copy(order="A")
    made = _rebuild(memo[id(root)], begins, self._name, view)
    memo[id(self)] = made
    if isinstance(self._grad, Tensor):
        made._grad = __deepcopy__(self._grad, memo)
    return made
