"""An operation of a file is run once on small arrays: parameters that do not fit are found so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim, leaves
from agnesi.core.ir.node import Node
from agnesi.core.substitution import size_with
from agnesi.core.tensor import symbol
from agnesi.ops.base.elementwise import Elementwise

#: Operations whose results hang on values, or that draw random numbers.
_BY_VALUES = frozenset((
    "Chosen", "Noise", "Sampler", "RandomBits", "Advance", "GammaPath",
))
#: Those that read the state of a generator, which is their first operand.
_OF_STATES = frozenset(("Noise", "Sampler", "RandomBits", "Advance"))
#: Operations whose operands from this one on are places.
_PLACES = {"Index": 1, "IndexSum": 1, "IndexPut": 2, "Picked": 1, "Stretch": 1, "Lookup": 1,
           "LabelChosen": 1, "LabelLoss": 1, "LabelPick": 1, "SoftmaxLessLabel": 1, "Pick": 1}
#: The most elements of a trial, and the most nanoseconds.
_ELEMENTS, _MAX_NANOSECONDS = 1 << 20, 50_000_000
#: What stands for sizes that are not known.
_SIZES = (6, 10, 12, 14, 15, 18)


def tried(op: Any, inputs: Sequence[Node], types: Sequence[Any]) -> None:
    """Refuse an operation whose value is not what it says.

    Raises
    ------
    ValueError
        If the result is of another type, or there is none.
    """
    name = type(op).__name__
    if name in _OF_STATES:
        state = inputs[0]
        if state.shape != (4,) or state.dtype != np.dtype("uint32"):
            raise ValueError("it is given no state of a generator, uint32[4]")
    first = _PLACES.get(name, len(inputs))
    if any(n.dtype.kind not in "iub" for n in inputs[first:]):
        raise ValueError("it is given places that are no integers")
    if isinstance(op, Elementwise) or op.bodies or name in _BY_VALUES:
        return
    small = _small(op, inputs, types)
    if small is None:
        return
    op, shapes, results, sure = small
    arrays = [_filled(shape, n.dtype) for shape, n in zip(shapes, inputs, strict=True)]
    if op.work is not None and op.work(*arrays) > _MAX_NANOSECONDS:
        return
    try:
        with np.errstate(all="ignore"):
            found = op.perform(*arrays)
    except (ValueError, IndexError) as error:
        if sure and not isinstance(error, np.linalg.LinAlgError):
            raise
        return  # values, or sizes that must be equal, are those of the trial only
    values = found if op.outputs > 1 else (found,)
    kinds = [(tuple(np.shape(v)), v.dtype) for v in values]
    if sure and kinds != results:
        raise ValueError(f"its value is {kinds[0][1]}{list(kinds[0][0])}, where its type says "
                         f"{results[0][1]}{list(results[0][0])}")


def _filled(shape: Any, dtype: np.dtype) -> np.ndarray:
    """Ones, and zeros of integers, which are places in every axis."""
    return np.zeros(shape, dtype) if dtype.kind in "iu" else np.ones(shape, dtype)


def _small(op: Any, inputs: Sequence[Node], types: Sequence[Any]) -> Any:
    """The operation for sizes that are numbers, the shapes of its operands, the results' types, and
    whether all are the file's own; None where they are large, or where numbers do not fit."""
    shapes = [n.shape for n in inputs]
    told = [n for shape in (*shapes, *(s for s, _ in types)) for n in shape]
    found: list[Any] = []

    def note(n: Any) -> Any:
        found.append(n)
        return n

    op.resolve(note)
    names = list(dict.fromkeys(d for n in (*told, *found) for d in leaves(n)))
    if names:
        known: dict[Dim, Any] = {d: _SIZES[k % len(_SIZES)] for k, d in enumerate(names)}
        try:
            op = op.resolve(lambda n: size_with(n, known))
            shapes = [tuple(size_with(n, known) for n in shape) for shape in shapes]
            stand = [symbol(Node(None, (), shape, n.dtype))
                     for shape, n in zip(shapes, inputs, strict=True)]
            made = op.infer(*stand)
        except (ValueError, TypeError, IndexError):
            return None  # sizes that must be equal, which a call will tell
        types = made if op.outputs > 1 else (made,)
    sizes = [*shapes, *(s for s, _ in types)]
    if min((n for shape in sizes for n in shape), default=0) < 0 or sum(
            map(math.prod, sizes)) > _ELEMENTS:
        return None
    return op, shapes, [(tuple(s), d) for s, d in types], not names
