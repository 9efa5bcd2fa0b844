"""Record a trace's writes to objects, lists and dicts, which each call of its code repeats.

The trace itself leaves everything as it was.  A new value may contain tensors that are computed:
they are further results of the code, and those that stand for Python's numbers become such again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.arguments.facts import containers
from agnesi.compiler.tracing.arguments.objects import ArgumentObjects, is_whole
from agnesi.compiler.tracing.containers.contents import (
    Answer,
    Appended,
    Contents,
    Entered,
    Keys,
    Length,
)
from agnesi.compiler.tracing.containers.nests import Part, StandIns, together
from agnesi.compiler.tracing.object_kinds import is_users_object
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.process.process_state import State
from agnesi.compiler.tracing.reads import Reads
from agnesi.compiler.tracing.sources import (
    MISSING,
    Attribute,
    Definition,
    Fact,
    Function,
    Kind,
    Name,
    Source,
    attributes,
    same,
)
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import TUPLES, Size, is_static
from agnesi.core.ir.extents import Extent
from agnesi.core.op import Op
from agnesi.core.storage.views import looking_through
from agnesi.core.substitution import size_with
from agnesi.core.support.exports import module_of
from agnesi.core.support.tracing import current_trace
from agnesi.core.support.tree import Tree, flatten
from agnesi.core.tensor import Tensor

#: Types of Python whose objects never change.
_LASTING = frozenset((bool, int, float, complex, str, bytes, type(None), range, slice, frozenset,
                      type(Ellipsis), type(NotImplemented), ModuleType, BuiltinFunctionType))


class KeptSymbolError(Exception):
    """A container with tensors of the trace was read as a whole, which no guard can compare."""

    def only_eagerly(self) -> OnlyEagerError:
        """Return the error by which the function runs eagerly, if nothing else helps."""
        return OnlyEagerError(str(self), "Keep it in a tensor that is changed in place "
                              "(state.copy_(x))")


class _Result:
    """A position in the results: stands for a computed tensor or number."""

    def __init__(self, symbol: Tensor, index: int) -> None:
        self.is_number = symbol.weak and not symbol.shape
        self.index = index

    def of(self, results: Sequence[Tensor]) -> Any:
        """Return this result of a call."""
        found = results[self.index]
        return found.array.item() if self.is_number else found


class _Given:
    """A position in the arguments: stands for an argument that is stored unchanged."""

    def __init__(self, index: int) -> None:
        self.index = index


class Nest:
    """A value that the function stored: nested containers with positions of results.

    Containers that existed before the trace are leaves: they are stored themselves.
    """

    def __init__(self, value: Any, knows: Callable[[Any], bool]) -> None:
        self.value = value
        self.leaves: list[Any] = []
        self.tree: Tree | None = None
        if value is not MISSING:
            self.leaves, self.tree = flatten(value, lambda v: knows(v) or is_whole(v))

    def containers(self) -> list[Any]:
        """The new containers in it."""
        return [] if self.tree is None else containers(self.tree, self.value)

    def of(self, found: Sequence[Any], given: Sequence[Any]) -> Any:
        """Return the value for a call, from its results and the leaves of its arguments."""
        return MISSING if self.tree is None else self.tree.build(
            [_taken(v, found, given) for v in self.leaves])


class Written(Nest):
    """A source and the value that the function stored there."""

    def __init__(self, source: Source, value: Any, knows: Callable[[Any], bool]) -> None:
        super().__init__(value, knows)
        self.source = source
        self.before = source.value


class Hidden:
    """A source whose value is a hidden argument; it holds a symbol during the trace."""

    def __init__(self, source: Source, symbol: Tensor) -> None:
        self.source = source
        self.symbol = symbol
        source.value = source.now()
        source.put(symbol)

    def is_written(self) -> bool:
        """Return whether the function assigned the source."""
        return self.source.now() is not self.symbol

    def undo(self) -> None:
        """Restore what the source held before the trace."""
        self.source.undo(self.source.value)


class Arguments:
    """The arguments of a trace: a nest of symbols, and its containers before the trace."""

    def __init__(self, version: Any, leaves: Sequence[Any], reads: Reads) -> None:
        tree: Tree = version.argument_tree
        self.tree, self.leaves, self.nest = tree, leaves, tree.build(leaves)
        self.objects: ArgumentObjects = version.owner.objects
        self.containers = _containers_of(tree, self.nest)
        reads.built = {id(c): c for c in self.containers if c is not None}

    def structure(self) -> Tree:
        """The present structure of its containers."""
        return self.objects.flatten(self.nest, True)[1]

    def is_changed(self) -> bool:
        """Return whether anything was put into one of its containers."""
        return self.structure() != self.tree or any(True for _ in _changes(self))


class Effects:
    """Everything that a trace stored, and the leaves of arguments that it replaced.

    :ivar tensors: The tensors to compute for these, each once.
    :ivar views: What comes after those: positions of tensors that own memory, their shapes in the
        trace, and the operations by which each is viewed.
    :ivar obstacle: What calls cannot repeat, as text for the user; empty if there is nothing.
    """

    def __init__(self, reads: Reads, hidden: Sequence[Hidden], given: Arguments) -> None:
        sources = [*reads.sources.values(), *reads.given.values()]
        #: What each call prints, logs or warns of, as functions to be called again.
        self.said = reads.said
        self.written = _in_order(_written(sources, reads.knows))
        self.written += _of_hidden(hidden, reads.knows)
        structure, leaves = given.structure(), given.leaves
        self.tree = tree = given.tree
        #: What it put into arguments, by the children on the way there.
        self.arguments: dict[tuple[int, ...], Nest] = {}
        self.obstacle = ""
        replaced: list[Any] = []
        if reads.repeated:
            self.obstacle = f"the body of a loop or branch changes {reads.repeated}"
        if structure != tree:
            self.obstacle = "it changes the structure of an argument"
        else:
            for path, value, inner, old, held in _changes(given):
                self.arguments[path] = Nest(value, reads.knows)
                if inner.kind is not None:
                    left, its_structure = given.objects.flatten(old)
                    if its_structure != inner or any(
                            a is not b for a, b in zip(left, held, strict=True)):
                        self.obstacle = "it changes a part of an argument, and replaces it"
                    else:
                        replaced += containers(inner, old)
        if self.arguments and not _is_simple(tree):
            self.obstacle = "it puts something into an argument that is no list, dict or dataclass"
        #: Whether it puts somewhere what it is given.
        self.keeps = False
        self._nests = [*self.written, *self.arguments.values()]
        self._hand_on({id(s): i for i, s in enumerate(leaves) if isinstance(s, Tensor)}, reads)
        values = [v for w in self._nests for v in w.leaves]
        #: All that it puts somewhere.
        self.values = values
        self._find_obstacles(values, reads)
        nests = {id(h.source.whole): h.source.whole for h in hidden if isinstance(h.source, Part)}
        #: Containers that it puts somewhere; and those, with all that hidden sources hold and
        #: arguments, of which none may be another's.
        self.kept = [c for w in self.written for c in w.containers()]
        self.apart = [*self.kept, *containers(structure, given.nest), *replaced, *(
            c for whole in nests.values() if all(w.source is not whole for w in self.written)
            for c in Written(whole, whole.now(), reads.knows).containers())]
        self._take_results(values)

    def _hand_on(self, own: dict[int, int], reads: Reads) -> None:
        """Mark written leaves that are arguments, to write each call's own: ``own`` maps ids of
        symbols to their positions among the argument leaves."""
        for w in self.written:
            if isinstance(w.before, np.ndarray) and any(map(_is_symbol, w.leaves)):
                reads.parts.borrowed.refuse(w.before)
        for nest in self._nests:
            leaves = map(reads.parts.borrowed.array_of, nest.leaves)
            nest.leaves = [_Given(own[id(v)]) if id(v) in own else v for v in leaves]
            self.keeps = self.keeps or any(type(v) is _Given for v in nest.leaves)

    def _find_obstacles(self, values: Iterable[Any], reads: Reads) -> None:
        """Record what calls cannot repeat: new objects and leaves that are stored."""
        for value in values:
            if _is_new(value, reads):
                self.obstacle = f"it puts a new {type(value).__name__} somewhere"
            elif isinstance(value, Tensor) and value._requires_grad and _begins(value):
                self.obstacle = "it puts a new tensor that requires a gradient somewhere"
        for w in self.written:
            if isinstance(w.source, (Definition, Function, Kind)):
                self.obstacle = f"it changes a class or a function: {w.source.change()}"
            elif isinstance(w.source, Length):
                self.obstacle = f"it changes {w.source.path}"
        for array in reads.arrays.values():
            if not array.holds():
                self.obstacle = f"it changes {array.path}, an array"
                array.undo(array.value)

    def _take_results(self, values: Iterable[Any]) -> None:
        """Replace computed tensors in written containers and arguments by positions in the results.
        """
        made = {id(v): v for v in values if _is_symbol(v)}
        ways = {} if self.obstacle else _views_of_new(made.values())
        if not all(map(_follow, ways.values())):
            self.obstacle, ways = "it keeps views that share memory, at places that it computes", {}
        owners = {key: v for key, v in made.items() if key not in ways}
        owners |= {id(way[0]): way[0] for way in ways.values()}
        self.tensors = [] if self.obstacle else list(owners.values())
        indices = {key: i for i, key in enumerate((*owners, *ways))}
        self.views = [(indices[id(root)], root.shape, [_operation(v) for v in way])
                      for root, *way in ways.values()]
        results = {key: _Result(v, indices[key]) for key, v in made.items()}
        for w in self._nests:
            w.leaves = [results.get(id(v), v) for v in w.leaves]

    def refuse_new(self, results: Iterable[Any], nest: Tree, reads: Reads) -> None:
        """Record a result that each call would have to create again, such as a dict with tensors as
        keys.
        """
        results = [*results]
        reads.parts.borrowed.refuse_views((*results, *self.values))
        for value in results:
            if not self.obstacle and _is_new(value, reads):
                self.obstacle = f"it returns a new {type(value).__name__}"
        if not self.obstacle and any(isinstance(k, Tensor) for t in nest.walk()
                                     if t.kind is dict and t.extra for k in t.extra):
            self.obstacle = "it returns a dict with tensors as keys"

    def refuse_shared(self, returned: Sequence[Any], reads: Reads, stand_ins: StandIns) -> None:
        """Record a new container that is stored in two places, or both stored and returned.

        :raises KeptSymbolError: If a nest whose parts are hidden arguments is known by another
            name.
        """
        held = [*self.apart, *returned]
        if len(set(map(id, held))) < len(held):
            self.obstacle = "it puts one container in two places, or keeps one of an argument"
        path = stand_ins.known_otherwise(reads.is_seen, [*self.kept, *returned])
        if path or (stand_ins and self.arguments):
            raise KeptSymbolError(f"it knows {path or 'an argument'}, which it replaces, by "
                                  "another name")

    def __bool__(self) -> bool:
        return bool(self.written or self.arguments or self.obstacle)

    @property
    def sizes(self) -> list[Extent]:
        """Return the sizes that are stored as numbers, or used as keys."""
        found = [v for w in self._nests for v in w.leaves]
        found += [k for w in self._nests if w.tree is not None
                  for t in w.tree.walk() if type(t.extra) is tuple for k in t.extra]
        return [v for v in found if isinstance(v, Extent)]

    @property
    def reshapes(self) -> bool:
        """Return whether it changes the structure of lists and dicts, not only values in them."""
        return any(isinstance(w.source, Contents) and w.source.counts for w in self.written)

    def sources(self) -> list[Source]:
        """Return the sources that it writes, arguments aside."""
        return [w.source for w in self.written]

    def undo(self) -> None:
        """Restore what the sources held before the trace."""
        for w in reversed(self.written):
            w.source.undo(w.before)

    def write(self, results: Sequence[Any], given: Any, leaves: Sequence[Any]) -> None:
        """Repeat the effects with the results of a call; ``given`` are the user's arguments,
        ``leaves`` those and the hidden ones.
        """
        if self.views:
            results = [*results, *(_viewed(results[i], *way) for i, *way in self.views)]
        for w in self.written:
            w.source.put(w.of(results, leaves))
        for path, put in self.arguments.items():
            _put(self.tree, given, path, put.of(results, leaves))
        for say in self.said:
            say()


def undone(reads: Reads) -> bool:
    """Undo everything that a failed trace did, and remove its symbols; return whether there was
    anything.
    """
    reads.settle_writes()
    current_trace().restore_flags()
    for array in reads.arrays.values():
        if not array.holds():
            array.undo(array.value)
    for source in reads.sources.values():
        if isinstance(source, State):
            source.restored()
    # Found before any is undone: one may have been met after a change by another way.
    sources = [*reads.sources.values(), *reads.given.values()]
    written = [*_written(sources, reads.knows)]
    for w in reversed(written):
        w.source.undo(w.before)
    return bool(written) or current_trace().changes_tensors()


def refuse_symbols(reads: Reads, changed: str) -> None:
    """Raise KeptSymbolError if code read a whole container that holds computed values or arguments.

    :param changed: The path of a container that code both changed in place and replaced.
    :raises KeptSymbolError: If so.
    """
    if changed:
        raise KeptSymbolError(f"it changes {changed}, which is another one at each call")
    for source in reads.sources.values():
        if isinstance(source, Contents) and _shows_symbol(source.value):
            raise KeptSymbolError(f"it looks at all of {source.path}, which it changes")


def _shows_symbol(items: Iterable[Any]) -> bool:
    """Return whether an element, or the value of an entry, is a symbol of the trace."""
    return any(map(_is_symbol, (v for i in items for v in (i if type(i) is tuple else (i,)))))


def _written(sources: Iterable[Source], knows: Callable[[Any], bool]) -> Iterator[Written]:
    for source in sources:
        if isinstance(source, (Answer, Fact, Keys)):
            continue
        now = source.now()
        if isinstance(source, (Definition, Function)):
            if not source.holds():
                yield Written(source, None, knows)
        elif isinstance(source, Appended):
            if len(now) > len(source.value):
                yield Written(source, now[len(source.value):], knows)
        elif isinstance(source, Entered):
            if (new := source.new()):
                yield Written(source, new, knows)
        elif now is not source.value and not same(now, source.value):
            yield Written(source, now, knows)


def _of_hidden(hidden: Iterable[Hidden], knows: Callable[[Any], bool]) -> Iterator[Written]:
    """Yield the writes to hidden arguments: single parts, or the whole nest if a part no longer
    exists.
    """
    sources = [h.source for h in hidden if h.is_written()]
    wholes = {id(p.whole): p.whole for p in sources if isinstance(p, Part) and p.now() is MISSING}
    single = [p for p in sources if not (isinstance(p, Part) and id(p.whole) in wholes)]
    for source in (*wholes.values(), *together(single)):
        yield Written(source, source.now(), knows)


def _in_order(written: Iterable[Written]) -> list[Written]:
    """Sort writes so that new entries are added in the order of the dict."""
    orders: dict[int, dict[Any, int]] = {}

    def rank(w: Written) -> int:
        if w.before is not MISSING or not isinstance(w.source, (Name, Attribute)):
            return 0
        mapping = w.source.mapping if isinstance(w.source, Name) else attributes(w.source.owner)
        if id(mapping) not in orders:
            orders[id(mapping)] = {key: i for i, key in enumerate(mapping, 1)}
        return orders[id(mapping)].get(w.source.name, 0)

    return sorted(written, key=rank)


def _is_new(value: Any, reads: Reads) -> bool:
    """Return whether each call has to create its own copy of an object that it returns or stores.
    """
    if isinstance(value, (Tensor, Extent, Enum, _Given)) or reads.knows(value):
        return False
    return is_users_object(type(value)) or not _is_lasting(value)


def _is_lasting(value: Any) -> bool:
    """Return whether an object is immutable, or belongs to a module or class, and so is the same in
    all calls.
    """
    kind = type(value)
    if kind is FunctionType:
        return value.__closure__ is None
    return kind in _LASTING or isinstance(value, (type, np.generic, np.dtype)) or (
        module_of(kind).partition(".")[0] in ("agnesi", "datetime", "decimal", "fractions"))


def _is_symbol(value: Any) -> bool:
    return isinstance(value, Tensor) and value.array is None


def _views_of_new(made: Collection[Tensor]) -> dict[int, list[Tensor]]:
    """Return views, by identity, that share the memory of a tensor that the trace computed with
    another one of these: that tensor, and the views from it on.
    """
    ways = {id(x): looking_through(x) for x in made}
    shared = Counter(id(way[0]) for way in ways.values())
    return {key: way for key, way in ways.items()
            if len(way) > 1 and shared[id(way[0])] > 1 and _is_computed(way[0])}


def _follow(way: Sequence[Tensor]) -> bool:
    """Return whether views and their sizes follow from the sizes of the tensor that they view."""
    if any(v._view is not None and v._view.operands for v in way):
        return False
    sizes: dict[Any, Size] = dict.fromkeys(way[0].shape, 1)
    return is_static([size_with(n, sizes) for v in way for n in v.shape])


def _operation(view: Tensor) -> Op:
    """Return the operation by which a tensor views its base."""
    assert view._view is not None
    return view._view.op


def _viewed(x: Tensor, shape: Sequence[Size], ops: Sequence[Op]) -> Tensor:
    """Return a view of a result, which had another shape in the trace."""
    sizes: dict[Any, Size] = dict(zip(shape, x.shape, strict=True))
    for op in ops:
        x = apply(op.resolve(lambda n: size_with(n, sizes)), x)
    return x


def _is_computed(x: Tensor) -> bool:
    return x.array is None and x.node is not None and x.node.op is not None


def _begins(x: Tensor) -> bool:
    """Return whether the trace made this tensor, and gradients accumulate in it."""
    made = id(x) in getattr(current_trace(), "made", ())
    return made or (x.node is not None and x.array is None and not x.node.requires_grad)


def _taken(value: Any, found: Sequence[Any], given: Sequence[Any]) -> Any:
    if type(value) is _Result:
        return value.of(found)
    return given[value.index] if type(value) is _Given else value


def _is_simple(tree: Tree) -> bool:
    """Return whether a nest consists of containers that ``_put`` can write results into."""
    return all(
        t.kind in (None, list, *TUPLES, dict, type(None)) or t.has_fields or t.is_object
        or t.is_named_tuple for t in tree.walk())


def _containers_of(tree: Tree, nest: Any) -> list[Any]:
    """Return the containers in a nest, tuples included, in tree order; None for a leaf."""
    found, stack = [], [(tree, nest)]
    while stack:
        tree, nest = stack.pop()
        is_leaf = tree.kind in (None, type(None))
        found.append(None if is_leaf else nest)
        stack += [] if is_leaf else reversed([*zip(tree.children, tree.take(nest)[0], strict=True)])
    return found


def _changes(given: Arguments) -> Iterator[tuple[tuple[int, ...], Any, Tree, Any, Sequence[Any]]]:
    """Yield the places in arguments that no longer hold their leaf or container: the path of child
    indices, the new object, the structure of both, the old object, and its leaves.
    """
    leaves, before = given.leaves, given.containers
    stack: list[tuple[Any, Tree, Any, int, int]] = [((), given.tree, given.nest, 0, 0)]
    while stack:
        way, tree, now, leaf, k = stack.pop()
        if tree.kind is None:
            if now is not leaves[leaf] and not same(now, leaves[leaf]):
                yield _path(way), now, tree, leaves[leaf], ()
        elif tree.kind is not type(None) and now is not before[k]:
            yield _path(way), now, tree, before[k], leaves[leaf:leaf + tree.leaves]
        else:
            k += 1
            for i, (inner, held) in enumerate(zip(tree.children, tree.take(now)[0], strict=True)):
                stack.append(((way, i), inner, held, leaf, k))
                leaf, k = leaf + inner.leaves, k + inner.size


def _path(way: Any) -> tuple[int, ...]:
    """Return the path of child indices to a part, from nested pairs (path so far, next index)."""
    found = []
    while way:
        way, i = way
        found.append(i)
    return tuple(reversed(found))


def _put(tree: Tree, nest: Any, path: Sequence[int], value: Any) -> None:
    """Replace a part of a nest, in the container that holds it."""
    *outer, last = path
    for i in outer:
        nest, tree = [*tree.take(nest)[0]][i], tree.children[i]
    key: Any = (tree.take(nest)[1] or range(last + 1))[last]
    if isinstance(nest, (list, dict)):
        nest[key] = value
    else:
        object.__setattr__(nest, key, value)
