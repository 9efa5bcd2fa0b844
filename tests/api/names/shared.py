"""Calls in some twenty forms of every name that two libraries share, and their answers compared.

Used beside NumPy by ``test_shared_calls.py``, and beside PyTorch, whose answers are kept as data,
by ``benchmarks/tests/test_shared_calls.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import agnesi as ag

_X = np.array([[3.0, 1, 2, 9], [4, 6.5, 5, -1], [7, 8, 10, 1.5]], np.float32)
OPERANDS = {
    "x": _X, "y": _X[::-1] * 2 - 3, "s": _X[:, :3].copy(), "b": _X > 3,
    "t": np.array(2.5, np.float32), "v": np.array([3.0, -1, 2, 5], np.float32),
    "c": (np.arange(24, dtype=np.float32) * 7 % 24).reshape(2, 3, 4),
    "i": np.array([[1, 0, 2, 3], [0, 2, 1, 3], [2, 1, 0, 1]]), "k": np.array([1, 0, 2]),
}
#: What follows the first operand.
_REST = (
    "", "0", "1", "-1", "0, 1", "1, 0", "-2, -1", "2", "2, 1", "3", "(0, 1)", "(2, 1)", "[1, 2]",
    "y", "y, 0", "0.5", "dim=0", "dim=1, keepdim=True", "axis=0", "axis=1, keepdims=True",
    "0, True", "1, k", "2, 1, 2", "other=y", "dims=(0,)",
    "[0]", "[0, 1], True", "0, None", "axis=None", "dim=(0, 1), keepdim=True", "axis=[0]",
    "1, axis=0", "2, dim=1", "correction=0", "min=1", "x, 0", "True",
)
_FUNCTIONS = (
    "c, 1", "i, 1", "v", "3", "2, 3", "(2, 3)", "[x, y]", "[x, y], 0", "[x, y], dim=1",
    "[x, y], axis=1", "input=x", "input=x, other=y", "v, v", "s, s", "b, x, y",
    "input=x, axis=0", "x, k, 0", "v, v, dim=0", "c, dim=(0, 2)", "c, 2, 0, 1", "a=x",
    "v, 3, 0, 9", "i, 2", "t", "t, 0",
)
#: Random, uninitialised, in any order, about the process, or made of functions.
SKIPPED = frozenset("""
    partition argpartition pca_lowrank svd_lowrank
    Tensor bernoulli can_cast clone compile cond empty empty_like enable_grad finfo from_dlpack
    from_numpy frombuffer get_num_threads iinfo is_grad_enabled manual_seed no_grad normal print
    promote_types rand randint randn randperm result_type set_num_threads vmap while_loop save load
    new_empty fromfunction fromiter apply_along_axis apply_over_axes vectorize piecewise
    shares_memory may_share_memory issubdtype isdtype einsum_path testing data_ptr backward
    register_hook requires_grad_ rand_like randn_like randint_like binomial poisson multinomial
    bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_ polygamma
    retain_grad numpy item tolist device dtype shape test info new
""".split())


def forms(name: str, method: bool) -> Iterator[str]:
    """The calls of a function (of ``lib``) or of a method of the operand x."""
    if method:
        yield from (f"x.{name}({rest})" for rest in _REST)
        yield from (f"c.{name}({rest})" for rest in ("0", "1, 0", "dim=2", "axis=-1"))
        return
    yield from (f"lib.{name}(x{', ' * bool(rest)}{rest})" for rest in _REST)
    yield from (f"lib.{name}({arguments})" for arguments in _FUNCTIONS)


def names(theirs: Any, ours: Any) -> list[str]:
    """What both have and can be called."""
    return sorted(
        n for n in set(dir(theirs)) & set(dir(ours)) - SKIPPED
        if n[0] != "_" and hasattr(ours, n)
        and callable(getattr(theirs, n)) and callable(getattr(ours, n))
        and not isinstance(getattr(ours, n), type) and not isinstance(getattr(theirs, n), type)
    )


def answer(call: str, library: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """A call's answer as arrays, in lists, and the operands after it; or the error."""
    given = {n: make(a.copy()) for n, a in OPERANDS.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = plain(eval(call, {**given, "lib": library}))
    except Exception as error:
        return error
    return found, [plain(v) for v in given.values()]


def plain(value: Any) -> Any:
    """Arrays, in lists; of all else the type."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, ag.Tensor):
        return value.numpy()
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        return np.asarray(value)
    return type(value).__name__


def same(a: Any, b: Any) -> bool:
    """Whether two answers have the same shapes and elements."""
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(
            map(same, a, b))
    if isinstance(a, str) or isinstance(b, str):
        return bool(isinstance(a, str) and isinstance(b, str) and a == b)
    return bool(a.shape == b.shape and (a.dtype.kind == "b") == (b.dtype.kind == "b")
                and np.allclose(a, b, rtol=2e-4, atol=1e-5, equal_nan=True))


def kinds(theirs: Any, ours: Any, make: Callable[[np.ndarray], Any], library: Any,
          method: bool) -> Iterator[tuple[str, str]]:
    """For each shared name what becomes of its forms: "=" the same answer, "x" refused here, "n"
    NumPy's answer to the same call, "!" another one, "." refused there."""
    for name in names(theirs, ours):
        found = ""
        for call in forms(name, method):
            expected = answer(call, library, make)
            if isinstance(expected, Exception):
                found += "."
                continue
            mine = answer(call, ag, ag.tensor)
            if isinstance(mine, Exception):
                found += "x"
            elif same(mine[0], expected[0]) and same(mine[1], expected[1]):
                found += "="
            else:
                numpys = answer(call, np, np.array)
                agrees = not isinstance(numpys, Exception) and same(mine[0], numpys[0])
                found += "n" if agrees else "!"
        if found.strip("."):
            yield name, found
