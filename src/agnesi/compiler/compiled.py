"""One specialisation of a function: its graph, native code, and how it stays bound to its state."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from agnesi.compiler.interpret import interpret
from agnesi.compiler.pipeline import Executable, compile_graph
from agnesi.core.config import config
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, wrap
from agnesi.rewrite import Report, rewrite


@dataclass
class Settings:
    """How a function is compiled; None means what ``ag.config`` says."""

    optimizer: str | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()

    @property
    def preset(self) -> str:
        return config.optimizer if self.optimizer is None else self.optimizer


@cache
def _can_compile() -> bool:
    if importlib.util.find_spec("llvmlite") is not None:
        return True
    warnings.warn(
        "llvmlite is not installed: compiled functions run on the NumPy interpreter; "
        "pip install llvmlite makes them native",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


@dataclass
class Compiled:
    """A function for one set of types and sizes.

    ``run(*values)`` gives what the function returns; ``values`` are the arguments that the entry
    was told about, static ones included.  ``updates`` pairs what is changed, a live tensor or the
    place of an input, with the place of its new value among the outputs.
    """

    arguments: Sequence[Any]
    graph: FunctionGraph
    returned: int
    updates: Sequence[tuple[Tensor | int, int]]
    result: str
    wrap: Sequence[bool]
    settings: Settings
    name: str = "compiled"
    guards: Sequence[Any] = ()
    donated: Sequence[int] = ()
    slow: Callable[..., Any] = print
    report: Report = field(default_factory=Report)
    executable: Executable | None = None
    run: Any = None

    def __post_init__(self) -> None:
        import time

        start = time.perf_counter()
        self.optimised = rewrite(
            self.graph, self.settings.preset, self.settings.include, self.settings.exclude,
            self.report,
        )
        self.seconds = {"rewrite": time.perf_counter() - start}
        self.bind()

    def bind(self) -> None:
        """(Re)bind to the present memory of the live tensors; code for it may be there already."""
        self._leaf = {id(live_tensor(n)): n for n in self.optimised.live}
        if not (config.compile and _can_compile()):
            self.run = self._interpreted
            return
        updates = [
            (self.optimised.inputs[t] if isinstance(t, int) else self._state_leaf(t), i)
            for t, i in self.updates
        ]
        self.executable = compile_graph(
            self.optimised, self.arguments, self.returned, updates,
            result=self.result, wrap=self.wrap, slow=self.slow, guards=self.guards,
            donated=[self.optimised.inputs[i] for i in self.donated], name=self.name,
        )
        self.seconds.update(self.executable.seconds)
        self.run = self._in_place if self.executable.reused else self.executable.native

    def _in_place(self, *args: Any) -> Any:
        """Run where some results are written over arguments; those are the results then."""
        assert self.executable is not None
        reused = self.executable.reused
        made = iter(self.executable.native(*args) or ())
        results = tuple(
            args[reused[i]] if i in reused else next(made) for i in range(self.returned)
        )
        return results[0] if self.result == "single" else results

    def _state_leaf(self, t: Tensor) -> Node:
        """The leaf of a changed tensor; one that is only written has none in the graph yet."""
        found = self._leaf.get(id(t))
        if found is None:
            found = Node(None, (), t.shape, t.dtype, handle=lambda: t, name=t._name)
            self._leaf[id(t)] = found
        return found

    def bound_to_present(self) -> bool:
        """Whether all live tensors have the memory that the native code knows."""
        return self.executable is None or all(
            s.owner.data is s.array for s in self.executable.states
        )

    def same_state(self) -> bool:
        """Whether the live tensors still have the shapes and dtypes that this was made for."""
        return all(
            t.data.shape == n.shape and t.data.dtype == n.dtype
            for n in self.optimised.live if (t := live_tensor(n)) is not None
        )

    def _interpreted(self, *args: Any) -> Any:
        """The same function on the interpreter."""
        values = [_array(a, spec) for a, spec in zip(args, self.arguments, strict=True)
                  if spec.kind not in ("identity", "ignore")]
        known = [v for v in values if v is not None]
        if len(known) < len(values) or not self.same_state():
            return self.slow(*args)
        results = interpret(self.optimised, known)
        for t, i in self.updates:
            np.copyto(values[t] if isinstance(t, int) else t.data, results[i])  # type: ignore[arg-type]
        outputs = [
            wrap(r) if w else r for r, w in zip(results[: self.returned], self.wrap, strict=True)
        ]
        if self.result == "none":
            return None
        return outputs[0] if self.result == "single" else tuple(outputs)


def _array(value: Any, spec: Any) -> np.ndarray | None:
    """An argument as the interpreter wants it, or None where it does not fit."""
    if spec.kind != "array":
        return np.asarray(value, {"float": "float64", "int": "int64", "bool": "bool"}[spec.kind])
    data = value.data if isinstance(value, Tensor) else value
    if not isinstance(data, np.ndarray) or data.dtype != spec.dtype or data.shape != spec.shape:
        return None
    return data
