"""The compiled function that ``ag.function`` makes: calls, specializations, copies and pickles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from agnesi.autodiff.opgraph import OpFromGraph
from agnesi.autodiff.recompute import with_meetings
from agnesi.compiler.binding.call_adapter import MISSED
from agnesi.compiler.binding.call_stub import Direct
from agnesi.compiler.binding.sized_call import sized_call
from agnesi.compiler.compilation.compiled import Compiled, Known, Settings, check_rules
from agnesi.compiler.compilation.copies import (
    check_copy,
    check_pair,
    packed,
    swapped,
    unpacked,
    with_other_state,
)
from agnesi.compiler.inputs import In, Inputs, check_used
from agnesi.compiler.reports.report import Inspectable
from agnesi.compiler.shared import (
    SharedDim,
    storage_of,
)
from agnesi.compiler.specialization.data_dependent_sizes import (
    carried,
    carrier,
    data_dependent_sizes,
    deciding,
    first_alike,
    last_rows_uncut,
    value_dims,
)
from agnesi.compiler.specialization.dynamic_sizes import (
    Family,
    Pattern,
    births,
    check,
    describe_pattern,
    fits,
    in_shapes,
    shapes_of,
    sizes_of,
)
from agnesi.compiler.specialization.missing_sizes import sizes_from_reshapes, without_missing_sizes
from agnesi.compiler.tracing.leaves import required
from agnesi.core.dispatch import assign, graph_node, touch
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Dim, is_static
from agnesi.core.ir.node import Node, toposort
from agnesi.core.keywords import strict_class
from agnesi.core.op import typed
from agnesi.core.substitution import size_with, substituted, unify
from agnesi.core.support.config import HOOKS, STATE, TRACES, WITNESSES, config
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.record import replace
from agnesi.core.support.tracing import is_tracing, within
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import ValueDim
from agnesi.ops.base.convert import as_tensor

#: Traits of operations that raise where sizes are others than they were made for.
_REFUSING = frozenset(("raises", "sizes"))

@strict_class
class Function(Direct, Inspectable):
    """A compiled function of arrays; made by :func:`agnesi.function`.

    Calling it with arrays (positional, or by the inputs' names) returns NumPy arrays.  Machine
    code is made at the first call, and again where sizes change: then for all sizes if that goes.
    """

    public_names = f"{Inspectable.public_names} copy reoptimize"
    #: Attributes that copies of a function share.
    same: ClassVar[tuple[str, ...]] = (
        "settings", "_single", "_keys", "_inputs", "_mutable", "_returned")

    def __repr__(self) -> str:
        names = ", ".join(n or "_" for n in self._inputs.names)
        return f"<ag.function {self.name} of ({names})>"

    def __init__(self, declared: Inputs, outputs: Any, updates: Mapping[Tensor, Tensor],
                 givens: Mapping[Tensor, Tensor], name: str, settings: Settings,
                 unused: str = "ignore") -> None:
        self.name = name
        self._inputs = declared
        inputs = declared.compiled
        self.settings = settings
        self._single = isinstance(outputs, (Tensor, Dim))
        self._keys = list(outputs) if isinstance(outputs, dict) else None
        results = results_of(outputs)
        self._mutable = [i.mutable for i in inputs]
        targets = [storage_of(t) for t in updates]
        given = [graph_node(i.variable) for i in inputs]
        replaced = {graph_node(a): graph_node(b) for a, b in givens.items()}
        nodes = last_rows_uncut(substituted(
            [graph_node(as_tensor(t)) for t in (*results, *updates.values())], replaced
        ))
        if HOOKS.in_order:
            nodes = with_meetings(nodes)
        check_used([(i.name or f"number {k}", n) for k, (i, n) in enumerate(
            zip(inputs, given, strict=True))], nodes, unused)
        same = first_alike(found := value_dims(given, nodes, replaced))
        self._sizes = [d for d in found if d not in same]
        valued = [d for d in self._sizes if isinstance(d, ValueDim)]
        positions: dict[Any, int] = {
            d: i for i, n in enumerate(given) for d in valued if d.node is n}
        self._positions = [positions.get(d, -1) for d in self._sizes]
        scalars = substituted([d.node for d in valued], replaced)
        whole = FunctionGraph([*given, *map(carrier, self._sizes)], [*nodes, *scalars])
        whole = sizes_from_reshapes(whole.resolve(lambda n: size_with(n, same)) if same else whole)
        self.source = whole if not scalars else FunctionGraph.of(
            whole.inputs, whole.outputs[: len(nodes)])
        #: The scalars of data-dependent sizes.
        self._scalars = whole.outputs[len(nodes):]
        computed = [symbol(d.node) for d in valued if d not in positions]
        #: What computes data-dependent sizes that are no inputs.
        self._counter = Function(
            Inputs([In(i.variable) for i in inputs]), computed, {}, givens, f"sizes of {name}",
            settings
        ) if computed else None
        self._returned = len(results)
        self._updates = [(t, self._returned + i) for i, t in enumerate(targets)]
        self._begin({})

    def _begin(self, known: dict[Any, Known], *, anew: bool = False) -> None:
        """Start without versions, but with what is known of them by their sizes."""
        self._live: list[Tensor] = [n.handle() for n in self._whole().live]  # type: ignore[misc]
        self._made: dict[Any, Compiled] = {}
        #: Variables that get other sizes, by the versions that return their new values.
        self._moved: dict[int, list[Tensor]] = {}
        self._families: dict[Any, Family[Compiled]] = {}
        #: Data-dependent sizes for which there are versions, and the call for all others.
        self._fixed: set[tuple[int, ...]] = set()
        self._sized: tuple[Compiled, Any] | None = None
        self._known = known
        self._anew = anew
        self.call_directly(self.dispatch)

    def dispatch(self, /, *args: Any, **keywords: Any) -> Any:
        """Check the arguments, find or make the code for their sizes, run it.

        :param *args: A value for each input.
        :type *args: array_like
        :param **keywords: Values by the names of inputs.
        :type **keywords: array_like
        :returns: As the outputs were given.
        :rtype: numpy.ndarray, tuple or dict
        :raises TypeError: If an argument is missing, or is of another dtype or number of axes.
        """
        return self._dispatch_values(self._inputs.ordered(self.name, args, keywords))

    def _dispatch_values(self, values: Sequence[Any]) -> Any:
        """Do what ``dispatch`` does, with a value for each input in order."""
        if is_tracing() or any(is_part_of_graph(v) for v in values):
            return self._written_out(values)
        arrays = [self._taken(i, a) for i, a in enumerate(values)]
        if self._sizes:
            arrays += self._carriers(arrays)
        key = tuple(a.shape for a in arrays), tuple(t.shape for t in self._state())
        found = self._made.get(key) or self._grown(key, arrays)
        if found is None:
            found = self._made[key] = self._compile(arrays, _rest(key), sizes_of(key[0]))
            self._families[_rest(key)].learn(key[0])
        else:
            found.follow()
        if STATE.watch is not None:
            for t, _ in self._updates:
                STATE.watch(t)
        for i in found.overwrites:
            if isinstance(values[i], Tensor):
                touch(values[i])
        moved = self._moved.get(id(found), ())
        plain = self._keys is None and not moved
        count = len(found.arguments)
        self.call_directly(self._direct(found) if plain and self._inputs.in_order
                           else self.dispatch)
        results = found.run(*arrays[:count])
        if results is MISSED:  # another thread has changed what a size depends on
            return self._dispatch_values(values)
        return results if plain else self._finished(results, moved)

    def _direct(self, found: Compiled) -> Any:
        """Return the callable that later calls of the user go to, after one that ``found``
        computed: native code where it can check the arguments itself, else ``dispatch``.
        """
        if found.direct is None:
            return self.dispatch
        if len(found.arguments) == len(self._inputs.compiled):
            return found.direct
        if self._sized is None or self._sized[0] is not found:
            self._sized = found, sized_call(
                self._sizes_now, lambda: found.attempt, self.dispatch, self._fixed)
        return self._sized[1]

    def _sizes_now(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        """The data-dependent sizes."""
        counts = iter(() if self._counter is None else self._counter(*arguments))
        return tuple([
            int(d.now if isinstance(d, SharedDim) else arguments[i] if i >= 0 else next(counts))
            for d, i in zip(self._sizes, self._positions, strict=True)])

    def _finished(self, results: Any, moved: Sequence[Tensor]) -> Any:
        """Results in the form that the user requested, after updates that change the sizes of
        shared variables."""
        count = self._returned
        for t, value in zip(moved, results[count:], strict=False):
            t.array = value
            touch(t)
        if self._keys is not None:
            return dict(zip(self._keys, results, strict=False))
        if not count:
            return None
        return results[0] if self._single else results[:count]

    def _written_out(self, values: Sequence[Any]) -> Any:
        """The call as an operation of the graph around it, with gradients."""
        found = self._operation(*values, *self._carried_sizes(values))
        if self._updates and not is_tracing() and any(y.array is None for y in found):
            raise TraceError(at(
                f"{self.name} changes state, which a declared graph cannot do by itself: call it "
                "with values, inside of ag.jit, or give its updates to the function around it"))
        for t, i in self._updates:
            assign(t, found[i], state=True)
        results = found[: self._returned]
        if self._keys is not None:
            return dict(zip(self._keys, results, strict=True))
        return (results[0] if self._single else results) if results else None

    def _carried_sizes(self, values: Sequence[Any]) -> list[Any]:
        """Return the sizes that depend on values, as scalars of the graph around."""
        counts = iter(() if self._counter is None else self._counter.dispatch(*values))
        return [values[i] if i >= 0 else next(counts) for d, i in zip(
            self._sizes, self._positions, strict=True) if isinstance(d, ValueDim)]

    @property
    def _operation(self) -> OpFromGraph:
        found = self.__dict__.get("_as_operation")
        if found is None:
            symbols = {d: Node(None, (), (), int64, name=str(d)) for d in self._sizes
                     if isinstance(d, ValueDim)}
            sizes: dict[Dim, Any] = {d: ValueDim(n) for d, n in symbols.items()}
            for d in symbols:
                sizes[d].most = size_with(d.most, sizes)
            graph = self.source.resolve(lambda n: size_with(n, sizes)) if sizes else self.source
            inputs = [symbol(n) for n in (
                *graph.inputs[: len(self._inputs.compiled)], *symbols.values())]
            outputs = tuple(symbol(n) for n in graph.outputs)
            with within(None):
                found = self._as_operation = OpFromGraph(inputs, outputs, name=self.name)
        return found

    def compile_known(self) -> None:
        """Compile at once what no call adds facts to: a function whose sizes are all known.

        Names of rules that there are not are found here for every function.
        """
        check_rules(self.settings)
        types = [(n.dtype, n.shape) for n in self.source.inputs]
        if self._sizes or not all(is_static(shape) for _, shape in types) or not config.compiles:
            return
        arrays = [np.broadcast_to(np.empty((), dtype), shape) for dtype, shape in types]
        key = tuple(a.shape for a in arrays), tuple(t.shape for t in self._state())
        self._made[key] = self._compile(arrays, _rest(key), sizes_of(key[0]))
        self._families.setdefault(_rest(key), Family()).learn(key[0])

    @property
    def graph(self) -> FunctionGraph:
        """The optimised graph of the last specialisation, before the first the graph as declared;
        printing it gives its text."""
        return self._last().optimised if self.specialisations else self.source

    def _carriers(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Arguments that bring along data-dependent sizes."""
        return [carried(d, n) for d, n in zip(self._sizes, self._sizes_now(arrays), strict=True)]

    def _most(self, arrays: Sequence[np.ndarray]) -> list[int | None]:
        """Return upper bounds of the sizes that depend on values, for arguments of these shapes;
        None where there is no bound.
        """
        known: dict[Any, Any] = {}
        for node, array in zip(self.source.inputs, arrays, strict=True):
            unify(node.shape, array.shape, known)
        most = [d.most if isinstance(d, ValueDim) else None for d in self._sizes]
        now = [None if n is None else size_with(n, known) for n in most]
        any_ = max((a.size for a in arrays), default=1)
        return [n if n is None or isinstance(n, int) else any_ for n in now]

    def _taken(self, i: int, value: Any) -> np.ndarray:
        """A value as compiled code takes it: in one piece, apart from what is updated."""
        array = self._inputs.checked(self._inputs.positions[i], value, self.name)
        if any(np.may_share_memory(array, t.array) for t, _ in self._updates):
            return array.copy()
        return required(array, ("C", "A", "W") if self._mutable[i] else ("C", "A"))

    def _grown(self, key: Any, arrays: Sequence[np.ndarray]) -> Compiled | None:
        """The code in which sizes are run-time values, if there can be any."""
        rest, sizes = _rest(key), sizes_of(key[0])
        family = self._families.setdefault(rest, Family())
        if not config.compiles:
            return None  # the interpreter takes sizes as they are
        found = family.find(key[0])
        if found is not None:
            return found
        for (other, pattern) in self._known:
            if other == rest and fits(pattern, sizes) and pattern != sizes:
                return family.add(pattern, self._compile(arrays, rest, pattern))
        grown = family.grow(key[0], lambda pattern: self._compile(arrays, rest, pattern),
                            births(key[0], self._most(arrays)))
        return None if grown is None else grown[1]

    def _compile(self, arrays: Sequence[np.ndarray], rest: Any, sizes: Pattern) -> Compiled:
        from agnesi.runtime.entry import Arg, Guard

        given = in_shapes(sizes, shapes_of(arrays))
        types = [(a.dtype.name, s) for a, s in zip(arrays, given, strict=True)]
        shapes = {n: shape for n, (_, shape) in zip(self.source.inputs, types, strict=True)}
        fixed = self._fixes(sizes)
        graph = without_missing_sizes(self._whole(fixed).specialise(shapes))
        if graph.extents:
            check(graph)
        moved = [(t, i) for t, i in self._updates if graph.outputs[i].shape != t.shape]
        updates, count = self._updates, self._returned + len(moved)
        if moved:  # they are returned, and become the variables' values behind the call
            positions = {i for _, i in moved}
            updates = [(t, i) for t, i in updates if i not in positions]
            behind = range(len(self.source.outputs), len(graph.outputs))
            order = [*range(self._returned), *(i for _, i in (*moved, *updates)), *behind]
            graph = FunctionGraph.of(graph.inputs, [graph.outputs[i] for i in order])
            updates = [(t, count + k) for k, (t, _) in enumerate(updates)]
        if fixed:
            decided: Any = sizes[-2 * len(self._sizes)::2]
            graph = deciding(graph, decided)
            self._fixed.add(decided)
            types = types[: len(graph.inputs)]
        known = self._known.get((rest, sizes))
        made = Compiled(
            [Arg("array", *t, numbers=True) for t in types], graph, count, updates,
            result="none" if not count else "single" if self._single and not moved else "tuple",
            wrap=[False] * count, settings=self.settings, name=self.name,
            donated=[i for i, mutable in enumerate(self._mutable) if mutable],
            slow=self.dispatch, known=known, anew=self._anew,
            guards=[Guard(WITNESSES if self._updates else TRACES, "running", 0)],
        )
        cause = f"the shapes were new; {describe_pattern(sizes)}" if graph.extents else ""
        cause = "it came with its optimised graph" if known is not None else cause
        if moved:
            self._moved[id(made)] = [t for t, _ in moved]
        self._note(made, ", ".join(f"{dtype}{list(shape)}" for dtype, shape in types), cause)
        return made

    def _fixes(self, sizes: Pattern) -> bool:
        """Return whether a version's code looks itself at the values that its sizes are.

        All are numbers there, those of the scalars too, so that it may read what it needs first;
        what raises where such a number is another one now has to wait for it.
        """
        if not (self._sizes and is_static(sizes)):
            return False
        inner = data_dependent_sizes(self._scalars)
        return not (inner and any(n.op is not None and not n.op.traits.isdisjoint(_REFUSING)
                                  for n in toposort(self._scalars))) and all(
            d in self._sizes and d.most is None if isinstance(d, ValueDim) else d not in self._sizes
            for d in (*self._sizes, *inner))

    def _whole(self, scalars: bool = True) -> FunctionGraph:
        """Return the declared graph, with the scalars that are sizes of results as further outputs
        if ``scalars``.
        """
        behind = self._scalars if scalars else ()
        return self.source if not behind else FunctionGraph.of(
            self.source.inputs, (*self.source.outputs, *behind))

    def __getitem__(self, key: Any) -> np.ndarray:
        """The value of an input that has one between calls, by name, position or variable."""
        return self._inputs.value(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._inputs.set_value(key, value, self.name)

    # -- as an object ---------------------------------------------------------------------
    def copy(self, swap: Mapping[Any, Any] | None = None, *, updates: bool = True,
             share_memory: bool = True, name: str | None = None) -> Function:
        """This function on other state, without optimising it again.

        :param swap: Shared variables (or tensors with a value) to put instead of others, of
            the same dtype and number of axes.
        :type swap: mapping of Shared to Shared, optional
        :param updates: Whether the copy changes state as the original does.
        :param share_memory: Whether intermediate values of the copy are in the same memory as those
            of others: like every function, it then takes memory from the pool for a call and gives
            it back. Otherwise it keeps what it takes for itself, until it is deleted.  Results are
            never touched by other calls.
        :param name: The copy's name; the original's by default.
        :returns: Of the same inputs and outputs.
        :raises ValueError: If it does not use a variable that is to be swapped, or would update one
            twice.
        :raises DTypeError, ShapeError: If the new variable's dtype or number of axes differs.

        >>> import agnesi as ag
        >>> from agnesi import symbolic as T
        >>> x = T.scalar("x")
        >>> seen, other = ag.shared(0.0), ag.shared(100.0)
        >>> add = ag.function([x], seen + x, updates={seen: seen + x})
        >>> peek = add.copy(swap={seen: other}, updates=False)
        >>> add(1.0), peek(1.0), add(1.0), other.get_value()
        (array(1.), array(101.), array(2.), array(100.))
        """
        check_copy(swap, updates, share_memory, name)
        pairs = {id(storage_of(a)): storage_of(b) for a, b in (swap or {}).items()}
        self._check_swap(swap or {}, pairs, updates)
        kind = self._kind()
        new = kind.__new__(kind)
        for slot in self.same:
            setattr(new, slot, getattr(self, slot))
        new.name = self.name if name is None else name
        new.settings = replace(self.settings, own_scratch=not share_memory)
        new._counter = None if self._counter is None else self._counter._copied_with(swap or {})
        new._updates = [(pairs.get(id(t), t), i) for t, i in self._updates] if updates else []
        count = self._returned + len(new._updates)
        inputs, outputs = self.source.inputs, self.source.outputs[:count]
        late = [d for d in value_dims(inputs, outputs) if d not in self._sizes]
        new._sizes = [d.of(pairs) if isinstance(d, SharedDim) else d for d in (*self._sizes, *late)]
        new._positions = [*self._positions, *(-1 for _ in late)]
        source = FunctionGraph.of([*inputs, *map(carrier, late)], [*outputs, *self._scalars])
        whole = with_other_state(source, pairs)
        new.source = FunctionGraph.of(whole.inputs, whole.outputs[:count])
        new._scalars = whole.outputs[count:]
        known = {}
        if not late and not any(t is b for t in self._state() for b in pairs.values()):
            among = len(self.source.outputs)
            fewer = count < among  # then recipes alone say nothing
            known = {k: swapped(v, pairs, count, among) for k, v in self._found(fewer).items()
                     if v.optimised is not None or not fewer}
        new._begin(known)
        return new

    def _copied_with(self, swap: Mapping[Any, Any]) -> Function:
        """A copy in which what it uses of the variables is swapped."""
        mine = self._variables()
        return self.copy({a: b for a, b in swap.items() if any(t is storage_of(a) for t in mine)})

    def _check_swap(self, swap: Mapping[Any, Any], pairs: Mapping[int, Tensor],
                    updates: bool) -> None:
        for a, b in swap.items():
            old = storage_of(a)
            if not any(t is old for t in self._variables()):
                raise ValueError(at(f"{self.name} does not use {typed(a)}, so nothing can take its "
                                    "place; swap takes variables that it reads or updates"))
            check_pair(a, b)
        if len({id(t) for t in pairs.values()}) < len(pairs):
            raise ValueError(at("two variables cannot be swapped for the same one"))
        twice = [t for t, _ in self._updates if id(t) not in pairs and any(
            t is pairs.get(id(other)) for other, _ in self._updates)]
        if updates and twice:
            raise ValueError(at(
                f"{typed(twice[0])} would be updated twice, for {self.name} updates it already: "
                "swap it for another one, too, or write updates=False"
            ))

    def _state(self) -> list[Tensor]:
        """Tensors that it reads or updates, each once."""
        every = (*self._live, *(t for t, _ in self._updates))
        return list({id(t): t for t in every}.values())

    def _variables(self) -> list[Tensor]:
        """Those, and tensors of which it needs no more than sizes."""
        return [*self._state(), *(d.storage for d in self._sizes if isinstance(d, SharedDim))]

    def _found(self, rewritten: bool = False) -> dict[Any, Known]:
        """Return what is known of its specializations: for all sizes, and by sizes."""
        made = {(_rest(key), sizes_of(key[0])): version for key, version in self._made.items()}
        for rest, family in self._families.items():
            made.update({(rest, pattern): version for pattern, version in family.made})
        return {**self._known, **{key: one.reusable(rewritten) for key, one in made.items()}}

    def reoptimize(self) -> None:
        """Forget what is known: the next call rewrites and compiles again.


        >>> import agnesi as ag
        >>> from agnesi import symbolic as T
        >>> x = T.vector("x")
        >>> f = ag.function([x], x * x)
        >>> f.reoptimize()
        >>> f([3.0])
        array([9.])
        """
        self._begin({}, anew=True)
        if self._counter is not None:
            self._counter.reoptimize()

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items()
                 if k not in ("_made", "_families", "_known", "_live", "_anew", "_specialisations",
                              "_moved", "_fixed", "_sized", "_as_operation", "_runners")}
        live = self._state()
        known = {k: packed(v, live) for k, v in self._found().items()}
        return _restored, (state, live, known, self._kind())

    def _kind(self) -> type[Function]:
        """The class that was called to make it; its own is the instance's alone."""
        return type(self).__mro__[1]


def is_part_of_graph(value: Any) -> bool:
    """Return whether results computed from a value belong to a graph or a record."""
    return isinstance(value, Tensor) and (
        value.array is None or (value._requires_grad and STATE.recording))


def _restored(state: dict[str, Any], live: list[Tensor], known: dict[Any, bytes],
              kind: type[Function] = Function) -> Function:
    """A function from its pickle."""
    new = kind.__new__(kind)
    new.__dict__.update(state)
    found = {key: unpacked(data, live) for key, data in known.items()}
    new._begin({key: value for key, value in found.items() if value is not None})
    return new


def _rest(key: Any) -> Any:
    """A key without sizes."""
    return tuple(map(len, key[0])), *key[1:]


def results_of(outputs: Any) -> list[Any]:
    """Return the results of a function as a list."""
    if isinstance(outputs, (Tensor, Dim)):
        return [outputs]
    return list(outputs.values() if isinstance(outputs, dict) else outputs or ())
