"""Inputs, constants, and tensors of given sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.compat.theano.base.casting import alike
from agnesi.compat.theano.base.tags import mention
from agnesi.compat.theano.config import config as settings
from agnesi.compat.theano.types import TensorType, constant
from agnesi.compat.theano.variable import (
    Constant,
    Sizes,
    Variable,
    bare,
    floats,
    lifted,
    wrapped,
)
from agnesi.core.support.config import config
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor

_LETTERS = {"": None, "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32",
            "d": "float64", "c": "complex64", "z": "complex128"}
_AXES: dict[str, tuple[bool, ...]] = {
    "scalar": (), "vector": (False,), "matrix": (False, False), "row": (True, False),
    "col": (False, True), **{f"tensor{n}": (False,) * n for n in range(3, 8)},
}


def _constructor(dtype: str | None, broadcastable: tuple[bool, ...]) -> Callable[..., Variable]:
    def make(name: str | None = None, dtype: Any = dtype, **shape: Any) -> Variable:
        sizes = shape.get("shape")
        return TensorType(dtype or config.symbolic_float, broadcastable, shape=sizes)(name)

    return make


def _several(make: Callable[..., Variable]) -> Callable[..., Any]:
    def several(*names: Any) -> Any:
        """Several inputs: by their names, by letters or a list of these, or by a number."""
        wanted = names[0] if len(names) == 1 else names
        found = [make(n) for n in ([None] * wanted if isinstance(wanted, int) else wanted)]
        return found[0] if len(found) == 1 else found

    return several


_made: dict[str, Any] = {}
for _letter, _dtype in _LETTERS.items():
    for _kind, _pattern in _AXES.items():
        _make = _constructor(_dtype, _pattern)
        _make.__name__ = _make.__qualname__ = f"{_letter}{_kind}"
        _make.__doc__ = f"A new {_kind} of {_dtype or 'config.floatX'}, an input."
        _made[f"{_letter}{_kind}"] = _make
        _plural = "matrices" if _kind == "matrix" else f"{_kind}s"
        _made[f"{_letter}{_plural}"] = _several(_make)
globals().update(_made)


def tensor(*args: Any, name: str | None = None, dtype: Any = None, shape: Any = None,
           broadcastable: Any = None) -> Variable:
    """A new input of any type: ``tensor(dtype, broadcastable)`` or ``tensor("x", shape=...)``."""
    kinds = [a for a in args if isinstance(a, str)]
    for given in args:
        if not isinstance(given, str):
            broadcastable = given
    if kinds and dtype is None and shape is None:
        dtype = kinds.pop()
    name = kinds[0] if kinds else name
    return TensorType(dtype or config.symbolic_float, broadcastable or (), shape=shape)(name)


def as_tensor_variable(x: Any, name: str | None = None, ndim: int | None = None,
                       dtype: Any = None) -> Variable:
    """A variable, from a variable, an array, a number, or a list of them."""
    dtype = bare(dtype)
    if isinstance(x, Sizes):
        x = list(x) if x else np.zeros(0, np.int64)
    if isinstance(x, Variable):
        found, dtype = x, None
    elif isinstance(x, (list, tuple)) and _has_variables(x):
        found = stack([as_tensor_variable(v) for v in x])
    else:
        with floats():
            if isinstance(x, (list, tuple)) and not np.size(x):
                x = np.zeros(np.shape(x), config.symbolic_float)
            known = isinstance(x, (np.ndarray, list, int, float))
            found = constant(x) if known else wrapped(as_tensor(bare(x)))
    if dtype is not None and found.dtype != dtype:
        found = cast(found, dtype)
    if ndim is not None and found.ndim > ndim:
        gone = found.ndim - ndim
        if not all(found.broadcastable[:gone]):
            raise ValueError(at(f"as_tensor_variable: {found.type} has {found.ndim} axes, of which "
                                f"the first {gone} do not have size 1: ndim={ndim}"))
        found = found.dimshuffle(*range(gone, gone + ndim))
    if ndim is not None and found.ndim < ndim:
        found = found.dimshuffle(*["x"] * (ndim - found.ndim), *range(found.ndim))
    if name is not None:
        found.name = name
    return found




def _has_variables(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_has_variables, x))
    return isinstance(x, Variable)


def stack(*tensors: Any, axis: int = 0) -> Variable:
    """Tensors of one shape along a new axis; a list of them, or one by one."""
    if isinstance(tensors[0], (list, tuple)):
        if len(tensors) > 1:
            axis = tensors[1]
        tensors = tuple(tensors[0])
    with floats():
        parts = [bare(as_tensor_variable(t)._value) for t in tensors]
        return wrapped(F.stack(list(alike(*parts)), axis))


def stacklists(tensors: Any) -> Variable:
    """Nested lists of tensors as one."""
    if isinstance(tensors, (list, tuple)):
        return stack([stacklists(t) for t in tensors])
    return as_tensor_variable(tensors)


def cast(x: Any, dtype: Any) -> Variable:
    """The elements as another type; "floatX" is ``config.floatX``."""
    if dtype == "floatX":
        dtype = config.symbolic_float
    value = as_tensor_variable(x)._value
    if value.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise TypeError("a complex variable is cast to no real one: use real(), imag(), angle() or "
                        "abs()")
    return wrapped(F.astype(value, dtype))


def _shape(shape: Any) -> Any:
    """Sizes, from a variable, a number, or a sequence of them."""
    if isinstance(shape, Variable):
        n = shape._value.shape
        return _shape([shape[i] for i in range(n[0])]) if len(n) == 1 else (_size(shape),)
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)):
        return (shape,)
    if len(shape) == 1 and isinstance(shape[0], Variable) and shape[0].ndim == 1:
        return _shape(shape[0])
    return tuple(map(_size, shape))


def _size(n: Any) -> Any:
    """A size in our words: a constant is a number, in bodies of loops too."""
    known = isinstance(n, Constant) and n.tensor.shape == () and n.dtype in ("int64", "int32")
    return int(n.data) if known else bare(n)


def zeros(shape: Any, dtype: Any = None) -> Variable:
    """Zeros of ``config.floatX``, or of a dtype."""
    return wrapped(F.zeros(_shape(shape), dtype=_float(dtype)))


def ones(shape: Any, dtype: Any = None) -> Variable:
    """Ones of ``config.floatX``, or of a dtype."""
    return wrapped(F.ones(_shape(shape), dtype=_float(dtype)))


def _float(dtype: Any) -> Any:
    return config.symbolic_float if dtype is None or dtype == "floatX" else dtype


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Variable:
    """A tensor whose elements are all the same."""
    return alloc(fill_value if dtype is None else cast(fill_value, dtype), *_shape(shape))


def empty(shape: Any, dtype: Any = None) -> Variable:
    """A tensor whose elements do not matter (zeros)."""
    return zeros(shape, dtype)


def alloc(value: Any, *shape: Any) -> Variable:
    """A value broadcast to a shape."""
    sizes = _shape(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    with floats():
        return wrapped(F.broadcast_to(as_tensor_variable(value)._value, sizes))


def zeros_like(model: Any, dtype: Any = None, opt: bool = False) -> Variable:
    """Zeros of a variable's shape."""
    mention(x := as_tensor_variable(model)._value)
    return wrapped(F.zeros_like(x, dtype=bare(dtype)))


def ones_like(model: Any, dtype: Any = None, opt: bool = False) -> Variable:
    """Ones of a variable's shape."""
    mention(x := as_tensor_variable(model)._value)
    return wrapped(F.ones_like(x, dtype=bare(dtype)))


def fill(a: Any, b: Any) -> Variable:
    """A value in every element of a tensor's shape, or of that of both where they broadcast."""
    a, b = as_tensor_variable(a)._value, as_tensor_variable(b)._value
    return wrapped(F.where(F.ones_like(a, dtype="bool"), b, b))


second = fill


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """Ones on a diagonal."""
    rows, columns = _grid(n, m)
    return wrapped(F.equal(columns - rows, bare(k))).astype(_float(dtype))


def bartlett(n: Any) -> Variable:
    """A triangular window of ``n`` points, 0 at both ends."""
    points = arange(n)
    last = points.shape[0] - 1
    rising = 1 - abs(2 * points / last - 1)
    return lifted(F.where)(lifted(F.equal)(last, 0), 1.0, rising)


def _check_size(n: Any) -> None:
    """Refuse a number or variable that is no integer, where a size is taken."""
    if isinstance(n, (float, str)) or (isinstance(n, Variable) and "int" not in n.dtype):
        raise TypeError(at(f"a size must be an integer, not {n!r}"))


def _grid(n: Any, m: Any) -> tuple[Any, Any]:
    """The numbers of rows and columns of a matrix, as a column and a row."""
    for size in (n, m):
        _check_size(size)
    rows, columns = arange(n), arange(n if m is None else m)
    return bare(rows)[:, None], bare(columns)[None, :]


def identity_like(x: Any, dtype: Any = None) -> Variable:
    """The identity of a matrix's shape."""
    x = as_tensor_variable(x)._value
    return wrapped(F.eye(x.shape[0], x.shape[1], 0, dtype or x.dtype))


def tri(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """Ones at and below a diagonal."""
    rows, columns = _grid(n, m)
    return wrapped(F.less_equal(columns - rows, bare(k))).astype(_float(dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Variable:
    """Numbers in equal steps: integers where start, stop and step are."""
    given = (start,) if stop is None else (start, stop, step)
    kinds = [x.dtype for x in alike(*bare(given)) if isinstance(x, Tensor)]
    if dtype is None and settings.cast_policy == "numpy+floatX":
        kinds = [as_tensor_variable(x)._value.dtype for x in given]
        ends: Any = [np.array(i, k) for i, k in enumerate(kinds, len(kinds) == 1)]
        dtype = np.arange(*ends).dtype
        if config.symbolic_float == "float32" and dtype == "float64" and dtype not in kinds:
            dtype = np.dtype("float32")
    elif dtype is None and any(kind.kind == "f" for kind in kinds):
        dtype = np.result_type(*kinds)
    return lifted(F.arange)(*given, dtype=dtype)


def _line(start: Any, stop: Any, num: Any, endpoint: bool) -> Any:
    """Evenly spaced numbers along a new first axis, and the distance between neighbours."""
    first, last = (F.astype(as_tensor_variable(v)._value, "float64") for v in (start, stop))
    first, last = F.broadcast_arrays(first, last)
    _check_size(num)
    n, delta = bare(num), last - first
    count = F.reshape(F.arange(n, dtype="float64"), (-1,) + (1,) * delta.ndim)
    step = delta / F.maximum(n - 1 if endpoint else n, 1)
    line = count * step + first
    return (F.where(count == n - 1, last, line) if endpoint and not (
        isinstance(n, int) and n == 1) else line), step


def _placed(x: Any, axis: int, dtype: Any) -> Variable:
    with floats():
        return cast(wrapped(F.moveaxis(x, 0, axis)), config.symbolic_float if dtype is None
                    else dtype)


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0) -> Any:
    """Evenly spaced numbers from ``start`` to ``stop`` along a new axis."""
    found, step = _line(start, stop, num, endpoint)
    line = _placed(found, axis, dtype)
    return (line, wrapped(step)) if retstep else line


def logspace(start: Any, stop: Any, num: Any = 50, base: Any = 10.0, endpoint: bool = True,
             dtype: Any = None, axis: int = 0) -> Variable:
    """Numbers from ``base**start`` to ``base**stop``, evenly spaced in the exponent."""
    found, _ = _line(start, stop, num, endpoint)
    return _placed(F.power(F.asarray(bare(base), dtype="float64"), found), axis, dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, base: Any = 10.0, endpoint: bool = True,
              dtype: Any = None, axis: int = 0) -> Variable:
    """Numbers from ``start`` to ``stop`` with a constant ratio."""
    first, last = (F.astype(as_tensor_variable(v)._value, "float64") for v in (start, stop))
    turned = F.where((first < 0) & (last < 0), -1.0, 1.0)
    found, _ = _line(wrapped(F.log10(first * turned)), wrapped(F.log10(last * turned)), num,
                     endpoint)
    place = F.reshape(F.arange(bare(num)), (-1,) + (1,) * (found.ndim - 1))
    values = F.where(place == 0, first, F.power(10.0, found) * turned)
    if endpoint:
        values = F.where((place == bare(num) - 1) & (place > 0), last, values)
    return _placed(values, axis, dtype)


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> Variable:
    """A row for each class label, with 1 in the label's column."""
    y = as_tensor_variable(y)._value
    classes = F.arange(bare(nb_class), dtype=y.dtype)
    return wrapped(F.astype(F.equal(y[:, None], classes), _float(dtype)))


class _Grid:
    """``mgrid`` or ``ogrid``."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        parts: Sequence[slice] = key if isinstance(key, tuple) else (key,)
        rows = [bare(arange(k.start or 0, k.stop, k.step or 1)) for k in parts]
        last = len(rows) - 1
        found = [F.reshape(r, (*(1,) * i, -1, *(1,) * (last - i))) for i, r in enumerate(rows)]
        if not self.sparse:
            sizes = tuple(r.shape[0] for r in rows)
            found = [F.broadcast_to(r, sizes) for r in found]
        grids = wrapped(found)
        return grids if last else grids[0]


mgrid, ogrid = _Grid(False), _Grid(True)
