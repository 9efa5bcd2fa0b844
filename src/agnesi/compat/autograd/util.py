"""Small functions that programs import from ``autograd.util``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.compat.autograd.test_util import check_grads


def subvals(x: Any, ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A sequence with other values in some places."""
    values = list(x)
    for i, v in ivs:
        values[i] = v
    return tuple(values)


def subval(x: Any, i: int, v: Any) -> tuple[Any, ...]:
    """A sequence with another value in one place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function itself."""
    return f


def quick_grad_check(fun: Any, arg0: Any, extra_args: Any = (), kwargs: Any = None,
                     **ignored: Any) -> None:
    """Check the gradient of a function to its first argument."""
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
