"""An operation of a file is run once on small arrays: parameters that do not fit are found so.

It runs in NumPy alone: no code is compiled for an operation before it is known to be right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim, leaves
from agnesi.core.ir.node import Node
from agnesi.core.substitution import size_with
from agnesi.core.support.config import config
from agnesi.core.tensor import symbol
from agnesi.ops.base.elementwise import Elementwise

#: Operations whose results hang on values, or that draw random numbers.
_BY_VALUES = frozenset(("Chosen", "Noise", "Sampler", "RandomBits", "Advance", "GammaPath"))
#: Those that read the state of a generator, which is their first operand.
_OF_STATES = frozenset(("Noise", "Sampler", "RandomBits", "Advance"))
#: Operations whose operands from this one on are places.
_PLACES = {"Index": 1, "IndexSum": 1, "IndexAdd": 2, "IndexPut": 2, "Picked": 1, "PickedPut": 2,
           "Stretch": 1, "Window": 1, "Lookup": 1, "LabelChosen": 1, "LabelLoss": 1,
           "LabelPick": 1, "SoftmaxLessLabel": 1, "Pick": 1}
#: Operations that count axes from the last one.
_FROM_END = frozenset(("Fft", "RealFft", "RealIfft"))
#: The most elements of a trial, and the most nanoseconds.
_ELEMENTS, _MAX_NANOSECONDS = 1 << 20, 50_000_000
#: A turn of a loop over windows counts as so many elements.
_TAP_ELEMENTS = 1 << 8
#: What stands for sizes that are not known.
_SIZES = (6, 10, 12, 14, 15, 18)


def tried(op: Any, inputs: Sequence[Node], types: Sequence[Any]) -> None:
    """Refuse an operation whose value is not what it says.

    :raises ValueError: If the result is of another type, or there is none.
    """
    name = type(op).__name__
    _check_axes(op, name, inputs)
    if name in _OF_STATES:
        state = inputs[0]
        if state.shape != (4,) or state.dtype != np.dtype("uint32"):
            raise ValueError("it is given no state of a generator, uint32[4]")
    first = _PLACES.get(name, len(inputs))
    if any(n.dtype.kind not in "iub" for n in inputs[first:]):
        raise ValueError("it is given places that are no integers")
    if isinstance(op, Elementwise) and len(inputs) != op.arity:
        raise ValueError(f"it takes {op.arity} operands, not {len(inputs)}")
    if isinstance(op, Elementwise) or op.bodies or name in _BY_VALUES:
        return
    for sizes in (_SIZES, _SIZES[::-1]):
        sure = _tried_with(op, inputs, types, sizes)
        if sure:
            return


def _check_axes(op: Any, name: str, inputs: Sequence[Node]) -> None:
    """Refuse axes that the first operand does not have; those of IndexSum are the result's."""
    keys = [key for key in ("axis", "axes") if key in getattr(op, "_fields", ())]
    for key in keys if name != "IndexSum" else ():
        axes = getattr(op, key)
        axes = (axes,) if isinstance(axes, int) else axes
        ndim = len(inputs[0].shape) if inputs else 0
        there = range(-ndim, 0) if name in _FROM_END else range(ndim)
        if len({*axes}) != len(axes) or not all(a in there for a in axes):
            raise ValueError(f"it names axes {axes}, which its operand has not")


def _tried_with(op: Any, inputs: Sequence[Node], types: Sequence[Any],
                sizes: Sequence[int]) -> bool:
    """Run an operation where sizes that are not known are these; whether there are none such."""
    small = _small(op, inputs, types, sizes)
    if small is None:
        return False
    op, shapes, results, sure = small
    arrays = [_filled(shape, n.dtype) for shape, n in zip(shapes, inputs, strict=True)]
    if op.work is not None and op.work(*arrays) > _MAX_NANOSECONDS:
        return sure
    try:
        with np.errstate(all="ignore"), config(compile=False):
            found = op.perform(*arrays)
    except np.linalg.LinAlgError:
        return sure  # values are those of the trial only
    values = found if op.outputs > 1 else (found,)
    kinds = [(tuple(np.shape(v)), v.dtype) for v in values]
    if kinds != results:
        raise ValueError(f"its value is {kinds[0][1]}{list(kinds[0][0])}, where its type says "
                         f"{results[0][1]}{list(results[0][0])}")
    return sure


def _filled(shape: Any, dtype: np.dtype) -> np.ndarray:
    """Ones, and zeros of integers, which are places in every axis."""
    return np.zeros(shape, dtype) if dtype.kind in "iu" else np.ones(shape, dtype)


def _padded(op: Any, shapes: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """Of windows over images: the images with their borders, and a count for each tap."""
    windows = getattr(op, "windows", None)
    if windows is None:
        return
    image = getattr(op, "sizes", None) or getattr(op, "shape", shapes[0])[2:] or shapes[0][2:]
    for sizes in (image, shapes[0][2:]):
        yield (*shapes[0][:2], *(n + abs(low) + abs(high) for n, (low, high) in zip(
            sizes, windows.padding, strict=False)))
    taps = math.prod(getattr(op, "kernel", None) or shapes[-1][2:])
    yield (_TAP_ELEMENTS, taps)


def _small(op: Any, inputs: Sequence[Node], types: Sequence[Any], numbers: Sequence[int]) -> Any:
    """The operation for sizes that are numbers, the shapes of its operands, the results' types, and
    whether all are the file's own; None where they are large, or where numbers do not fit."""
    shapes = [n.shape for n in inputs]
    sizes = [n for shape in (*shapes, *(s for s, _ in types)) for n in shape]
    found: list[Any] = []

    def note(n: Any) -> Any:
        found.append(n)
        return n

    op.resolve(note)
    names = list(dict.fromkeys(d for n in (*sizes, *found) for d in leaves(n)))
    if names:
        known: dict[Dim, Any] = {d: numbers[k % len(numbers)] for k, d in enumerate(names)}
        try:
            op = op.resolve(lambda n: size_with(n, known))
            shapes = [tuple(size_with(n, known) for n in shape) for shape in shapes]
            stand = [symbol(Node(None, (), shape, n.dtype))
                     for shape, n in zip(shapes, inputs, strict=True)]
            made = op.infer(*stand)
        except (ValueError, TypeError, IndexError):
            return None  # sizes that must be equal, which is known in a call
        types = made if op.outputs > 1 else (made,)
    sizes = [*shapes, *(s for s, _ in types), *_padded(op, shapes)]
    if min((n for shape in sizes for n in shape), default=0) < 0 or sum(
            map(math.prod, sizes)) > _ELEMENTS:
        return None
    return op, shapes, [(tuple(s), d) for s, d in types], not names
