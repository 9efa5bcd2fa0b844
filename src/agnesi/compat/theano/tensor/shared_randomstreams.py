"""``theano.tensor.shared_randomstreams``: NumPy's draws as random variables."""

from __future__ import annotations

from typing import Any

from agnesi.api.streams.legacy import RandomStreams as _Legacy
from agnesi.compat.theano.tensor.creation import _shape
from agnesi.compat.theano.variable import (
    RandomStateSharedVariable as RandomStateSharedVariable,
)
from agnesi.compat.theano.variable import bare, floats, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.config import config

#: What says nothing here: how many axes a draw has follows from its size.
_IGNORED = ("ndim", "nstreams", "target")
#: Methods whose first argument is no shape.
_WITHOUT_SHAPE = ("bytes", "rand", "randn", "shuffle", "shuffle_row_elements")


class Streams:
    """Random variables as Theano's variables."""

    _kind: Any = None

    def __init__(self, seed: Any = None, use_cuda: Any = None, **ignored: Any) -> None:
        self._ours = self._kind() if seed is None else self._kind(seed)

    def seed(self, seed: Any = None) -> None:
        """Restart all streams."""
        self._ours.seed(seed)

    def updates(self) -> Any:
        """States and new states of all variables."""
        return wrapped(self._ours.updates())

    @property
    def state_updates(self) -> Any:
        """States and new states of all variables."""
        return wrapped(self._ours.state_updates)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._ours, name)

        def draw(*args: Any, **keywords: Any) -> Any:
            if "size" in keywords:  # PyTensor's order: the parameters come first
                size = keywords.pop("size")
                args = (None if size is None else _shape(size), *args)
            elif args and name not in _WITHOUT_SHAPE and args[0] is not None:
                args = (_shape(args[0]), *args[1:])
            kept = {k: bare(v) for k, v in keywords.items() if k not in _IGNORED}
            dtype = kept.get("dtype")
            if self._kind is _Legacy:
                kept.pop("dtype", None)
            with floats():
                found = method(*bare(args), **kept)
            made = wrapped(found)
            if dtype is None and made.dtype.startswith("float"):
                dtype = config.symbolic_float
            return made if dtype is None or made.dtype == dtype else made.astype(dtype)

        return draw


class RandomStreams(Streams):
    """Random variables that NumPy's RandomState draws."""

    _kind = _Legacy


_strictly(__name__)
