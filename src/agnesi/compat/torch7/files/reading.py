"""What Torch7's files say: values with numbers of kinds, tables and objects that may be shared."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from agnesi.compat.torch7.files.sources import Source
from agnesi.compat.torch7.maths import Tensor
from agnesi.compat.torch7.tensor import NAMES, Storage
from agnesi.core.support.errors import FileFormatError

NIL, NUMBER, TEXT, TABLE, OBJECT, BOOLEAN = range(6)
#: Kinds of Lua's functions, which are never read.
FUNCTIONS = (6, 7, 8)
#: Dtypes of storages and tensors by the classes' names.
TYPES = {f"torch.{name}": np.dtype(dtype) for dtype, name in NAMES.items()}
_MOST_AXES, _DEEPEST = 64, 200


class Made(NamedTuple):
    """An object of a class other than tensors and storages, and what it holds, by names."""

    name: str
    fields: list[Any]


class Reader:
    """Reads values from a source; what occurs several times is one object."""

    def __init__(self, source: Source) -> None:
        self.source, self.known, self.depth = source, dict[int, Any](), 0

    def value(self) -> Any:
        """The next value: a table is a dict, an object of another class :class:`Made`."""
        kind = self.source.int()
        if kind == NIL:
            return None
        if kind == NUMBER:
            found = self.source.number("<f8")
            return int(found) if found.is_integer() and abs(found) < 2**53 else found
        if kind == TEXT:
            return self.source.text().decode("utf-8", "surrogateescape")
        if kind == BOOLEAN:
            return self.source.int() != 0
        if kind in FUNCTIONS:
            raise FileFormatError("has a function, whose Lua code is not executed here")
        if kind not in (TABLE, OBJECT):
            raise FileFormatError(f"is no file of Torch7's, or of another mode: there is no kind "
                                  f"{kind} of values")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise FileFormatError(f"is nested deeper than {_DEEPEST} tables")
        found = self._table() if kind == TABLE else self._object()
        self.depth -= 1
        return found

    def _table(self) -> Any:
        index = self.source.int()
        if index in self.known:
            return self.known[index]
        found: dict[Any, Any] = {}
        self.known[index] = found
        count = self.source.int()
        if not 0 <= count <= self.source.left():
            raise FileFormatError(f"is cut off or damaged: a table of {count} entries in "
                                  f"{self.source.left()} bytes")
        for _ in range(count):
            key = self.value()
            if not isinstance(key, (str, int, float)):
                raise FileFormatError("has a table whose keys are not numbers, texts and booleans")
            found[key] = self.value()
        return found

    def _object(self) -> Any:
        index = self.source.int()
        if index in self.known:
            return self.known[index]
        version = self.source.text()
        name = (self.source.text() if version.startswith(b"V ") else version).decode("latin-1")
        kind = TYPES.get(name.removesuffix("Tensor").removesuffix("Storage"))
        if kind is None or not name.endswith(("Tensor", "Storage")):
            found: Any = Made(name, [])
            self.known[index] = found
            found.fields.append(self.value())
            return found
        if name.endswith("Storage"):
            found = Storage(0, kind)
            self.known[index] = found
            count = self.source.number(self.source.long)
            found.data = np.array(self.source.numbers(kind, count), kind)
            return found
        found = Tensor(dtype=kind)
        self.known[index] = found
        self._look(found, name, kind)
        return found

    def _look(self, tensor: Any, name: str, kind: np.dtype) -> None:
        """Read the sizes, strides and storage of a tensor."""
        axes = self.source.int()
        if not 0 <= axes <= _MOST_AXES:
            raise FileFormatError(f"has a {name} of {axes} axes")
        sizes, strides = (self.source.numbers(self.source.long, axes).tolist() for _ in range(2))
        offset = self.source.number(self.source.long) - 1
        storage = self.value()
        if storage is None and (not sizes or 0 in sizes):
            storage = Storage(0, kind)
        if not isinstance(storage, Storage) or storage.data.dtype != kind:
            raise FileFormatError(f"has a {name} that looks into no storage of its type")
        lowest = highest = offset
        for n, s in zip(sizes, strides, strict=True):
            lowest, highest = lowest + min(0, (n - 1) * s), highest + max(0, (n - 1) * s)
        count = math.prod(sizes) if sizes else 0
        if min(sizes, default=0) < 0 or offset < 0 or count * kind.itemsize > sys.maxsize or (
                count and (lowest < 0 or highest >= len(storage))):
            raise FileFormatError(f"has a {name} of sizes {sizes} and strides {strides} from "
                                  f"{offset + 1} on in a storage of {len(storage)} elements")
        tensor._look(storage, offset if count else 0, sizes, strides)
