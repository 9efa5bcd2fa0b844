"""Outlining: functions that several kernels share, with their differences as parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from agnesi.codegen.llvm.builder import HOT, Builder, Module, Value


def apart(b: Builder, prefix: str, key: Hashable, body: Callable[..., None],
          *given: Value, hot: bool = True) -> None:
    """Outline code: call a function on ``given``, which ``body`` emits once for each key.

    ``body`` takes the function's builder and parameters; the key holds all else that it reads.
    A ``hot`` function is optimized even at LLVM's quickest level.
    """
    types = tuple([v.type for v in given])
    b.call("void", function(b.module, prefix, key, body, types, hot=hot), *given)


def function(module: Module, prefix: str, key: Hashable, body: Callable[..., None],
             types: Sequence[str], *, hot: bool = True) -> str:
    """The name of the outlined function for a key, which is emitted at its first use."""
    if (prefix, key) not in module.apart:
        own = Builder(module, module.fresh(prefix), [(t, f"x{i}") for i, t in enumerate(types)],
                      attributes=HOT if hot else "nounwind")
        body(own, *own.parameters)
        own.ret()
        module.apart[prefix, key] = module.shared(own)
    return module.apart[prefix, key]
