"""Objects whose call is a native function, without any Python between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnesi.core.keywords import strict
from agnesi.runtime.vectorcall import install


class Direct:
    """Base of compiled functions: every instance has a class of its own.

    Python looks ``__call__`` up on the class; so the class of an instance holds the native function
    in use.  The instance holds it, too, where Python calls that without a look at the class.
    """

    __slots__ = ("_native", "_run")

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **keywords: Any) -> Any: ...

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        return super().__new__(type(cls.__name__, (cls,), {"__doc__": cls.__doc__}))

    @strict
    def call_directly(self, run: Callable[..., Any]) -> None:
        """Bind calls of this object directly to ``run``.

        :param run: Takes what the function takes.
        """
        own: Any = type(self)
        own.__call__ = run
        install(self, Direct, run)
