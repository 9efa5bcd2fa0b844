"""Nests of tensors as loops see them: leaves that are tensors, with paths for errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.recording import enable_grad, last_change
from agnesi.core.dispatch import apply
from agnesi.core.integers import is_integer
from agnesi.core.ir.dims import Dim, Size, is_static
from agnesi.core.op import typed
from agnesi.core.shapes import fits as shapes_fit
from agnesi.core.storage.leaves import COPY
from agnesi.core.support import tree
from agnesi.core.support.dtypes import bool_, fits, promote
from agnesi.core.support.errors import DTypeError, ShapeError, TraceError, at, call_user
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import SCALARS, as_tensor, cast, number


class Nest:
    """A nest taken apart.

    :ivar tensors: The leaves.
    :ivar shape: How to put them together again.
    :ivar weak: Which leaves were Python numbers, whose dtype may follow from what the loop
        computes.
    """

    def __init__(self, owner: str, name: str, nest: Any) -> None:
        self.leaves, self.shape = tree.flatten(nest)
        self.paths = self.shape.paths(name)
        self.weak = [type(v) in SCALARS or (isinstance(v, Tensor) and v.weak) for v in self.leaves]
        self.tensors = [_tensor(owner, v, p) for v, p in zip(self.leaves, self.paths, strict=True)]

    def suit(self, others: Sequence[Tensor]) -> None:
        """Give initial Python floats the dtype of the other floats in the carry."""
        strong = [t for t, w in zip(self.tensors, self.weak, strict=True) if not w]
        floats = [t.dtype for t in (*strong, *others) if t.dtype.kind in "fV"]
        if floats:
            dtype = functools.reduce(promote, floats)
            widened(self, [dtype if w and t.dtype.kind == "f" else None
                           for t, w in zip(self.tensors, self.weak, strict=True)])

    def build(self, leaves: Sequence[Any]) -> Any:
        """The nest with other leaves."""
        return self.shape.build(leaves)


def _tensor(owner: str, value: Any, path: str) -> Tensor:
    try:
        return as_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            at(f"{owner}: {path} is {typed(value)}; loops carry tensors, arrays and numbers")
        ) from None


def snapshot(x: Any) -> Any:
    """A tensor's present value and record in memory of its own, whatever is done to it later."""
    if not isinstance(x, Tensor) or x.array is None:
        return x
    if not x._requires_grad:
        return wrap(x.array.copy())  # row-major, as carries of compiled loops are
    with enable_grad():
        return apply(COPY, x)


def apart(x: Any) -> Any:
    """A next carry, row-major, in memory of its own where the body may go on changing that of
    ``x``."""
    changed = isinstance(x, Tensor) and x._version is not None and x._version[0]
    other = isinstance(x, Tensor) and x.array is not None and not x.array.flags.c_contiguous
    return snapshot(x) if changed or other else x


def changes(tensors: Sequence[Tensor]) -> list[int]:
    """The version counters of tensors, which count changes in place."""
    return list(map(last_change, tensors))


def changes_fixed(owner: str) -> TraceError:
    """Return the changes that a body made to its arguments, which no other step would see in a
    graph.
    """
    return TraceError(
        at(f"{owner}: the body changes a row or non-sequence in place; change a copy of it")
    )


def is_symbolic(*tensors: Any) -> bool:
    """Return whether a graph is being written: a trace runs, or values are still to come."""
    return is_tracing() or any(isinstance(x, Tensor) and x.array is None for x in tensors)


def rows_of(owner: str, xs: Nest) -> Size | None:
    """The common number of rows of sequences; None if there are none."""
    found: Any = None
    for x, path in zip(xs.tensors, xs.paths, strict=True):
        if not x.shape:
            raise ShapeError(
                at(
                    f"{owner}: {path} is {typed(x)}, a scalar without rows; a list is a nest of "
                    "sequences, ag.tensor([...]) makes one of its elements"
                )
            )
        if found is not None and not shapes_fit((found,), (x.shape[0],)):
            counts = ", ".join(f"{p} {typed(t)}" for p, t in zip(xs.paths, xs.tensors, strict=True))
            raise ShapeError(
                at(f"{owner}: the sequences differ in their numbers of rows: {counts}; cut them")
            )
        if found is None or isinstance(x.shape[0], int):
            found = x.shape[0]
    return found


class Wider(Exception):  # noqa: N818 - control flow, never shown
    """Carries that began as Python numbers have other dtypes: begin again with these."""

    def __init__(self, dtypes: list[Any]) -> None:
        super().__init__()
        self.dtypes = dtypes


def next_carries(owner: str, carry: Nest, found: Any, *, ran: bool = False,
                 grows: bool = False) -> list[Tensor]:
    """The leaves of what a body returned for the next step, which must be of the carry's types.

    ``ran`` says that the step was not a mere trace: where a number may as well have had the new
    dtype from the beginning, that is taken for granted, so that the step need not run again.
    With ``grows`` the first axis may get longer.
    """
    leaves, shape = tree.flatten(found)
    if shape != carry.shape:
        raise TypeError(
            at(
                f"{owner}: the carry begins as {typed(carry.build(carry.tensors))}, but the body "
                f"returns {typed(found)}; return the same nest, with the next value of each leaf"
            )
        )
    result: list[Any] = []
    dtypes: list[Any] = []
    for leaf, before, path, weak in zip(
        leaves, carry.tensors, carry.paths, carry.weak, strict=True
    ):
        new = _like(owner, leaf, before, path)
        wider = weak and new.dtype != before.dtype and fits(before.dtype, new.dtype)
        dtypes.append(new.dtype if wider else None)
        rows = new.shape[:1] if grows and new.ndim == before.ndim else before.shape[:1]
        kept = (*rows, *before.shape[1:])
        shorter = is_static((*rows, *before.shape[:1])) and rows < before.shape[:1]
        if not shapes_fit(new.shape, kept) or shorter or (
                new.dtype != before.dtype and not wider):
            raise _changed(owner, path, before, new)
        result.append(new)
    if any(dtypes):
        if not ran or not all(map(_is_exact, carry.leaves, carry.tensors, dtypes)):
            raise Wider(dtypes)
        widened(carry, dtypes)
        carry.weak = [w and d is None for w, d in zip(carry.weak, dtypes, strict=True)]
    return result


def _is_exact(number: Any, before: Tensor, dtype: Any) -> bool:
    """Return whether a number lost no digits when the loop began."""
    return dtype is None or bool(before.array == number)


def _like(owner: str, leaf: Any, before: Tensor, path: str) -> Tensor:
    """A leaf as a tensor; what came from Python numbers takes the dtype that it had before."""
    if type(leaf) in SCALARS and fits(as_tensor(leaf).dtype, before.dtype):
        return number(leaf, before.dtype)
    new = _tensor(owner, leaf, path)
    return cast(new, before.dtype) if new.weak and fits(new.dtype, before.dtype) else new


def _changed(owner: str, path: str, before: Tensor, new: Tensor) -> Exception:
    text = f"{owner}: {path} begins as {typed(before)}, but the body returns {typed(new)} for it; "
    if not shapes_fit(new.shape, before.shape):
        remedy = f"begin with shape {new.shape}, or change the body"
        rows = new.shape[:1], before.shape[:1]
        if owner == "while_loop" and new.shape[1:] == before.shape[1:] and all(
                map(is_static, rows)) and rows[0] < rows[1]:
            remedy = (f"rows may be added, not taken away; carry all {before.shape[0]} and how "
                      "many of them count")
        return ShapeError(at(f"{text}the shape must stay: {remedy}"))
    return DTypeError(
        at(
            text + f"the dtype must stay: begin with dtype '{new.dtype}', or return "
            f".astype('{before.dtype}')"
        )
    )


def widened(carry: Nest, dtypes: Sequence[Any]) -> None:
    """Let carries that began as Python numbers begin with other dtypes."""
    for i, dtype in enumerate(dtypes):
        if dtype is not None:
            carry.tensors[i] = as_tensor(carry.leaves[i], dtype)


def call_user_function(owner: str, form: str, f: Any, *args: Any) -> Any:
    """Call a user's function; where it cannot be called, the error names its parameters."""
    return call_user(f, args, {}, owner, form)


def whole(owner: str, name: str, number: Any) -> Any:
    """A number of steps, or a tensor of one."""
    if isinstance(number, Tensor):
        if number.shape != () or number.dtype.kind not in "iu":
            raise TypeError(at(f"{owner}: {name} must be an integer scalar, not {typed(number)}"))
        return number if is_symbolic(number) else int(number)
    if isinstance(number, Dim):
        return number
    if not is_integer(number):
        raise TypeError(at(f"{owner}: {name} must be an integer, not {typed(number)}"))
    return operator.index(number)


def decision(owner: str, what: str, value: Any) -> Tensor:
    """A bool scalar, or an error that says what else it is."""
    t = _tensor(owner, value, what)
    if t.shape != () or t.dtype != bool_:
        raise TypeError(
            at(
                f"{owner}: {what} must be a bool scalar, not {typed(t)}; compare numbers "
                "(x > 0) and reduce with .any() or .all()"
            )
        )
    return t
