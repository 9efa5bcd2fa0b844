"""Settings in PyTorch's words: the default dtype, and what is recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from types import NoneType, TracebackType
from typing import Any, Self, TypeVar, overload

import numpy as np

from agnesi.api.torch import kinds
from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strict, strict_class
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import explain_errors
from agnesi.core.support import dtypes
from agnesi.core.support.config import MODE, Mode, config, settled
from agnesi.core.support.errors import DTypeError, at, shown
from agnesi.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["get_default_dtype", "get_float32_matmul_precision", "inference_mode",
           "is_autocast_enabled", "set_default_dtype", "set_default_tensor_type",
           "set_float32_matmul_precision", "set_grad_enabled"]


@strict
def get_default_dtype() -> np.dtype:
    """The dtype of Python floats and of creation functions: ``config.default_float``.

    :returns: A float dtype.
    :rtype: dtype
    :see: set_default_dtype, config

    >>> ag.get_default_dtype()
    dtype('float32')
    """
    return config.float_dtype


@explain_errors
def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the dtype of Python floats and of creation functions: ``config.default_float``.

    :param dtype: A float dtype.
    :raises DTypeError: If it is no float dtype.
    :see: get_default_dtype, config

    >>> ag.set_default_dtype(ag.float32)
    """
    wrong = isinstance(dtype, (Tensor, np.ndarray, np.generic, NoneType))
    found = None if wrong else dtypes.as_dtype(dtype)
    if found is None or found.kind not in "fV":
        raise DTypeError(f"the default dtype is one of floats, not {shown(dtype)}")
    config.default_float = found.name


@explain_errors
def set_default_tensor_type(t: type | str) -> None:
    """Set the dtype of Python floats and of creation functions, by the name of a constructor.

    :param t: Such as ``ag.DoubleTensor`` or "torch.DoubleTensor".
    :type t: constructor or str
    :raises DTypeError: If it is no constructor of floats.
    :raises ValueError: If it is one of a device that is not there.
    :see: set_default_dtype, config

    >>> ag.set_default_tensor_type(ag.FloatTensor)
    """
    room, _, name = t.rpartition(".") if isinstance(t, str) else ("", "", "")
    if room.endswith(".cuda"):
        raise ValueError(f"there is one device, 'cpu', and not {shown(t)}")
    if not isinstance(t, kinds.Kind) and name not in kinds.NAMES:
        raise DTypeError(f"a type is one such as ag.FloatTensor, not {shown(t)}; write "
                         "ag.set_default_dtype for a dtype")
    set_default_dtype(t.dtype if isinstance(t, kinds.Kind) else kinds.NAMES[name])


@explain_errors
def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact products of float32 have to be, for programs that ask GPUs for less.

    :param precision: "highest", "high" or "medium"; products are computed in float32 in any case.
    :raises ValueError: If it is another word.
    :see: get_float32_matmul_precision, backends

    >>> ag.set_float32_matmul_precision("high")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision must be 'highest', 'high' or 'medium', not {shown(precision)}")


@strict
def get_float32_matmul_precision() -> str:
    """The precision of products of float32 tensors.

    :returns: "highest".
    :see: set_float32_matmul_precision

    >>> ag.get_float32_matmul_precision()
    'highest'
    """
    return "highest"


@strict
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether functions choose the dtype that they compute in, inside of ``amp.autocast``.

    :param device_type: "cpu", or a device that is not there; without one GPUs are meant.
    :returns: False for devices that are not there.
    :see: set_default_dtype, amp.autocast

    >>> with ag.autocast("cpu"):
    ...     print(ag.is_autocast_enabled("cpu"))
    True
    """
    return device_type == "cpu" and MODE.get().autocast is not None


@strict_class
class inference_mode(no_grad):  # noqa: N801 - used as a function
    """Operations inside are not recorded, as in :class:`no_grad`; a block or a decorator.

    :param mode: Whether anything changes; or the function to decorate.
    :type mode: bool or callable
    :see: no_grad, set_grad_enabled

    >>> with ag.inference_mode():
    ...     print((ag.ones(2, requires_grad=True) * 2).requires_grad)
    False
    """

    __slots__ = ()

    @overload
    def __new__(cls, mode: bool = ...) -> Self: ...

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        if mode is False:
            return nullcontext()
        return super().__new__(cls) if mode is True else super().__new__(cls, mode)


@strict_class
class set_grad_enabled:  # noqa: N801 - used as a function
    """Record operations or not, from now on; as a block, until its end.

    :param mode: Whether they are recorded.
    :raises TypeError: If ``mode`` is no bool.
    :see: no_grad, enable_grad, is_grad_enabled

    >>> with ag.set_grad_enabled(False):
    ...     print(ag.is_grad_enabled())
    False
    >>> ag.is_grad_enabled()
    True
    """

    __slots__ = ("_before", "_mine")

    _before: Mode
    _mine: Mode

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(at("set_grad_enabled: mode must be True or False, not "
                               f"{shown(mode)}"))
        self._before, self._mine = MODE.get(), settled(bool(mode))
        MODE.set(self._mine)

    def __enter__(self) -> None:
        """It began when it was made."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        MODE.set(self._before if MODE.get() is self._mine else settled(self._before.recording))

    def __call__(self, function: F) -> F:
        """The function, with recording switched while it runs; here it ends."""
        mode = self._mine.recording
        self.__exit__(None, None, None)

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            with set_grad_enabled(mode):
                return function(*args, **keywords)

        return call  # type: ignore[return-value]
