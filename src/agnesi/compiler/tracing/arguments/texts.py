"""Texts among the arguments of a traced function that are others in each call.

Where no code looks at such a text (the file's name in a batch, which the step passes over), one
version serves all.  While a function is traced for that, an object stands for the text that is no
``str``: whatever is done with it raises, and the function is traced again with the text itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NoReturn

from agnesi.compiler.binding.call_adapter import ANY_TEXT
from agnesi.compiler.tracing.bytecode import codes, may_catch
from agnesi.compiler.tracing.obstacles import LookedAtError
from agnesi.core.tensor import Tensor

_COMPILER = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
#: What may query the class: code of a trace, not that of operations.
_ASKING = tuple([os.path.join(os.path.dirname(_COMPILER), n, "") for n in ("compiler", "core")])


class TextReadError(LookedAtError):
    """Code reads the content of a string whose value is not known while tracing, or keeps the
    string.
    """


def _read(*args: Any, **keywords: Any) -> NoReturn:
    raise TextReadError


class Text:
    """The symbol of a str argument whose content does not matter; reading it ends the trace."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name != "__class__" or not sys._getframe(1).f_code.co_filename.startswith(_ASKING):
            raise TextReadError
        return Text

    __setattr__ = __delattr__ = __hash__ = _read
    __str__ = __repr__ = __format__ = __len__ = __iter__ = __bool__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __contains__ = __getitem__ = __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = _read
    __rmod__ = __int__ = __float__ = __index__ = __fspath__ = __reduce_ex__ = __reduce__ = _read
    __copy__ = __deepcopy__ = __array__ = __enter__ = __exit__ = _read


def static_of(symbol: Any) -> Any:
    """Return the value that native calls compare a static argument with; None for other arguments.
    """
    if type(symbol) is Text:
        return ANY_TEXT
    return None if isinstance(symbol, Tensor) else symbol


def calling(function: Callable[..., Any], nest: Sequence[Any], symbols: Sequence[Any],
            call: Callable[..., Any]) -> Any:
    """Call a traced function; raise TextReadError if it kept a symbol of a string."""
    texts = [s for s in symbols if type(s) is Text]
    before = [sys.getrefcount(t) for t in texts]
    found = call(function, nest[0], nest[1], "jit")
    if [sys.getrefcount(t) for t in texts] != before:
        raise TextReadError
    return found


def refuse_catching(code: CodeType) -> None:
    """Raise TextReadError if user code may catch exceptions: it could catch the one raised where a
    symbol is not accepted (``"".join``).
    """
    if any(map(may_catch, codes(code))):
        raise TextReadError
