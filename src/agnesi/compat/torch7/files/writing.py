"""Values as Torch7's files say them."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.torch7.files import modules
from agnesi.compat.torch7.files.reading import BOOLEAN, NIL, NUMBER, OBJECT, TABLE, TEXT
from agnesi.compat.torch7.tensor import NAMES, Storage, View
from agnesi.core.op import typed
from agnesi.core.support.errors import at


class Writer:
    """Writes values to a sink; what occurs several times is written once."""

    def __init__(self, sink: Any) -> None:
        self.sink, self.known = sink, dict[int, tuple[int, Any]]()

    def value(self, x: Any) -> None:
        """Write one value."""
        if x is None:
            self._int(NIL)
        elif isinstance(x, (bool, np.bool_)):
            self._int(BOOLEAN, x)
        elif isinstance(x, (int, float, np.number)):
            self._int(NUMBER)
            self.sink.numbers([x], "<f8")
        elif isinstance(x, (str, bytes)):
            self._int(TEXT)
            self._text(x)
        elif isinstance(x, (dict, list, tuple)):
            self._table(x)
        elif isinstance(x, (View, Storage)) or modules.is_module(x):
            self._object(x)
        else:
            raise TypeError(at(f"Torch7's files hold numbers, texts, booleans, None, lists, dicts, "
                               f"tensors, storages and modules of nn, not {typed(x)}"))

    def _int(self, *values: Any) -> None:
        for v in values:
            self.sink.numbers([v], "<i4")

    def _long(self, values: Any) -> None:
        self.sink.numbers(values, self.sink.long)

    def _text(self, x: str | bytes) -> None:
        data = x.encode("utf-8", "surrogateescape") if isinstance(x, str) else x
        self._int(len(data))
        self.sink.chars(data)

    def _begun(self, kind: int, x: Any) -> bool:
        """Write the number of an object; True if it was written before."""
        self._int(kind)
        if id(x) in self.known:
            self._int(self.known[id(x)][0])
            return True
        self.known[id(x)] = len(self.known) + 1, x
        self._int(len(self.known))
        return False

    def _table(self, x: Any) -> None:
        if self._begun(TABLE, x):
            return
        pairs = [(k, v) for k, v in (x.items() if isinstance(x, dict) else enumerate(x, 1))
                 if v is not None]  # as in Lua
        self._int(len(pairs))
        for key, v in pairs:
            self.value(key)
            self.value(v)

    def _object(self, x: Any) -> None:
        if self._begun(OBJECT, x):
            return
        self._text("V 1")
        if isinstance(x, Storage):
            self._text(f"torch.{NAMES[x.data.dtype.name]}Storage")
            self._long([len(x.data)])
            self.sink.numbers(x.data, x.data.dtype)
        elif isinstance(x, View):
            self._text(x.type())
            self._int(x.dim())
            self._long(x._sizes)
            self._long(x._steps)
            self._long([x._offset + 1])
            self.value(x.storage())
        else:
            self._text(f"nn.{type(x).__name__}")
            self.value(modules.fields_of(x))
