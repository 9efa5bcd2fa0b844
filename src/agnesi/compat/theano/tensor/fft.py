"""``theano.tensor.fft``: real transforms, whose last axis holds the real and imaginary parts."""

from __future__ import annotations

from typing import Any

from agnesi.api import fft as _ours
from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, wrapped
from agnesi.core.keywords import strictly as _strictly

_NORMS = {None: "backward", "ortho": "ortho", "no_norm": "backward"}


def rfft(inp: Any, norm: str | None = None) -> Variable:
    """The transform over all axes but the first, of which the last is halved."""
    x = as_tensor_variable(inp)._value
    found = _ours.rfftn(x, axes=tuple(range(1, x.ndim)), norm=_NORMS[norm])
    return wrapped(F.stack([F.real(found), F.imag(found)], -1))


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Variable:
    """The inverse of :func:`rfft`; ``is_odd`` says that the last size was odd."""
    x = as_tensor_variable(inp)._value
    spectrum = x[..., 0] + 1j * x[..., 1]
    axes = tuple(range(1, spectrum.ndim))
    last = 2 * (spectrum.shape[-1] - 1) + int(is_odd)
    sizes = (*spectrum.shape[1:-1], last)
    found = _ours.irfftn(spectrum, s=sizes, axes=axes, norm=_NORMS[norm])
    if norm != "no_norm":
        return wrapped(found)
    count = 1
    for n in sizes:
        count = count * n
    return wrapped(found * F.asarray(count))


_strictly(__name__)
