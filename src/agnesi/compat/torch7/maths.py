"""Torch7's functions: each makes a new tensor, or writes into the one that comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.tensor import DEFAULT, View, dtype_of, sizes_of


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

    def __neg__(self) -> Tensor:
        return new(-self.array)

    def __add__(self, other: Any) -> Tensor:
        return new(self.array + plain(other))

    def __sub__(self, other: Any) -> Tensor:
        return new(self.array - plain(other))

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
        return new(self.array / plain(other))


def plain(x: Any) -> Any:
    """The array of a tensor; all else as it is."""
    return x.array if isinstance(x, View) else x


def new(array: Any, dtype: Any = None) -> Tensor:
    """A tensor of an array, in its dtype."""
    array = np.asarray(array)
    return Tensor(array, dtype=dtype or (array.dtype if array.dtype != bool else "uint8"))


def _into(target: Any, array: Any) -> Any:
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

    _public(name, function, method, f"``{name}`` of each element")


def _public(name: str, function: Any, method: Any, summary: str) -> None:
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
        if len(rest) == 2:
            return a, np.multiply(rest[0], rest[1])
        return a, rest[0]

    def write(target: Tensor, args: Any) -> Tensor:
        a, b = value(args)
        if isinstance(b, np.ndarray) and b.shape != a.shape and b.size == a.size:
            b = b.reshape(a.shape)
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

    _public(name, function, method, f"``{name}`` of two tensors, or a tensor and a number")


_binary("add", np.add, scaled=True)
_binary("csub", np.subtract, scaled=True)
for _name, _ufunc in {"mul": np.multiply, "cmul": np.multiply, "div": np.divide, "cdiv": np.divide,
                      "pow": np.power, "cpow": np.power, "atan2": np.arctan2, "cmax": np.maximum,
                      "cmin": np.minimum, "fmod": np.fmod, "remainder": np.mod}.items():
    _binary(_name, _ufunc)


def _writing(name: str, compute: Callable[..., Any], operands: int, summary: str = "",
             dtype: Any = None) -> None:
    """A function whose operands are tensors, perhaps with one more before them as its result."""
    def function(*args: Any) -> Any:
        count = next((i for i, x in enumerate(args) if not isinstance(x, View)), len(args))
        if count > operands:
            return _into(args[0], compute(*map(plain, args[1:])))
        found = compute(*map(plain, args))
        if isinstance(found, tuple):
            return tuple(new(f) for f in found)
        return new(found, dtype) if np.ndim(found) else np.asarray(found).item()

    def method(self: Tensor, *args: Any) -> Any:
        count = sum(isinstance(x, View) for x in args)
        return _into(self, compute(*map(plain, args))) if count == operands else function(
            self, *args)

    _public(name, function, method, summary or f"``{name}`` of tensors")


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
    def reduce(x: Any, dim: int) -> Any:
        found = np.expand_dims(np.asarray(compute(x, axis=dim - 1)), dim - 1)
        at = None if places is None else np.expand_dims(places(x, axis=dim - 1), dim - 1) + 1
        return found, at

    def function(*args: Any) -> Any:
        tensors = [a for a in args if isinstance(a, View)]
        numbers = [a for a in args if not isinstance(a, View)]
        x = tensors[-1]
        if not numbers:
            if places is not None and len(tensors) == 1:
                return np.asarray(compute(x.array)).item()
            return np.asarray(compute(x.array)).item()
        found, at = reduce(x.array, *numbers)
        values = _into(tensors[0], found) if len(tensors) > 1 else new(found, x.array.dtype)
        if at is None:
            return values
        return values, (_into(tensors[1], at) if len(tensors) > 2 else new(at, "int64"))

    def method(self: Tensor, *args: Any) -> Any:
        return function(self, *args)

    _public(name, function, method, f"The {name} of all elements, or along an axis")


def _last(compute: Any) -> Any:
    return lambda x, axis=None: compute(x, axis=axis, ddof=1)


for _name, _compute in {"sum": np.sum, "prod": np.prod, "mean": np.mean, "std": _last(np.std),
                        "var": _last(np.var)}.items():
    _reduced(_name, _compute)
_reduced("max", np.max, np.argmax)
_reduced("min", np.min, np.argmin)


def _cumulative(compute: Any) -> Any:
    return lambda x, dim=1: compute(x, axis=dim - 1)


def _norm(x: Any, p: float = 2, dim: int | None = None) -> Any:
    if dim is None:
        return np.asarray(ag.linalg.vector_norm(x.reshape(-1), ord=p))
    return np.asarray(ag.linalg.vector_norm(x, ord=p, axis=dim - 1, keepdims=True))


def _svd(a: Any) -> Any:
    u, s, v = ag.linalg.svd(a, full_matrices=False)
    return np.asarray(u), np.asarray(s), np.asarray(v).T


def _sorted(x: Any, dim: int | None = None, descending: bool = False) -> Any:
    axis = (x.ndim if dim is None else dim) - 1
    at = np.argsort(-x if descending else x, axis=axis, kind="stable")
    return np.take_along_axis(x, at, axis), at + 1


for _name, _compute, _operands in (
        ("mm", np.matmul, 2), ("mv", np.matmul, 2), ("bmm", np.matmul, 2), ("ger", np.outer, 2),
        ("dot", np.vdot, 2), ("cross", lambda a, b: np.asarray(ag.cross(a, b)), 2),
        ("dist", lambda a, b, p=2: np.asarray(ag.dist(a, b, p)), 2),
        ("cumsum", _cumulative(np.cumsum), 1), ("cumprod", _cumulative(np.cumprod), 1),
        ("norm", _norm, 1), ("trace", np.trace, 1),
        ("diag", lambda x, k=0: np.diag(x, k), 1), ("tril", lambda x, k=0: np.tril(x, k), 1),
        ("triu", lambda x, k=0: np.triu(x, k), 1), ("sort", _sorted, 1),
        ("inverse", lambda a: np.asarray(ag.linalg.inv(a)), 1),
        ("svd", _svd, 1),
        ("qr", lambda a: tuple(map(np.asarray, ag.linalg.qr(a))), 1),
        ("potrf", lambda a: np.asarray(ag.linalg.cholesky(a)).T, 1),
        ("clamp", lambda x, a, b: np.clip(x, a, b), 1),
        ("reshape", lambda x, *sizes: x.reshape(sizes_of(sizes)), 1),
        ("repeatTensor", lambda x, *times: np.tile(x, sizes_of(times)), 1),
        ("histc", lambda x, bins=100, a=None, b=None: np.histogram(
            x, bins, None if a is None else (a, b))[0].astype(x.dtype), 1)):
    _writing(_name, _compute, _operands)
for _name, _compare in {"lt": np.less, "le": np.less_equal, "gt": np.greater,
                        "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}.items():
    _writing(_name, lambda a, b, compare=_compare: compare(a, b).astype("uint8"), 1)


def gesv(b: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """x with ``a @ x = b``, and the triangular factors of ``a`` in one matrix."""
    return new(ag.linalg.solve(a.array, b.array)), new(ag.linalg.lu_factor(a.array)[0])


def gels(b: Tensor, a: Tensor) -> Tensor:
    """x for which ``a @ x`` is nearest to b."""
    return new(ag.linalg.lstsq(a.array, b.array)[0])


def symeig(a: Tensor, job: str = "N") -> Any:
    """Eigenvalues of a symmetric matrix, and with "V" its eigenvectors."""
    values, vectors = ag.linalg.eigh(a.array)
    return (new(values), new(vectors)) if job == "V" else new(values)


def addmm(*args: Any) -> Tensor:
    """``beta * m + alpha * (a @ b)``: (result, beta, m, alpha, a, b), what is 1 may be left out."""
    *front, a, b = args
    tensors = [x for x in front if isinstance(x, View)]
    numbers = [x for x in front if not isinstance(x, View)]
    beta, alpha = numbers if len(numbers) == 2 else (1, *(numbers or [1]))
    found = beta * tensors[-1].array + alpha * (a.array @ b.array)
    return _into(tensors[0], found) if len(tensors) > 1 else new(found)


def _method_addmm(self: Tensor, *args: Any) -> Tensor:
    return addmm(self, *args) if sum(isinstance(x, View) for x in args) > 2 else addmm(
        self, args[0], self, *args[1:]) if len(args) == 4 else addmm(self, self, *args)


def addcmul(self: Tensor, value: Any, a: Any, b: Any = None) -> Tensor:
    """Add ``value * a * b`` in place; a value of 1 may be left out."""
    if b is None:
        value, a, b = 1, value, a
    self.array[...] += value * (a.array * b.array)
    return self


def addcdiv(self: Tensor, value: Any, a: Any, b: Any = None) -> Tensor:
    """Add ``value * a / b`` in place; a value of 1 may be left out."""
    if b is None:
        value, a, b = 1, value, a
    self.array[...] += value * (a.array / b.array)
    return self


FUNCTIONS.update(gesv=gesv, gels=gels, symeig=symeig, addmm=addmm)
for _name, _method in {"addmm": _method_addmm, "addcmul": addcmul, "addcdiv": addcdiv}.items():
    setattr(Tensor, _name, _method)


# -- made of numbers ------------------------------------------------------------------------------
def _made(name: str, compute: Any) -> None:
    def function(*args: Any) -> Tensor:
        if args and isinstance(args[0], Tensor):
            return _into(args[0], compute(*args[1:]))
        found = np.asarray(compute(*args))
        return new(found, DEFAULT[0])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}``; into a tensor that comes first, if there is one."
    FUNCTIONS[name] = function


_RANDOM = [np.random.default_rng(0)]


def manualSeed(seed: int) -> None:
    """Begin random numbers anew."""
    _RANDOM[0] = np.random.default_rng(seed)


def setdefaulttensortype(name: str) -> None:
    """The type of tensors that name none."""
    DEFAULT[0] = dtype_of(name)


for _name, _compute in {
        "zeros": lambda *s: np.zeros(sizes_of(s)), "ones": lambda *s: np.ones(sizes_of(s)),
        "eye": lambda n, m=None: np.eye(n, m),
        "rand": lambda *s: _RANDOM[0].random(sizes_of(s)),
        "randn": lambda *s: _RANDOM[0].standard_normal(sizes_of(s)),
        "randperm": lambda n: _RANDOM[0].permutation(n) + 1,
        "range": lambda a, b, step=1: np.arange(a, b + step / 2, step),
        "linspace": lambda a, b, n=100: np.linspace(a, b, n),
        "logspace": lambda a, b, n=100: np.logspace(a, b, n)}.items():
    _made(_name, _compute)


def uniform(self: Tensor, low: float = 0, high: float = 1) -> Tensor:
    """Uniform numbers in place."""
    self.array[...] = _RANDOM[0].uniform(low, high, self.array.shape)
    return self


def normal(self: Tensor, mean: float = 0, deviation: float = 1) -> Tensor:
    """Normal numbers in place."""
    self.array[...] = _RANDOM[0].normal(mean, deviation, self.array.shape)
    return self


def bernoulli(self: Tensor, p: float = 0.5) -> Tensor:
    """Ones with chance p, else zeros, in place."""
    self.array[...] = _RANDOM[0].random(self.array.shape) < p
    return self


for _method in (uniform, normal, bernoulli):
    setattr(Tensor, _method.__name__, _method)


def cat(*args: Any) -> Tensor:
    """Tensors behind each other along an axis, the last one by default."""
    parts = [a for a in args if isinstance(a, View)]
    dims = [a for a in args if isinstance(a, int)]
    for a in args:
        if isinstance(a, (list, tuple)):
            parts += a
    axis = dims[0] - 1 if dims else parts[-1].array.ndim - 1
    if len(parts) == 3 and not any(isinstance(a, (list, tuple)) for a in args):
        return _into(parts[0], np.concatenate([p.array for p in parts[1:]], axis))
    return new(np.concatenate([p.array for p in parts], axis))


FUNCTIONS["cat"] = cat
