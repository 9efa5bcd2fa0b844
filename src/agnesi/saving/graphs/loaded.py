"""The contents of a graph file: variables and expressions, to be extended and compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agnesi.compiler.declaration import function
from agnesi.compiler.shared import Shared
from agnesi.core.op import typed
from agnesi.core.support.errors import MissingKeyError, at
from agnesi.core.tensor import Tensor


class Graph:
    """A graph that was loaded: symbolic variables and what is computed from them.

    All of it are ordinary tensors: more can be computed from them, they can be differentiated, and
    compiled with :func:`agnesi.function`.  Made by :func:`agnesi.load`.

    :param inputs: Declared variables, in the order of ``save``.
    :param outputs: As they were saved.
    :type outputs: Tensor, list, tuple or dict of Tensor
    :param parameters: Weights and shared variables by name: shared variables where the file has
        their values, or ``load`` was given them, else variables to be given like inputs.
    :type parameters: dict of Tensor
    :param updates: New values of shared variables, for ``updates`` of ``function``.
    :type updates: dict
    :see: load, save, function

    >>> import agnesi as ag, os, tempfile
    >>> from agnesi import symbolic as T
    >>> path = os.path.join(tempfile.mkdtemp(), "d.agnesi")
    >>> a, b = T.vectors("a", "b")
    >>> ag.save(a * b, path)
    >>> d = ag.load(path)
    >>> f = ag.function(d.inputs, d.outputs + 1)
    >>> f([1.0, 2.0], [3.0, 4.0])
    array([4., 9.])
    """

    def __init__(self, inputs: tuple[Tensor, ...],
                 outputs: Tensor | Sequence[Any] | Mapping[Any, Any], parameters: dict[str, Tensor],
                 updates: dict[Shared, Tensor]) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.parameters, self.updates = parameters, updates

    def __repr__(self) -> str:
        names = ", ".join(x.name or "_" for x in self.inputs)
        return f"<Graph of ({names}), {len(self.parameters)} parameters>"

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.inputs)

    def __getitem__(self, name: str) -> Tensor:
        """The variable or parameter of a name."""
        found = [x for x in self.inputs if x.name == name]
        if name in self.parameters:
            found.append(self.parameters[name])
        if len(found) != 1:
            raise MissingKeyError(at(f"the graph has {len(found)} variables of the name {name!r}; "
                              f"there are {', '.join(map(typed, self.inputs))} and the parameters "
                              f"{', '.join(self.parameters)}"))
        return found[0]

    def function(self, **options: Any) -> Any:
        """The graph as a compiled function: of its inputs, then of parameters without a value.

        :param **options: As :func:`agnesi.function` takes them.
        :returns: Which returns what the outputs are.
        :rtype: Function

        >>> import agnesi as ag, os, tempfile
        >>> from agnesi import symbolic as T
        >>> path = os.path.join(tempfile.mkdtemp(), "f.agnesi")
        >>> x = T.vector("x")
        >>> ag.save(x * 2, path)
        >>> ag.load(path).function()([1.0, 2.0])
        array([2., 4.])
        """
        free = [p for p in self.parameters.values() if not isinstance(p, Shared)]
        return function([*self.inputs, *free], self.outputs, updates=self.updates, **options)
