"""``theano.tensor.io``: arrays that a function reads from files when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np

from agnesi.api.objects import Generic, _computed
from agnesi.compat.theano.base.hints import hint
from agnesi.compat.theano.variable import Variable, wrapped
from agnesi.compiler.shared import shared
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import at, typed
from agnesi.core.value_sizes import size_of


def load(path: Any, dtype: Any, broadcastable: Sequence[bool],
         mmap_mode: Literal["c"] | None = None) -> Variable:
    """An array of a ``.npy`` file, which is read at each call; objects in it are refused.

    :param path: The file, or ``theano.generic()`` for an input that names it.
    :type path: str or Generic
    :param dtype: Of the array in the file.
    :type dtype: dtype
    :param broadcastable: Which axes have size 1.
    :param mmap_mode: "c" maps the file into memory, of which only what is needed is read.
    :type mmap_mode: {None, "c"}
    """
    if mmap_mode not in (None, "c"):
        raise ValueError(at(f"load: mmap_mode is None or 'c', not {mmap_mode!r}"))
    if not isinstance(path, (str, Generic)):
        raise TypeError(at(f"load: path is a string or theano.generic(), not {typed(path)}"))
    wanted = np.dtype(dtype)

    # in a shared variable, as what is computed of constants is computed once
    name_of_file = path if isinstance(path, Generic) else shared(
        np.frombuffer(path.encode(), np.uint8))

    def read(given: Any, mode: Literal["c", "r"] | None = mmap_mode) -> np.ndarray:
        name = given.tobytes().decode() if isinstance(given, np.ndarray) else str(given)
        if name.endswith(".npz"):
            raise ValueError(f"load: {name} must be a .npy file")
        found: np.ndarray = np.load(name, mmap_mode=mode, allow_pickle=False)
        if found.dtype != wanted:
            raise TypeError(f"load: {name} holds {found.dtype}, not {wanted}")
        return found

    def size(axis: int) -> Any:
        return size_of(_computed(lambda given: np.asarray(read(given, "r").shape[axis]),
                                 [name_of_file], dtype=int64), "a size of an array in a file")

    sizes = [1 if one else size(axis) for axis, one in enumerate(broadcastable)]
    return wrapped(_computed(read, [name_of_file], sizes, wanted))


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint(name)}")


_strictly(__name__)
