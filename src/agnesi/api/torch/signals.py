"""Windows that are periodic by default, and short-time Fourier transforms, in PyTorch's words."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api.torch.texts import torch
from agnesi.core import shapes
from agnesi.core.ir.dims import is_open
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays import rearrange
from agnesi.ops.base import creation
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.elementwise import complexes
from agnesi.ops.indexing.join import pad
from agnesi.ops.indexing.scatter import index_add
from agnesi.ops.signal import fft

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "istft",
           "kaiser_window", "stft"]

#: What the squares of windows over an element sum to where there are any.
_LEAST_COVER = 1e-11

# -- windows ----------------------------------------------------------------------------------
_WORDS = {"window_length": "int | How many weights.",
          "periodic": "bool | Whether it is one period of a longer row of windows, of which the "
                      "last weight is left out; else symmetric.",
          "dtype": "dtype, optional | A float dtype; ``config.default_float`` by default."}
_VECTOR = "Tensor | A vector of ``window_length`` weights."
_NEGATIVE = "ValueError | If ``window_length`` is negative."


def _weights(length: Any, periodic: bool, dtype: Any, curve: Callable[[Any], Any]) -> Tensor:
    """Values of a curve on [0, 1], with its end or without."""
    n = operator.index(length)
    if n < 0:
        raise ValueError(f"window_length must not be negative, not {n}")
    last = n if periodic else n - 1
    values = curve(np.arange(n) / last) if n > 1 else np.ones(n)
    kind = dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)
    return cast(as_tensor(values), kind)


@torch(_VECTOR, "hanning, hamming_window, stft",
       ">>> ag.hann_window(4)\ntensor([0. , 0.5, 1. , 0.5])", _NEGATIVE, **_WORDS)
def hann_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None,
                out: Tensor | None = None) -> Tensor:
    """Hann's window: one wave of a raised cosine."""
    return _weights(window_length, periodic, dtype, lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t))


@torch(_VECTOR,
       "hamming, hann_window", ">>> ag.hamming_window(2)\ntensor([0.08, 1.  ])", _NEGATIVE,
       **{**_WORDS, "alpha": "float | The height of its middle line.",
          "beta": "float | The cosine's factor."})
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54,
                   beta: float = 0.46, *, dtype: DTypeLike = None, out: Tensor | None = None
                   ) -> Tensor:
    """Hamming's window: a raised cosine that does not fall to zero."""
    return _weights(window_length, periodic, dtype,
                    lambda t: alpha - beta * as_tensor(np.cos(2 * np.pi * t)))


@torch(_VECTOR, "blackman, hann_window",
       ">>> ag.blackman_window(2).round(3) + 0\ntensor([0., 1.])", _NEGATIVE, **_WORDS)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None,
                    out: Tensor | None = None) -> Tensor:
    """Blackman's window: a sum of three cosines."""
    return _weights(
        window_length, periodic, dtype,
        lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t))


@torch(_VECTOR, "bartlett, hann_window",
       ">>> ag.bartlett_window(4)\ntensor([0. , 0.5, 1. , 0.5])", _NEGATIVE, **_WORDS)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike = None,
                    out: Tensor | None = None) -> Tensor:
    """Bartlett's window: a triangle."""
    return _weights(window_length, periodic, dtype, lambda t: 1 - np.abs(2 * t - 1))


@torch(_VECTOR, "kaiser, hann_window",
       ">>> ag.kaiser_window(2, beta=0.0)\ntensor([1., 1.])", _NEGATIVE,
       **{**_WORDS, "beta": "float | How steeply it falls."})
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: DTypeLike = None, out: Tensor | None = None) -> Tensor:
    """Kaiser's window: a Bessel function of a circle."""
    return _weights(window_length, periodic, dtype,
                    lambda t: np.i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / np.i0(beta))


# -- transforms -------------------------------------------------------------------------------
_STFT = {
    "n_fft": "int | The length of a frame.",
    "hop_length": "int, optional | From one frame to the next; a quarter of a frame by default.",
    "win_length": "int, optional | The window's length, at most ``n_fft``, which is the default.",
    "window": "array_like, optional | Weights, with zeros on both sides where it is shorter than a "
              "frame; ones by default.",
    "center": "bool | Whether frames have their middle, not their start, at multiples of the hop.",
    "pad_mode": "str | How the signal goes on where it ends, as for :func:`agnesi.pad`.",
    "normalized": "bool | Whether frames are divided by the root of their length.",
    "onesided": "bool, optional | Whether frequencies are only those that are not negative; by "
                "default of real signals.",
    "return_complex": "bool | False gives real and imaginary parts in an axis behind the others.",
    "length": "int, optional | The signal's length; by default as far as frames say.",
}


def _window(window: Any, win_length: Any, n_fft: int, like: Tensor) -> Tensor:
    """The weights of a frame."""
    width = n_fft if win_length is None else operator.index(win_length)
    kind = dtypes.real_of(like.dtype)
    found = creation.ones((width,), dtype=kind) if window is None else as_tensor(window)
    text = (f"the window must be a vector of {width} weights, at most n_fft = {n_fft}, not "
            f"{typed(found)}")
    if not 0 < width <= n_fft:
        raise ValueError(text)
    found = of_shape("", found, (width,), text, "ValueError")
    left = (n_fft - width) // 2
    found = cast(found, found.dtype if found.dtype.kind == "c" else kind)
    return pad(found, ((left, n_fft - width - left),)) if width < n_fft else found


def _hop(hop_length: Any, n_fft: int) -> int:
    hop = n_fft // 4 if hop_length is None else operator.index(hop_length)
    if hop < 1:
        raise ValueError(f"hop_length must be positive, not {hop}")
    return hop


@torch("Tensor | Of shape (..., frequencies, frames), complex.", "istft, fft.rfft, hann_window",
       ">>> ag.stft(ag.ones(16), 8, return_complex=True).shape\n(5, 9)",
       "ValueError | If the window, the hop or the number of axes does not fit.",
       **_STFT, x="array_like | Signals, of shape (n,) or (signals, n).")
def stft(x: TensorLike, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: TensorLike | None = None, center: bool = True, pad_mode: str = "reflect",
         normalized: bool = False, onesided: bool | None = None, return_complex: bool = True, *,
         out: Tensor | None = None) -> Tensor:
    """Fourier transforms of frames of a signal, each under a window."""
    x = as_tensor(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"signals have one or two axes, not {typed(x)}")
    weights, hop = _window(window, win_length, n_fft, x), _hop(hop_length, n_fft)
    if center:
        side = n_fft // 2
        x = pad(x, ((0, 0),) * (x.ndim - 1) + ((side, side),), pad_mode)
    frames = rearrange.sliding_window_view(x, n_fft, -1)[..., ::hop, :] * weights
    norm = "ortho" if normalized else "backward"
    half = frames.dtype.kind != "c" if onesided is None else onesided
    found = fft.rfft(frames, norm=norm) if half else fft.fft(frames, norm=norm)
    found = moveaxis(found, -1, -2)
    return found if return_complex else complexes.view_as_real(found)


@torch("Tensor | Of shape (..., n); the least squares fit where frames do not agree.",
       "stft, fft.irfft",
       ">>> x = ag.arange(16) * 1.0\n>>> ag.istft(ag.stft(x, 8), 8)[:3].round(3)\n"
       "tensor([0., 1., 2.])",
       "ValueError | If the window or the hop does not fit, or windows leave gaps.",
       **_STFT, x="array_like of complex | Of shape (..., frequencies, frames).")
def istft(x: TensorLike, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: TensorLike | None = None, center: bool = True, normalized: bool = False,
          onesided: bool | None = None, length: int | None = None, return_complex: bool = False, *,
          out: Tensor | None = None) -> Tensor:
    """The inverse short-time Fourier transform: the signal from the transforms of its frames."""
    frames = moveaxis(as_tensor(x), -1, -2)
    weights, hop = _window(window, win_length, n_fft, frames), _hop(hop_length, n_fft)
    norm = "ortho" if normalized else "backward"
    half = not return_complex if onesided is None else onesided
    kept = n_fft // 2 + 1
    wanted = kept if half and onesided is not None else n_fft
    found, text = frames.shape[-1], f"frames of n_fft = {n_fft} have {wanted} frequencies, not "
    if is_open(found):  # those of real signals are cut below
        frames = ensured_sizes("istft", frames, (found,), (kept if half else n_fft,),
                               f"{text}{found}", "at least", "ValueError")
        frames = ensured_sizes("istft", frames, (found,), (n_fft,), f"{text}{found}", "at most",
                               "ValueError")
    elif found not in (wanted, kept if half else n_fft):
        raise ValueError(f"{text}{found}")
    if half or not return_complex:  # of a real signal one half of them determines the other
        parts = fft.irfft(frames[..., :kept], n_fft, norm=norm)
    else:
        parts = fft.ifft(frames, n_fft, norm=norm)
    total = _overlapped(parts * weights, hop)
    cover = _overlapped(F.broadcast_to(weights * weights, parts.shape[-2:]), hop)
    start = n_fft // 2 if center else 0
    stop = total.shape[-1] - start if length is None else start + length
    total, cover = total[..., start:stop], cover[start:stop]
    if length is not None and total.shape[-1] < length:
        missing = length - total.shape[-1]
        total = pad(total, ((0, 0),) * (total.ndim - 1) + ((0, missing),))
        cover = pad(cover, ((0, missing),), "constant", 1)
    cover = F.ensure(cover, F.abs(cover) >= _LEAST_COVER,
                     "windows overlap too little: some of the signal is in none of them")
    return total / cover


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """The sum of frames, each a hop behind the one before."""
    *_, count, n = frames.shape
    places = (np.arange(count)[:, None] * hop + np.arange(n)).reshape(-1)
    blank = creation.zeros((*frames.shape[:-2], hop * (count - 1) + n), dtype=frames.dtype)
    axis = shapes.axis_of(-1, blank.ndim)
    return index_add(blank, axis, wrap(places), reshape(frames, (*frames.shape[:-2], count * n)))
