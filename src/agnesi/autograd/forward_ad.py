"""Dual numbers: tangents that follow values through operations, by PyTorch's names.

Operations on dual numbers are recorded as those on tensors that require gradients are; where a
tangent is requested, what was recorded is followed forward, as :func:`agnesi.jvp` does.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import NamedTuple, Self

from agnesi.autodiff.forward import push, tangent_for
from agnesi.autodiff.recording import alias, detach
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strict
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.config import STATE
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import GradientError, at
from agnesi.core.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent.

    :param primal: The value.
    :type primal: Tensor
    :param tangent: Of its shape; None of what depends on no dual number.
    :type tangent: Tensor, optional
    :see: autograd.forward_ad.unpack_dual

    >>> with ag.autograd.forward_ad.dual_level():
    ...     ag.autograd.forward_ad.unpack_dual(ag.ones(2)).tangent is None
    True
    """

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """The dual numbers of one level: their tangents, and whether a value requires a gradient."""

    def __init__(self) -> None:
        self.tangents: dict[Node, Tensor] = {}
        self.made: list[Tensor] = []  # whose nodes are those above
        self.differentiated = False


#: The level that is entered in this thread or task.
_ENTERED: ContextVar[_Level | None] = ContextVar("_ENTERED", default=None)


def _level() -> _Level:
    level = _ENTERED.get()
    if level is None:
        raise GradientError(at("dual numbers exist inside of `with dual_level():` only"))
    if not STATE.recording:
        raise GradientError(at("dual numbers are followed through what is recorded, and nothing is "
                               "under no_grad: leave it where they are computed with"))
    return level


@strict
def enter_dual_level() -> int:
    """Begin a level, in which dual numbers may be made; a thread or task has one at a time.

    :returns: Its number, 0.
    :raises GradientError: If there is one.
    :see: autograd.forward_ad.dual_level, autograd.forward_ad.exit_dual_level

    >>> import agnesi as ag
    >>> import agnesi.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():  # which enters a level, and exits it
    ...     dual = fwAD.make_dual(ag.ones(1), ag.ones(1))
    """
    if _ENTERED.get() is not None:
        raise GradientError(at("a level of dual numbers is entered already; derivatives of "
                               "derivatives are those of ag.jvp of a function that calls it"))
    _ENTERED.set(_Level())
    return 0


@strict
def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: what was made in it has no tangents any more.

    :param level: The number of the only one.
    :raises GradientError: If there is none.
    :see: autograd.forward_ad.enter_dual_level

    >>> import agnesi as ag
    >>> import agnesi.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():  # which enters a level, and exits it
    ...     dual = fwAD.make_dual(ag.ones(1), ag.ones(1))
    """
    if _ENTERED.get() is None:
        raise GradientError(at("no level of dual numbers is entered"))
    _ENTERED.set(None)


class dual_level:  # noqa: N801 - PyTorch's name
    """The block in which dual numbers are made and read.

    :see: make_dual, unpack_dual, jvp

    >>> import agnesi as ag
    >>> import agnesi.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(ag.tensor([1.0, 2.0]), ag.tensor([1.0, 0.5]))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor([2., 2.])
    """

    def __enter__(self) -> Self:
        enter_dual_level()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        exit_dual_level()


@strict
def make_dual(tensor: Tensor, tangent: TensorLike, *, level: int | None = None) -> Tensor:
    """A dual number: a tensor of the same value, whose tangent follows it.

    :param tensor: Of floats or complex numbers.
    :param tangent: Of its shape.
    :param level: The number of the only one.
    :returns: It takes the tensor's place in what is computed.
    :raises GradientError: If no level is entered, nothing is recorded, or the shapes differ.
    :raises TypeError: If it is no tensor of floats or complex numbers.
    :see: unpack_dual

    >>> import agnesi as ag
    >>> import agnesi.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(ag.tensor(2.0), ag.tensor(1.0)) ** 3
    ...     fwAD.unpack_dual(y).tangent
    tensor(12.)
    """
    here = _level()
    if not isinstance(tensor, Tensor) or not is_inexact(tensor.dtype):
        raise TypeError(at(f"make_dual: {typed(tensor)} is no tensor of floats or complex numbers"))
    given = tangent_for(tensor, tangent, "make_dual")
    here.differentiated |= tensor.requires_grad or given.requires_grad
    dual = alias(tensor)
    here.tangents[current(dual)] = given
    here.made.append(dual)
    return dual


@strict
def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual number, and its tangent.

    :param tensor: A dual number, or anything else, whose tangent is None.
    :param level: The number of the only one.
    :returns: A named tuple: ``primal`` and ``tangent``.
    :raises GradientError: If no level is entered, or nothing is recorded.
    :see: make_dual

    >>> import agnesi as ag
    >>> import agnesi.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.unpack_dual(ag.tensor(2.0))
    UnpackedDualTensor(primal=tensor(2.), tangent=None)
    """
    here = _level()
    if not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    node = current(tensor)
    found = push([node], here.tangents).get(node)
    if here.differentiated:
        return UnpackedDualTensor(tensor, found)
    return UnpackedDualTensor(detach(tensor), None if found is None else detach(found))


_strictly(__name__)
