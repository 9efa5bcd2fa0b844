"""Torch7's files (``.t7``): values, tables, tensors and modules of ``nn``, in binary and as text.

In: numbers, texts, booleans, None, lists and dicts, tensors, storages, modules. Out: the same. What
must hold: nothing that is read is executed, and what shares memory still does.
"""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from agnesi.compat.torch7.files.reading import Reader
from agnesi.compat.torch7.files.sources import Binary, Text
from agnesi.compat.torch7.files.values import built
from agnesi.compat.torch7.files.writing import Writer
from agnesi.core.support.atomic import file_error, replacing
from agnesi.core.support.errors import FileFormatError, at

#: Kinds of files, and the bytes of sizes, by the modes of Torch7.
_MODES = {"binary": (Binary, 8), "b64": (Binary, 8), "b32": (Binary, 4), "ascii": (Text, 8)}


def _kind(mode: str) -> tuple[Any, int]:
    if mode not in _MODES:
        raise ValueError(at(f"there is no mode {mode!r} of Torch7's files; there are {[*_MODES]}"))
    return _MODES[mode]


def save(filename: str | os.PathLike[str], object: Any, mode: str = "binary") -> None:
    """Write a value to a file that Torch7's ``torch.load`` reads.

    :param filename: The file, conventionally ``*.t7``; an old one is replaced as a whole.
    :param object: Numbers, texts, booleans, None, lists, tuples, dicts, tensors, storages, modules
        and criterions of ``nn``, nested in any way.
    :param mode: Numbers as they are in memory, with sizes of 64 or 32 bits, or as text.
    :type mode: {"binary", "ascii", "b32", "b64"}
    :raises TypeError: If something in it is none of these.
    :raises OSError: If the file cannot be written; an old one stays.

    >>> import os, tempfile
    >>> from agnesi.compat import torch7 as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "x.t7")
    >>> torch.save(path, {"x": torch.ones(2, 3), "epoch": 4})
    >>> found = torch.load(path)
    >>> found["epoch"], list(found["x"].size())
    (4, [2, 3])
    """
    with replacing(filename) as file:
        file.write(serialize(object, mode))


def load(filename: str | os.PathLike[str], mode: str = "binary") -> Any:
    """Read a file that Torch7's ``torch.save`` wrote; functions in it are refused.

    :param filename: The file.
    :param mode: As it was written.
    :type mode: {"binary", "ascii", "b32", "b64"}
    :returns: Tables numbered from 1 on are lists, others dicts; whole numbers are ints.
    :raises FileFormatError: If the file is none of this format, cut off, or has what is not known
        here.
    :raises OSError: If it cannot be read.

    >>> import os, tempfile
    >>> from agnesi.compat import torch7 as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "net.t7")
    >>> torch.save(path, torch.nn.Sequential().add(torch.nn.Linear(3, 2)), "ascii")
    >>> torch.load(path, "ascii")
    nn.Sequential {
      (1): nn.Linear
    }
    """
    name = os.fspath(filename)
    _kind(mode)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise file_error(error, f"{name!r} cannot be read") from None
    return _read(data, mode, name)


def serialize(object: Any, mode: str = "binary") -> bytes:
    """The bytes of a file with a value; see :func:`save`."""
    kind, long = _kind(mode)
    file: BinaryIO = io.BytesIO()
    Writer(kind.sink(file, long)).value(object)
    return file.getvalue()  # type: ignore[attr-defined]


def deserialize(data: bytes, mode: str = "binary") -> Any:
    """The value in the bytes of a file; see :func:`load`."""
    return _read(bytes(data), mode, "deserialize: the text")


def _read(data: bytes, mode: str, name: str) -> Any:
    kind, long = _kind(mode)
    try:
        return built(Reader(kind(data, long)).value())
    except FileFormatError as error:
        raise FileFormatError(at(f"{name} {error}")) from None
