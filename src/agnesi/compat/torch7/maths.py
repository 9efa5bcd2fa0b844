"""Torch7's functions: each makes a new tensor, or writes into the one that comes first."""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.counting import no_number
from agnesi.compat.torch7.tensor import DEFAULT, View, axis_of, dtype_of, sizes_of
from agnesi.core.support import errors
from agnesi.core.support.errors import typed, without_line


class Tensor(View):
    """A tensor of Torch7's: made of sizes, of a storage, or of numbers.

    Methods change it: ``x.add(1)``, ``x.sin()``, ``x.add(0.5, y)``.  Axes and elements are
    numbered from 1.

    Examples
    --------
    >>> from agnesi.compat import torch7 as torch
    >>> x = torch.Tensor(2, 3).fill(1)
    >>> x.select(1, 2).mul(5)
    [5. 5. 5.]
    [torch.DoubleTensor of size 3]
    >>> x.sum(), x[2][3]
    (18.0, 5.0)
    """

    def fill(self, value: float) -> Tensor:
        """One value everywhere."""
        self.array[...] = value
        return self

    def zero(self) -> Tensor:
        """Zero everywhere."""
        return self.fill(0)

    def apply(self, function: Callable[[Any], Any]) -> Tensor:
        """Replace each element by the function's result, where it returns one."""
        for at in np.ndindex(self.array.shape):
            found = function(self.array[at].item())
            if found is not None:
                self.array[at] = found
        return self

    def map(self, other: Tensor, function: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by the function's result for it and the element of another tensor.
        """
        for at in np.ndindex(self.array.shape):
            self.array[at] = function(self.array[at].item(), other.array[at].item())
        return self

    def map2(self, a: Tensor, b: Tensor, function: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Replace each element by the function's result for it and elements of two others."""
        for at in np.ndindex(self.array.shape):
            self.array[at] = function(*(t.array[at].item() for t in (self, a, b)))
        return self

    def equal(self, other: Tensor) -> bool:
        """Return whether another one has the same sizes and elements."""
        return np.array_equal(self.array, other.array)

    def __neg__(self) -> Tensor:
        return new(-self.array)

    def __add__(self, other: Any) -> Tensor:
        return new(self.array + _like(self.array, plain(other)))

    def __sub__(self, other: Any) -> Tensor:
        return new(self.array - _like(self.array, plain(other)))

    def __radd__(self, other: Any) -> Tensor:
        return new(plain(other) + self.array)

    def __rsub__(self, other: Any) -> Tensor:
        return new(plain(other) - self.array)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, View):
            return new(self.array * other)
        found = self.array @ other.array
        return new(found) if np.ndim(found) else found.item()

    def __rmul__(self, other: Any) -> Tensor:
        return new(self.array * other)

    def __truediv__(self, other: Any) -> Tensor:
        return new(self.array / _like(self.array, plain(other)))


def plain(x: Any) -> Any:
    """The array of a tensor; all else as it is."""
    return x.array if isinstance(x, View) else x


def _like(a: Any, b: Any) -> Any:
    """An array in the shape of another one, which must have as many elements; a number as it is."""
    if not isinstance(b, np.ndarray) or b.shape == a.shape:
        return b
    if b.size != a.size:
        raise ValueError("they must have as many elements: nothing is repeated")
    return b.reshape(a.shape)


def new(array: Any, dtype: Any = None) -> Tensor:
    """A tensor of an array, in its dtype."""
    array = np.asarray(array)
    return Tensor(array, dtype=dtype or (array.dtype if array.dtype != bool else "uint8"))


def into(target: Any, array: Any) -> Any:
    """Write into a tensor, whose sizes become those of the array."""
    array = np.asarray(array)
    target.resize(*array.shape)
    np.copyto(target.array, array, casting="unsafe")
    return target


def _overlaps(target: View, xs: Any) -> bool:
    return any(isinstance(x, View) and x is not target
               and np.may_share_memory(target.array, x.array) for x in xs)


#: Functions by their names, as tables of modules: ``torch.sin``.
FUNCTIONS: dict[str, Any] = {}


def _unary(name: str, compute: Any) -> None:
    def function(*args: Any) -> Any:
        target, x = args if len(args) == 2 else (None, args[0])
        source = plain(x)
        if target is None:
            return new(compute(source), source.dtype)
        target.resize(*source.shape)
        if target.array.dtype == source.dtype and isinstance(compute, np.ufunc):
            compute(source, out=target.array)
        else:
            np.copyto(target.array, compute(source), casting="unsafe")
        return target

    def method(self: Tensor, x: Any = None) -> Tensor:
        result: Tensor = function(self, self if x is None else x)
        return result

    public(name, function, method, f"``{name}`` of each element")


def public(name: str, function: Any, method: Any, summary: str) -> None:
    """Let a function be there under a name, and as a method."""
    for f in (function, method):
        f.__name__ = f.__qualname__ = name
        f.__doc__ = f"{summary}; into a tensor that comes first, if there is one."
    FUNCTIONS[name] = function
    setattr(Tensor, name, method)


def _sigmoid(x: Any) -> Any:
    return np.asarray(ag.sigmoid(x))


for _name, _compute in {
        "abs": np.abs, "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "ceil": np.ceil,
        "cos": np.cos, "cosh": np.cosh, "exp": np.exp, "floor": np.floor, "log": np.log,
        "log1p": np.log1p, "neg": np.negative, "cinv": np.reciprocal, "round": np.rint,
        "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
        "tanh": np.tanh, "trunc": np.trunc, "sigmoid": _sigmoid,
        "rsqrt": lambda x: 1 / np.sqrt(x), "frac": lambda x: x - np.trunc(x)}.items():
    _unary(_name, _compute)


def _binary(name: str, compute: Any, scaled: bool = False) -> None:
    """A function of two: (a, b) or, with a factor between, (a, number, b)."""
    def value(args: Any) -> tuple[Any, Any]:
        a, *rest = map(plain, args)
        if len(rest) > 2 or (len(rest) == 2 and not scaled):
            raise TypeError("too many arguments")
        return a, _like(a, np.multiply(rest[0], rest[1]) if len(rest) == 2 else rest[0])

    def write(target: Tensor, args: Any) -> Tensor:
        a, b = value(args)
        if _overlaps(target, args):
            a, b = np.array(a), np.array(b)
        target.resize(*a.shape)
        compute(a, b, out=target.array, casting="unsafe")
        return target

    def function(*args: Any) -> Any:
        count = sum(isinstance(x, View) for x in args)
        full = len(args) == (4 if scaled and len(args) == 4 else 3)
        if full and not (scaled and len(args) == 3 and not isinstance(args[1], View)) and count > 1:
            return write(args[0], args[1:])
        a, b = value(args)
        return new(compute(a, b), a.dtype)

    def method(self: Tensor, *args: Any) -> Tensor:
        first = args[0] if args else None
        if isinstance(first, View) and len(args) > 1:
            return write(self, args)
        return write(self, (self, *args))

    public(name, function, method, f"``{name}`` of two tensors, or a tensor and a number")


def _shifted(whole: Any, scaled: Any) -> Any:
    """A shift of whole numbers, which scales others by a power of 2."""
    def shift(a: Any, b: Any, **options: Any) -> Any:
        return whole(a, b, **options) if a.dtype.kind in "iu" else scaled(a, 2.0**b, **options)

    return shift


_binary("add", np.add, scaled=True)
_binary("csub", np.subtract, scaled=True)
for _name, _ufunc in {"mul": np.multiply, "cmul": np.multiply, "div": np.divide, "cdiv": np.divide,
                      "pow": np.power, "cpow": np.power, "atan2": np.arctan2, "cmax": np.maximum,
                      "cmin": np.minimum, "fmod": np.fmod, "remainder": np.mod, "mod": np.fmod,
                      "cfmod": np.fmod, "cremainder": np.mod, "cmod": np.fmod,
                      "lshift": _shifted(np.left_shift, np.multiply),
                      "rshift": _shifted(np.right_shift, np.divide),
                      "bitand": np.bitwise_and, "bitor": np.bitwise_or,
                      "bitxor": np.bitwise_xor}.items():
    _binary(_name, _ufunc)
    if _name in ("lshift", "rshift", "bitand", "bitor", "bitxor"):
        _binary(f"c{_name}", _ufunc)


def _writing(name: str, compute: Callable[..., Any], operands: int, summary: str = "",
             dtype: Any = None) -> None:
    """A function whose operands are tensors, perhaps with one more before them as its result."""
    def function(*args: Any) -> Any:
        count = next((i for i, x in enumerate(args) if not isinstance(x, View)), len(args))
        if count > operands:
            return into(args[0], compute(*map(plain, args[1:])))
        found = compute(*map(plain, args))
        if isinstance(found, tuple):
            return tuple(new(f) for f in found)
        return new(found, dtype) if np.ndim(found) else np.asarray(found).item()

    def method(self: Tensor, *args: Any) -> Any:
        count = sum(isinstance(x, View) for x in args)
        return into(self, compute(*map(plain, args))) if count == operands else function(
            self, *args)

    public(name, function, method, summary or f"``{name}`` of tensors")


def _conv(flip: bool, axes: int) -> Callable[..., Any]:
    """Convolutions and correlations of images, "V" for full windows only, "F" for all."""
    def compute(x: Any, k: Any, mode: str = "V") -> Any:
        extra, wide = x.ndim - axes, k.ndim - axes
        image = x.reshape(1, -1, *x.shape[extra:])
        filters = k.reshape(-1, image.shape[1] if wide == 2 else 1, *k.shape[wide:])
        if flip:
            filters = np.flip(filters, tuple(range(2, axes + 2)))
        pad = [n - 1 for n in filters.shape[2:]] if mode.upper().startswith("F") else 0
        conv = (ag.nn.functional.conv2d, ag.nn.functional.conv3d)[axes - 2]
        if wide == 2:
            found = conv(np.ascontiguousarray(image), np.ascontiguousarray(filters), padding=pad)
            return np.asarray(found)[0]
        each = [np.asarray(conv(np.ascontiguousarray(plane[None, None]), np.ascontiguousarray(
            filters), padding=pad))[0] for plane in image[0]]
        planes = np.stack(each) if wide == 0 else np.stack(each, 1)
        return planes.reshape(planes.shape[-axes:]) if extra == wide == 0 else (
            planes.reshape(-1, *planes.shape[-axes:]))

    return compute


for _axes in (2, 3):
    _writing(f"conv{_axes}", _conv(True, _axes), 2)
    _writing(f"xcorr{_axes}", _conv(False, _axes), 2)


def _reduced(name: str, compute: Any, places: Any = None) -> None:
    """A reduction of all elements to a number, or along an axis, which stays with size 1."""
    def reduce(x: Any, dim: int, *more: Any) -> Any:
        axis = axis_of(dim, x.ndim)
        found = np.expand_dims(np.asarray(compute(x, *more, axis=axis)), axis)
        at = None if places is None else np.expand_dims(places(x, axis=axis), axis) + 1
        return found, at

    def function(*args: Any) -> Any:
        tensors = [a for a in args if isinstance(a, View)]
        numbers = [a for a in args if not isinstance(a, View)]
        x = tensors[-1]
        if not numbers:
            return np.asarray(compute(x.array)).item()
        found, at = reduce(x.array, *numbers)
        values = into(tensors[0], found) if len(tensors) > 1 else new(found, x.array.dtype)
        if at is None:
            return values
        return values, (into(tensors[1], at) if len(tensors) > 2 else new(at, "int64"))

    def method(self: Tensor, *args: Any) -> Any:
        return function(self, *args)

    public(name, function, method, f"The {name} of all elements, or along an axis")


def _last(compute: Any) -> Any:
    return lambda x, biased=False, axis=None: compute(x, axis=axis, ddof=0 if biased else 1)


for _name, _compute in {"sum": np.sum, "prod": np.prod, "mean": np.mean, "std": _last(np.std),
                        "var": _last(np.var)}.items():
    _reduced(_name, _compute)
_reduced("max", np.max, np.argmax)
_reduced("min", np.min, np.argmin)


def _cumulative(compute: Any) -> Any:
    return lambda x, dim=1: compute(x, axis=axis_of(dim, x.ndim))


def _norm(x: Any, p: float = 2, dim: int | None = None) -> Any:
    if dim is None:
        return np.asarray(ag.linalg.vector_norm(x.reshape(-1), ord=p))
    return np.asarray(ag.linalg.vector_norm(x, ord=p, axis=axis_of(dim, x.ndim), keepdims=True))


def _renormed(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    kept = axis_of(dim, x.ndim)
    axes = tuple(i for i in range(x.ndim) if i != kept)
    norms = (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
    return np.where(norms > maxnorm, x * (maxnorm / (norms + 1e-7)), x)


def _sorted(x: Any, dim: int | None = None, descending: bool = False) -> Any:
    axis = axis_of(x.ndim if dim is None else dim, x.ndim)
    at = np.argsort(-x if descending else x, axis=axis, kind="stable")
    return np.take_along_axis(x, at, axis), at + 1


def ranked(compute: Any, *ndims: int) -> Any:
    """A function of operands with so many dimensions each."""
    kinds = ("numbers", "vectors", "matrices", "batches of matrices")

    def call(*operands: Any) -> Any:
        if len(operands) == len(ndims) and tuple(x.ndim for x in operands) != ndims:
            wanted = " and ".join(dict.fromkeys(f"{kinds[n]} ({n} dimensions)" for n in ndims))
            raise ValueError(f"it is of {wanted}, not of "
                             f"{' and '.join(str(x.ndim) for x in operands)} dimensions")
        return compute(*operands)

    return call


for _name, _compute, _operands in (
        ("mm", ranked(np.matmul, 2, 2), 2), ("mv", ranked(np.matmul, 2, 1), 2),
        ("bmm", ranked(np.matmul, 3, 3), 2), ("ger", ranked(np.outer, 1, 1), 2),
        ("dot", np.vdot, 2), ("cross", lambda a, b: np.asarray(ag.cross(a, b)), 2),
        ("dist", lambda a, b, p=2: np.asarray(ag.dist(a, b, p)), 2),
        ("cumsum", _cumulative(np.cumsum), 1), ("cumprod", _cumulative(np.cumprod), 1),
        ("norm", _norm, 1), ("trace", np.trace, 1),
        ("diag", lambda x, k=0: np.diag(x, k), 1), ("tril", lambda x, k=0: np.tril(x, k), 1),
        ("triu", lambda x, k=0: np.triu(x, k), 1), ("sort", _sorted, 1),
        ("inverse", lambda a: np.asarray(ag.linalg.inv(a)), 1),
        ("qr", lambda a: tuple(map(np.asarray, ag.linalg.qr(a))), 1),
        ("clamp", lambda x, a, b: np.clip(x, a, b), 1),
        ("lerp", lambda a, b, weight: a + weight * (b - a), 2),
        ("renorm", _renormed, 1),
        ("reshape", lambda x, *sizes: x.reshape(sizes_of(sizes)), 1),
        ("repeatTensor", lambda x, *times: np.tile(x, sizes_of(times)), 1),
        ("histc", lambda x, bins=100, a=None, b=None: np.histogram(
            x, bins, None if a is None else (a, b))[0].astype(x.dtype), 1)):
    _writing(_name, _compute, _operands)
def _comparison(name: str, compare: Any) -> None:
    """A function of a tensor and a number or tensor, perhaps with one before them as its result."""
    def function(*args: Any) -> Any:
        *target, a, b = args
        found = compare(a.array, _like(a.array, plain(b))).astype("uint8")
        return into(target[0], found) if target else new(found)

    def method(self: Tensor, *args: Any) -> Any:
        return function(self, *args)

    public(name, function, method, f"``{name}`` of each element, 1 or 0: ``([result,] x, y)``")


for _name, _test in {"all": np.all, "any": np.any}.items():
    _writing(_name, lambda x, test=_test: test(x), 1)
for _name, _compare in {"lt": np.less, "le": np.less_equal, "gt": np.greater,
                        "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}.items():
    _comparison(_name, _compare)


def _plus(name: str, compute: Any) -> None:
    def function(*args: Any) -> Any:
        *front, a, b = args
        value = front.pop() if not isinstance(front[-1], View) else 1
        found = front[-1].array + value * compute(a.array, b.array)
        return into(front[0], found) if len(front) > 1 else new(found)

    def method(self: Tensor, *args: Any) -> Any:
        return function(self, *args) if sum(isinstance(a, View) for a in args) > 2 else function(
            self, self, *args)

    public(name, function, method, "``x + value * a * b`` or ``a / b``: ``(x, [value,] a, b)``")


_plus("addcmul", np.multiply)
_plus("addcdiv", np.divide)


# -- made of numbers ------------------------------------------------------------------------------
def _made(name: str, compute: Any) -> None:
    compute.__name__ = compute.__qualname__ = name
    form = str(signature(compute))

    def function(*args: Any) -> Tensor:
        target = args[0] if args and isinstance(args[0], Tensor) else None
        try:
            found = np.asarray(compute(*args[target is not None:]))
        except (TypeError, ValueError) as error:
            given = ", ".join(map(typed, args))
            wrong = no_number(str(error), args)
            reason = wrong or without_line(error)
            raise (TypeError if wrong else type(error))(errors.at(
                f"{name}({given}): {reason}; it is called as {name}{form}")) from None
        return new(found, DEFAULT[0]) if target is None else into(target, found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}``; into a tensor that comes first, if there is one."
    FUNCTIONS[name] = function


def _range(a: float, b: float, step: float) -> Any:
    """Numbers from one to another, which is there, too."""
    if not step or (b - a) * step < 0:
        raise ValueError(f"a step of {step} leads not from {a} to {b}")
    return np.arange(a, b + step / 2, step)


RANDOM = [np.random.default_rng(0)]


def _counted(n: Any) -> int:
    """A number of things, of which there is one."""
    if operator.index(n) < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    return operator.index(n)


def setdefaulttensortype(name: str) -> None:
    """The type of tensors that name none."""
    DEFAULT[0] = dtype_of(name)


for _name, _compute in {
        "zeros": lambda *s: np.zeros(sizes_of(s)), "ones": lambda *s: np.ones(sizes_of(s)),
        "eye": lambda n, m=None: np.eye(n, m),
        "rand": lambda *s: RANDOM[0].random(sizes_of(s)),
        "randn": lambda *s: RANDOM[0].standard_normal(sizes_of(s)),
        "randperm": lambda n: RANDOM[0].permutation(_counted(n)) + 1,
        "range": lambda a, b, step=1: _range(a, b, step),
        "linspace": lambda a, b, n=100: np.linspace(a, b, n),
        "logspace": lambda a, b, n=100: np.logspace(a, b, n)}.items():
    _made(_name, _compute)


def cat(*args: Any) -> Tensor:
    """Tensors behind each other along an axis, the last one by default."""
    *front, last = args if isinstance(args[-1], int) else (*args, None)
    table = isinstance(front[-1], (list, tuple))
    parts = list(front.pop()) if table else front[-2:]
    targets = front if table else front[:-2]
    ndim = parts[-1].array.ndim
    axis = axis_of(ndim if last is None else last, ndim)
    found = np.concatenate([p.array for p in parts], axis)
    return into(targets[0], found) if targets else new(found)


FUNCTIONS["cat"] = cat
Tensor.cat = lambda self, *args: cat(self, *args)  # type: ignore[attr-defined]
for _name in ("squeeze", "transpose", "permute", "expand", "expandAs", "view", "viewAs", "split",
              "chunk", "totable", "equal", "contiguous", "clone", "narrow", "select", "numel",
              "isSameSizeAs", "unfold", "typeAs"):
    FUNCTIONS[_name] = getattr(Tensor, _name)
