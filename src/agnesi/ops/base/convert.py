"""Operands: what may stand beside a tensor, and the common dtype of several."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.core.calls.modules import as_pythons
from agnesi.core.calls.watched import warn_of_number
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.op import Op, typed
from agnesi.core.shapes import MOST_AXES
from agnesi.core.storage.lists import array_of, dtype_of_numbers, kinds_in, stacked_at_once
from agnesi.core.storage.memory_order import as_operands
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, STATE
from agnesi.core.support.errors import DTypeError, NestingError, ShapeError, warn
from agnesi.core.support.foreign import as_method, has, imported
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known, is_tracing
from agnesi.core.support.tree import nested_beyond
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, symbol, wrap

_FLOATS = (np.dtype("float32"), np.dtype("float64"))
_NARROW = (np.dtype("float32"), np.dtype("float16"))
SCALARS = (bool, int, float, complex)
#: What is said of masked arrays.
MASKED = ("tensors have no masks, and this array has one: give x.filled(value), or x.data and the "
          "mask as where= of a reduction")


class Cast(Op):
    """Conversion of dtype, NumPy's ``astype``."""

    name = "astype"
    traits = frozenset(("cheap", "conversion", "operator"))
    keep_inputs = ()
    work = elements(1)

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def label(self) -> str:
        return f"astype[{self.dtype}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cast) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("astype", self.dtype))

    def infer(self, x: Any) -> Any:
        return x.shape, self.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.kind == "c" and self.dtype.kind not in "cb":
            x = x.real
        if self.dtype == dtypes.uint32 and x.dtype in _FLOATS:
            return silently(_as_uint32, x)
        if self.dtype == dtypes.uint32 and x.dtype.name == "bfloat16":  # NaN went by the length
            x = silently(x.astype, np.int64)
        return silently(x.astype, self.dtype)

    def c_call(self, x: np.ndarray) -> Any:
        plain = x.dtype.kind not in "cV" and self.dtype != dtypes.uint32
        return (np.ndarray.astype, (self.dtype,)) if plain else None

    def layout_of(self, x: np.ndarray) -> np.ndarray:
        return as_operands(self, x)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (cast(g, x.dtype),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return cast(ts[0], self.dtype) if dtypes.is_inexact(self.dtype) else None

    def lower(self, at: Any, x: Any) -> Any:
        return loops.cast(x(*at), self.dtype.name)


def _as_uint32(x: np.ndarray) -> np.ndarray:
    """As NumPy has it for long arrays: of numbers out of range in short ones it makes others."""
    if not x.size or (x.min() > -1 and x.max() < 2**32):
        return x.astype(np.uint32)
    beyond = x >= 2**31
    low = (x - beyond * x.dtype.type(2**31)).astype(np.int32)
    return np.asarray(low.view(np.uint32) ^ (beyond.astype(np.uint32) << np.uint32(31)))


def cast(x: Tensor, dtype: np.dtype) -> Tensor:
    """``x`` as another dtype; the same tensor where it already has it."""
    if not x.weak:
        return x if x.dtype == dtype else apply(Cast(dtype), x)
    found = apply(Cast(dtype), x)
    found.node.weak = False  # type: ignore[union-attr]
    return found


def written(x: Tensor, dtype: np.dtype) -> Tensor:
    """Cast ``x`` to the dtype of the tensor it is written into, or of the result that is requested;
    warn as NumPy if that drops imaginary parts.
    """
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        warn(f"{typed(x)} becomes {dtype} and loses its imaginary part; write real(x), or "
             "into a complex tensor", np.exceptions.ComplexWarning)
    return cast(x, dtype)




def _strong(op: Op, xs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Operands of an operation; the caller's Python floats get the default dtype, as eagerly.

    A number of Python's that a function takes, and no operator, is a tensor for all that follows.
    """
    given = {x.dtype for x in xs if x.weak}
    if any(type(x) is not Tensor and x.weak for x in xs) and "conversion" not in op.traits:
        return tuple([strong(x) if x.weak or (is_number(x) and x.dtype in given) else x
                      for x in xs])
    if "operator" in op.traits or op.bodies:
        return xs
    return tuple([of_default(x) if x.dtype in given and (x.weak or is_number(x)) else x
                  for x in xs])


def is_number(x: Tensor) -> bool:
    """Return whether a tensor of a graph stands for a number that was written there."""
    return x.array is not None and x.shape == () and not x.array.flags.writeable


def floating(x: Any) -> Tensor:
    """A tensor of floating or complex numbers: others become floats."""
    x = as_tensor(x)
    return cast(x, dtypes.floating(x.dtype))


def exact(x: Any) -> Tensor:
    """A tensor to subtract elements of: integers in float64, as they would lose their last digits.

    What is computed is cast to the dtype that :func:`floating` gives.
    """
    x = as_tensor(x)
    return cast(x, dtypes.float64) if x.dtype.kind in "biu" else x


def of_default(x: Tensor) -> Tensor:
    """A Python number of the caller's as a tensor; floats get the default dtype."""
    if x.dtype.kind not in "fc":
        return x
    return cast(x, dtypes.as_dtype(float if x.dtype.kind == "f" else complex))


def strong(x: Tensor) -> Tensor:
    """A Python number of the caller's as a tensor that other dtypes do not change."""
    return cast(x, x.dtype) if x.dtype.kind not in "fc" else of_default(x)


HOOKS.strong = _strong


def is_live(x: Any) -> bool:
    """Return whether a setting is a tensor that gradients flow to, or whose value is not known
    yet."""
    return isinstance(x, Tensor) and (not is_known(x) or (x._requires_grad and STATE.recording))


@record
class Size(Op):
    """A size of a symbolic shape, as a number."""

    size: Any
    name = "size"
    traits = frozenset(("cheap", "shape", "operator"))
    differentiable = False

    def label(self) -> str:
        return f"size[{self.size}]"

    def infer(self) -> Any:
        return (), dtypes.int64

    def perform(self) -> np.ndarray:
        return np.asarray(self.size, dtypes.int64)

    def lower(self, at: Any) -> Any:
        return loops.size(self.size)


def as_tensor(x: Any, dtype: np.dtype | None = None) -> Tensor:
    """A tensor from a tensor, array, number, size or nested list, without a copy where possible."""
    if isinstance(x, Tensor):
        stands = type(x) is not Tensor and x.weak
        if dtype is None:
            if x._is_number:
                return symbol(x.node)  # type: ignore[arg-type]
            return strong(x) if stands else x
        if stands:
            x.check_fits(dtype)  # type: ignore[attr-defined]
        return cast(x, dtype)
    if isinstance(x, Dim):
        node = Node(Size(x), (), (), dtypes.int64, weak=True)
        return symbol(node) if dtype is None else cast(symbol(node), dtype)
    if type(x) in SCALARS:
        if type(x) is complex and dtype is not None:
            check_real(x, dtype)
        try:
            return number(x, dtypes.of_scalar(x) if dtype is None else dtype)
        except OverflowError:
            raise too_large(x, dtype) from None
    if isinstance(x, LISTS):
        return as_tensor(list(x), dtype)
    if isinstance(x, (list, tuple)) and _holds_tensor(x):
        return as_tensor(joined(x), dtype)
    return wrap(as_array(x, dtype))


#: Sequences of Python's that are read as lists.
LISTS = (deque, UserList)


def exported(x: Any) -> np.ndarray:
    """Return the ndarray of an array-like object, or of one that exports by DLPack alone."""
    if isinstance(x, dict):  # one with attributes may raise what it likes where NumPy looks
        boxed = np.empty((), object)
        boxed[()] = x
        return boxed
    if type(x) in (list, tuple):
        return array_of(x)
    only_dlpack = has(x, "__dlpack__") and not has(x, "__array__")
    if only_dlpack:
        return np.from_dlpack(x)
    found = np.asanyarray(x)
    check_unmasked(found)  # what __array__ gave
    return np.asarray(found)


def as_array(x: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """A NumPy array of a supported dtype from anything array-like.

    Python floats take the default float dtype; arrays keep theirs.
    """
    check_unmasked(x)
    written = is_written(x)
    try:
        array = exported(x)
    except ValueError as error:
        check_depth(x)
        if "inhomogeneous" not in str(error):
            raise
        raise ShapeError(f"cannot make a tensor from {typed(x)}: its parts differ in length; "
                         "nn.functional.pad_sequence fills them up") from None
    if dtype is None:
        dtype = dtypes.of_scalar(x) if type(x) in SCALARS else array.dtype
        if written:
            dtype = _default(array.dtype)
    elif (written or type(x) is int) and dtype.kind in "iu" and array.dtype.kind in "iu":
        check_range(array, dtype)
    if type(x) is int and array.dtype.kind == "O":
        raise too_large(x, dtype)
    if array.dtype.kind == "c" and (written or isinstance(x, (complex, np.complexfloating))):
        check_real(x, dtype)
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        if has(x, "todense"):
            raise DTypeError(f"{typed(x)} is a sparse matrix, and dense tensors are taken here: "
                             "todense() makes one, ag.sparse has functions of sparse ones")
        if x is None:
            raise DTypeError("cannot make a tensor from None; a function without return gives it")
        raise DTypeError(
            f"cannot make a tensor from {typed(x)}: its elements have dtype {array.dtype}; "
            f"tensors hold bool, integer, float and complex numbers{_way_out(x, array)}"
        )
    return _converted(array, dtypes.as_dtype(dtype))


def _converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What is too large for a float is infinite without a word, as results of operations are."""
    if array.dtype == dtype:
        return array
    return silently(array.astype, dtype, copy=False)


def _way_out(x: Any, array: np.ndarray) -> str:
    """Return the end of an error message about an array of no numbers: what the user
    may write instead."""
    kind = array.dtype.kind
    if type(x).__name__ == "Generator":
        return "; a generator of random numbers is given by name, generator="
    if has(x, "__next__"):
        return "; give a list of what it yields, list(x)"
    if isinstance(x, Mapping):
        return "; give its values, list(x.values())"
    if isinstance(x, (set, frozenset)):
        return "; give a list, sorted(x)"
    if not array.shape:
        found = as_method(x)
        return found if found or not callable(x) else "; it is to be called, for what it returns"
    if kind in "US":
        return "; np.unique(labels, return_inverse=True)[1] numbers labels"
    if kind in "mM":
        return "; x.astype('int64') counts units of time"
    if kind == "V" and array.dtype.names:
        return f"; take one of its fields, such as x[{array.dtype.names[0]!r}]"
    return "" if isinstance(x, (list, tuple)) else (
        "; x.astype(float) converts numbers, np.stack(list(x)) joins arrays of one shape")


def check_depth(x: Any) -> None:
    """Refuse lists in lists for which arrays have not enough axes."""
    if isinstance(x, (list, tuple)) and nested_beyond(x, MOST_AXES):
        raise NestingError(f"lists lie in each other more than {MOST_AXES} deep, which is as many "
                           "axes as an array can have; give a flat list and reshape it")


def check_unmasked(x: Any) -> None:
    """Refuse a masked array, whose mask would be ignored."""
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray and hasattr(x, "mask"):
        raise DTypeError(MASKED)


def check_real(x: Any, dtype: np.dtype) -> None:
    """Refuse complex numbers that are written where real ones stand."""
    if dtype.kind not in "cb":
        raise DTypeError(f"{x} is complex, and {dtype} holds real numbers; write {x}.real, or give "
                         "a complex dtype" if isinstance(x, (complex, np.complexfloating)) else
                         f"the list holds complex numbers, and {dtype} is real; give a complex "
                         "dtype")


def check_range(array: np.ndarray, dtype: np.dtype) -> None:
    """Return whether all integers that the user wrote fit into a dtype."""
    limits = np.iinfo(dtype)
    for x in (array.min(), array.max()) if array.size else ():
        if not limits.min <= int(x) <= limits.max:
            raise too_large(int(x), dtype)


def too_large(x: int, dtype: np.dtype | None = None) -> DTypeError:
    """The error where a Python integer has no place in its dtype, or in any."""
    kind = "int64 or uint64; write it as a float" if dtype is None else str(dtype)
    return DTypeError(f"the integer {x} does not fit into {kind}")


def joined(x: Any) -> Any:
    """One tensor of a nested list that holds tensors or symbolic sizes; all else as it is."""
    if not isinstance(x, (list, tuple)) or not _holds_tensor(x):
        return x
    check_depth(x)
    if getattr(type(x), "is_result", False):
        raise TypeError(f"{typed(x)} are values and their indices: compute with result.values")
    if (found := stacked_at_once(x)) is not None:
        return found
    parts = [joined(v) if isinstance(v, (list, tuple)) else v for v in x]
    if (kind := dtype_of_numbers(x)) is not None:
        parts = [cast(as_tensor(part), kind) for part in parts]
    try:
        return HOOKS.stack(parts)
    except ShapeError:
        raise ShapeError(f"cannot make a tensor from {typed(x)}: its parts differ in shape; take "
                         "one of them, or nn.functional.pad_sequence fills them up") from None


def _holds_tensor(x: Any) -> bool:
    return any([issubclass(kind, (Tensor, Dim)) for kind in kinds_in(x)])


def _default(found: np.dtype) -> np.dtype:
    """The dtype of a nested list of Python numbers, in which NumPy found ``found``."""
    if found.kind == "f":
        return dtypes.config.float_dtype
    if found.kind == "c":
        return dtypes.complex_of(dtypes.config.float_dtype)
    return dtypes.int64 if found.kind == "i" else found


def is_written(x: Any) -> bool:
    """Return whether something is a nested list without NumPy's arrays and numbers, however deep it
    is; a masked array in it is refused."""
    kinds = kinds_in(x) if isinstance(x, (list, tuple)) else (np.ndarray,)
    masked = imported("numpy.ma")  # whose import takes some milliseconds
    if masked is not None and any([issubclass(kind, masked.MaskedArray) for kind in kinds]):
        raise DTypeError(MASKED)
    return not any([issubclass(kind, (np.ndarray, np.generic)) for kind in kinds])


def accumulator(x: Any, dtype: Any) -> Tensor:
    """``x`` in the dtype that its sums and products have: small integers become 64 bits wide."""
    x = as_tensor(x)
    if dtype is not None:
        return written(x, dtypes.as_dtype(dtype))
    kind = x.dtype.kind
    if kind in "fcV":
        return x
    return cast(x, dtypes.uint64 if kind == "u" else dtypes.int64)


CONSTANTS: dict[tuple[np.dtype, Any], Tensor] = HOOKS.constants


def constant(scalar: Any, beside: Any) -> Tensor | None:
    """A shared tensor for a Python number that takes the dtype of the eager tensor ``beside``."""
    if type(beside) is not Tensor or beside.array is None:
        return None
    dtype = beside.array.dtype
    if dtype.kind not in {float: "fcV", int: "iufcV"}.get(type(scalar), ""):
        return None
    key = (dtype, scalar if scalar or type(scalar) is int else str(scalar))  # -0.0 is not 0.0
    found = CONSTANTS.get(key)
    if found is None:
        try:
            found = wrap(_array(scalar, dtype))
        except (OverflowError, TypeError):  # the latter of bfloat16, which says it so
            return None
        found.node = Node(None, (), (), dtype, value=found.array)
        if len(CONSTANTS) >= 1024:
            CONSTANTS.clear()
        CONSTANTS[key] = found
    return found


#: Beside which Python's numbers give way.
_STRONG = (Tensor, np.generic, np.ndarray)


def pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of their common dtype; Python scalars give way."""
    if type(a) is type(b) is Tensor and a.dtype is b.dtype and a.weak is b.weak:
        return a, b
    if type(b) in SCALARS and (isinstance(a, _STRONG) or dtypes.has_memory(a)):
        return _beside(as_tensor(a), b)
    if type(a) in SCALARS and (isinstance(b, _STRONG) or dtypes.has_memory(b)):
        second, first = _beside(as_tensor(b), a)
        return first, second
    first, second = as_pythons((a, b), cast)
    if first is not a or second is not b:
        return pair(first, second)
    a, b = joined(a), joined(b)
    a, b = beside(a, b), beside(b, a)
    if a.weak is not b.weak:
        return _weakly(a, b)
    dtype = dtypes.promote(a.dtype, b.dtype)
    return _to(a, dtype), _to(b, dtype)


def _beside(x: Tensor, scalar: Any) -> tuple[Tensor, Tensor]:
    if x.weak and type(x) is not Tensor:  # a function takes both, and no operator
        x = strong(x)
    dtype = dtypes.promote_scalar(x.dtype, scalar)
    if x.weak:
        dtype = dtypes.float64 if dtype.kind == "f" and x.dtype.kind in "biu" else dtype
        node = Node(None, (), (), dtype, weak=True, value=_array(scalar, dtype))
        return _to(x, dtype), symbol(node)
    try:
        return _to(x, dtype), number(scalar, dtype)
    except OverflowError:
        raise DTypeError(f"the Python integer {scalar} does not fit into {dtype}") from None


def beside(x: Any, other: Any) -> Tensor:
    """An operand as a tensor; a Python float, or a list of them, gives way to the dtype of another
    operand that is no number."""
    if isinstance(x, Tensor):
        return x
    if type(x) is np.float64 and isinstance(other, Tensor) and other.dtype in _NARROW:
        warn_of_number(other.dtype)
    strong = isinstance(other, np.ndarray | np.generic) or (
        isinstance(other, Tensor) and not other.weak)
    numbers = strong and (type(x) in (float, complex) or (is_written(x) and not _holds_tensor(x)))
    if not numbers:
        return as_tensor(x)
    array = as_array(x)
    kind, dtype = array.dtype.kind, other.dtype
    if kind not in "fc" or dtype.kind not in "fcV":
        return wrap(array)
    return wrap(as_array(x, dtypes.complex_of(dtype) if kind == "c" != dtype.kind else dtype))


def _array(scalar: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number in a dtype; too large or small for it are infinity and 0, without a word."""
    if dtype.kind not in "fcV" or scalar == 0 or 1e-4 < abs(scalar) < 6e4:
        return np.asarray(scalar, dtype)  # a number of all dtypes, of which none warns
    return silently(np.asarray, scalar, dtype)


def number(scalar: Any, dtype: np.dtype) -> Tensor:
    """A tensor around a Python number; it cannot be written, so graphs take it for a constant."""
    array = _array(scalar, dtype)
    array.setflags(write=False)
    found = wrap(array)
    if is_tracing():  # no tensor of the user's, which calls would have to look at
        found.node = Node(None, (), (), dtype, value=array)
    return found


def _weakly(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    weak, strong = (a, b) if a.weak else (b, a)
    dtype = dtypes.promote_scalar(strong.dtype, dtypes.SCALAR_OF[weak.dtype.kind])
    if type(weak) is not Tensor:
        weak.check_range(dtype)  # type: ignore[attr-defined]
    return cast(a, dtype), cast(b, dtype)


def _to(x: Tensor, dtype: np.dtype) -> Tensor:
    return x if x.dtype == dtype else apply(Cast(dtype), x)


def common(*xs: Any) -> tuple[Tensor, ...]:
    """Operands as tensors of their common dtype."""
    first = xs[0]
    if type(first) is Tensor and first.array is not None:
        dtype = first.array.dtype
        if all([type(x) is Tensor and (data := x.array) is not None and data.dtype is dtype
                for x in xs]):
            return xs
    elif type(first) is np.ndarray and first.dtype.kind != "O":
        dtype, read = first.dtype, as_tensor(first)
        if read.array is first and all([type(x) is np.ndarray and x.dtype is dtype for x in xs]):
            return read, *map(wrap, xs[1:])
    if type(first) is Tensor and first.array is not None and not is_tracing():
        found: list[Any] = [constant(x, first) if type(x) in SCALARS else x for x in xs]
        if all([type(x) is Tensor and x.array is not None and x.dtype is first.dtype
                for x in found]):
            return tuple(found)
    xs = as_pythons(xs, cast)
    tensors = [joined(x) for x in xs if type(x) not in SCALARS]
    if not tensors:
        tensors = [as_tensor(xs[0])]
    tensors.sort(key=lambda x: isinstance(x, (list, tuple)))
    first = beside(tensors[0], None)
    for x in tensors[1:]:
        first, _ = pair(first, x)
    for x in xs:
        if type(x) in SCALARS:
            first, _ = pair(first, x)
    dtype = of_default(first).dtype if first.weak else first.dtype
    return tuple(
        number(x, dtype) if type(x) in SCALARS else cast(beside(x, first), dtype) for x in xs)
