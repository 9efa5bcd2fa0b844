"""Inputs of ``ag.function``: how the arguments of a call are matched, by position and by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.compiler.binding.arraylikes import plain
from agnesi.compiler.shared import Shared, shared
from agnesi.compiler.specialization.data_dependent_sizes import sizes_in
from agnesi.core.ir.dims import Dim, leaves
from agnesi.core.ir.node import Node, toposort
from agnesi.core.keywords import strict_class
from agnesi.core.support.errors import (
    DTypeError,
    MissingKeyError,
    RankError,
    ShapeError,
    UnusedInputError,
    at,
    typed,
    warn,
)
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import ValueDim
from agnesi.ops.base.literals import literal


@strict_class
class In:
    """An input of a function: its default value, the update of that value, and whether the caller's
    array may be overwritten or viewed.

    :param variable: The input.
    :param value: The default value. A shared variable is read at each call.
    :type value: array_like or Shared, optional
    :param name: Name for keyword arguments; the variable's name by default.
    :param update: New default value after each call, an expression of the inputs. A call that
        passes a value sets the default to it first.
    :type update: Tensor, optional
    :param mutable: The function may overwrite the caller's array, and return results in its memory.
    :param borrow: Results that are slices, transposes or reshapes of the input are views of the
        caller's array, which take the same time for any size.
    :raises TypeError: If the variable is no tensor.
    :raises ValueError: If there is an update but no value, or a value of an input that is borrowed.
    :see: function, shared

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x, total = T.scalars("x", "total")
    >>> add = ag.function([x, ag.In(total, value=0.0, update=total + x)], total + x)
    >>> add(1.0), add(2.0), add["total"]
    (array(1.), array(3.), array(3.))
    """

    def __init__(self, variable: Tensor, value: object = None, *,
                 name: str | None = None, update: Tensor | None = None, mutable: bool = False,
                 borrow: bool = False) -> None:
        if not isinstance(variable, Tensor):
            raise TypeError(at(f"an input must be a Tensor, not {typed(variable)}"))
        if update is not None and value is None:
            raise ValueError(at(f"In: {typed(variable)} has an update, but no value that begins"))
        if borrow and value is not None:
            raise ValueError(at(f"In: {typed(variable)} is borrowed from the caller, so it takes "
                                "no value"))
        self.variable = variable
        self.value = value
        self.name = variable.name if name is None else name
        self.update = update
        self.mutable = mutable
        self.borrow = borrow

    def __repr__(self) -> str:
        return f"In({typed(self.variable)})"


class Inputs:
    """All inputs of a function, including those with defaults that the function remembers.

    :ivar compiled: The inputs that are passed to compiled code.
    :ivar states: By position, the shared variables that stand for inputs with an update.
    """

    def __init__(self, declared: Sequence[In]) -> None:
        self.names = [i.name for i in declared]
        self.variables = [i.variable for i in declared]
        self.types = [(i.variable.dtype, i.variable.ndim) for i in declared]
        self._mutable = {k for k, i in enumerate(declared) if i.mutable}
        self.states: dict[int, Shared] = {}
        self.defaults: dict[int, Any] = {}
        for k, i in enumerate(declared):
            if i.value is None:
                continue
            if isinstance(i.value, Shared):
                held: Any = i.value
            else:
                value = self.checked(k, i.value, "function")
                held = value.copy() if i.update is None else shared(value, i.name)
            (self.defaults if i.update is None else self.states)[k] = held
        #: Of those that compiled code gets, the positions among all.
        self.positions = [k for k in range(len(declared)) if k not in self.states]
        self.compiled = [declared[k] for k in self.positions]

    @property
    def in_order(self) -> bool:
        """Whether the positional arguments, if there are no more than compiled code takes, are its
        arguments in order.
        """
        return not self.states or min(self.states) == len(self.compiled)

    def label(self, k: int) -> str:
        """The name of an input for messages."""
        return self.names[k] or f"number {k}"

    def ordered(self, owner: str, args: Sequence[Any], keywords: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call in the order of compiled code; passed values of remembered
        inputs are stored.

        :raises TypeError: If there are too many values, two for one input, or one is missing.
        """
        count = len(self.names)
        if len(args) == count and not keywords and not self.states:
            return list(args)
        if len(args) > count or (not keywords and not self.states and not self.defaults
                                 and len(args) < count):
            names = ", ".join(map(self.label, range(count)))
            raise TypeError(at(f"{owner} takes {count} argument{'s' * (count != 1)}"
                               f"{names and f' ({names})'}, but {len(args)} came"))
        values = {**dict(enumerate(args)), **self._named(owner, len(args), keywords)}
        missing = [self.label(k) for k in range(count)
                   if k not in values and k not in self.states and k not in self.defaults]
        if missing:
            raise TypeError(at(f"{owner} needs a value for {', '.join(missing)}"))
        for k, state in self.states.items():
            if k in values:
                state.set_value(self.checked(k, values[k], owner))
        return [values[k] if k in values else self._default(k)
                for k in range(count) if k not in self.states]

    def _default(self, k: int) -> Any:
        value = self.defaults[k]
        array = value.get_value(borrow=True) if isinstance(value, Shared) else value
        return array.copy() if k in self._mutable else array  # the next call begins with it, too

    def _named(self, owner: str, positional: int, keywords: dict[str, Any]) -> dict[int, Any]:
        """Values by index of what is given by name."""
        found: dict[int, Any] = {}
        for name, value in keywords.items():
            positions = [k for k, n in enumerate(self.names) if n == name]
            free = [k for k in positions if k >= positional]
            if len(free) > 1:
                raise TypeError(at(
                    f"{owner} has {len(positions)} inputs of the name {name!r}: give values by "
                    "position, or other names with ag.In(x, name=...)"))
            if not free:
                known = ", ".join(str(n) for n in self.names)
                twice = ", for it was given by position" if positions else ""
                raise TypeError(at(f"{owner} has no free input {name!r}{twice}; inputs: {known}"))
            found[free[0]] = value
        return found

    def checked(self, k: int, value: Any, owner: str) -> np.ndarray:
        """A value as an array of the input's dtype and number of axes.

        :raises TypeError: If it is of another dtype (DTypeError) or number of axes (RankError).
        """
        dtype, ndim = self.types[k]
        what = f"input {self.label(k)} of {owner}"
        array = value.array if isinstance(value, Tensor) else value
        if type(array) is not np.ndarray:
            array = plain(_written(array, dtype, what), what)
        given = array
        if array.dtype != dtype:
            if array.dtype.kind in "OUS":
                raise TypeError(at(f"{what} takes numbers, not {typed(value)}"))
            if not np.can_cast(array.dtype, dtype, "safe"):
                raise DTypeError(at(
                    f"{what} is declared {dtype}; {array.dtype} values would lose precision: "
                    f"convert them with .astype({str(dtype)!r}), or declare the input "
                    f"{array.dtype}"))
            array = array.astype(dtype)
        if array.ndim != ndim:
            raise RankError(at(f"{what} is {ndim}-dimensional; {typed(given)} does not fit"))
        found: np.ndarray = array
        return found

    def index_of(self, key: Any) -> int:
        """The index of an input with a value, by number, name or variable.

        :raises KeyError: If there is none.
        """
        for k, (name, variable) in enumerate(zip(self.names, self.variables, strict=True)):
            if key is variable or (not isinstance(key, Tensor) and key in (k, name)):
                if k in self.states or k in self.defaults:
                    return k
                raise MissingKeyError(at(f"input {self.label(k)} has no value between calls; "
                                         "declare it with ag.In(x, value=...)"))
        shown = key if isinstance(key, (str, int)) else typed(key)
        known = ", ".join(map(str, self.names))
        raise MissingKeyError(at(f"there is no input {shown!r}; inputs: {known}"))

    def value(self, key: Any) -> np.ndarray:
        """The value that an input has where a call gives none."""
        k = self.index_of(key)
        held = self.states.get(k, self.defaults.get(k))
        return held.get_value() if isinstance(held, Shared) else np.array(held)

    def set_value(self, key: Any, value: Any, owner: str) -> None:
        """Set the value that an input has where a call passes none."""
        k = self.index_of(key)
        array = self.checked(k, value, owner)
        held = self.states.get(k, self.defaults.get(k))
        if isinstance(held, Shared):
            held.set_value(array)
        else:
            self.defaults[k] = array.copy()


def _written(value: Any, dtype: np.dtype, what: str) -> Any:
    """A Python number or list in the input's dtype, which must hold it."""
    try:
        return literal(value, dtype)
    except (DTypeError, ShapeError) as error:
        raise type(error)(at(f"{what}: {error}")) from None


def check_used(inputs: Sequence[tuple[str, Node]], outputs: Sequence[Node], policy: str) -> None:
    """Apply ``on_unused_input`` to inputs that no output, update or size depends on.

    :raises UnusedInputError: If the policy is "raise".
    """
    if policy not in ("raise", "warn", "ignore"):
        raise ValueError(at("function: on_unused_input must be 'raise', 'warn' or 'ignore', not "
                            f"{policy!r}"))
    if policy == "ignore":
        return
    there, used = _used(outputs)
    unused = [label for label, node in inputs if node not in there
              and not any(d in used for n in node.shape for d in leaves(n))]
    if not unused:
        return
    text = (f"nothing depends on input{'s' * (len(unused) > 1)} {', '.join(unused)}: leave it out, "
            "or write on_unused_input='ignore'")
    if policy == "raise":
        error = UnusedInputError(at(f"function: {text}"))
        error.nodes = tuple([node for _, node in inputs if node not in there])
        raise error
    warn(f"function: {text}", UserWarning)


def _used(outputs: Sequence[Node]) -> tuple[set[Node], set[Dim]]:
    """Nodes on which outputs depend, and data-dependent sizes."""
    there: set[Node] = set()
    used: set[Dim] = set()
    waiting = list(outputs)
    while waiting:
        there.update(toposort(waiting))
        new = {d for n in sizes_in(waiting) for d in leaves(n)} - used
        used |= new
        waiting = [d.node for d in new if isinstance(d, ValueDim)]
    return there, used
