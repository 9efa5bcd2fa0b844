"""Which of the tensors that a module holds are its own: parameters, buffers, or mere attributes."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from agnesi.autodiff.recording import is_leaf
from agnesi.core.calls.spellings import in_our_words as translated
from agnesi.core.calls.spellings import on_host
from agnesi.core.keywords import named
from agnesi.core.op import EXPLAINED, in_user_code, typed
from agnesi.core.options import check_written
from agnesi.core.support.errors import PACKAGE, at, ours, without_line
from agnesi.core.tensor import Tensor
from agnesi.nn.base.fixed import check_fixed, fixed


class Saved(Enum):
    """Whether ``state_dict`` has a parameter or buffer, and a state that is loaded must have it."""

    YES = "yes"
    NO = "no"
    #: A buffer that a user's class merely assigned: PyTorch's states lack it.
    OPTIONAL = "optional"


#: Reads what a module notes here; a trace that takes down which attributes are read need not know.
_noted = object.__getattribute__


#: Parameters that were made frozen, by identity.
_FROZEN: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


def frozen(t: Tensor) -> Tensor:
    """The tensor, which counts as a parameter though no gradient flows to it."""
    _FROZEN[id(t)] = t
    return t


def is_frozen(t: Tensor) -> bool:
    """Return whether a tensor was made as a frozen parameter."""
    return bool(_FROZEN) and _FROZEN.get(id(t)) is t


def begins(value: Any) -> bool:
    """Return whether a value is what parameters are: a tensor whose gradient begins there, or one
    that was made frozen."""
    return isinstance(value, Tensor) and (
        is_leaf(value) if value._requires_grad else is_frozen(value))


def is_parameter(module: Any, name: str, t: Tensor) -> bool:
    """Return whether a tensor that a module holds under a name is its parameter, frozen or not."""
    learned = _noted(module, "_learned")
    if not t._requires_grad:
        if is_frozen(t):
            learned.add(name)
        return name in learned
    if name in _noted(module, "_borrowed") or is_leaf(t):
        learned.add(name)
        return True
    return False


def is_owned(module: Any, name: str, t: Tensor) -> bool:
    """Return whether a tensor that a module holds is a parameter or a buffer.

    Buffers come from ``__init__`` or ``register_buffer``; other tensors that come later,
    activations say, are mere attributes.
    """
    owned = _noted(module, "_owned")
    if is_parameter(module, name, t):
        owned.setdefault(name, Saved.YES)
        return True
    return name in owned if _noted(module, "_made") else not t._requires_grad


def is_saved(module: Any, name: str) -> bool:
    """Return whether ``state_dict`` has a parameter or buffer."""
    return _noted(module, "_owned").get(name) is not Saved.NO


def is_assigned(module: Any, name: str) -> bool:
    """Return whether a buffer was merely assigned by a user's class, not registered."""
    return _noted(module, "_owned").get(name) is Saved.OPTIONAL


def in_our_words(kind: type, init: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords for a layer of the library by our names: ``ceil_mode`` is ``cover_all``.

    Every one takes ``device``, which must be where all tensors are.  Errors name the class.
    """
    init = getattr(init, "__wrapped__", init)
    if not keywords or not str(getattr(init, "__module__", "")).startswith("agnesi.nn."):
        return keywords
    code = init.__code__
    known = code.co_varnames[1: code.co_argcount + code.co_kwonlyargcount]
    given = {**keywords}
    try:
        if "device" in given and "device" not in known:
            on_host(given.pop("device"))
        return translated(given, known)
    except (TypeError, ValueError) as error:
        text = without_line(error)
        raise type(error)(at(f"{kind.__name__}: {text}")) from None


#: PyTorch's names of what layers are called with, and ours at these places.
_OPERANDS = {"input": ("x", "logits", "indices"), "hx": ("state",), "input1": ("x1",),
             "input2": ("x2",), "log_input": ("input",)}


def operands(forward: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords for a call of a layer of the library by our names: ``input`` is ``x``."""
    if _OPERANDS.keys().isdisjoint(keywords) or not str(
            getattr(forward, "__module__", "")).startswith("agnesi.nn."):
        return keywords
    code = getattr(forward, "__wrapped__", forward).__code__
    known = code.co_varnames[1: code.co_argcount + code.co_kwonlyargcount]
    found = {}
    for word, value in keywords.items():
        there = [] if word in known else [n for n in _OPERANDS.get(word, ()) if n in known]
        found[there[0] if there and there[0] not in keywords else word] = value
    return found


def by_place(init: Any, args: tuple[Any, ...], keywords: dict[str, Any]
             ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for a layer of the library whose last ones by place are PyTorch's device and dtype.

    They follow all others there, as ``super().__init__(inputs, outputs, bias, device, dtype)``.
    """
    init = getattr(init, "__wrapped__", init)
    code = getattr(init, "__code__", None)
    if code is None or not str(getattr(init, "__module__", "")).startswith("agnesi.nn."):
        return args, keywords
    count = code.co_argcount - 1
    behind = args[count:]
    if not 1 <= len(behind) <= 2 or "dtype" not in (init.__kwdefaults__ or ()) or not (
        behind[0] is None or isinstance(behind[0], str)
    ):
        return args, keywords
    on_host(behind[0])
    return args[:count], {**dict(zip(["dtype"], behind[1:], strict=False)), **keywords}


def of_constructor(error: Exception, kind: type, caller: str) -> Exception | None:
    """The error of a constructor as that of the class, where the user called it; None where it says
    enough."""
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        return None if ours(caller) or in_user_code(error) else named(error, kind.__name__)
    reason = str(error).partition("() ")[2]  # its arguments do not fit
    return TypeError(at(f"{kind.__name__}() {reason}")) if isinstance(error, TypeError) else None


_CODE: Any = None  # of the __init__ below


def followed(init: Callable[..., None]) -> Callable[..., None]:
    """``__init__`` of a class of modules; at its end, what tensors there are is noted.

    Those of the library take keywords in other libraries' words.
    """
    if getattr(init, "__code__", init) is _CODE:
        return init

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        keywords = in_our_words(type(self), init, keywords)
        args, keywords = by_place(init, args, keywords)
        last = type(self).__init__ is __init__  # not one that a subclass calls
        if last:
            self._made = False  # it may have been made before: states may call it again
        try:
            init(self, *args, **keywords)
        except EXPLAINED as error:
            better = of_constructor(error, type(self), sys._getframe(1).f_code.co_filename)
            if better is None:
                raise
            raise better from better.__cause__
        library = str(init.__module__).startswith("agnesi.")
        if library or last:
            for name, value in self._entries():
                if isinstance(value, Tensor) and is_owned(self, name, value):
                    self._owned.setdefault(name, Saved.YES if library else Saved.OPTIONAL)
            self._made = last

    return __init__


_CODE = followed(object.__init__).__code__


def refused(module: Any, name: str, held: Tensor, value: Any) -> TypeError:
    """The error where something that is none is assigned in the place of a parameter."""
    kind = type(module).__name__
    what = typed(value) if isinstance(value, Tensor) else type(value).__name__
    why = ", which was computed" if isinstance(value, Tensor) and value._requires_grad else ""
    return TypeError(
        at(
            f"{kind}.{name} is a parameter, {typed(held)}, and {what}{why} would take it away from "
            f"the optimizer: write `with ag.no_grad(): module.{name}.copy_(value)` to change its "
            "value, assign a tensor made with requires_grad=True, or None"
        )
    )


def check_replaced(module: Any, name: str, held: Any, value: Any) -> None:
    """Refuse what cannot stand for what a module holds: for an option, a buffer or a layer."""
    check_written(module, name, held, value)
    check_fixed(module, name, held, value)
    kind = type(module)
    right = isinstance(value, Tensor) if isinstance(held, Tensor) else callable(value)
    if value is None or right:
        return
    if isinstance(held, Tensor):
        if str(kind.__module__).startswith(PACKAGE) and name in _noted(module, "_owned"):
            raise TypeError(at(f"{kind.__name__}.{name} is a buffer, {typed(held)}, and cannot "
                               f"become {typed(value)}: assign a tensor, or None"))
    elif hasattr(held, "_owned") and not isinstance(value, (list, tuple, dict)):
        raise TypeError(at(f"{kind.__name__}.{name} is a layer, {typed(held)}, and cannot become "
                           f"{typed(value)}: assign a module, or None"))


def check_new(module: Any, name: str, value: Any) -> None:
    """Refuse an option of a layer of ours which its parts were made by, and which is not kept."""
    kind: Any = type(module)
    ours = str(kind.__module__).startswith(PACKAGE)
    again = isinstance(value, Tensor) and name in _noted(module, "_owned")  # it was deleted
    if ours and not again and name in _options(kind) and not hasattr(kind, name):
        fixed(module, name, value)


@functools.lru_cache(maxsize=512)
def _options(kind: type) -> frozenset[str]:
    """The names of what the constructor of a class takes."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(p.name for p in inspect.signature(kind).parameters.values() if p.kind in named)


def refuse_mode(module: Any, mode: Any) -> None:
    """Refuse what is no mode of a module."""
    if not isinstance(mode, (int, np.bool_)):
        raise TypeError(at(f"{type(module).__name__}.training must be True or False, not "
                           f"{typed(mode)}; module.train() and module.eval() set it of all modules "
                           "inside, too"))
