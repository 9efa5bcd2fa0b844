"""Links and optimizers in NumPy's files, which hold arrays only."""

from __future__ import annotations

from typing import Any
from zipfile import BadZipFile

import numpy as np

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.atomic import file_error, replacing
from agnesi.core.support.errors import FileFormatError, MissingKeyError, at, typed


class DictionarySerializer:
    """Collects values under paths."""

    def __init__(self, target: dict[str, Any] | None = None, path: str = "") -> None:
        self.target = {} if target is None else target
        self.path = path

    def __getitem__(self, key: str) -> DictionarySerializer:
        return DictionarySerializer(self.target, f"{self.path}{key}/")

    def __call__(self, key: str, value: Any) -> Any:
        self.target[self.path + key.lstrip("/")] = np.asarray(value)
        return value

    def save(self, obj: Any) -> None:
        """Collect what an object saves."""
        obj.serialize(self)


class NpzDeserializer:
    """Gives values of an archive, by their paths."""

    def __init__(self, npz: Any, path: str = "") -> None:
        self.npz, self.path = npz, path

    def __getitem__(self, key: str) -> NpzDeserializer:
        return NpzDeserializer(self.npz, f"{self.path}{key}/")

    def __call__(self, key: str, value: Any) -> Any:
        name = self.path + key.lstrip("/")
        if name not in self.npz:
            raise MissingKeyError(at(f"the file has no {name!r}; it has "
                                     f"{', '.join(map(repr, sorted(self.npz)[:8]))}"))
        found = self.npz[name]
        if value is None:
            return found
        if not isinstance(value, np.ndarray):
            return type(value)(found[()])
        if found.shape != value.shape:
            raise ValueError(f"{name!r} has shape {found.shape} in the file, {value.shape} here")
        np.copyto(value, found)
        return value

    def load(self, obj: Any) -> None:
        """Give an object its values."""
        obj.serialize(self)


def _check(obj: Any, name: str, filename: Any) -> None:
    """Refuse what is not saved, as a file's name in the other's place."""
    if not hasattr(obj, "serialize"):
        raise TypeError(at(f"{name} takes a file's name and then a link or an optimizer, not "
                           f"{typed(filename)} and {typed(obj)}"))


def save_npz(filename: Any, obj: Any, compression: bool = True) -> None:
    """Save a link or optimizer as an ``.npz`` archive.

    Parameters
    ----------
    filename : str or file
        It is written under exactly this name.
    obj : Link or Optimizer
    compression : bool
    """
    serializer = DictionarySerializer()
    _check(obj, "save_npz", filename)
    serializer.save(obj)
    write = np.savez_compressed if compression else np.savez
    if hasattr(filename, "write"):
        write(filename, **serializer.target)
        return
    with replacing(filename) as file:
        write(file, **serializer.target)


def load_npz(filename: Any, obj: Any) -> None:
    """Load what :func:`save_npz` saved; nothing in the file is executed.

    :param filename:
    :type filename: str or file
    :param obj: Of the same structure.
    :type obj: Link or Optimizer
    :raises KeyError, ValueError: If the file lacks something, or has it in another shape.
    """
    _check(obj, "load_npz", filename)
    try:
        npz = np.load(filename, allow_pickle=False)
    except OSError as error:
        raise file_error(error, f"load_npz: {str(filename)!r} cannot be read") from None
    except (ValueError, EOFError, BadZipFile):
        raise FileFormatError(f"{str(filename)!r} is no archive that save_npz wrote, or is damaged"
                              ) from None
    with npz:
        NpzDeserializer(npz).load(obj)


_strictly(__name__)
