"""``chainer.cuda`` on the processor: every device is the processor, its arrays are NumPy's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.custom.kernels import elementwise as our_elementwise
from agnesi.api.custom.kernels import reduction as our_reduction
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, typed

available = True
cudnn_enabled = False
cupy = np
GPUArray = ndarray = np.ndarray


class Device:
    """A device, which has only a number; a ``with`` block selects it.

    Attributes
    ----------
    id : int
    """

    #: Numbers of the devices that blocks and :func:`use_device` selected, the present one last.
    selected: list[int] = [0]  # noqa: RUF012 - the one list of the process

    def __init__(self, device: Any = 0) -> None:
        self.id: int = int(getattr(device, "id", device))

    def use(self) -> None:
        """Select it."""
        self.selected[-1] = self.id

    def synchronize(self) -> None:
        """Nothing: the processor has finished all calls."""

    def __enter__(self) -> Device:
        self.selected.append(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        self.selected.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, Device)) and self.id == getattr(other, "id", other)

    def __hash__(self) -> int:
        return hash(self.id)

    def __int__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<Device {self.id}>"


DeviceUser = Device


def init(device: Any = None) -> None:
    """Select a device, if one is named."""
    if device is not None:
        use_device(device)


def shutdown() -> None:
    """Nothing: there is nothing to end."""


def check_cuda_available() -> None:
    """Nothing: what programs want of a device, the processor does."""


def get_device(*args: Any) -> Any:
    """The device that an argument names: a number, a device, or None for the present one; that of
    an array is the processor."""
    for arg in args or (None,):
        if isinstance(arg, Device):
            return arg
        if isinstance(arg, (int, np.integer)) and not isinstance(arg, bool):
            return Device(arg)
    return Device(Device.selected[-1])


def use_device(arg: Any, pop: bool = True) -> None:
    """Select a device."""
    get_device(arg).use()


def using_device(*args: Any) -> Device:
    """A block in which a device is selected."""
    found: Device = get_device(*args)
    return found


def get_array_module(*args: Any) -> Any:
    """NumPy."""
    return np


def to_gpu(array: Any, device: Any = None, stream: Any = None) -> Any:
    """The array itself."""
    return _array("to_gpu", array)


def to_cpu(array: Any, stream: Any = None) -> Any:
    """The array itself."""
    return _array("to_cpu", array)


def _array(name: str, array: Any) -> Any:
    found = np.asarray(array)
    if found.dtype.kind in "OSUM":
        raise TypeError(at(f"{name} takes an array of numbers, not {typed(array)}; links and "
                           f"variables have a method of the name"))
    return found


to_gpu_async, to_cpu_async = to_gpu, to_cpu


def copy(array: Any, out: Any = None, out_device: Any = None, stream: Any = None) -> Any:
    """A copy, into another array if one is given."""
    if out is None:
        return np.array(array)
    np.copyto(out, array)
    return out


copy_async = copy


def empty(shape: Any, dtype: Any = np.float32, stream: Any = None) -> Any:
    """An array without values, float32 by default."""
    return np.empty(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = np.float32, stream: Any = None) -> Any:
    """An array of one value, float32 by default."""
    return np.full(shape, fill_value, dtype)


def zeros(shape: Any, dtype: Any = np.float32, stream: Any = None) -> Any:
    """An array of zeros, float32 by default."""
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32, stream: Any = None) -> Any:
    """An array of ones, float32 by default."""
    return np.ones(shape, dtype)


def empty_like(array: Any) -> Any:
    """An array without values, of another one's type."""
    return np.empty_like(array)


def full_like(array: Any, fill_value: Any, stream: Any = None) -> Any:
    """An array of one value, of another one's type."""
    return np.full_like(array, fill_value)


def zeros_like(array: Any, stream: Any = None) -> Any:
    """An array of zeros, of another one's type."""
    return np.zeros_like(array)


def ones_like(array: Any, stream: Any = None) -> Any:
    """An array of ones, of another one's type."""
    return np.ones_like(array)


def seed(s: int | None = None, device: Any = None) -> None:
    """Restart NumPy's generator."""
    np.random.seed(s)


def get_generator(device: Any = None) -> Any:
    """NumPy's generator."""
    return np.random


#: ``x[i] = ...``, ``x[i] += ...`` or ``float x = ...``.
_STATEMENT = re.compile(
    r"\s*(?:(?:float|double|int)\s+)?(\w+)\s*(?:\[\s*i\s*\])?\s*([-+*/]?)=(.*)", re.S)
#: C's functions of single precision, and its numbers.
_FLOAT = re.compile(r"\b([a-z0-9]+)f\b(?=\s*\()|(?<=\d)f\b")


def _python(text: str) -> str:
    """A C expression over ``name[i]`` as one of agnesi's."""
    text = re.sub(r"\b(\w+)\s*\[\s*i\s*\]", r"\1", text)
    text = _FLOAT.sub(lambda m: m.group(1) or "", text)
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    return re.sub(r"(.+?)\?(.+?):(.+)", r"(\2) if (\1) else (\3)", text.strip())


def _names(arguments: str) -> list[str]:
    return [re.findall(r"\w+", part)[-1] for part in arguments.split(",") if part.strip()]


def elementwise(arguments: str, operation: str, name: str, *ignored: Any,
                **options: Any) -> Callable[..., None]:
    """A function that writes into arrays, element by element, from C as PyCUDA takes it.

    The body's statements are ``x[i] = ...;``, ``x[i] += ...;`` and declarations of numbers; they
    may use arithmetic, functions of C's and ``c ? a : b``.

    :param arguments: ``"float* w, const float* x"``: arrays and numbers, in the order of calls.
    :param operation: The body for element ``i``.
    :param name:
    :returns: It takes the arguments.

    >>> import numpy as np
    >>> from agnesi.compat.chainer import cuda
    >>> w = np.zeros(2, np.float32)
    >>> add = cuda.elementwise("float* w, const float* x, float c", "w[i] = x[i] + c", "add")
    >>> add(w, np.ones(2, np.float32), 2)
    >>> w
    array([3., 3.], dtype=float32)
    """
    names = _names(arguments)
    steps = []
    for statement in filter(str.strip, operation.split(";")):
        found = _STATEMENT.match(statement)
        if found is None:
            raise SyntaxError(at(f"{name}: {statement.strip()!r} is no assignment to one of the "
                                 "results"))
        target, sign, value = found.groups()
        text = _python(value)
        steps.append((target, f"{target} {sign} ({text})" if sign else text))

    def run(*args: Any) -> None:
        values = dict(zip(names, args, strict=True))
        for target, text in steps:
            used = [n for n in values if re.search(rf"\b{n}\b", text)]
            result = our_elementwise(text, name=name, parameters=" ".join(used))(
                *[values[n] for n in used]) if used else float(text)
            result = np.asarray(result)
            if isinstance(values.get(target), np.ndarray):
                np.copyto(values[target], result, casting="unsafe")
            else:
                values[target] = result

    run.__name__ = name
    return run


def reduce(arguments: str, map_expr: str, reduce_expr: str, neutral: str, name: str,
           dtype_out: Any = np.float32, *ignored: Any, **options: Any) -> Callable[..., Any]:
    """A reduction of all elements, from C as PyCUDA takes it.

    :param arguments: ``"const float* x"``: arrays and numbers, in the order of calls.
    :param map_expr: From element ``i`` to what is reduced.
    :param reduce_expr: Two of these, ``a`` and ``b``, as one.
    :param neutral: Where the reduction starts.
    :param name:
    :param dtype_out:
    :type dtype_out: dtype
    :returns: It takes the arguments and returns an array without axes.

    >>> import numpy as np
    >>> from agnesi.compat.chainer import cuda
    >>> norm = cuda.reduce("const float* x", "x[i] * x[i]", "a + b", "0", "norm")
    >>> norm(np.float32([3, 4]))
    array(25., dtype=float32)
    """
    kernel = our_reduction(_python(map_expr), _python(reduce_expr), float(neutral), name=name,
                           parameters=" ".join(_names(arguments)))

    def run(*args: Any) -> Any:
        return np.asarray(kernel(*args), dtype_out)

    run.__name__ = name
    return run


_strictly(__name__)
