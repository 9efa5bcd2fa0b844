"""Shared variables: symbolic tensors with a value that lasts from call to call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from agnesi.core.dispatch import graph_node, touch
from agnesi.core.ir.dims import Dim, declare, here
from agnesi.core.ir.node import Node, toposort
from agnesi.core.keywords import strict_class
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.programs import in_program
from agnesi.core.public import higher
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import DTypeError, RankError, ShapeError, at, user_where
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_array, as_tensor, cast, check_unmasked
from agnesi.ops.base.literals import literal, stored


class _Advancing:
    """The handle of a shared variable, with the default update of functions that use it."""

    __slots__ = ("storage", "update", "variable")

    def __init__(self, variable: Shared, update: Tensor | None) -> None:
        self.variable = variable
        self.storage = variable.storage
        self.update = update

    def __call__(self) -> Tensor:
        return self.storage


class SharedDim(Dim):
    """A size of a shared variable, also where only the size is used."""

    __slots__ = ("axis", "storage")

    def __init__(self, storage: Tensor, axis: int, name: str | None = None) -> None:
        super().__init__(name)
        self.storage = storage
        self.axis = axis

    def __reduce__(self) -> Any:
        name = self.args[0]
        return _size, (self.storage, self.axis, name if "." in name else f"{name}.{here()}")

    @property
    def now(self) -> int:
        """The present size."""
        return self.storage.shape[self.axis]

    def of(self, swap: Mapping[int, Tensor]) -> SharedDim:
        """This size, of the variable with which ``swap`` replaces the present one, by its id."""
        storage = swap.get(id(self.storage))
        return self if storage is None else SharedDim(storage, self.axis, self.args[0])


def _size(storage: Tensor, axis: int, name: str) -> SharedDim:
    return SharedDim(storage, axis, name.removesuffix(f".{here()}"))


@strict_class
class Shared(Tensor):
    """A symbolic variable with a value of its own; make one with :func:`agnesi.shared`.

    Every compiled function that depends on it takes its value as an implicit input, and may
    replace it through ``updates``.
    """

    __slots__ = ("storage",)

    storage: Tensor

    def __reduce__(self) -> Any:
        return variable_of, (self.storage, self.node, self._name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared:
        return variable_of(deepcopy(self.storage, memo), deepcopy(self.node, memo), self._name)

    @property
    def default_update(self) -> Tensor | None:
        """The new value in every function that uses the variable, unless ``updates`` has one."""
        return getattr(self.node.handle, "update", None)  # type: ignore[union-attr]

    @default_update.setter
    def default_update(self, update: Tensor | None) -> None:
        self.node.handle = _Advancing(self, update)  # type: ignore[union-attr]

    def get_value(self, borrow: bool = False) -> np.ndarray:
        """The present value: a copy, or with ``borrow=True`` the memory itself.

        :param borrow: Whether to give the memory itself.
        :returns: Of the variable's dtype.
        """
        data: Any = self.storage.array
        return data if borrow else data.copy()

    def _as_held(self) -> str:
        """Its name, or what it holds now, for an error."""
        return self.name or typed(self.storage)

    def set_value(self, value: TensorLike, borrow: bool = False) -> None:
        """Replace the value by one of the same dtype and number of axes; sizes may change.

        :param value: The new value.
        :type value: array_like
        :param borrow: Whether to use the array's memory instead of a copy.
        :raises DTypeError, ShapeError: If dtype or number of axes differ from the variable's.
        """
        try:
            check_unmasked(value)
            value = literal(value, self.dtype)
        except DTypeError as error:
            raise DTypeError(at(f"the shared variable {self.name or ''}: {error}")) from None
        array = value.array if isinstance(value, Tensor) else np.asarray(value)
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                at(
                    f"the shared variable {self._as_held()} holds {self.dtype}; a value "
                    f"of dtype {array.dtype} does not fit: convert it first"
                )
            )
        if array.ndim != self.ndim:
            raise RankError(
                at(
                    f"the shared variable {self._as_held()} has {self.ndim} axes; a value "
                    f"of shape {array.shape} does not fit: its number of axes cannot change"
                )
            )
        if any(isinstance(n, int) and n != m for n, m in zip(self.shape, array.shape, strict=True)):
            raise ShapeError(at(f"the shared variable {self._as_held()} has fixed sizes; "
                                f"a value of shape {array.shape} does not fit"))
        new = np.array(array, self.dtype, order="C", copy=None if borrow else True)
        if new.shape == self.storage.shape and self.storage.array.flags.writeable:
            np.copyto(self.storage.array, new)
        else:
            self.storage.array = new
        touch(self.storage)


@higher
def shared(value: TensorLike, name: str | None = None, *, borrow: bool = False) -> Shared:
    """A shared variable: a symbolic tensor whose value lasts between calls of functions.

    :param value: First value; its dtype and number of axes are the variable's for good.
    :param name: Name for printing.
    :param borrow: Use the array's own memory instead of a copy.
    :returns: With ``get_value()`` and ``set_value()``.
    :raises TypeError: If the value is symbolic.
    :see: function, symbolic.variable

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> total = ag.shared(0.0)
    >>> x = T.scalar("x")
    >>> add = ag.function([x], total, updates={total: total + x})
    >>> add(2.0), add(3.0), total.get_value()
    (array(0.), array(2.), array(5.))
    """
    if isinstance(value, Tensor) and value.array is None:
        raise TypeError(f"the value must be known, and {typed(value)} is symbolic: give what it is "
                        "at first, as in shared(np.zeros(3)), and its changes as updates")
    with in_program():
        array = value.array if isinstance(value, Tensor) else as_array(value)
    storage = wrap(np.array(array, order="C", copy=None if borrow else True))
    storage.name = name
    return variable_over(storage, (None,) * array.ndim, is_inexact(array.dtype))


def variable_over(storage: Tensor, sizes: Sequence[int | None], flows: bool) -> Shared:
    """A shared variable over memory; a size that is None may become another one."""
    shape = tuple(SharedDim(storage, axis) if n is None else n for axis, n in enumerate(sizes))
    node = Node(None, (), shape, storage.dtype, requires_grad=flows, where=user_where(),
                handle=lambda: storage, name=storage.name)
    declare(shape, node)
    node.serial = 0  # it was there before the body of a loop in which it is made, and lasts
    found: Shared = variable_of(storage, node, storage.name)
    return found


def is_shared(leaf: Node) -> bool:
    """Return whether a leaf of a graph is a shared variable."""
    return leaf.op is None and leaf.serial == 0


def variable_of(storage: Tensor, node: Any, name: str | None, kind: Any = None) -> Any:
    """A shared variable whose value ``storage`` holds."""
    t = Tensor.__new__(Shared if kind is None else kind)
    t.storage, t.node = storage, node
    t.array = None
    t._requires_grad = node.requires_grad
    t._grad = t._view = t._version = None
    t._name = name
    return t


def with_default_updates(outputs: Sequence[Any], updates: dict[Any, Tensor],
                         given: Iterable[Node], without: bool | Sequence[Shared]) -> None:
    """Add the default updates of the variables that outputs and updates depend on.

    Graphs are not followed beyond the nodes that are ``given``.
    """
    if without is True:
        return
    for t in without or ():
        if not isinstance(t, Shared):
            raise TypeError(f"no_default_updates holds shared variables, not {typed(t)}")
    stop = set(given)
    known = {id(t.storage if isinstance(t, Shared) else t) for t in updates}
    known |= {id(t.storage) for t in without or ()}
    ends = [graph_node(as_tensor(t)) for t in (*outputs, *updates.values())]
    while ends:
        leaves = [n for n in toposort(ends, stop.__contains__) if n.op is None and n not in stop]
        moving = [n.handle for n in leaves if isinstance(n.handle, _Advancing)]
        new = {h.storage: h.update for h in moving
               if h.update is not None and id(h.storage) not in known}
        known |= set(map(id, new))
        updates.update(new)
        ends = [graph_node(t) for t in new.values()]


def storage_of(t: Any) -> Tensor:
    """Return the object that holds the value of a shared variable, or of a tensor."""
    if isinstance(t, Shared):
        return t.storage
    if isinstance(t, Tensor) and t.array is not None:
        return t
    raise TypeError(
        at(
            "only shared variables and tensors with a value hold state, which updates= and swap= "
            f"change, not {getattr(t, 'name', None) or 'a variable'}, {typed(t)}; make it with "
            "ag.shared(value)"
        )
    )


def fitting(target: Any, value: Any) -> Tensor:
    """The new value of state, at its type."""
    storage_of(target)
    try:
        value = stored(value, target.dtype)
    except DTypeError as error:
        raise DTypeError(at(f"the update of {_name_of(target).rstrip(',')}: {error}")) from None
    if value.ndim != target.ndim:
        raise ShapeError(
            at(f"the update of {_name_of(target)} is {typed(value)}: the number of axes must agree")
        )
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        raise DTypeError(
            at(f"the update of {_name_of(target)} is {typed(value)}: convert it with .astype()")
        )
    return cast(value, target.dtype)


def _name_of(target: Any) -> str:
    """A shared variable by its name, if it has one, and type."""
    name, held = getattr(target, "name", None), getattr(target, "storage", target)
    return f"{name!r}, {typed(held)}," if name else typed(held)


def each_once(updates: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Updates as a mapping from variables, each of which has one new value only.

    :raises ValueError: If there are two new values for one tensor.
    """
    if isinstance(updates, Tensor):
        raise TypeError(at("function: updates must be a dict, or pairs (variable, new value), not "
                           f"{typed(updates)}"))
    pairs = list(updates.items() if isinstance(updates, Mapping) else updates)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(at("function: updates must be a dict, or pairs (variable, new value), "
                               f"not {typed(updates)}"))
    for n, (target, _) in enumerate(pairs):
        if any(target is other for other, _ in pairs[:n]):
            raise ValueError(at(f"function: updates give {typed(target)} two new values; give one"))
    return dict(pairs)
