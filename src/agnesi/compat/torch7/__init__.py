"""Torch7 for its programs, line by line: ``x:add(1)`` is ``x.add(1)``, and numbers begin at 1.

Tensors are views of storages; every function writes into a tensor that comes first, if there is one
more than it needs.

Examples
--------
>>> from agnesi.compat import torch7 as torch
>>> x, y = torch.ones(2, 3), torch.ones(3, 4)
>>> z = torch.Tensor(2, 4)
>>> torch.mm(z, x, y) is z, list(z.size())
(True, [2, 4])
"""

from __future__ import annotations

import functools
import os as _os
import time as _time
from importlib import import_module as _import_module
from types import FunctionType as _FunctionType
from typing import Any

from agnesi.compat.torch7 import maths as _maths
from agnesi.compat.torch7 import matrices as _matrices  # noqa: F401 - fills the functions of maths
from agnesi.compat.torch7 import selection as _selection  # noqa: F401 - as above
from agnesi.compat.torch7.counting import count_from_one as _count_from_one
from agnesi.compat.torch7.counting import from_one as _from_one
from agnesi.compat.torch7.draws import Generator as Generator
from agnesi.compat.torch7.draws import getRNGState as getRNGState
from agnesi.compat.torch7.draws import initialSeed as initialSeed
from agnesi.compat.torch7.draws import manualSeed as manualSeed
from agnesi.compat.torch7.draws import seed as seed
from agnesi.compat.torch7.draws import setRNGState as setRNGState
from agnesi.compat.torch7.files import deserialize as deserialize
from agnesi.compat.torch7.files import load as load
from agnesi.compat.torch7.files import save as save
from agnesi.compat.torch7.files import serialize as serialize
from agnesi.compat.torch7.maths import Tensor as Tensor
from agnesi.compat.torch7.maths import setdefaulttensortype as setdefaulttensortype
from agnesi.compat.torch7.tensor import DEFAULT as _DEFAULT
from agnesi.compat.torch7.tensor import NAMES as _NAMES
from agnesi.compat.torch7.tensor import Storage as Storage
from agnesi.compiler.control import get_num_threads as getnumthreads
from agnesi.compiler.control import set_num_threads as setnumthreads
from agnesi.core.keywords import strict as _strict
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.paths import add_paths as _add_paths

__all__ = [
    "Generator", "Storage", "Tensor", "Timer", "deserialize", "getRNGState", "getdefaulttensortype",
    "getnumthreads", "initialSeed", "isStorage", "isTensor", "isTypeOf", "load", "manualSeed",
    "save", "seed", "serialize",
    "setRNGState", "setdefaulttensortype", "setnumthreads", "tic", "toc", "type", "typename",
]

_TYPES = {f"{_name}{_kind.__name__}": functools.partial(_kind, dtype=_dtype)
          for _dtype, _name in _NAMES.items() for _kind in (Tensor, Storage)}
_TYPES["CudaTensor"] = _TYPES["FloatTensor"]


def getdefaulttensortype() -> str:
    """The type of tensors that name none."""
    return f"torch.{_NAMES[_DEFAULT[0]]}Tensor"


def type(x: Any) -> Any:
    """The name of a tensor's type, or of another value's class."""
    return x.type() if isinstance(x, Tensor) else x.__class__.__name__


def typename(x: Any) -> str | None:
    """The name of a tensor's or storage's type, or of a module of nn; None of anything else."""
    if isinstance(x, Tensor):
        return str(x.type())
    if isinstance(x, Storage):
        return f"torch.{_NAMES[x.data.dtype.name]}Storage"
    return f"nn.{x.__class__.__name__}" if ".torch7.nn." in x.__class__.__module__ else None


def isTensor(x: Any) -> bool:
    """Return whether x is a tensor."""
    return isinstance(x, Tensor)


def isStorage(x: Any) -> bool:
    """Return whether x is a storage."""
    return isinstance(x, Storage)


def isTypeOf(x: Any, spec: Any) -> bool:
    """Return whether x is of a class or a class derived from it, by the class or its name."""
    if not isinstance(spec, str):
        return isinstance(x, spec)
    names = [c.__name__ for c in x.__class__.__mro__]
    return typename(x) == spec or spec.removeprefix("nn.").removeprefix("torch.") in names


class Timer:
    """Seconds since it was made; :meth:`stop` and :meth:`resume` leave some out."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> Timer:
        """Start again."""
        self._kept = {"real": 0.0, "user": 0.0, "sys": 0.0}
        self._start: dict[str, float] | None = self._now()
        return self

    def _now(self) -> dict[str, float]:
        times = _os.times()
        return {"real": _time.perf_counter(), "user": times.user, "sys": times.system}

    def time(self) -> dict[str, float]:
        """Seconds that went by: ``real``, and the process's ``user`` and ``sys``."""
        if self._start is None:
            return dict(self._kept)
        now = self._now()
        return {k: v + now[k] - self._start[k] for k, v in self._kept.items()}

    def stop(self) -> Timer:
        """Leave out what comes."""
        self._kept, self._start = self.time(), None
        return self

    def resume(self) -> Timer:
        """Go on."""
        self._start = self._start or self._now()
        return self


_TICKS: list[float] = []


def tic() -> None:
    """Note the time for :func:`toc`."""
    _TICKS.append(_time.perf_counter())


def toc() -> float:
    """Seconds since the last :func:`tic`."""
    return _time.perf_counter() - _TICKS[-1]


#: Packages in this one, which load at first use.
_PACKAGES = frozenset(("image", "nn", "optim"))


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return _import_module(f"{__name__}.{name}")
    found = _maths.FUNCTIONS.get(name) or _TYPES.get(name)
    if found is None:
        raise _no_attribute(f"module {__name__!r}", name)
    return found


def __dir__() -> list[str]:
    return sorted({*_shown(__name__), *_PACKAGES, *_maths.FUNCTIONS, *_TYPES})


_maths.FUNCTIONS.update({
    _name: _strict(_from_one(_f, _name)) if isinstance(_f, _FunctionType) else _f
    for _name, _f in _maths.FUNCTIONS.items()})
for _kind in Tensor.__mro__[:-1]:
    _count_from_one(_kind)
_strictly(__name__)
_add_paths(__name__, "tensor")
