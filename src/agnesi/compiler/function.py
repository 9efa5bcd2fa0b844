"""``ag.function``: a compiled function from declared (or recorded) tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.compiled import Compiled, Settings
from agnesi.compiler.direct import Direct
from agnesi.compiler.report import Inspectable
from agnesi.compiler.shared import Shared
from agnesi.compiler.valued import value_dims
from agnesi.compiler.varying import Growing, Pattern, check, leading, shape_with, told
from agnesi.core.dispatch import graph_node
from agnesi.core.errors import DTypeError, ShapeError, at
from agnesi.core.graph import FunctionGraph
from agnesi.core.op import typed
from agnesi.core.tensor import Tensor
from agnesi.ops.convert import as_tensor, cast


class In:
    """An input of a function, with what may be done to it.

    Parameters
    ----------
    variable : Tensor
        The input.
    mutable : bool
        The function may overwrite the caller's array, and return results in its memory.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> double = ag.function([ag.In(x, mutable=True)], x + x)
    """

    def __init__(self, variable: Tensor, *, mutable: bool = False) -> None:
        self.variable = variable
        self.mutable = mutable


class Function(Direct, Inspectable):
    """A compiled function of arrays; made by :func:`agnesi.function`.

    Calling it with arrays (positional, or by the inputs' names) returns NumPy arrays.  Machine
    code is made at the first call with new sizes.
    """

    def __init__(self, inputs: Sequence[In], outputs: Any, updates: Mapping[Tensor, Tensor],
                 givens: Mapping[Tensor, Tensor], name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._single = isinstance(outputs, Tensor)
        self._keys = list(outputs) if isinstance(outputs, dict) else None
        results = [outputs] if self._single else list(
            outputs.values() if isinstance(outputs, dict) else outputs or ()
        )
        self._names = [i.variable.name for i in inputs]
        self._mutable = [i.mutable for i in inputs]
        self._types = [(i.variable.dtype, i.variable.ndim) for i in inputs]
        targets = [_storage(t) for t in updates]
        nodes = [graph_node(as_tensor(t)) for t in (*results, *updates.values())]
        self.source = FunctionGraph(
            [graph_node(i.variable) for i in inputs], nodes,
            {graph_node(a): graph_node(b) for a, b in givens.items()},
        )
        self._counts = value_dims([graph_node(i.variable) for i in inputs], nodes)
        self._returned = len(results)
        self._updates = [(t, self._returned + i) for i, t in enumerate(targets)]
        self._made: dict[Any, Compiled] = {}
        self._growing: dict[Any, Growing[Compiled]] = {}
        self.call_directly(self.dispatch)

    def _ordered(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        values = dict(zip(self._names, args, strict=False))
        rest = self._names[len(args):]
        for name, value in keywords.items():
            if name not in rest:
                known = ", ".join(str(n) for n in self._names)
                raise TypeError(at(f"{self.name} has no free input {name!r}; inputs: {known}"))
            values[name] = value
        missing = [str(n) for n in rest if n not in keywords]
        if missing:
            raise TypeError(at(f"{self.name} needs a value for {', '.join(missing)}"))
        return [*args, *(keywords[n] for n in rest)]  # type: ignore[index]

    def dispatch(self, *args: Any, **keywords: Any) -> Any:
        """Check the arguments, find or make the code for their sizes, run it."""
        if keywords:
            return self.dispatch(*self._ordered(args, keywords))
        if len(args) != len(self._types):
            raise TypeError(
                at(f"{self.name} takes {len(self._types)} arguments, but {len(args)} were given")
            )
        arrays = [self._checked(i, a) for i, a in enumerate(args)]
        key = (
            tuple(a.shape for a in arrays),
            tuple(t.shape for t in self._live()),
            tuple(int(arrays[i]) for _, i in self._counts),
        )
        found = self._made.get(key) or self._grown(key, arrays)
        if found is None:
            found = self._made[key] = self._compile(arrays, leading(arrays))
            self._growing[_rest(key)].learn(leading(arrays))
        else:
            found.follow()
        if self._keys is not None:
            return dict(zip(self._keys, found.run(*arrays), strict=True))
        if found.direct is not None and not self._counts:
            self.call_directly(found.direct)
        return found.run(*arrays)

    def _live(self) -> list[Tensor]:
        return [n.handle() for n in self.source.live]  # type: ignore[misc]

    def _checked(self, i: int, value: Any) -> np.ndarray:
        dtype, ndim = self._types[i]
        label = self._names[i] or f"number {i}"
        array = value.data if isinstance(value, Tensor) else value
        if not isinstance(array, np.ndarray):
            array = np.asarray(array)
            python = isinstance(value, (float, list, tuple))
            if array.dtype != dtype and python and np.can_cast(array.dtype, dtype, "same_kind"):
                array = array.astype(dtype)
        if array.dtype != dtype:
            if not np.can_cast(array.dtype, dtype, "safe"):
                raise DTypeError(
                    at(
                        f"input {label} of {self.name} is declared {dtype}; {array.dtype} values "
                        f"would lose precision: convert them with .astype({str(dtype)!r}), or "
                        f"declare the input {array.dtype}"
                    )
                )
            array = array.astype(dtype)
        if array.ndim != ndim:
            raise ShapeError(
                at(
                    f"input {label} of {self.name} has {ndim} axes; an array of shape "
                    f"{array.shape} does not fit"
                )
            )
        if any(np.may_share_memory(array, t.data) for t, _ in self._updates):
            return array.copy()
        return np.require(array, requirements=["C", "A", "W"] if self._mutable[i] else ["C", "A"])

    def _grown(self, key: Any, arrays: Sequence[np.ndarray]) -> Compiled | None:
        """The code in which leading sizes are run-time values, if there can be any."""
        growing = self._growing.setdefault(_rest(key), Growing())
        sizes = leading(arrays)
        found = growing.find(sizes, lambda _: True)
        if found is not None:
            return found
        grown = growing.grow(sizes, lambda pattern: self._compile(arrays, pattern))
        return None if grown is None else grown[1]

    def _compile(self, arrays: Sequence[np.ndarray], sizes: Pattern) -> Compiled:
        from agnesi.runtime.entry import Arg

        types = [(a.dtype.name, shape_with(a, n)) for a, n in zip(arrays, sizes, strict=True)]
        shapes = {n: shape for n, (_, shape) in zip(self.source.inputs, types, strict=True)}
        graph = self.source.specialise(shapes, {d: int(arrays[i]) for d, i in self._counts})
        if graph.extents:
            check(graph)
        made = Compiled(
            [Arg("array", *t) for t in types], graph, self._returned, self._updates,
            result="none" if not self._returned else "single" if self._single else "tuple",
            wrap=[False] * self._returned, settings=self.settings, name=self.name,
            donated=[i for i, mutable in enumerate(self._mutable) if mutable],
            slow=self.dispatch,
        )
        cause = f"the shapes were new; {told(sizes)}" if graph.extents else ""
        self._note(made, ", ".join(f"{dtype}{list(shape)}" for dtype, shape in types), cause)
        return made


def _rest(key: Any) -> Any:
    """A key without leading sizes."""
    shapes, *others = key
    return tuple((len(s), s[1:]) for s in shapes), *others


def _storage(t: Any) -> Tensor:
    if isinstance(t, Shared):
        return t.storage
    if isinstance(t, Tensor) and t.data is not None:
        return t
    raise TypeError(
        at(
            f"only shared variables and tensors with a value can be updated, not {typed(t)}; "
            "make it with ag.shared(value)"
        )
    )


def function(
    inputs: Sequence[Tensor | In] | Tensor,
    outputs: Any = None,
    *,
    updates: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    givens: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    name: str = "function",
    optimizer: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Function:
    """Compile a function from tensors that say what it computes.

    Parameters
    ----------
    inputs : sequence of Tensor or In
        What the caller gives.  Any tensor of the graph can be an input, intermediate ones too.
    outputs : Tensor, sequence or dict of Tensor, optional
        What the function returns: one array, a tuple of arrays, or a dict of arrays.
    updates : mapping or pairs, optional
        New values of shared variables (or of tensors with a value), computed from the old values
        and assigned after the outputs.
    givens : mapping or pairs, optional
        Replacements made in the graph first.
    name : str
        Name in messages and reports.
    optimizer : {"fast_run", "fast_compile", "None"}, optional
        Rewrite preset; ``config.optimizer`` by default.
    include, exclude : sequence of str
        Rewrite rules, by name or tag, to switch on or off.

    Returns
    -------
    Function

    Raises
    ------
    MissingInputError
        If the outputs depend on a variable that is neither an input nor has a value.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> a, b = T.vector("a"), T.vector("b")
    >>> f = ag.function([a, b], a * b + 1)
    >>> f([1.0, 2.0], [3.0, 4.0])
    array([4., 9.])
    >>> f(b=[1.0], a=[5.0])
    array([6.])
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    wanted = [i if isinstance(i, In) else In(i) for i in given]
    for i in wanted:
        if not isinstance(i.variable, Tensor):
            raise TypeError(at(f"an input must be a Tensor, not {typed(i.variable)}"))
    new = dict(updates or {})
    for target, value in new.items():
        new[target] = _fitting(target, value)
    settings = Settings(optimizer, tuple(include), tuple(exclude))
    return Function(wanted, outputs, new, dict(givens or {}), name, settings)


def _fitting(target: Any, value: Any) -> Tensor:
    _storage(target)
    value = as_tensor(value)
    if value.ndim != target.ndim:
        raise ShapeError(
            at(f"the update of {typed(target)} is {typed(value)}: the number of axes must agree")
        )
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        raise DTypeError(
            at(f"the update of {typed(target)} is {typed(value)}: convert it with .astype()")
        )
    return cast(value, target.dtype)
