"""Values that were saved, written into tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.core.dispatch import assign, touch
from agnesi.core.support.config import switched
from agnesi.core.support.errors import TraceError, at, shown, typed
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.replicate import copy
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked


class Stored:
    """A value that is in a file: its type is known at once, its elements are read into place."""

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype

    def check(self) -> None:
        """Raise where it cannot be read as it was written; called before anything changes."""

    def fill(self, array: np.ndarray) -> None:
        """Write the value into an array of its shape."""
        raise NotImplementedError


def check_state(owner: str, state: Any) -> None:
    """Refuse what is no mapping of names to values."""
    if isinstance(state, Mapping):
        return
    if hasattr(state, "state_dict"):
        advice = "give its state, .state_dict()"
    else:
        advice = "read the file first, as ag.load(path) does" if isinstance(
            state, (str, bytes)) or hasattr(state, "__fspath__") else "state_dict() gives one"
    raise TypeError(at(f"{owner}.load_state_dict takes a mapping of names to values, not "
                       f"{typed(state)}; {advice}"))


def differing(mine: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Which entries a state lacks, and which it has too many."""
    parts = [f"{word} {shown(sorted(map(str, names)))}" for word, names in (
        ("it lacks", mine.keys() - state.keys()),
        ("it has besides", state.keys() - mine.keys())) if names]
    return "; ".join(parts)


def snapshot(t: Tensor) -> Tensor:
    """A copy of a state's tensor, without gradients; in a trace, of what it is by then."""
    if not is_tracing():
        return wrap(np.array(t.array))
    with switched(recording=False):
        return copy(t)


def _array(name: str, value: Any) -> Any:
    """The value of a state's entry; a symbol in a trace."""
    if isinstance(value, Stored):
        return value
    if isinstance(value, Tensor) and is_tracing():
        return snapshot(value)
    check_unmasked(value)
    try:
        return np.asarray(value.detach() if isinstance(value, Tensor) else value)
    except ValueError:
        raise ValueError(at(f"load_state_dict: {name} is {typed(value)}, whose parts differ in "
                            "length")) from None


def write_all(mine: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Copy values into tensors by name: into all of them, or into none where one does not fit.

    :raises ValueError: If a shape differs, or a tensor is in read-only memory.
    :raises TypeError: If values are of a kind that a tensor cannot hold.
    """
    arrays = fitting(mine, state)
    finished(lambda: put_all(mine, arrays))


def finished(write: Callable[[], None]) -> None:
    """Run what writes values; an interrupt in it, such as Ctrl-C, is raised when all are there."""
    try:
        write()
    except Exception:
        raise
    except BaseException:
        write()
        raise


def fitting(mine: Mapping[str, Tensor], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name as arrays (as symbols in a trace) that fit the tensors of these names.

    :raises ValueError: If a shape differs, or a tensor is in read-only memory.
    :raises TypeError: If values are of a kind that a tensor cannot hold.
    """
    arrays = {name: _array(name, v) for name, v in state.items()}
    for name, array in arrays.items():
        held: Any = mine[name]
        if array.dtype.kind in "OSUM":
            raise TypeError(at(f"load_state_dict: {name} must be a tensor or an array of numbers, "
                               f"not {typed(state[name])}"))
        if array.shape != held.shape:
            raise ValueError(at(f"load_state_dict: {name} has shape {held.shape}, the state has "
                                f"{array.shape}: give the state of a model of the same sizes"))
        if not np.can_cast(array.dtype, held.dtype, "same_kind"):
            raise TypeError(at(f"{name} is {held.dtype}, the state has {array.dtype}: convert it "
                               f"with .astype('{held.dtype}')"))
        if held.array is not None and not held.array.flags.writeable:
            raise ValueError(at(f"{name} lies in read-only memory and cannot be changed in place"))
    return arrays


def put_all(mine: Mapping[str, Tensor], arrays: dict[str, Any]) -> None:
    """Write values that are known to fit; a second call finishes what was ended in the first."""
    if is_tracing():
        _assign_all(mine, arrays)
    else:
        _copy_all(mine, arrays)


def _assign_all(mine: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Let compiled code write values into tensors."""
    with switched(recording=False):
        for name, value in values.items():
            if isinstance(value, Stored):
                raise TraceError(at(f"load_state_dict: {name} lies in a file, which is read "
                                    "outside of the compiled function"))
            assign(mine[name], cast(as_tensor(value), mine[name].dtype))


def _copy_all(mine: Mapping[str, Tensor], arrays: dict[str, Any]) -> None:
    """Copy arrays into tensors, as they are before the first is written."""
    written = {id(_owner(mine[name].array)) for name in arrays}
    for name, array in arrays.items():
        if isinstance(array, Stored):
            array.check()
        elif id(_owner(array)) in written:
            arrays[name] = array.copy()
    for name, array in arrays.items():
        held = mine[name].array
        if isinstance(array, Stored):
            array.fill(held)
        else:
            np.copyto(held, array, casting="same_kind")
        touch(mine[name])


def _owner(array: Any) -> Any:
    """The array whose memory an array looks into."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
