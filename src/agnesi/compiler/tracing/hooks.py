"""Classes that report the attributes read and written while a function is traced.

Python looks ``__getattribute__`` and its kin up on the class, so a class that a trace meets gets
its own for as long as the trace runs; in other threads they do what they replace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from agnesi.compiler.tracing.builtin_calls import STAND_INS, Attributes
from agnesi.compiler.tracing.process.files import FILES
from agnesi.compiler.tracing.process.output import LOGS
from agnesi.compiler.tracing.sources import HOOKED, MISSING, is_builtin
from agnesi.core.support.config import MODE, switched
from agnesi.core.support.undo import Block

_LOCK = threading.RLock()
#: CPython's flag ``Py_TPFLAGS_IMMUTABLETYPE``: attributes of the class cannot be set.
_IMMUTABLE = 1 << 8

#: Classes with hooks: which traces want them, and what the classes had of their own.
_HOOKED: dict[type, tuple[dict[int, bool], dict[str, Any]]] = {}


def hook(kind: type, user: object) -> bool:
    """Make a class report reads and writes of its objects, until ``unhook`` by the same user;
    return False if it cannot.
    """
    if is_builtin(kind) or kind.__flags__ & _IMMUTABLE:
        return False
    with _LOCK:
        kind = next((k for k in kind.__mro__ if k in _HOOKED), kind)
        if kind not in _HOOKED:  # noted before it is changed: an interrupt may strike meanwhile
            _HOOKED[kind] = {}, {name: vars(kind).get(name, MISSING) for name in HOOKED}
        users, _ = _HOOKED[kind]
        fresh = not users
        users[id(user)] = True
        if fresh:
            made = (_reading(kind.__getattribute__), _setting(kind.__setattr__),
                    _deleting(kind.__delattr__))
            for name, function in zip(HOOKED, made, strict=True):
                function.stands_for = _HOOKED[kind][1][name]  # type: ignore[attr-defined]
                type.__setattr__(kind, name, function)
    return True


def unhook(user: object) -> None:
    """Stop the reports for one trace. It may be called again after an interrupt."""
    with _LOCK:
        for kind, (users, before) in list(_HOOKED.items()):
            users.pop(id(user), None)
            if not users:
                for name, value in before.items():
                    if value is not MISSING:
                        type.__setattr__(kind, name, value)
                    elif name in vars(kind):
                        type.__delattr__(kind, name)
                del _HOOKED[kind]


def _reading(plainly: Any) -> Callable[[Any, str], Any]:
    def read(self: Any, name: str) -> Any:
        reads = MODE.get().reads
        return plainly(self, name) if reads is None else reads.attribute(self, name, plainly)

    return read


def _setting(plainly: Any) -> Callable[[Any, str, Any], None]:
    def write(self: Any, name: str, value: Any) -> None:
        reads = MODE.get().reads
        if reads is not None:
            reads.written(self, name)
        plainly(self, name, value)

    return write


def _deleting(plainly: Any) -> Callable[[Any, str], None]:
    def delete(self: Any, name: str) -> None:
        reads = MODE.get().reads
        if reads is not None:
            reads.written(self, name, True)
        plainly(self, name)

    return delete


def _plain_read(owner: Any, name: str) -> Any:
    """Read an attribute by ``object.__getattribute__``, without the hook of the owner's class."""
    return _reading(object.__getattribute__)(owner, name)


def _plain_write(owner: Any, name: str, value: Any) -> None:
    _setting(object.__setattr__)(owner, name, value)


def _plain_delete(owner: Any, name: str) -> None:
    _deleting(object.__delattr__)(owner, name)


STAND_INS[id(object)] = Attributes(
    object, dict(zip(HOOKED, (_plain_read, _plain_write, _plain_delete), strict=True)))


class taking(Block):  # noqa: N801 - used as a function
    """A context in which reads by this thread are recorded."""

    _reads: Any = None
    _mode: switched | None = None

    def __init__(self, reads: Any) -> None:
        self._reads = reads

    def begin(self) -> None:
        self._mode = switched(reads=self._reads)
        self._mode.__enter__()
        LOGS.begin(self._reads)
        FILES.begin(self._reads)

    def end(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.undo()
        self._reads.parts.borrowed.give_back()
        LOGS.end(self._reads)
        FILES.end(self._reads)
        unhook(self._reads)
        self._reads.replaced.undo()
