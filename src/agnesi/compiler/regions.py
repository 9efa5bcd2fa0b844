"""Eager regions: pure functions that are called often become one compiled operation each.

A region is a function of tensors that also reads tensors from outside (parameters) and may change
some (running means).  It is traced once for the types of its operands.  The graph of its results
and of its gradients is cut in two, forward and backward, and what the backward half reads of the
forward one is kept between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from agnesi.autodiff.bodies import BodyTrace, Capture, body_trace, close
from agnesi.autodiff.flows import seeds_of
from agnesi.autodiff.recompute import saved_values, values_of_rules
from agnesi.autodiff.recording import Settled
from agnesi.autodiff.reverse import backprop, between, overwritten
from agnesi.compiler import warmup
from agnesi.compiler.binding.outer_values import Outer, bare
from agnesi.compiler.jit import jit
from agnesi.compiler.warmup import WORK
from agnesi.core.dispatch import assign, current, record, record_many
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.op import Op
from agnesi.core.storage.changes import is_late
from agnesi.core.support.config import HOOKS, MODE, config, switched, witnessed
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.tree import Tree, flatten
from agnesi.core.support.undo import Block
from agnesi.core.tensor import Tensor, keep, wrap
from agnesi.ops.base.creation import zeros
from agnesi.ops.control.body import Body

#: Nanoseconds of a function's few operations, and for each element of its operands, by which its
#: work is guessed before it is traced.
_FEW_CALLS, _DEEP_ELEMENT = 24_000, 30.0
#: Nanoseconds that compiling takes for an operation of the graph.
PRICE = 1_000_000
#: Nanoseconds that a call must save to be worth its own: one of a region takes about so many.
GAIN = 15_000
#: Types of operands that a function keeps regions for, and calls with such before one is traced.
_KEPT, BEFORE = 64, 3
#: Nanoseconds of eager work for which a region is compiled at the first call; and the product of
#: the numbers of elements of operands from which on that may be so.
_AT_ONCE_NANOSECONDS, _PRODUCT_OF_SIZES = 200_000_000, 1e8
#: Operations that take as long to compile as what each function needs besides its own.
_EACH_FUNCTION = 5
#: Nanoseconds of a long call, as guessed: after a few of them a function is traced.
_LONG_NANOSECONDS = 250_000
#: A result has so many times the elements of an operand that a region copies for its gradients.
_COPIED = 8
#: Whether a region around this call is going to be compiled: then those within it are no gain.
_WITHIN: ContextVar[bool] = ContextVar("within a region that waits", default=False)


class _Waiting(Block):
    """The block within a region that waits to be compiled, in which no other one is."""

    def begin(self) -> None:
        _WITHIN.set(True)

    def end(self) -> None:
        _WITHIN.set(False)


class Regions:
    """The compiled regions of one function, by the types of operands and of other values that it
    reads.
    """

    def __init__(self, function: Callable[..., Any], wanted: bool = False,
                 meanwhile: Callable[..., Any] | None = None,
                 share: Callable[[Sequence[Any]], float] = lambda operands: 1.0) -> None:
        self.function, self._wanted = function, wanted
        #: What part of the calls of single operations one takes until it is compiled.
        self._share = share
        #: What is called until compiled code pays.
        self._meanwhile = function if meanwhile is None else meanwhile
        #: Regions by types; None where it cannot be one, before it is traced the number of calls,
        #: and the nanoseconds of one, as guessed.
        self._found: dict[Any, Region | tuple[int, int] | None] = {}
        #: Those made before eager work was counted again, which has happened so often.
        self._spare: dict[Any, Region] = {}
        self._recounts = HOOKS.recounts

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the function's results, by compiled code once enough calls were made to pay for
        compilation.
        """
        mode = MODE.get()
        if is_tracing() or not (config._compiles or config.compiles) or not (
                mode.watch is mode.examples is mode.autocast is None and not mode.fixed):
            return self.function(*args, **keywords)
        types: list[Any] = []
        for x in args:  # ``_type`` of each, written out
            if type(x) is not Tensor or (data := x.array) is None:
                types = []
                break
            types.append((data.shape, data.dtype, x._requires_grad))
        leaves: Sequence[Any] = args
        tree = None
        if keywords or not types:
            leaves, tree = flatten((args, keywords))
            types = [_type(x) for x in leaves]
            if None in types:
                return self.function(*args, **keywords)
        firsts = _firsts(leaves) if len(leaves) > 1 else None
        key = mode.recording, tree, firsts, *types
        if self._recounts != HOOKS.recounts:
            self._recount()
        region = self._found.get(key, (0, 0))
        if type(region) is not Region:
            region = self._counted(key, region, leaves) if type(region) is tuple else None
        if region is None:
            return self._meanwhile(*args, **keywords)
        if region.code.unpaid > 0 and (_WITHIN.get() or not region.pays()):
            return self._waiting(args, keywords)
        if not region.outer.fit():
            del self._found[key]
            return self._meanwhile(*args, **keywords)
        if firsts is not None or tree is not None:
            leaves = _tensors(leaves, firsts)
        return region.call(leaves, mode)

    def _waiting(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the results while the region is not compiled yet; regions inside are not compiled
        meanwhile.
        """
        if _WITHIN.get():
            return self._meanwhile(*args, **keywords)
        with _Waiting():
            return self._meanwhile(*args, **keywords)

    def plain(self) -> tuple[Callable[..., tuple[Tensor, ...]] | None, Any]:
        """Return the compiled function of a region that may be called without a Python frame, and a
        function that rebuilds its results; (None, None) if there is none.

        The operands must be distinct, and the region must read and change nothing else and need no
        gradients.
        """
        for (_, tree, firsts, *_), region in self._found.items():
            if tree is firsts is None and type(region) is Region and not (
                    region.code.unpaid > 0 or region.changed or region.outer.tensors
                    or region.backward):
                results = region.tree
                return region.forward, None if results.kind is None else results.builder()
        return None, None

    @property
    def are_compiled(self) -> bool:
        """Whether there is a region that was compiled."""
        return any(type(r) is Region and r.code.unpaid <= 0 for r in self._found.values())

    def _recount(self) -> None:
        self._recounts = HOOKS.recounts
        self._spare = {k: r for k, r in self._found.items() if isinstance(r, Region)}
        self._found.clear()

    def _counted(self, key: Any, before: Any, leaves: Sequence[Any]) -> Region | None:
        """Return the region for a key that was called ``before``, if it was called often enough to
        be traced; else None.
        """
        if self._wanted or _WITHIN.get():
            return self._made(key, leaves) if self._wanted else None
        calls, guess = before
        if not calls:
            sizes = [float(x.size) for x in leaves if type(x) is Tensor]
            guess = int((_FEW_CALLS + _DEEP_ELEMENT * sum(sizes)) * self._share(leaves))
        WORK.pays(guess)
        if calls >= BEFORE and (guess >= _LONG_NANOSECONDS or calls * guess >= warmup.TRACING):
            made = self._made(key, leaves)
            if made is not None:
                made.credit(calls)
            return made
        if not calls and math.prod(sizes) >= _PRODUCT_OF_SIZES:
            made = self._made(key, leaves)
            if made is not None and made.work >= _AT_ONCE_NANOSECONDS:
                WORK.loaded()
                return made
        if len(self._found) >= _KEPT and not calls:
            self._found.clear()
        self._found[key] = calls + 1, guess
        return None

    def _made(self, key: Any, leaves: Sequence[Any]) -> Region | None:
        made = self._spare.pop(key, None)
        if made is not None:
            made.code.count_anew(made.price)
            self._found[key] = made
            return made
        try:
            made = Region(
                self.function, leaves, self._wanted, self._share(leaves), *key[:3]
            ) if HOOKS.compiles() else None
        except Exception as error:  # whatever it is, the function itself will raise it
            raise_if_from_signal(error)
            made = None
        self._found[key] = made
        return made


def _firsts(leaves: Sequence[Any]) -> tuple[int, ...] | None:
    """Return where each leaf occurs first; None where none occurs twice."""
    if len(leaves) == 1 or len(set(map(id, leaves))) == len(leaves):
        return None
    ids = list(map(id, leaves))
    return tuple(map(ids.index, ids))


def _tensors(leaves: Sequence[Any], firsts: tuple[int, ...] | None) -> list[Tensor]:
    """The tensors among leaves, each once."""
    if firsts is None:
        return [x for x in leaves if type(x) is Tensor]
    return [x for i, x in enumerate(leaves) if type(x) is Tensor and firsts[i] == i]


def _type(x: Any) -> Any:
    """Return the part of a region's key for one argument: a tensor's shape, dtype and flag, or a
    plain value; None for anything else.
    """
    if type(x) is Tensor:
        data = x.array
        return None if data is None else (data.shape, data.dtype, x._requires_grad)
    return (type(x), x) if x is None or isinstance(x, (bool, int, float, str)) else None


class UnsuitedError(Exception):
    """A function does what a region cannot do."""


class Region:
    """A function for operands of certain types, as two compiled functions."""

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], wanted: bool,
                 share: float, recording: bool, tree: Tree | None, firsts: tuple[int, ...] | None
                 ) -> None:
        self.share = share
        self.token = object()  # by which it is known without being kept
        args = _tensors(leaves, firsts)
        self.flagged = any([x._requires_grad for x in args])
        with witnessed(), switched(symbolic=False), body_trace(recording) as trace:
            variables = [_variable(trace, x) for x in args]
            known = dict(zip(map(id, args), variables, strict=True))
            given = [known.get(id(x), x) for x in leaves]
            found, keywords = (given, {}) if tree is None else tree.build(given)
            results, self.tree = flatten(function(*found, **keywords))
            if not results or not all(isinstance(v, Tensor) for v in results):
                raise UnsuitedError
            if trace.grads or [v.node for v in variables] != trace.variables:
                raise UnsuitedError
            self._cut(trace, variables, results, args, wanted)

    def _cut(self, trace: BodyTrace, variables: list[Tensor], leaves: list[Tensor],
             args: Sequence[Tensor], wanted: bool) -> None:
        results = [current(v) for v in leaves]
        self.changed = [c for c in trace.captures.values() if c.changed]
        ends = [*results, *(c.now for c in self.changed)]
        self.flows = [n.requires_grad for n in results]
        self.types = [(n.shape, n.dtype) for n in results]
        nodes: list[Any] = [v.node for v in variables]
        backward = _Backward(trace, nodes, leaves, args) if any(self.flows) else None
        saved = backward.saved(ends) if backward is not None else []
        body, outer = close(trace, nodes, [*ends, *saved])
        passes = 1 if backward is None else 3
        self.work = warmup.of_body(body, warmup.CALL * self.share) * passes
        if self.work < GAIN and not wanted:
            raise UnsuitedError
        price = len(body.graph.nodes) + _EACH_FUNCTION
        self.outer, self.backward, back = Outer(outer), backward, None
        if backward is not None:
            back = backward.close(saved, args)
            price += len(back.graph.nodes) + _EACH_FUNCTION
        self.price = 0 if wanted else price * PRICE - self.work
        self.code = _code(body, back, self.price)
        self.forward = self.code.forward

    def credit(self, calls: int) -> None:
        """Count ``calls`` made before the region was traced towards the price of compiling it; at
        least one more call is needed.
        """
        self.code.unpaid = max(self.code.unpaid - calls * self.work, min(self.code.unpaid, 1))

    def pays(self) -> bool:
        """Return whether it was wanted often enough; counts this call."""
        if not WORK.pays(self.work):
            self.code.unpaid = max(self.code.unpaid - self.work, 1)
        else:
            self.code.unpaid -= self.work
        return False

    def call(self, args: Sequence[Tensor], mode: Any) -> Any:
        """The function's results, recorded if they are to be."""
        changed, count = self.changed, len(self.types)
        before = [c.outer.array.copy() for c in changed] if changed else []
        other = Settled(mode, False) if mode.recording else None
        try:
            if other is not None:
                MODE.set(other.mode)
            found = self.forward(*map(bare, args) if self.flagged else args, *self.outer.bare)
            if changed:
                for c, value in zip(changed, found[count:], strict=False):
                    assign(c.outer, value)
        finally:
            MODE.set(mode)
            if other is not None:
                other.mode = None
        results = list(found[:count])
        if self.backward is not None and mode.recording:
            self.backward.record(self, args, results, found[count + len(changed):], before)
        return results[0] if self.tree.kind is None else self.tree.build(results)


class Code:
    """The compiled functions shared by equal regions, such as those of a model's equal layers.

    :ivar unpaid: Nanoseconds of eager work that must still be done before they are compiled.
    """

    __slots__ = ("__weakref__", "_recounts", "forward", "pull", "unpaid")

    def __init__(self, body: Body, back: Body | None, price: float) -> None:
        self.forward = _compiled(body)
        self.pull: Any = None if back is None else _compiled(back)
        self.unpaid, self._recounts = price, HOOKS.recounts

    def count_anew(self, price: float) -> None:
        """Reset ``unpaid`` if the counts of eager work were reset since; only the first region to
        call this does it.
        """
        if self._recounts != HOOKS.recounts:
            self.unpaid, self._recounts = price, HOOKS.recounts


#: The code of each pair of bodies that a region has.
_codes: WeakValueDictionary[tuple[Body, Body | None], Code] = WeakValueDictionary()


def _code(body: Body, back: Body | None, price: float) -> Code:
    """Return the shared code of regions with these bodies; ``price`` is the eager work, in
    nanoseconds, that pays for compiling it.
    """
    found = _codes.get((body, back))
    if found is None:
        found = _codes[body, back] = Code(body, back, price)
    found.count_anew(price)
    found.unpaid = min(found.unpaid, price)
    return found


class _Backward:
    """The backward pass of a region while it is traced, with the operands that get gradients."""

    def __init__(self, trace: BodyTrace, variables: list[Node], leaves: list[Tensor],
                 args: Sequence[Tensor]) -> None:
        self.trace, self.variables = trace, variables
        self.cotangents = [trace.variable(v) if current(v).requires_grad else None for v in leaves]
        self.captures: list[Capture] = list(trace.captures.values())
        self.wanting = [i for i, x in enumerate(args) if x._requires_grad]
        self.owners = [c for c in self.captures if c.outer._requires_grad]
        self.owned = [c.outer for c in self.owners]
        wrt = [variables[i] for i in self.wanting] + [c.inner for c in self.owners]
        if any(getattr(n.op, "sparse", False) for n in toposort([current(v) for v in leaves])):
            raise UnsuitedError  # what it gives its tables is sparse
        # hooks of what they are for see gradients when they arrive there, in the pass around
        seeds = seeds_of(leaves, self.cotangents)
        self.direct = values_of_rules(
            between(seeds, wrt, ()), {*variables, *(c.inner for c in self.captures)})
        found = backprop(seeds, wrt, wrt)
        self.given = [n in found for n in wrt]
        self.gradients = [current(found[n]) for n in wrt if n in found]
        if not self.gradients:
            raise UnsuitedError

    def saved(self, ends: Sequence[Node]) -> list[Node]:
        """Return the values of the forward half that the backward one reads."""
        late = {c.node for c in self.cotangents if c is not None}
        order = toposort(self.gradients)
        for node in order:
            if any(n in late for n in node.inputs):
                late.add(node)
        edge = [n for n in toposort(self.gradients, lambda n: n not in late)
                if n not in late and n.outputs is None]
        inner = [c.inner for c in self.trace.captures.values()]
        # values that no rule reads may change before the gradients are wanted: small ones are
        # copied, and from others nothing is computed again, but where copies take less memory
        others = [n for n in (*self.variables, *inner) if n not in self.direct]
        largest = max(math.prod(n.shape) for n in ends)
        copies = [n for n in others if math.prod(n.shape) * _COPIED <= largest]
        rest = [n for n in others if n not in copies]
        found, read = saved_values([*ends, *edge], self.gradients, [*self.direct, *copies], rest)
        if _elements(found) > _elements((*rest, *ends)):
            less = saved_values([*ends, *edge], self.gradients, [*self.direct, *others], [])
            if _elements(found) > _elements((*less[0], *rest)):
                (found, read), copies = less, others
        found += [n for n in copies if n in read]
        self.read = read.difference(copies)
        if any(c.inner in self.read for c in self.trace.captures.values() if c.changed):
            raise UnsuitedError
        return found

    def close(self, saved: Sequence[Node], args: Sequence[Tensor]) -> Body:
        """Return the backward pass that was recorded."""
        seeds: list[Any] = [c.node for c in self.cotangents if c is not None]
        self.needed = [i for i, n in enumerate(self.variables) if n in self.read]
        #: The operands and tensors outside that single operations would read, and this does not.
        unread = self.direct - self.read
        self.unread = [i for i, n in enumerate(self.variables) if n in unread]
        self.unread_outer = [c.outer for c in self.captures if c.inner in unread and not c.changed]
        inputs = [*saved, *(self.variables[i] for i in self.needed), *seeds]
        body, outer = close(self.trace, inputs, self.gradients)
        self.outer = list(outer)
        whole, self.all_outer = close(self.trace, [*self.variables, *seeds], self.gradients)
        #: The gradients from the operands, a region that has gradients of its own.
        self.whole = Regions(_compiled(whole))
        kept = {id(t) for t in outer}
        self.needs = [*(i in self.needed for i in self.wanting),
                      *(id(c.outer) in kept for c in self.owners)]
        self.seeded = [c is not None for c in self.cotangents]
        del self.trace, self.variables, self.cotangents, self.read, self.captures, self.direct
        return body

    def record(self, region: Region, args: Sequence[Tensor], results: list[Tensor],
               saved: Sequence[Tensor], before: Sequence[np.ndarray]) -> None:
        """Put a call into the eager record."""
        op = RegionCall(region, args, saved, before)
        xs = (*[args[i] for i in self.wanting], *self.owned)
        if op.outputs == 1 and results[0]._view is None:
            results[0] = HOOKS.finished(results[0].array, op, xs)
        elif op.outputs == 1:
            record(results[0], op, xs)
        else:
            record_many(results, op, xs)
            for t, flows in zip(results, region.flows, strict=True):
                if not flows:
                    t.node, t._requires_grad = None, False
        op.read = [_kept(args[i]) for i in self.needed]
        if self.outer:
            op.read += map(_kept, self.outer)
        if self.unread or self.unread_outer:
            op.unread = [*[_kept(args[i]) for i in self.unread], *map(_kept, self.unread_outer)]


def _elements(nodes: Iterable[Node]) -> int:
    return sum(math.prod(n.shape) for n in nodes)


def _kept(t: Tensor) -> Node:
    """Return the node of a tensor, with its present value kept for the backward pass, as operations
    keep their operands.
    """
    node: Any = t.node
    if node is None or t._view is not None or node.requires_grad is not t._requires_grad:
        node = current(t)
    if node.value is not t.array or node.version is not t._version or node.version is None:
        node = current(t)
        keep(t, node)
    return node


class RegionCall(Op):
    """A call of a region: inputs are the operands and parameters that get gradients."""

    name = "region"
    #: The nodes of what the gradients read besides saved values: operands, then tensors outside.
    read: Sequence[Node] = ()
    #: Those that only the rules of single operations read, which must not be changed either.
    unread: Sequence[Node] = ()

    def __init__(self, region: Region, args: Sequence[Tensor], saved: Sequence[Tensor],
                 before: Sequence[np.ndarray]) -> None:
        self.region, self.args, self.saved, self.before = region, args, saved, before
        self.outputs = len(region.types)  # type: ignore[misc]
        self.serial = next_serial()

    def label(self) -> str:
        return f"region[{len(self.region.types)} results]"

    def needs(self, i: int, inputs: Any) -> bool:
        back: Any = self.region.backward
        found: bool = back.needs[i]
        return found

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        back: Any = self.region.backward
        if not self.is_fresh():
            raise overwritten(
                next(n for n in (*self.read, *self.unread) if is_late(n, self.serial)))
        if not MODE.get().recording:
            return self.pulled(g, self.held())
        args, old = list(self.args), {id(c.outer) for c in self.region.changed}
        for i, x in zip(back.wanting, xs, strict=False):
            if x.array is None and args[i].array is not None:  # nothing reads it in one pass
                raise overwritten(current(x))
            args[i] = x
        for t in (*args, *back.all_outer):  # as they are now, not as they were kept
            if t._version and t._version[0] > self.serial and id(t) not in old:
                raise overwritten(current(t))
        return self._parts(self._recorded(back, args, self._seeds(g)))

    def held(self) -> list[Tensor]:
        """Return the values, besides cotangents, that the gradients are computed from."""
        return [*self.saved, *[wrap(n.value) for n in self.read]]  # type: ignore[arg-type]

    def held_one(self, i: int) -> Tensor:
        """One of them."""
        count = len(self.saved)
        return self.saved[i] if i < count else wrap(
            self.read[i - count].value)  # type: ignore[arg-type]

    def is_fresh(self) -> bool:
        """Return whether none of the values that the gradients are computed from was changed since
        the call.
        """
        serial = self.serial
        for n in (*self.read, *self.unread) if self.unread else self.read:
            counter = n.version
            if counter is not None and counter[0] > serial and is_late(n, serial):
                return False
        return True

    def pulled(self, g: Any, held: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients, computed from such values."""
        back: Any = self.region.backward
        count, pull = len(self.saved) + len(back.needed), self.region.code.pull
        return self._parts(pull(*held[:count], *map(bare, self._seeds(g)), *held[count:]))

    def _seeds(self, g: Any) -> list[Tensor]:
        back: Any = self.region.backward
        gs = [g] if self.outputs == 1 else list(g)
        return [zeros(s, dtype=d) if c is None else c
                for c, (s, d), seeded in zip(gs, self.region.types, back.seeded, strict=True)
                if seeded]

    def _parts(self, found: Sequence[Tensor]) -> tuple[Any, ...]:
        back: Any = self.region.backward
        parts = iter(found)
        return tuple([next(parts) if there else None for there in back.given])

    def _recorded(self, back: Any, args: Sequence[Tensor], seeds: Sequence[Tensor]) -> Any:
        """The gradients from the operands themselves, so that they can be differentiated again."""
        old = {id(c.outer): wrap(b) for c, b in zip(self.region.changed, self.before, strict=True)}
        return back.whole((*args, *seeds, *[old.get(id(t), t) for t in back.all_outer]), {})


def _variable(trace: BodyTrace, x: Tensor) -> Tensor:
    made: Any = trace.variable(x)
    made.requires_grad = made.node.requires_grad = x._requires_grad
    return made


def _compiled(body: Body) -> Any:
    return jit(lambda *xs: tuple(body(*xs)))
