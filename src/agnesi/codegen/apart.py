"""Functions that kernels have in common; what differs comes with each call."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from agnesi.codegen.builder import HOT, Builder, Value


def apart(b: Builder, prefix: str, key: Hashable, body: Callable[..., None],
          *given: Value, hot: bool = True) -> None:
    """Call a function of what is given; ``body`` writes it unless one of its key is there.

    ``body`` takes the function's builder and parameters; the key tells all else that it reads.
    Such functions are worth better code in haste, if not ``hot`` says otherwise.
    """
    module = b.module
    if (prefix, key) not in module.apart:
        parameters = [(v.type, f"x{i}") for i, v in enumerate(given)]
        own = Builder(module, module.fresh(prefix), parameters,
                      attributes=HOT if hot else "nounwind")
        body(own, *own.parameters)
        own.ret()
        module.apart[prefix, key] = module.shared(own)
    b.call("void", module.apart[prefix, key], *given)
