"""Whole checkpoints: the states of all that takes part in a training, in one file."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import StateError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.arrays.loading import Stored
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.states import completed, flat_state
from agnesi.saving.files import Path_, TensorFile, save_file
from agnesi.saving.header import OLDER, OWN, SUMS, refusal
from agnesi.saving.nested import put_together, taken_apart

#: The metadata that makes a safetensors file a checkpoint, and its present version.
KEY, VERSION = "agnesi.checkpoint", 1


def save_checkpoint(path: Path_, /, **parts: Any) -> None:
    """Write the states of a model, an optimizer and all else that a training needs to one file.

    The file is a safetensors file, written aside, brought to disk and then renamed: at any moment
    there is the old one or the new one, whole.  Tensors of modules and optimizers are written from
    where they are and must not change meanwhile.

    :param path: The file, conventionally ``*.safetensors``.
    :param **parts: By names of your own: objects with ``state_dict()`` (modules, optimizers,
        schedules, generators, loaders, metrics), and data: numbers, texts, arrays, tensors, lists,
        tuples and dicts of them.
    :raises TypeError: If something is neither; it is named.
    :raises ValueError: If the path ends as files of another format do.
    :raises OSError: If the file cannot be written; an old one stays.
    :see: saving.load_checkpoint, saving.Checkpoints, saving.save_file

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.safetensors")
    >>> net = ag.nn.Linear(3, 2)
    >>> optimizer = ag.optim.Adam(net.parameters())
    >>> ag.saving.save_checkpoint(path, model=net, optimizer=optimizer,
    ...                           generator=ag.random.default_generator(), epoch=3)
    >>> ag.saving.load_checkpoint(path, model=net, optimizer=optimizer)
    {'epoch': 3}
    """
    tensors: dict[str, Any] = {}
    described = {
        name: {"state": _has_state(part),
               "value": taken_apart(live_state(part) if _has_state(part) else part, name, tensors)}
        for name, part in parts.items()
    }
    text = json.dumps({"version": VERSION, "parts": described}, separators=(",", ":"))
    save_file(tensors, path, {KEY: text})
    HOOKS.recount()


def load_checkpoint(path: Path_, /, **parts: Any) -> dict[str, Any]:
    """Load a checkpoint into objects: all of them, or none if something is wrong.

    :param path: What :func:`save_checkpoint` wrote.
    :param **parts: Objects by the names under which they were saved; those of a file that no caller
        requests stay there.
    :returns: The data that was saved with them.
    :rtype: dict of str to object
    :raises FileFormatError: If the file is no checkpoint, cut off, or damaged (a ValueError);
        nothing is changed.
    :raises KeyError: If it lacks one of the parts, or a state has other names; nothing is changed.
    :raises ValueError, TypeError: If a tensor has another shape or kind; nothing is changed.
    :raises OSError: If the file cannot be read.
    :see: saving.save_checkpoint, saving.Checkpoints

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.safetensors")
    >>> generator = ag.random.default_rng(1)
    >>> ag.saving.save_checkpoint(path, generator=generator, best=0.5)
    >>> first = generator.random(2)
    >>> ag.saving.load_checkpoint(path, generator=generator)
    {'best': 0.5}
    >>> bool((generator.random(2) == first).all())
    True
    """
    with TensorFile(path) as file:
        saved = _described(file)
        missing = sorted(name for name in parts if not saved.get(name, {}).get("state"))
        if missing:
            have = [name for name, entry in saved.items() if entry["state"]]
            raise StateError(at(f"{file.name} has no states of {missing}, but of {have}"))
        file.verify()
        try:
            states = {name: _state(part, saved[name]["value"], file)
                      for name, part in parts.items()}
            data = {name: put_together(entry["value"], _reader(file, False))
                    for name, entry in saved.items() if not entry["state"]}
        except (ValueError, KeyError, RecursionError) as error:
            raise refusal(file.name, f"is no checkpoint of ours: {error}") from None
        restore(parts, states)
    HOOKS.recount()
    return data


def is_large(part: Any) -> bool:
    """Return whether a part's tensors are read straight into place, as its class can."""
    return any(isinstance(part, kind) and type(part).load_state_dict is kind.load_state_dict
               for kind in (Module, Optimizer))


def live_state(part: Any) -> Any:
    """The state of an object, without copies of tensors where it has many."""
    if isinstance(part, type):
        raise TypeError(at(f"a checkpoint has states of objects, not of the class {part.__name__}: "
                           f"make one of it, {part.__name__}(...)"))
    if not is_large(part):
        return part.state_dict()
    return flat_state(part) if isinstance(part, Optimizer) else part.state_dict(copy=False)


def _has_state(part: Any) -> bool:
    return hasattr(part, "state_dict") and hasattr(part, "load_state_dict")


def _reader(file: TensorFile, later: bool) -> Any:
    return file.__getitem__ if later else lambda name: np.asarray(file[name])


def _state(part: Any, entry: Any, file: TensorFile) -> Any:
    """The state of an object, as this version would have saved it."""
    state = put_together(entry, _reader(file, is_large(part)))
    older = isinstance(part, Optimizer) and is_large(part) and isinstance(state, Mapping)
    return completed(part, state) if older else state


def _described(file: TensorFile) -> dict[str, Any]:
    """Return a checkpoint's description of its parts."""
    text = file.metadata.get(KEY)
    if text is None:
        raise refusal(file.name, "is no checkpoint, but tensors only; saving.load_file reads them")
    try:
        found = json.loads(text)
        version, parts = found["version"], found["parts"]
        known = all(isinstance(p["state"], bool) and "value" in p for p in parts.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version, parts, known = VERSION, {}, False
    if version != VERSION:
        raise refusal(file.name, f"is a checkpoint of version {version!r}; version {VERSION} is "
                                 "known here: a later agnesi may read it")
    summed = file.header.metadata.keys() & {SUMS, OLDER}
    if not (known and summed and OWN in file.header.metadata):
        raise refusal(file.name, f"is no checkpoint of ours: its {KEY} tells no parts, or "
                                 "checksums are missing")
    return dict(parts)


# -- all or nothing -----------------------------------------------------------------------------
class _Kept(Stored):
    """Stands for a tensor that stays as it is."""

    __slots__ = ()

    def __init__(self, held: Any) -> None:
        self.shape, self.dtype = held.shape, held.dtype

    def __deepcopy__(self, memo: Any) -> _Kept:
        return self

    def fill(self, array: np.ndarray) -> None:
        """Nothing to do."""


def restore(parts: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Load states into objects: into all, or into none where one of them refuses.

    Everything but large tensors is loaded first, and put back where one refuses; names and types
    of large tensors are compared before, so that nothing can refuse them when they are read.
    """
    large = {name: part for name, part in parts.items() if is_large(part)}
    live = {name: live_state(part) for name, part in large.items()}
    for name, mine in live.items():
        _compare(name, mine, states[name])
    small = {name: _small(live[name], states[name]) if name in large else states[name]
             for name in parts}
    before: list[tuple[Any, Any]] = []
    try:
        for name, part in parts.items():
            old = _small(live[name], live[name]) if name in large else part.state_dict()
            before.append((part, copy.deepcopy(old)))
            part.load_state_dict(small[name])
    except BaseException:
        for part, old in reversed(before):
            with contextlib.suppress(Exception):  # who refuses all states keeps its own
                part.load_state_dict(old)
        raise
    for name, part in large.items():
        part.load_state_dict(states[name])


def _small(mine: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of a state, all else to be left as it is."""
    return {name: np.array(_data(state[name])) if held.shape == () else _Kept(held)
            for name, held in mine.items()}


def _data(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def _compare(part: str, mine: Mapping[str, Any], state: Any) -> None:
    """Refuse a state whose tensors are not those of an object."""
    if not isinstance(state, Mapping) or mine.keys() != state.keys():
        differ = sorted(mine.keys() ^ state.keys()) if isinstance(state, Mapping) else typed(state)
        raise StateError(at(f"the checkpoint's {part} is not one of this object: {differ} differ"))
    for name, held in mine.items():
        there = state[name]
        if held.shape != there.shape or not np.can_cast(there.dtype, held.dtype, "same_kind"):
            raise (ValueError if held.shape != there.shape else TypeError)(at(
                f"{part}: {name} is {typed(held)}, the checkpoint has {typed(there)}"))
        if not _data(held).flags.writeable:
            raise ValueError(at(f"{part}: {name} lies in read-only memory and cannot be changed in "
                                "place"))
