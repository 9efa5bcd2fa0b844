"""``autograd.scipy.signal.convolve``: along some axes, with sums over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted
from agnesi.core.support.errors import at, typed
from agnesi.ops.arrays.rearrange import sliding_window_view as our_windows

_windows = lifted(sliding_window_view, our_windows)
Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()),
             mode: str = "full") -> Any:
    """Convolution of arrays along pairs of axes, summed over other pairs.

    Parameters
    ----------
    A, B : array_like
    axes : pair of sequences of int, optional
        Axes of ``A`` and of ``B`` that are convolved; by default all.
    dot_axes : pair of sequences of int
        Axes that are multiplied and summed over.
    mode : {"full", "valid", "same"}
        What of the convolution is kept, as in SciPy; "same" has the sizes of ``A``.

    Returns
    -------
    array
        Its axes: those of ``A`` alone, those of ``B`` alone, those convolved.

    Raises
    ------
    ValueError
        If ``mode`` is another, or "valid" and neither array is the larger one along all axes.

    Examples
    --------
    >>> from agnesi.compat.autograd.scipy.signal import convolve
    >>> convolve([1.0, 2.0, 3.0], [1.0, 1.0])
    array([1., 3., 5., 3.])
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(at(f"convolve: Mode {mode} not recognized; there are 'full', 'valid' and "
                            "'same'"))
    A, B = np.asarray(A), np.asarray(B)
    along = axes or (range(np.ndim(A)), range(np.ndim(B)))
    first, second = list(along[0]), list(along[1])
    sums = list(dot_axes[0]), list(dot_axes[1])
    if len(first) != len(second):
        raise ValueError(at(f"convolve({typed(A)}, {typed(B)}): as many axes of both must be "
                            f"convolved, not {len(first)} and {len(second)}; give axes="))
    sizes = [(np.shape(A)[i], np.shape(B)[j]) for i, j in zip(first, second, strict=True)]
    turned = mode == "valid" and any(n < k for n, k in sizes)
    if turned and any(n > k for n, k in sizes):
        raise ValueError(at(f"convolve({typed(A)}, {typed(B)}): One array must be larger than the "
                            "other along all convolved dimensions"))
    alone = np.ndim(A) - len(first) - len(sums[0]), np.ndim(B) - len(second) - len(sums[1])
    if turned:
        found = _slid(B, A, second, first, sums[::-1], [(0, 0)] * len(sizes))
    else:
        found = _slid(A, B, first, second, sums, [_margins(k, mode) for _, k in sizes])
    # Its convolved axes have the places of those in the longer array, whose axes come first.
    longer, ours = (B, alone[1]) if turned else (A, alone[0])
    kept = [i for i in range(np.ndim(longer)) if i not in sums[1 if turned else 0]]
    places = [kept.index(i) for i in (second if turned else first)]
    others = [i for i in range(len(kept)) if i not in places]
    shorter = list(range(len(kept), len(kept) + sum(alone) - ours))
    order = [*shorter, *others] if turned else [*others, *shorter]
    return np.transpose(found, [*order, *places])


def _margins(k: int, mode: str) -> tuple[int, int]:
    """Zeros before and behind an axis that a filter of length k slides along."""
    if mode == "valid":
        return 0, 0
    return (k - 1, k - 1) if mode == "full" else (k - 1 - (k - 1) // 2, (k - 1) // 2)


def _slid(A: Any, B: Any, first: list[int], second: list[int], sums: Any,
          margins: list[tuple[int, int]]) -> Any:
    """Sums of products where B slides along A, backwards."""
    pads = [(0, 0)] * np.ndim(A)
    for i, margin in zip(first, margins, strict=True):
        pads[i] = margin
    if any(m != (0, 0) for m in pads):
        A = np.pad(A, pads)
    if not first:
        return np.tensordot(A, B, axes=sums)
    windows = _windows(A, [np.shape(B)[j] for j in second], first)
    ends = list(range(np.ndim(A), np.ndim(A) + len(first)))
    return np.tensordot(windows, np.flip(B, tuple(second)),
                        axes=[[*sums[0], *ends], [*sums[1], *second]])
