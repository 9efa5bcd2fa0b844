"""``agnesi.amp``: mixed precision as PyTorch's programs write it.

Examples
--------
>>> import agnesi as ag
>>> layer, x = ag.nn.Linear(4, 3), ag.ones(2, 4)
>>> with ag.amp.autocast("cpu", dtype=ag.bfloat16):
...     y = layer(x)
...     loss = ag.nn.functional.cross_entropy(y, ag.tensor([0, 2]))
>>> y.dtype, loss.dtype
(dtype('bfloat16'), dtype('float32'))
"""

from __future__ import annotations

import contextlib
import functools as _functools
from collections.abc import Callable as _Callable
from collections.abc import Iterable, Mapping
from typing import Any

from agnesi.api import functions as _F
from agnesi.autodiff.recording import no_grad as _no_grad
from agnesi.core.calls.autocasting import cast as _cast
from agnesi.core.calls.autocasting import casting as _casting
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.parameter_types import DTypeLike as _DTypeLike
from agnesi.core.support.config import MODE as _MODE
from agnesi.core.support.dtypes import as_dtype as _as_dtype
from agnesi.core.support.dtypes import is_inexact as _is_inexact
from agnesi.core.support.errors import DTypeError as _DTypeError
from agnesi.core.support.errors import at as _at
from agnesi.core.support.errors import typed as _typed
from agnesi.core.support.errors import warn as _warn
from agnesi.core.tensor import Tensor

#: What :class:`autocast` may compute in.
_FEWER = ("bfloat16", "float16")


class autocast(contextlib.ContextDecorator):  # noqa: N801
    """A region in which some functions compute in fewer bits, as a ``with`` block or a decorator.

    Products, convolutions, linear layers and attention cast operands to ``dtype``; losses, linear
    algebra, transforms, ``prod``, ``quantile`` and others that lose too much cast them to float32;
    all others take operands as they are.  The lists are PyTorch's for processors
    (``core/calls/autocasting.py``); recurrent layers are in none.  float64 stays.  Gradients come
    in the dtypes of what they belong to.

    For GPUs, of which there are none, PyTorch leaves such a region as it is, and so does this one.

    :param device_type: What computes: "cpu", else nothing changes.
    :param dtype: bfloat16 or float16; bfloat16 by default.
    :type dtype: dtype, optional
    :param enabled: Whether functions cast; False in a region: they do not in this part of it.
    :param cache_enabled: Taken from PyTorch's calls: compiled code casts a weight once anyway.
    :raises DTypeError: If the dtype is none of floats.
    :see: training.Trainer, Tensor.bfloat16, is_autocast_enabled

    >>> with ag.amp.autocast("cpu", dtype=ag.bfloat16):
    ...     y = ag.ones(2, 2) @ ag.ones(2, 2)
    >>> y.dtype
    dtype('bfloat16')
    """

    def __init__(self, device_type: str = "cuda", dtype: _DTypeLike = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        found = _as_dtype("bfloat16" if dtype is None else dtype)
        if not _is_inexact(found):
            raise _DTypeError(_at(f"autocast: dtype must be one of floats, not {found}"))
        self.device_type, self._dtype = device_type, found
        self.enabled = enabled and device_type == "cpu"
        if self.enabled and str(found) not in _FEWER:
            _warn(f"autocast: dtype must be bfloat16 or float16, not {found}: nothing is cast")
            self.enabled = False
        self._entered: list[_casting] = []

    def __enter__(self) -> autocast:
        block = _casting((self._dtype if self.enabled else None) if self.device_type == "cpu"
                         else _MODE.get().autocast)
        block.__enter__()
        self._entered.append(block)
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


def custom_fwd(fwd: _Callable[..., Any] | None = None, *, device_type: str = "cuda",
               cast_inputs: _DTypeLike = None) -> Any:
    """The ``forward`` of an ``autograd.Function`` with operands in one dtype inside of
    :class:`autocast`, or as that says.

    :param fwd: The function; without it a decorator is returned.
    :param device_type: As in the region.
    :param cast_inputs: The dtype that it casts tensors of floats to; the function then casts
        nothing itself.
    :type cast_inputs: dtype, optional
    :returns: The function, or a decorator.
    :rtype: callable
    :see: amp.custom_bwd, amp.autocast

    >>> @ag.amp.custom_fwd(device_type="cpu", cast_inputs=ag.float32)
    ... def forward(ctx, x):
    ...     return x * 2
    """
    if fwd is None:
        return _functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    if device_type != "cpu":
        return fwd

    @_functools.wraps(fwd)
    def call(ctx: Any, *args: Any, **keywords: Any) -> Any:
        ctx._autocast = dtype = _MODE.get().autocast
        if dtype is None or cast_inputs is None:
            return fwd(ctx, *args, **keywords)
        ctx._autocast, target = None, _as_dtype(cast_inputs)
        with _casting(None):
            return fwd(ctx, *_cast(args, target), **_cast(keywords, target))

    return call


def custom_bwd(bwd: _Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Any:
    """The ``backward`` of an ``autograd.Function``, which casts as its :func:`custom_fwd` did.

    :param bwd: The function; without it a decorator is returned.
    :param device_type: As in the region.
    :returns: The function, or a decorator.
    :rtype: callable
    :see: amp.custom_fwd, amp.autocast

    >>> @ag.amp.custom_bwd
    ... def backward(ctx, g):
    ...     return g * 2
    """
    if bwd is None:
        return _functools.partial(custom_bwd, device_type=device_type)
    if device_type != "cpu":
        return bwd

    @_functools.wraps(bwd)
    def call(ctx: Any, *gradients: Any) -> Any:
        with _casting(getattr(ctx, "_autocast", None)):
            return bwd(ctx, *gradients)

    return call


class GradScaler:
    """Scales a loss so that gradients of few bits do not vanish, and leaves out steps of those
    that overflow.

    As PyTorch's, one for GPUs does nothing where there are none; ``GradScaler("cpu")`` scales.

    :param device: What computes.
    :param init_scale: The first factor.
    :param growth_factor: By what it grows after ``growth_interval`` steps without an overflow.
    :param backoff_factor: By what it falls at an overflow.
    :param growth_interval: How many steps.
    :param enabled: Whether it does anything.
    :see: amp.autocast, optim.SGD

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> scaler, optimizer = ag.amp.GradScaler("cpu"), ag.optim.SGD([w], 0.5)
    >>> scaler.scale((w * 3).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([-0.5], requires_grad=True)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0,
                 growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        self._enabled = enabled and device == "cpu"
        self._scale, self._growth, self._backoff = init_scale, growth_factor, backoff_factor
        self._interval, self._steps = growth_interval, 0
        #: Whether gradients overflowed, by the optimizers that were unscaled since the update.
        self._overflows: dict[int, bool] = {}

    def is_enabled(self) -> bool:
        """Return whether it does anything.

        :returns: False for what is not there.
        """
        return self._enabled

    def get_scale(self) -> float:
        """Return the factor.

        :returns: 1.0 where it does nothing.
        """
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Tensor | Iterable[Tensor]) -> Any:
        """Multiply losses.

        :param outputs: A loss, or several.
        :type outputs: Tensor or iterable of Tensor
        :returns: Like them.
        :raises TypeError: If it is neither.
        """
        if isinstance(outputs, Tensor):
            return outputs * self._scale if self._enabled else outputs
        if not isinstance(outputs, (list, tuple)):
            raise TypeError(_at(f"GradScaler.scale takes a loss, a tensor, or a list of them, not "
                                f"{_typed(outputs)}"))
        return type(outputs)(self.scale(x) for x in outputs)

    def unscale_(self, optimizer: object) -> None:
        """Divide the gradients of an optimizer's parameters, before they are clipped for example.

        :param optimizer: Whose.
        :type optimizer: object
        :raises RuntimeError: If that was done since the last update.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._overflows:
            raise RuntimeError(_at("GradScaler.unscale_ was called for this optimizer since the "
                                   "last update()"))
        gradients = [p.grad for p in _parameters(optimizer) if p.grad is not None]
        with _no_grad():
            for g in gradients:
                g.mul_(1.0 / self._scale)
            finite = all(bool(_F.isfinite(g).all()) for g in gradients)
        self._overflows[id(optimizer)] = not finite

    def step(self, optimizer: object, *args: Any, **keywords: Any) -> Any:
        """Take an optimizer's step, unless a gradient overflowed.

        :param optimizer: The optimizer.
        :type optimizer: object
        :param *args: What its ``step`` takes.
        :param **keywords: The same by name.
        :returns: What its ``step`` gives, or None.
        :raises TypeError: If it is no optimizer.
        """
        if not hasattr(optimizer, "step"):
            raise TypeError(_at("GradScaler.step: optimizer must be an optimizer, not "
                                f"{_typed(optimizer)}"))
        if self._enabled and id(optimizer) not in self._overflows:
            self.unscale_(optimizer)
        if self._overflows.get(id(optimizer)):
            return None
        return optimizer.step(*args, **keywords)

    def update(self, new_scale: float | None = None) -> None:
        """Set the factor for the next step.

        :param new_scale: The factor; by default it grows or falls as the steps went.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif any(self._overflows.values()):
            self._scale, self._steps = self._scale * self._backoff, 0
        else:
            self._steps += 1
            if self._steps == self._interval:
                self._scale, self._steps = self._scale * self._growth, 0
        self._overflows.clear()

    def state_dict(self) -> dict[str, Any]:
        """Return what is to be saved.

        :returns: Numbers by name; empty where it does nothing.
        """
        return {} if not self._enabled else {
            "scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff,
            "growth_interval": self._interval, "_growth_tracker": self._steps}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what was saved.

        :param state_dict: As of :meth:`state_dict`.
        :raises KeyError: If something is missing.
        """
        if self._enabled:
            self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
            self._backoff = state_dict["backoff_factor"]
            self._interval = state_dict["growth_interval"]
            self._steps = state_dict["_growth_tracker"]


def _parameters(optimizer: Any) -> Iterable[Tensor]:
    return (p for group in optimizer.param_groups for p in group["params"])


_strictly(__name__)
