"""``jit(mode="compare")``: every call runs eagerly and compiled, and the two must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_adapter import MISSED
from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

_TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4, "complex64": 1e-4}


def compared(jitted: Any, args: tuple[Any, ...], keywords: dict[str, Any],
             left: Sequence[Any] = ()) -> Any:
    """Run both ways from the same state; raise AssertionError where results or state differ."""
    leaves, tree = flatten((args, keywords))
    version = jitted.version(leaves, tree, left)
    if version.tangled(leaves) or version.effects:
        return jitted.function(*args, **keywords)
    touched = [x for x, *_ in version.state]
    given = [v for v in leaves if isinstance(v, Tensor)]
    before = _values(touched + given)
    grads = [t._grad for t in touched]
    eager = jitted.function(*args, **keywords)
    after = _values(touched + given)
    for t, grad in zip(touched, grads, strict=True):
        t._grad = grad
    _restore(touched + given, before)
    compiled = version(leaves)
    if compiled is MISSED:
        return compared(jitted, args, keywords, [*left, version])
    for i, (a, b) in enumerate(zip(flatten(eager)[0], flatten(compiled)[0], strict=True)):
        if isinstance(a, Tensor):
            _check(f"result {i}", a.array, b.array, jitted.name)
    for t, value in zip(touched + given, after, strict=True):
        _check(f"state {t.name or typed(t)}", value, t.array, jitted.name)
    return compiled


def _values(tensors: list[Tensor]) -> list[np.ndarray]:
    return [t.array.copy() for t in tensors]


def _restore(tensors: list[Tensor], values: list[np.ndarray]) -> None:
    for t, value in zip(tensors, values, strict=True):
        if t.array.flags.writeable:
            np.copyto(t.array, value)


def _check(what: str, eager: Any, compiled: Any, name: str) -> None:
    if eager.shape != compiled.shape or eager.dtype != compiled.dtype:
        raise AssertionError(
            at(f"{what} of {name} is {typed(eager)} eagerly, but {typed(compiled)} compiled")
        )
    if not np.issubdtype(eager.dtype, np.inexact):
        same = np.array_equal(eager, compiled)
    else:
        rtol = _TOLERANCE.get(eager.dtype.name, 1e-9)
        scale = np.nanmax(np.abs(eager), initial=0.0)
        atol = rtol * float(scale) if np.isfinite(scale) else rtol
        same = np.allclose(eager, compiled, rtol=rtol, atol=atol, equal_nan=True)
    if not same:
        worst = np.nanmax(np.abs(np.asarray(eager, complex) - compiled))
        raise AssertionError(
            at(f"{what} of {name} differs between eager and compiled: by up to {worst:.3g}")
        )
