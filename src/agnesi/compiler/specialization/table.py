"""The table of specializations of a jitted function: which one a call takes, and eviction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnesi.compiler.specialization.dynamic_sizes import (
    Family,
    births,
    describe_pattern,
    fits,
    in_shapes,
    shapes_of,
    sizes_of,
)
from agnesi.compiler.specialization.precomputed_sizes import Computed, SizeWanted, behind
from agnesi.compiler.specialization.recompile_limit import RecompileCounts, StaticCounts
from agnesi.compiler.specialization.recorded import eager_notes
from agnesi.compiler.specialization.signatures import (
    but_sizes,
    describe_kind,
    kind_with,
    kinds_of,
)
from agnesi.compiler.specialization.specialization import Version
from agnesi.compiler.specialization.varying_arguments import (
    MAX_CONSTANT_CHANGES,
    VaryingArguments,
)
from agnesi.compiler.tracing.arguments.facts import facts_of, of_signatures
from agnesi.compiler.tracing.containers.nests import varying
from agnesi.compiler.tracing.decisions import INSTEAD, MAX_BRANCHES, Decision, Deferral
from agnesi.compiler.tracing.effects import KeptSymbolError
from agnesi.compiler.tracing.leaves import Constant
from agnesi.compiler.tracing.obstacles import (
    LookedAtError,
    OnceEagerError,
    OnlyEagerError,
    refuse_stores,
)
from agnesi.compiler.tracing.sources import Source
from agnesi.compiler.tracing.trace import TRACING
from agnesi.core.support.config import STATE, config
from agnesi.core.support.errors import warn
from agnesi.core.support.tree import Tree
from agnesi.core.tensor import Tensor

#: Versions for one signature: they differ in the state that they were traced for, such as the
#: mode of a module.
MAX_SPECIALIZATIONS = 4
#: Signatures that a function keeps versions for.
_MAX_SIGNATURES = 128
#: Most signatures in the table from signature to version.
_MAX_CACHED_SIGNATURES = 1000
#: Most versions kept for one signature that differ in branches taken by values.
_WAYS_KEPT = 64
#: Traces that end at what no code can do, and consecutive calls that run eagerly once each,
#: until the function runs eagerly for good.
_MAX_OBSTACLES, _MAX_EAGER_CALLS = 3, 64
#: Of what changed, so much is named.
_MAX_NAMED_CHANGES = 3

Make = Callable[..., Version]


class Versions:
    """The specializations of one function.

    :ivar ready: Those used last, which calls try first.
    :ivar hidden: Sources whose values keep changing: numbers and tensors, which are passed to the
        code as arguments.
    :ivar dynamic: Positions of Python ints and strings that keep changing and are therefore
        run-time values, by the pytree of the arguments.
    :ivar steering: Those of both that Python's control flow or output depends on: they stay
        constants.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.ready: list[Version] = []
        self.hidden: dict[Any, Source] = {}
        self.dynamic: dict[Tree, set[int]] = {}
        self._varying = VaryingArguments(self)
        #: Facts of arguments besides their values on which some trace relied: part of signatures.
        self.queries: frozenset[str] = frozenset()
        self.deferral = Deferral()
        #: Which error the user's function raised in a trace, which was undone.
        self.failure = 0
        self._changed: dict[Any, int] = {}
        self.steering: set[Any] = set()
        #: Floats among the arguments that Python looks at, by their indices in a nest.
        self._looked_at: frozenset[tuple[Tree, int]] = frozenset()
        self._made: dict[Any, list[Version]] = {}
        self._families: dict[Any, Family[Version]] = {}
        self._served: dict[Any, Version] = {}
        #: By arguments, what computes the next data-dependent size, on Python's ways.
        self._computed: dict[Any, list[Computed]] = {}
        #: The same for all sizes of arguments: one of each kind, by its number.
        self._sizes: dict[Any, list[Computed]] = {}
        #: What computes them for arguments of more than one size.
        self._counting: dict[Any, list[Computed]] = {}
        #: Whether traces of symbolic sizes compute sizes as those of static sizes do, so far.
        self._opens = True
        #: Signatures for which sizes that data decides are constants of a version each.
        self._whole: set[Any] = set()
        self._seen: list[Any] = []
        self._recompiles, self._statics = RecompileCounts(), StaticCounts()
        self._obstacles = self._let_go = self._disagreed = self._eager_calls = 0
        #: What Python branched on at each line, for each kind of arguments.
        self._ways: dict[Any, dict[Any, Decision]] = {}

    def find_or_make(self, leaves: Sequence[Any], tree: Tree,
                     diverged: Sequence[Version] = ()) -> tuple[Version, Sequence[Any]]:
        """Return the specialization for arguments, made if missing, and all values that its code
        takes.

        Specializations in ``diverged`` are skipped: one of their decisions already failed in this
        call.
        """
        chosen: dict[int, Computed] = {}
        before: Any = None
        looked_at = self._looked_at
        self.failure = 0
        while True:
            with TRACING.lock:
                taken: Sequence[Any] = self._taken(leaves, tree)
                found = self._found(taken, tree, (), diverged)
                if found is not None:
                    return found
                taken, computed = self._guessed(taken, tree, chosen)
                key = self.key_of(taken, tree, computed)
                if self._promote(key) or self._varying.promote(leaves, tree):
                    continue
            try:
                return self._make(key, taken, computed, diverged), taken
            except SizeWanted as wanted:
                self._compute(key, taken, computed, wanted, chosen)
            except (Exception, LookedAtError) as error:
                now = self.hidden, self.dynamic, set(self.steering)
                if self._varying.demote_texts(leaves, tree) or (
                        isinstance(error, LookedAtError)
                        and self._take_as_constants(error, leaves, tree)):
                    pass
                elif self._demote():
                    before = now
                elif not (self.deferral.borrow_less()
                          or self._take_as_constants(error, leaves, tree)
                          or self._look_at_numbers(error)):
                    self._looked_at = looked_at
                    if before is not None:  # it fails with constants, too
                        self.hidden, self.dynamic, self.steering = before
                    refuse_stores(error)
                    if isinstance(error, KeptSymbolError):
                        raise error.only_eagerly() from None
                    raise
                chosen.clear()

    def _found(self, taken: Sequence[Any], tree: Tree, computed: tuple[Computed, ...],
               diverged: Sequence[Version]) -> tuple[Version, Sequence[Any]] | None:
        """Return a specialization for arguments that end with the values of ``computed``, or for
        these and further computed sizes; None if there is none.
        """
        key = self.key_of(taken, tree, computed)
        version = self._serving(key, taken, diverged)
        if version is not None:
            return version, taken
        for c in self._known(key, taken):
            results = c.results(taken)
            if results is not None:
                found = self._found([*taken, *results], tree, (*computed, c), diverged)
                if found is not None:
                    return found
        return None

    def _guessed(self, taken: Sequence[Any], tree: Tree, chosen: Mapping[int, Computed]
                 ) -> tuple[Sequence[Any], tuple[Computed, ...]]:
        """Return the arguments with the data-dependent sizes that a trace is expected to request,
        and the functions that computed them.
        """
        computed: tuple[Computed, ...] = ()
        while True:
            known = self._known(self.key_of(taken, tree, computed), taken)
            selected = chosen.get(len(computed))
            for c in known if selected is None else [selected]:
                results = c.results(taken)
                if results is not None:
                    taken, computed = [*taken, *results], (*computed, c)
                    break
            else:
                return taken, computed

    def _known(self, key: Any, taken: Sequence[Any]) -> list[Computed]:
        """Return the functions that compute data-dependent sizes for this signature."""
        found = self._computed.get(key)
        open_ = () if found is not None else self._counting.get(but_sizes(key), ())
        if not open_:
            return found or []
        sizes = sizes_of(shapes_of(taken))
        if len(self._computed) >= _MAX_CACHED_SIGNATURES:
            self._computed.clear()
        found = self._computed[key] = [c for c in open_ if fits(c.pattern, sizes)]
        return found

    def _compute(self, key: Any, taken: Sequence[Any], known: tuple[Computed, ...],
                 wanted: SizeWanted, chosen: dict[int, Computed]) -> None:
        """Compile a function that computes a data-dependent size before each call with such
        arguments.
        """
        if wanted.pattern is not None:  # it was requested while sizes were open
            try:
                self._version(taken, key[0], None, known)
            except SizeWanted as exactly:
                wanted = wanted if self._opens else exactly
            else:
                self._whole.add(key)
                return
        index = wanted.index
        if index in chosen and chosen[index].pattern is not None:
            self._opens = False
            for table in (chosen, self._computed, self._counting):
                table.clear()
            return
        if index in chosen:  # it is another one in each trace of this very call
            if chosen[index].fresh:
                raise OnlyEagerError("the size of a result is computed from other values in each "
                                     "trace")
            chosen[index].fresh = True
            return
        for later in [p for p in chosen if p > index]:
            del chosen[later]
        before = taken[: len(taken) - behind(known[index:])]
        self._families.setdefault(but_sizes(key), Family()).learn(shapes_of(taken))
        chosen[index] = self._computing(self.key_of(before, key[0], known[:index]), wanted)

    def _computing(self, key: Any, wanted: SizeWanted) -> Computed:
        """Return the function that computes a size from the arguments, made if it is new."""
        others, exact = self._computed.setdefault(key, []), wanted.pattern is None
        for c in others:
            if (c.pattern is None) is exact and c.computes(wanted.inputs, wanted.outputs, exact):
                return c.serves(wanted.sources)
        if len(others) >= MAX_BRANCHES:
            others.clear()
        made = wanted.made or wanted.make()
        others.append(made)
        if made.pattern is not None:
            self._counting.setdefault(but_sizes(key), []).append(made)
        kinds = self._sizes.setdefault(but_sizes(key), [])
        made.number = next((i for i, c in enumerate(kinds) if c.computes(
            wanted.inputs, wanted.outputs, None)), len(kinds))
        if made.number == len(kinds):
            kinds.append(made)
        return made

    def gives_up(self, leaves: Sequence[Any], tree: Tree) -> bool:
        """Return whether the function runs eagerly, because its effects or what it reads keep
        changing.
        """
        if self._obstacles > _MAX_OBSTACLES or self._statics.refuse(self, leaves, tree):
            return True
        if not self._recompiles:
            return False
        taken = self._taken(leaves, tree)
        key = self.key_of(taken, tree)
        if not self._recompiles.are_many(key) or self._serving(key, taken) is not None:
            return False
        made = self._made.get(key, [])[-1:]
        return not any(self._recompiles.begin_again(key, v.sources) for v in made)

    def give_up(self, why: str, instead: str) -> None:
        """Run the function eagerly from now on."""
        self._obstacles = _MAX_OBSTACLES + 1
        self.ready = []
        self.owner.call_directly(self.owner.dispatch)
        warn(f"{self.owner.name} runs eagerly, for {why}. {instead}", RuntimeWarning)

    def failed(self, error: Exception) -> bool:
        """Return whether the error comes from the user's function.

        It then runs again eagerly, so that the error comes after the same side effects as there.
        """
        found, self.failure = self.failure, 0
        return found == id(error)

    def disagree(self) -> None:
        """Count a call in which the interpreter and compiled code gave different values to a
        decision; after several, the function runs eagerly.
        """
        self._disagreed += 1
        if self._disagreed > MAX_BRANCHES:
            self.give_up("Python decides by numbers whose last digits depend on how they are "
                         "computed", INSTEAD)

    def note_eager(self, reason: OnceEagerError) -> None:
        """Count a call that ran eagerly; if all calls have such a reason, the function runs eagerly
        for good.
        """
        self._eager_calls += 1
        if self._eager_calls > _MAX_EAGER_CALLS:
            self.give_up(str(reason), reason.instead)

    def use(self, version: Version) -> None:
        """Note that a version was used."""
        self._eager_calls = 0
        self.ready = [version, *(v for v in self.ready if v is not version)][:MAX_SPECIALIZATIONS]

    # -- which there are --------------------------------------------------------------------
    def _serving(self, key: Any, leaves: Sequence[Any],
                 diverged: Sequence[Version] = ()) -> Version | None:
        """Return a valid specialization for a key; one with dynamic sizes is preferred."""
        found = self._served.get(key)
        if found is not None and found not in diverged and found.valid():
            return self._serve(key, found)
        family = self._families.get(but_sizes(key), Family())
        shapes, known = shapes_of(leaves), self._made.get(key, [])
        for holds in (Version.valid, Version.adopts):
            def serves(v: Version, holds: Any = holds) -> bool:
                return v not in diverged and holds(v)

            found = family.find(shapes, serves) or next(filter(serves, reversed(known)), None)
            if found is not None:
                return self._serve(key, found)
        return None

    def _serve(self, key: Any, version: Version) -> Version:
        """Take a version for a key, which is the one used last from now on."""
        if key in self._made:
            self._made[key] = self._made.pop(key)
        if len(self._served) >= _MAX_CACHED_SIGNATURES:
            self._served.clear()
        self._served[key] = version
        return version

    def _let_one_go(self) -> None:
        """Drop the specializations of the least recently used signature; the first time, warn which
        argument keeps changing.
        """
        used = set(map(id, self.ready))  # native calls leave no other trace
        *older, _ = self._made
        key = next((k for k in older if used.isdisjoint(map(id, self._made[k]))), older[0])
        gone = self._made.pop(key)
        self._served.pop(key, None)
        self._recompiles.forget(key)
        self.ready = [v for v in self.ready if v not in gone]
        rest = but_sizes(key)
        if all(but_sizes(k) != rest for k in self._made):
            self._families.pop(rest, None)
        self.owner.release([v.compiled for v in gone])
        self._let_go += 1
        if self._let_go == 1:
            warn(
                f"{self.owner.name} was called with more than {_MAX_SIGNATURES} signatures; "
                "versions that were not used for longest are let go from now on: "
                f"{self._changing()}. "
                "Give what changes as a float or an array, whose values the code takes at run "
                "time",
                RuntimeWarning,
            )

    def _changing(self) -> str:
        """Say which argument differed most often among the signatures that are kept."""
        kinds = [key[1] for key in self._made]
        longest = max(map(len, kinds))
        rows = [k for k in kinds if len(k) == longest]
        counts = [len(set(column)) for column in zip(*rows, strict=True)]
        if not counts or max(counts) < 2:
            return "the structure of the arguments keeps changing"
        i = counts.index(max(counts))
        before, now = (describe_kind(row[i]) for row in rows[-2:])
        return f"argument {i} keeps changing, it was {before}, now {now}"

    # -- new ones ---------------------------------------------------------------------------
    def _make(self, key: Any, leaves: Sequence[Any], computed: Sequence[Any] = (),
              diverged: Sequence[Version] = ()) -> Version:
        """A new version for a key."""
        tree, kinds, *_ = key
        shapes, family = shapes_of(leaves), self._families.setdefault(but_sizes(key), Family())
        known = self._made.get(key, [])
        cause = _other_way(diverged[-1]) if diverged else self._cause(key, known)

        def make(pattern: Any = None) -> Version:
            try:
                return self._version(leaves, tree, pattern, computed,
                                     [v.decisions for v in diverged])
            except SizeWanted as wanted:
                if pattern is not None and self._opens:  # what cannot be so is refused here
                    wanted.made = wanted.make()
                raise

        grown = None
        if not known and key not in self._whole:
            grown = family.grow(shapes, make, births(shapes, [c.most for c in computed]))
        pattern, made = (None, make()) if grown is None else grown
        self.owner.objects.refuse(made.effects.obstacle, tree)
        key = self._with_queries(made, key, leaves, family)
        if pattern is not None:
            self._served.clear()
            kinds = tuple(map(kind_with, kinds, in_shapes(pattern, shapes)))
            cause += f"; {describe_pattern(pattern)}"
        else:
            refused = family.learn(shapes)
            cause += f"; no version for all sizes: {refused}" if refused else ""
            kept = known[1 - (_WAYS_KEPT if made.decisions else MAX_SPECIALIZATIONS):]
            self._made[key] = [*kept, made]
            if len(self._made) > _MAX_SIGNATURES:
                self._let_one_go()
        self._seen = [*self._seen[1 - MAX_SPECIALIZATIONS :], key]
        cause += eager_notes(made)
        self._note_obstacle(made)
        self._note_ways(but_sizes(key), made)
        self.owner._note(made.compiled, ", ".join(map(describe_kind, kinds)), cause, made.seconds,
                         made.decisions)
        return self._serve(key, made)

    def _with_queries(self, made: Version, key: Any, leaves: Sequence[Any], family: Any) -> Any:
        """Return the key with the argument facts that this specialization queried for the first
        time.
        """
        new = of_signatures(made.assumed.queries) - self.queries
        if new:
            self.queries |= new
            key = (*key[:-1], facts_of(leaves, self.queries))
            self._families[but_sizes(key)] = family
        return key

    def _version(self, leaves: Sequence[Any], tree: Tree, *others: Any) -> Version:
        made = Version(self.owner, leaves, tree, dict(self.hidden),
                       frozenset(self.dynamic.get(tree, ())), *others)
        behind = leaves[tree.leaves:tree.leaves + len(self.hidden)]
        if made.records and any(isinstance(v, Tensor) and v._requires_grad for v in behind):
            raise KeptSymbolError("gradients flow to a tensor that keeps changing")
        return made

    def _note_obstacle(self, made: Version) -> None:
        if made.effects.obstacle:
            self._obstacles += 1
            if self._obstacles == 1:
                warn(f"{self.owner.name} runs eagerly, for {made.effects.obstacle}, which compiled "
                     "code cannot repeat. Return what it makes", RuntimeWarning)

    def _note_ways(self, kind: Any, made: Version) -> None:
        """Count the outcomes of Python's decisions at each source line; if there are too many, the
        function runs eagerly.
        """
        for line in dict.fromkeys(d.where for d in made.decisions):
            ways = self._ways.setdefault((kind, line), {})
            values = tuple([d.value for d in made.decisions if d.where == line])
            ways[values] = next(d for d in made.decisions if d.where == line)
            if len(ways) > MAX_BRANCHES and self._demote():
                self._ways.clear()
                return
            if len(ways) > MAX_BRANCHES:
                self.give_up(
                    f"Python decided in more than {MAX_BRANCHES} ways by computed values, with "
                    f"{ways[values]}",
                    INSTEAD,
                )
                return

    def key_of(self, leaves: Sequence[Any], tree: Tree, computed: Sequence[Computed] = ()) -> Any:
        """Return the key of a specialization: all but what it reads besides its arguments."""
        kinds = tuple(kinds_of(leaves, tree.leaves, self.dynamic.get(tree, ())))
        return (tree, kinds, (STATE.recording, STATE.autocast), config.default_float,
                tuple([c.number for c in computed]), facts_of(leaves, self.queries))

    # -- what keeps changing ----------------------------------------------------------------
    def _promote(self, key: Any) -> bool:
        """Make captured numbers and tensors that have changed several times hidden arguments;
        return whether there are any.
        """
        found = False
        for source_key, source in getattr(self._served.get(key), "sources_by_key", {}).items():
            made = {} if source.holds() else varying(source_key, source, source.now())
            if made.keys() <= self.hidden.keys() or self.steering & made.keys():
                continue
            self._changed[source_key] = self._changed.get(source_key, 0) + 1
            if self._changed[source_key] >= MAX_CONSTANT_CHANGES:
                self.hidden |= made
                found = True
        return found

    def _demote(self) -> bool:
        """Make hidden arguments and dynamic integers constants again, because control flow depends
        on some.
        """
        self.steering.update(self.hidden)
        self.steering.update((tree, i) for tree, known in self.dynamic.items() for i in known)
        found = bool(self.hidden) or any(self.dynamic.values())
        self.hidden, self.dynamic = {}, {}
        return found

    def _taken(self, leaves: Sequence[Any], tree: Tree) -> list[Any]:
        """Return the leaves, with floats that Python decides by as constants, followed by the
        values of hidden arguments.
        """
        found = list(leaves)
        for where, i in self._looked_at:
            if where == tree and type(found[i]) is float:
                found[i] = Constant(found[i])
        return [*found, *(p.now() for p in self.hidden.values())]

    def _take_as_constants(self, error: BaseException, leaves: Sequence[Any], tree: Tree) -> bool:
        """Specialize on the values of float arguments from now on, because Python decides by them;
        return whether any is new.
        """
        indices = getattr(error, "indices", None) or range(len(leaves))
        found = {(tree, i) for i in indices if i < len(leaves) and type(leaves[i]) is float}
        new = not found <= self._looked_at
        self._looked_at |= found
        return new

    def _look_at_numbers(self, error: BaseException) -> bool:
        """Give Python the values of computed numbers from now on, because tracing failed with
        symbolic ones; return whether that may help.
        """
        deferral = self.deferral
        found = deferral.allowed and (deferral.used or isinstance(error, LookedAtError))
        deferral.allowed = deferral.allowed and not found
        deferral.used = False
        return found

    def _count_recompile(self, key: Any, change: str, weight: int) -> None:
        """Count a new specialization caused by something that the function reads; after several,
        the function runs eagerly.
        """
        if self._recompiles.count(key, weight):
            warn(f"{self.owner.name} runs eagerly from now on, for it was compiled several times "
                 f"for something that it reads and that keeps changing: {change}. Give it as an "
                 "argument, or keep it in a tensor that is changed in place", RuntimeWarning)

    def _cause(self, key: Any, known: Sequence[Version]) -> str:
        """Return why none of the versions made so far serves."""
        if not self._seen:
            return "it was the first call"
        if any(v.outdated() for v in known):
            return ("the gradients that it adds to are other tensors; zero_grad(set_to_none=False) "
                    "keeps them and their version")
        changes = known[-1].changes() if known else []
        if changes:
            self._count_recompile(key, changes[0], 4 if known[-1].effects.reshapes else 1)
            more = (
                f" and {len(changes) - _MAX_NAMED_CHANGES} more"
                if len(changes) > _MAX_NAMED_CHANGES
                else ""
            )
            return "; ".join(changes[:_MAX_NAMED_CHANGES]) + more
        if known:
            return "tensors that it uses changed shape, dtype, requires_grad or gradient"
        return self._difference(key)

    def _difference(self, key: Any) -> str:
        """Describe the difference from the most similar arguments seen before."""
        tree, kinds, mode, default, _, facts = key
        alike = [k for k in reversed(self._seen) if k[0] == tree and len(k[1]) == len(kinds)]
        if not alike:
            hidden = [p.path for p in self.hidden.values()]
            if hidden and any(k[0] == tree for k in self._seen):
                return f"{', '.join(hidden)} kept changing: the code takes it at run time"
            return "the arguments had a new structure"
        _, known_kinds, known_mode, known_default, _, known_facts = min(
            alike, key=lambda k: sum(a != b for a, b in zip(k[1], kinds, strict=True)))
        changed = [
            f"argument {i} was {describe_kind(a)}, now {describe_kind(b)}"
            for i, (a, b) in enumerate(zip(known_kinds, kinds, strict=True)) if a != b
        ]
        if facts != known_facts:
            changed.append("the names or attributes of arguments, or whether they are leaves, "
                           "changed")
        changed += [text for text, a, b in (
            ("no_grad was switched", mode[0], known_mode[0]),
            ("amp.autocast was entered or left", mode[1], known_mode[1]),
            ("config.default_float was changed", default, known_default)) if a != b]
        return "; ".join(changed) or "it was called with these arguments for the first time"


def _other_way(version: Version) -> str:
    """Return the cause of a new specialization: Python decided otherwise."""
    return f"Python decided otherwise than {version.way()}"
