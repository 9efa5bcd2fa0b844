"""Collective operations on tensors: reduce, gather, scatter, exchange, send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.functions import max as _max
from agnesi.api.functions import mean as _mean
from agnesi.api.functions import min as _min
from agnesi.api.functions import prod as _prod
from agnesi.api.functions import sum as _sum
from agnesi.compiler.library import collectives as native
from agnesi.core.integers import is_integer
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import explain_errors
from agnesi.core.support.errors import DTypeError, ShapeError, typed
from agnesi.core.tensor import Tensor
from agnesi.distributed.operations import collective
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.outside import passes
from agnesi.distributed.processes.world import world
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.elementwise.complexes import view_as_complex, view_as_real

#: Reductions by name: over the axis of processes.
_OVER: dict[str, Callable[..., Tensor]] = {
    "sum": _sum, "mean": _mean, "max": _max, "min": _min, "prod": _prod,
}


def _checked(name: str, x: Tensor, op: str) -> None:
    if op not in _OVER:
        raise ValueError(f"{name}: op must be one of {', '.join(map(repr, _OVER))}, not {op!r}")
    kind = x.dtype.kind
    if op == "mean" and kind in "iub":
        raise DTypeError(f"{name}: the mean of {x.dtype} is no {x.dtype}: convert it to floats")
    if op in ("max", "min") and kind == "c":
        raise DTypeError(f"{name}: complex numbers have no order")


def _axis(x: Tensor, axis: int) -> int:
    if not is_integer(axis):
        raise TypeError(f"axis must be an integer, not {typed(axis)}")
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"axis {axis} is out of range for {x.ndim} dimensions")
    return axis % x.ndim


def _place(peer: Any, size: int, word: str) -> int:
    if not is_integer(peer) or not 0 <= peer < size:
        raise ValueError(f"{word} must be a rank from 0 to {size - 1}, not {peer!r}")
    return int(peer)


@explain_errors
def all_reduce(x: TensorLike, op: str = "sum", group: Group | None = None) -> Tensor:
    """The sum, or another reduction, of a tensor's values in all processes.

    All processes get the same, bit by bit: values are taken in the order of the ranks.

    :param x: Of the same shape and dtype in all processes.
    :param op: What is made of the values.
    :type op: {"sum", "mean", "max", "min", "prod"}
    :returns: Of the shape and dtype of ``x``.  Derivatives are those of the sum of all processes'
        losses: the gradient of a sum is the sum of all processes' gradients.
    :raises ValueError: If there is no such ``op``.
    :raises DTypeError: If the mean is asked of integers, or an extreme of complex numbers.
    :raises CollectiveError: If processes do not agree, or one is missing.
    :see: distributed.reduce_scatter, distributed.all_gather, distributed.data_parallel

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> dist.all_reduce(ag.tensor([1.0, 2.0]))  # of one process
    tensor([1., 2.])
    """
    x = as_tensor(x)
    _checked("all_reduce", x, op)
    if passes(group, "all_reduce"):
        return x.clone()
    group = world(group)
    if x.dtype.kind == "c" and op in ("sum", "mean"):
        return view_as_complex(_reduced(view_as_real(x), op, group, f" of {x.dtype} in"))
    return _reduced(x, op, group)


def _reduced(x: Tensor, op: str, group: Group, kind: str = "") -> Tensor:
    """By native code where it knows the dtype; else everybody reduces what all have."""
    asked = f"all_reduce[{op}]{kind}"
    if op == "mean" and f"sum {x.dtype}" in native.REDUCTIONS:
        return collective("all_reduce", x, group, "sum", asked=asked) / group.size
    if f"{op} {x.dtype}" in native.REDUCTIONS:
        return collective("all_reduce", x, group, op, asked=asked)
    rows = collective("all_gather", x, group, asked=asked)
    if x.dtype.kind == "b" and op in ("max", "min"):
        return cast(_OVER[op](cast(rows, np.dtype("uint8")), axis=0), x.dtype)
    return cast(_OVER[op](rows, axis=0), x.dtype)


@explain_errors
def all_gather(x: TensorLike, axis: int | None = 0, group: Group | None = None) -> Tensor:
    """Concatenate the tensors of all processes, in the order of their ranks.

    :param x: Of the same shape and dtype in all processes.
    :param axis: Along which axis they are joined; None stacks them along a new first one, as
        scalars are.
    :type axis: int or None
    :returns: ``size`` times as long along ``axis``, in the order of ranks.
    :raises TypeError: If ``axis`` is no integer.
    :raises ShapeError: If the axis is out of range.
    :raises CollectiveError: If processes do not agree, or one is missing.
    :see: distributed.all_reduce, distributed.broadcast

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> dist.all_gather(ag.tensor([1.0, 2.0]), axis=None)
    tensor([[1., 2.]])
    """
    x, group = as_tensor(x), world(group)
    along = None if axis is None or x.ndim == 0 else _axis(x, axis)
    rows = collective("all_gather", x, group, asked=f"all_gather[axis {along}]" if along else "")
    if along is None:
        return rows
    shape = [*x.shape]
    shape[along] = shape[along] * group.size
    return reshape(moveaxis(rows, 0, along) if along else rows, tuple(shape))


def _split(x: Tensor, axis: int, size: int, name: str) -> Tensor:
    """A row for each process: the parts of an axis."""
    along, n = _axis(x, axis), x.shape[axis]
    if isinstance(n, int) and n % size:
        raise ShapeError(f"{name}: axis {axis} of {n} elements is no multiple of {size} processes: "
                         "fill it up (nn.functional.pad), or all_reduce and take a part")
    shape = (*x.shape[:along], size, n // size, *x.shape[along + 1:])
    return moveaxis(reshape(x, shape), along, 0)


@explain_errors
def reduce_scatter(x: TensorLike, op: str = "sum", axis: int = 0,
                   group: Group | None = None) -> Tensor:
    """Reduce the tensors of all processes; each process gets its part of the result.

    :param x: Of the same shape and dtype in all processes.
    :param op: What is made of the values.
    :type op: {"sum", "mean", "max", "min", "prod"}
    :param axis: Which axis is cut in equal parts, in the order of ranks.
    :returns: As long as ``x`` but for ``axis``.
    :raises ValueError: If there is no such ``op``.
    :raises DTypeError: If the mean is asked of integers, or an extreme of complex numbers.
    :raises ShapeError: If the axis cannot be cut in equal parts.
    :raises CollectiveError: If processes do not agree, or one is missing.
    :see: distributed.all_reduce, distributed.all_gather

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> dist.reduce_scatter(ag.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    x, group = as_tensor(x), world(group)
    _checked("reduce_scatter", x, op)
    rows = _split(x, axis, group.size, "reduce_scatter")
    asked = f"reduce_scatter[{op}]"
    if op in ("sum", "mean") and f"sum {x.dtype}" in native.REDUCTIONS:
        part = collective("reduce_scatter", rows, group, "sum", asked=asked)
        return part / group.size if op == "mean" else part
    swapped = collective("all_to_all", rows, group, asked=asked)
    return cast(_OVER[op](swapped, axis=0), x.dtype)


@explain_errors
def all_to_all(x: TensorLike, split_axis: int = 0, concat_axis: int = 0,
               group: Group | None = None) -> Tensor:
    """Send a part of the tensor to each process, and join the parts that arrive.

    :like: reduce_scatter
    :param split_axis: The axis that is cut in equal parts, one for each process in the order of
        ranks.
    :param concat_axis: The axis along which parts from all processes are joined, in the order of
        ranks.
    :returns: With as many elements as ``x``.
    :raises TypeError: If an axis is no integer.
    :raises ShapeError: If an axis is out of range, or cannot be cut in equal parts.
    :see: distributed.all_gather, distributed.reduce_scatter

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> dist.all_to_all(ag.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    x, group = as_tensor(x), world(group)
    along = _axis(x, concat_axis)
    asked = f"all_to_all[joined at axis {along}]" if along else ""
    rows = collective("all_to_all", _split(x, split_axis, group.size, "all_to_all"), group,
                      asked=asked)
    shape = [*rows.shape[1:]]
    shape[along] = shape[along] * group.size
    return reshape(moveaxis(rows, 0, along) if along else rows, tuple(shape))


@explain_errors
def broadcast(x: TensorLike, root: int = 0, group: Group | None = None) -> Tensor:
    """Send the tensor of process ``root`` to all processes.

    :param x: Of the same shape and dtype in all processes; only the values of ``root`` count.
    :param root: Whose.
    :returns: The same in all processes.  Its gradient goes to the one that gave it.
    :raises ValueError: If ``root`` is none of the ranks.
    :raises CollectiveError: If processes do not agree, or one is missing.
    :see: distributed.all_gather, distributed.same_state

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> dist.broadcast(ag.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    x = as_tensor(x)
    if passes(group, "broadcast"):
        return x.clone()
    group = world(group)
    return collective("broadcast", x, group, "", _place(root, group.size, "root"),
                      f"broadcast[from {root}]")


@explain_errors
def send(x: TensorLike, to: int, group: Group | None = None) -> Tensor:
    """Send a tensor to one process, which receives it with :func:`recv`.

    :param x: What is sent.
    :param to: The rank of the receiver.
    :param group: Whose ranks; all processes by default.
    :returns: Equal to ``x``.  Its gradient brings that of the receiver along, so a loss has to
        follow from it, as ``0 * y.sum()`` where there is no other.
    :raises ValueError: If that is no other process.
    :raises CollectiveError: If the receiver is missing.
    :see: distributed.recv, distributed.all_to_all

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> if dist.world_size() > 1:
    ...     dist.send(ag.ones(3), to=1) if dist.rank() == 0 else dist.recv(ag.zeros(3), source=0)
    """
    x, group = as_tensor(x), world(group)
    if _place(to, group.size, "to") == group.rank:
        raise ValueError(f"to: process {to} cannot send to itself")
    return collective("send", x, group, "", to)


@explain_errors
def recv(like: TensorLike, source: int, group: Group | None = None) -> Tensor:
    """Receive a tensor that one process sends with :func:`send`.

    :param like: Of the same type; if it requires a gradient, that of the result is sent back.
    :param source: The rank of the sender.
    :param group: Whose ranks; all processes by default.
    :returns: What was sent.
    :raises ValueError: If that is no other process.
    :raises CollectiveError: If something else was sent, or the sender is missing.
    :see: distributed.send
    """
    x, group = as_tensor(like), world(group)
    if _place(source, group.size, "source") == group.rank:
        raise ValueError(f"source: process {source} cannot receive from itself")
    return collective("recv", x, group, "", source)


@explain_errors
def barrier(group: Group | None = None) -> None:
    """Wait until all processes are here, in compiled code too.

    :raises CollectiveError: If one is missing, or elsewhere.
    :see: distributed.all_reduce, distributed.same_state

    >>> from agnesi import distributed as dist
    >>> dist.barrier()
    """
    if not passes(group, "barrier"):
        collective("barrier", zeros((), dtype="int8"), world(group))
