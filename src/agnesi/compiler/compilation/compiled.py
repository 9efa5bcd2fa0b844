"""One compiled graph: its native code, and its binding to the memory of the state."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_adapter import MISSED
from agnesi.compiler.compilation.artifact import Recipe
from agnesi.compiler.compilation.backends import chosen
from agnesi.compiler.compilation.build import build
from agnesi.compiler.compilation.counters import rows_of
from agnesi.compiler.compilation.failures import check_elements, failures, oversize, widest
from agnesi.compiler.compilation.fingerprint import fingerprint
from agnesi.compiler.compilation.pipeline import Call, Clock, Scheduled, check_writeable
from agnesi.compiler.compilation.products import library
from agnesi.core.backend import Backend, Bound
from agnesi.core.dispatch import touch
from agnesi.core.graph import FunctionGraph, Held, live_tensor
from agnesi.core.interpret import interpret
from agnesi.core.ir.extents import UnknownSizeError
from agnesi.core.ir.node import Node
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.config import CHOICES, config
from agnesi.core.support.errors import OversizeError, at, format_bytes, in_file, warn
from agnesi.core.support.foreign import imported
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.policy import POLICIES, CompilePolicy
from agnesi.core.support.record import field, replace, struct
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.control.decided import LeftError


@struct
class Settings:
    """How a function is compiled; None means what ``ag.config`` says."""

    optimizer: str | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    memory_limit: int | None = None
    save_dtype: Any = None
    own_scratch: bool = False
    algebra: str | None = None
    profile: bool = False

    def __post_init__(self) -> None:
        presets = CHOICES["optimizer"]
        if self.optimizer is not None and self.optimizer not in presets:
            raise ValueError(at(f"optimizer must be one of {presets}, not {self.optimizer!r}"))
        for name, value in (("include", self.include), ("exclude", self.exclude)):
            if isinstance(value, str):
                raise TypeError(at(f"{name} takes names and tags of rewrite rules in a list: write "
                                   f"{name}=[{value!r}]"))
            setattr(self, name, tuple(value))
        if isinstance(self.save_dtype, (type, np.dtype)):
            self.save_dtype = np.dtype(self.save_dtype).name
        if self.algebra not in (None, *CHOICES["algebra"]):
            raise ValueError(
                at(f"algebra must be one of {CHOICES['algebra']}, not {self.algebra!r}"))
        if self.save_dtype not in (None, "", "float16", "bfloat16", "float32"):
            raise ValueError(
                at("save_dtype must be 'float16', 'bfloat16', 'float32' or '', "
                   f"not {self.save_dtype!r}")
            )

    @property
    def saved(self) -> str:
        """The dtype in which idle values are kept; empty for their own."""
        return config.save_dtype if self.save_dtype is None else self.save_dtype

    @property
    def numbers(self) -> str:
        """The algebra of the rewrite rules: "exact" or "real"."""
        return config.algebra if self.algebra is None else self.algebra

    @property
    def preset(self) -> str:
        return config.optimizer if self.optimizer is None else self.optimizer

    @property
    def unstable(self) -> tuple[str, ...] | None:
        """Return the names of excluded stabilization rules; None if nothing is to be stabilized
        before differentiation.
        """
        if self.preset != "fast_run" or "stabilize" in self.exclude:
            return None
        return tuple(self.exclude)


@cache
def _can_compile() -> bool:
    if importlib.util.find_spec("llvmlite") is not None:
        return True
    warn(
        "llvmlite is not installed: compiled functions run on the NumPy interpreter; "
        "pip install llvmlite makes them native",
        RuntimeWarning,
    )
    return False


def _own_rules() -> bool:
    """Return whether the user registered rewrite rules, which needs ``agnesi.rewrite`` loaded."""
    custom_rules = getattr(imported("agnesi.rewrite"), "custom_rules", None)
    return custom_rules is not None and custom_rules()


def check_rules(settings: Settings) -> None:
    """Refuse names of rules and passes that there are not, or cannot be left out."""
    if settings.include or settings.exclude:
        from agnesi.rewrite import check_names
        from agnesi.schedule.passes import optional

        check_names((*settings.include, *(n for n in settings.exclude if not optional(n))))


@struct
class Known:
    """The parts of a specialization that exist before it is compiled: from a copy, or from a
    pickle.

    The recipe holds for live tensors with these ``strides`` only.
    """

    optimised: FunctionGraph | None
    recipe: Recipe | None
    strides: Sequence[tuple[int, ...]]


@struct
class Compiled:
    """A function for one set of types and sizes.

    ``run(*values)`` returns the function's result; ``values`` are the arguments that the entry
    describes, static ones included.  ``updates`` pairs a live tensor or the index of an input that
    is changed in place with the index of its new value among the outputs.  ``anew`` bypasses the
    disk cache.  ``nodes`` are those of results that are no values without a record, by position.
    """

    arguments: Sequence[Any]
    graph: FunctionGraph
    returned: int
    updates: Sequence[tuple[Tensor | int, int]]
    result: str
    wrap: Sequence[bool]
    settings: Settings
    slow: Callable[..., Any] | None
    name: str = "compiled"
    guards: Sequence[Any] = ()
    watched: Any = None
    donated: Sequence[int] = ()
    nodes: Mapping[int, Node] = MappingProxyType({})
    known: Known | None = None
    anew: bool = False
    bound: Bound | None = None
    run: Any = None
    on: Backend | None = None
    clock: Clock = field(default_factory=Clock)

    def new_values(self) -> list[Node]:
        """The values that ``updates`` write, as nodes of the user's graph."""
        return [self.graph.outputs[i] for _, i in self.updates]

    @no_gc()
    def __post_init__(self) -> None:
        check_writeable([t for t, _ in self.updates], self.new_values)
        tensors = [live_tensor(n) for n in self.graph.live]
        tensors += [t for t, _ in self.updates if isinstance(t, Tensor)]
        unique = {id(t): t for t in tensors if t is not None}
        self.live: list[Tensor] = list(unique.values())
        self.preset = self.settings.preset
        compiles = config.compile and _can_compile()
        if self.graph.extents and not compiles:
            raise UnknownSizeError("only native code takes sizes at run time")
        if compiles:
            self.recipe = self._kept_recipe()
            self.bind()
        self._choose()

    @cached_property
    def backend(self) -> Backend:
        """The backend that makes its code and runs it: the given one, or that of ``config.target``.
        """
        return self.on or chosen()

    # -- stages ---------------------------------------------------------------------------
    @cached_property
    def rewritten(self) -> tuple[FunctionGraph, Any]:
        """The optimised graph, and the report of its rewriting."""
        from agnesi.rewrite import Report, rewrite
        from agnesi.rewrite.outlining import outlined

        report = Report()
        if self.known is not None and self.known.optimised is not None:
            return self.known.optimised, report
        rules, _ = self._excluded()
        graph = rewrite(outlined(self.graph), self.preset, self.settings.include, rules, report,
                        self.settings.numbers)
        self.clock.mark("rewrite")
        return graph, report

    def _excluded(self) -> tuple[list[str], list[str]]:
        """Return the names of excluded rewrite rules, and of excluded passes of the scheduler."""
        names = self.settings.exclude
        if not names:
            return [], []
        from agnesi.schedule.passes import optional

        return [n for n in names if not optional(n)], [n for n in names if optional(n)]

    @property
    def optimised(self) -> FunctionGraph:
        return self.rewritten[0]

    @property
    def policy(self) -> CompilePolicy:
        """The compile policy."""
        policy = POLICIES[self.preset]
        return replace(policy, profiled=True) if self.settings.profile else policy

    @cached_property
    def scheduled(self) -> Scheduled:
        """Kernels, memory plan and code text."""
        limit = self.settings.memory_limit
        try:
            check_elements(self.optimised)
            made = Scheduled(
                self.optimised, self.live, self.returned, self.updates, self.donated, self.clock,
                self.backend, limit, self.settings.saved, self.policy, self._excluded()[1],
            )
        except OversizeError as error:
            where = getattr(error.value, "where", None)
            raise MemoryError(at(f"{self.name}: {oversize(error)}", where)) from None
        except MemoryError as error:
            raise MemoryError(
                at(
                    f"{self.name} does not fit into its memory_limit of {format_bytes(limit or 0)}"
                    "; with everything computed again that can be, it needs "
                    f"{format_bytes(error.args[0])} for "
                    "arguments, state, results and temporaries",
                    next((n.where for n in self.graph.outputs if in_file(n.where)), None),
                )
            ) from None
        made.recipe.failures = failures(made.checks, self.graph)
        if made.largest is not None:
            made.recipe.widest = widest(made.largest, self.graph)
        return made

    def _kept_recipe(self) -> Recipe:
        """The recipe from the disk cache, or made now and kept there."""
        from agnesi.runtime import disk_cache, support

        known = self.known
        if (known is not None and known.recipe is not None
                and known.recipe.key == self.backend.key() and known.strides == self._strides()):
            return known.recipe
        name = self._cache_name()
        kept = disk_cache.load(name, Recipe.unpacked) if name and not self.anew else None
        if kept is not None:
            recipe = kept
            self.clock.mark("recall")
            if recipe.works():
                return recipe
        support.ahead(self.policy.opt_level)
        recipe = self.scheduled.recipe
        if name and not recipe.callbacks:
            disk_cache.put(name, recipe.packed())
        return recipe

    def _cache_name(self) -> str:
        """The recipe's name in the disk cache; empty where it cannot be kept."""
        from agnesi.runtime import disk_cache

        text = None
        if config.cache and not _own_rules() and build() and not self.settings.profile:
            text = fingerprint(self.graph, self.live)
        if text is None:
            return ""
        indices = {id(t): i for i, t in enumerate(self.live)}
        updates = [
            (t if isinstance(t, int) else f"live {indices[id(t)]}", i) for t, i in self.updates
        ]
        threads = library().threads if self.policy.library_products else 1
        rest = (self.returned, updates, list(self.donated), self.preset, threads,
                list(self.settings.include), list(self.settings.exclude),
                self.settings.memory_limit, self.settings.saved, self.settings.numbers)
        strides = [t.array.strides for t in self.live]
        return disk_cache.key(
            "recipe", build(), self.backend.key(), text, repr(rest), repr(strides)
        )

    def reusable(self, rewritten: bool = False) -> Known:
        """Return what another function of the same graph need not compute again.

        ``rewritten`` requests the optimised graph even where the recipe came from the disk cache.
        """
        optimised = self.rewritten[0] if rewritten or "rewritten" in self.__dict__ else None
        recipe = None if self.bound is None or self.recipe.callbacks else self.recipe
        return Known(optimised, recipe, self._strides())

    def _strides(self) -> list[tuple[int, ...]]:
        return [t.array.strides for t in self.live]

    @cached_property
    def counters(self) -> Any:
        """Where a profiled program counts runs and ticks of its clock, None for others."""
        if not self.settings.profile:
            return None
        return (ctypes.c_int64 * (2 * (1 + len(rows_of(self)))))()

    # -- binding --------------------------------------------------------------------------
    def bind(self) -> None:
        """(Re)bind to the present memory of the live tensors."""
        check_writeable([t for t, _ in self.updates], self.new_values)
        outputs = [
            (n.dtype.name, tuple(n.shape), w,
             {"node": self.nodes[i], "_requires_grad": True} if i in self.nodes else {})
            for i, (n, w) in enumerate(
                zip(self.graph.outputs[: self.returned], self.wrap, strict=True))
        ]
        made: Scheduled | None = self.__dict__.get("scheduled")
        code = self.backend.load(self.recipe.text, optimize=self.recipe.optimize,
                                 ahead=None if made is None else made.ahead)
        self.clock.mark("machine code")
        self.bound = self.backend.bind(code, Call(
            self.recipe, self.graph, self.live, self.arguments, outputs, self.result,
            [t for t, _ in self.updates], self.name, self.slow, self.guards, self.watched,
            self.settings.own_scratch, self.counters,
        ))
        self.clock.mark("entry")
        if made is not None and made.memory is not None:
            made.memory.join()
        self.strides = self._strides()

    def adopt(self, swap: Mapping[int, Tensor]) -> None:
        """Use other live tensors; ``swap`` maps the id of a present one to its replacement."""
        graphs = [self.graph, *([self.optimised] if "rewritten" in self.__dict__ else [])]
        for node in {n for g in graphs for n in g.live}:
            t = swap.get(id(live_tensor(node)))
            if t is not None:
                node.handle = Held(t)
        self.live = [swap.get(id(t), t) for t in self.live]
        self.updates = [(swap.get(id(t), t), i) for t, i in self.updates]
        self.guards = [
            replace(g, owner=swap.get(id(g.owner), g.owner), value=swap.get(id(g.value), g.value))
            for g in self.guards
        ]
        self.__dict__.pop("scheduled", None)
        if self.bound is not None:
            self.bind()
        self._choose()

    @property
    def direct(self) -> Any:
        """Native code for the user's own calls; None where Python has to prepare them."""
        return self.bound.direct if self.bound is not None and config.compiles else None

    @property
    def attempt(self) -> Any:
        """``direct`` that returns ``MISSED`` for arguments that it was not made for."""
        return self.bound.attempt if self.bound is not None and config.compiles else None

    def follow(self) -> None:
        """Follow the setting ``config.compile``, and bind again if a live tensor has other memory.
        """
        if self.bound is None and config.compiles and _can_compile():
            self.recipe = self._kept_recipe()
            self.bind()
        elif self.bound is not None and config.compiles and not self.bound.present():
            if self._strides() != self.strides:
                self.__dict__.pop("scheduled", None)
                self.recipe = self.scheduled.recipe
            self.bind()
        self._choose()

    def _choose(self) -> None:
        """Choose between native code and the interpreter, and set which donated arguments are
        overwritten.
        """
        self.overwrites: Sequence[int] = ()
        if self.bound is None or not config.compiles:
            self.run = self._interpreted
        elif self.recipe.reused:
            self.run = self._in_place
            self.overwrites = tuple(self.recipe.reused.values())
        else:
            self.run = self.bound.launch

    # -- running --------------------------------------------------------------------------
    def _in_place(self, *args: Any) -> Any:
        """Run code that writes some results over donated arguments; those arrays are the results.
        """
        assert self.bound is not None
        reused = self.recipe.reused
        args = tuple(
            a.copy() if i in reused.values()
            and any(np.may_share_memory(a, b) for b in (*args[:i], *args[i + 1 :])) else a
            for i, a in enumerate(args)
        )
        made = iter(self.bound.launch(*args) or ())
        results = tuple(
            _shaped(args[reused[i]], node.shape) if i in reused else next(made)
            for i, node in enumerate(self.graph.outputs[: self.returned])
        )
        return results[0] if self.result == "single" else results

    def _interpreted(self, *args: Any) -> Any:
        """This function on the interpreter."""
        values = [_array(a, spec) for a, spec in zip(args, self.arguments, strict=True)
                  if spec.kind not in ("identity", "ignore")]
        try:
            results = interpret(self.optimised, values)
        except LeftError:
            return MISSED
        check_writeable([values[t] if isinstance(t, int) else t for t, _ in self.updates],
                        self.new_values)
        for t, i in self.updates:
            if isinstance(t, int):
                np.copyto(values[t], results[i])
            else:
                np.copyto(t.array, results[i])
                touch(t)
        outputs: list[Any] = [
            wrap(r) if w else r for r, w in zip(results[: self.returned], self.wrap, strict=True)
        ]
        for i, node in self.nodes.items():
            outputs[i].node, outputs[i]._requires_grad = node, True
        if self.result == "none":
            return None
        return outputs[0] if self.result == "single" else tuple(outputs)


def _shaped(array: np.ndarray, shape: Any) -> np.ndarray:
    """Return the array, reshaped without a copy to ``shape``, of which at most one size is dynamic.
    """
    sizes = tuple(n if isinstance(n, int) else -1 for n in shape)
    return array if sizes == array.shape else array.reshape(sizes)


#: The dtypes of Python's numbers.
_NUMBERS = {"float": "float64", "int": "int64", "bool": "bool"}


def _array(value: Any, spec: Any) -> np.ndarray:
    """An argument as the interpreter wants it."""
    if spec.kind != "array":
        return np.asarray(value, spec.dtype or _NUMBERS[spec.kind])
    return value.array if isinstance(value, Tensor) else value
