"""``ag.checkpoint``: what keeps its operands only, and runs again when gradients are wanted."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from agnesi.autodiff.forward import push
from agnesi.autodiff.recompute import segment
from agnesi.autodiff.recording import alias, detach, enable_grad, last_change
from agnesi.autodiff.reverse import backprop
from agnesi.core.calls.autocasting import casting
from agnesi.core.dispatch import current, record_many
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import higher
from agnesi.core.storage.views import root, share, views_of
from agnesi.core.support.config import MODE, STATE, switched, witnessed
from agnesi.core.support.errors import GradientError, at
from agnesi.core.support.foreign import parameters_of
from agnesi.core.support.tracing import is_tracing
from agnesi.core.support.tree import Tree, flatten
from agnesi.core.support.undo import Block
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.core.transformed import transformed
from agnesi.ops.base.creation import zeros_like

#: What PyTorch's calls say of its ways; here there is one.
_FLAGS = frozenset("use_reentrant preserve_rng_state determinism_check debug".split())

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(function: Callable[..., R], /, *args: Any, use_reentrant: bool | None,
               **keywords: Any) -> R: ...


@overload
def checkpoint(function: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> R: ...


@overload
def checkpoint(function: Callable[P, R], /) -> Callable[P, R]: ...


@higher
def checkpoint(function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
    """``function(*args, **keywords)``, whose intermediate values are not kept for the gradient.

    Without arguments, a function that requires some becomes one whose calls are checkpointed:
    ``@ag.checkpoint`` above a ``def``.

    The backward pass runs the function again.  That saves memory and costs one more forward pass:
    a net of n layers in segments of about sqrt(n) keeps about 2 sqrt(n) values instead of n.

    Random numbers are the same in the second run, and tensors that the function changes in place
    (running statistics, random state) are changed once.  Gradients are the same, bit for bit, and
    reach tensors that the function uses without being given them.  Checkpoints may be nested.
    Inside ``jit`` and in symbolic graphs the backward pass holds a copy of the segment, which waits
    for the gradient of its results.

    :param function: A function or module.  Run twice, it must do the same: apart from changes of
        tensors in place, it has no side effects.
    :param *args: Its arguments: tensors, nested containers of them, anything else.
    :param **keywords: Further arguments, by name; those by which PyTorch chooses its way
        (``use_reentrant``, ``preserve_rng_state``) say nothing.
    :returns: What the function returns; or the function itself, checkpointed.
    :raises TypeError: If the first argument is no function.
    :raises GradientError: In the backward pass, if an argument was changed in place since, or a
        tensor that the function uses without being given it (in operations that are recorded).
    :see: checkpoint_sequential, jit, scan

    >>> w = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = ag.checkpoint(lambda x: ag.tanh(w * x), ag.ones(2)).sum()
    >>> loss.backward()
    >>> w.grad
    tensor([0.41997433, 0.07065082])
    """
    keywords = {word: value for word, value in keywords.items() if word not in _FLAGS}
    if args or keywords or not _requires_arguments(function):
        return _checkpointed(function, args, keywords)

    def call(*args: Any, **keywords: Any) -> Any:
        return _checkpointed(function, args, keywords)

    return transformed(call, "checkpoint", checkpoint, function)


def _requires_arguments(function: Any) -> bool:
    """Return whether a call without arguments would be an error."""
    function = getattr(function, "forward", function)  # a module's call takes what that takes
    known = parameters_of(function)
    return known is None or any(
        p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in known.values())


def _checkpointed(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """Call the function once, without keeping what it computes."""
    leaves, tree = flatten((args, keywords))
    if not STATE.recording:
        return function(*args, **keywords)
    if is_tracing() or any(map(_is_symbol, leaves)):
        return _segmented(function, args, keywords)
    if MODE.get().examples is not None:  # the function may know what differs between them
        return function(*args, **keywords)
    found = Rerun(function, leaves, tree).first()
    return _segmented(function, args, keywords) if found is NotImplemented else found


def _is_symbol(x: Any) -> bool:
    return isinstance(x, Tensor) and x.array is None


def _segmented(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """Call the function while tracing, and mark its results as recomputable from its arguments."""
    since = next_serial()
    outputs, shape = flatten(function(*args, **keywords))
    made = iter(segment([v for v in outputs if isinstance(v, Tensor)], since))
    return shape.build([next(made) if isinstance(v, Tensor) else v for v in outputs])


@higher
def checkpoint_sequential(functions: Iterable[Callable[[Any], Any]], segments: int,
                          x: TensorLike, use_reentrant: bool | None = None,
                          preserve_rng_state: bool = True) -> Any:
    """Functions one after another, in checkpointed segments; the last segment is run once.

    :param functions: For example an ``nn.Sequential``.
    :type functions: sequence of callable
    :param segments: How many; 0 chooses the square root of the number of functions.
    :param x: The argument of the first function.
    :type x: object
    :param use_reentrant, preserve_rng_state: Taken from PyTorch's calls: there is one way, which
        draws the same random numbers again.
    :returns: What the last function returns.
    :raises ValueError: If ``segments`` is negative.
    :see: checkpoint, nn.Sequential

    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(9)])
    >>> y = ag.checkpoint_sequential(net, 3, ag.ones((2, 3)))
    >>> y.shape
    (2, 3)
    """
    parts = list(functions)
    if segments < 0:
        raise ValueError(at(f"segments must be at least 0, not {segments}"))
    size = -(-len(parts) // (segments or max(math.isqrt(len(parts)), 1)))
    while len(parts) > size:
        x = checkpoint(_chain, parts[:size], x)
        parts = parts[size:]
    return _chain(parts, x)


def _chain(functions: Sequence[Callable[[Any], Any]], x: Any) -> Any:
    for function in functions:
        x = function(x)
    return x


class Rerun(Op):
    """A recorded call that keeps no intermediate values, and runs the function again for its
    derivative.

    Inputs are the arguments that require a gradient, followed by everything else through which
    gradients flow out of the function.
    """

    name = "checkpoint"

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], tree: Tree) -> None:
        self.function = function
        self.tree = tree
        self.autocast = MODE.get().autocast
        self.flowing = [i for i, v in enumerate(leaves)
                        if isinstance(v, Tensor) and v._requires_grad]
        self.given = [leaves[i] for i in self.flowing]
        self.leaves = [None if i in self.flowing else v for i, v in enumerate(leaves)]

    def first(self) -> Any:
        """Run the function without keeping its record, and record the call as one operation.

        Returns NotImplemented if the function uses symbols that are no arguments.
        """
        fresh = [detach(x) for x in self.given]
        for x in fresh:
            x._requires_grad = True
        ends = {current(x) for x in fresh}
        since = next_serial()
        with _watching() as changes, enable_grad():
            outputs, shape = flatten(self._call(fresh))
        if any(map(_is_symbol, outputs)):
            return NotImplemented
        indices = [i for i, v in enumerate(outputs) if isinstance(v, Tensor) and v._requires_grad]
        outer, read = _around([current(outputs[i]) for i in indices], ends, since)
        memory = [x.array for x in self.given]
        results = [_apart(outputs[i].array, memory) for i in indices]
        for i, result in zip(indices, results, strict=True):
            outputs[i] = result
        del fresh, ends
        self.state = changes.lasting()
        #: What the second run reads as it will be then, and its last change.
        self.versions = [
            (v, last_change(v)) for v in (*self.leaves, *read)
            if isinstance(v, Tensor) and not changes.has(v)
        ]
        self._record(results, outer)
        return shape.build(outputs)

    def _record(self, results: list[Tensor], outer: list[Node]) -> None:
        self.outputs = len(results)  # type: ignore[misc]
        if not results:
            return
        handles = [n.handle() for n in outer if n.op is None and n.handle is not None]
        known: list[Tensor] = [h for h in handles if h is not None]
        others = [symbol(n) for n in outer if n.op is not None]
        xs = (*self.given, *known, *others)
        self.keep_inputs = tuple(range(len(self.given) + len(known)))  # type: ignore[misc]
        self.given = []
        record_many(results, self, xs)

    def _call(self, flowing: Sequence[Tensor]) -> Any:
        leaves = list(self.leaves)
        for i, x in zip(self.flowing, flowing, strict=True):
            leaves[i] = x
        args, keywords = self.tree.build(leaves)
        return self.function(*args, **keywords)

    def _again(self, xs: Sequence[Tensor]) -> tuple[list[Node], list[Node]]:
        """Run the function again; return the nodes of its results and of its inputs."""
        for v, count in self.versions:
            if last_change(v) != count:
                raise _changed(v)
        fresh = [alias(x) for x in xs[: len(self.flowing)]]
        wrt: list[Any] = [current(x) for x in fresh] + [x.node for x in xs[len(fresh) :]]
        since = next_serial()
        with as_before(self.state), casting(self.autocast, recording=True), same_draws():
            outputs, _ = flatten(self._call(fresh))
        found = [current(v) for v in outputs if isinstance(v, Tensor) and v._requires_grad]
        if len(found) != self.outputs:
            raise GradientError(
                at("a checkpointed function must do the same in its second run: it returned "
                   f"{self.outputs} tensors that require grad, then {len(found)}")
            )
        known = set(wrt)
        for n in _around(found, known, since)[0]:
            if n.op is not None and n not in known:
                raise _changed(n)
        return found, wrt

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = [g] if self.outputs == 1 and isinstance(g, Tensor) else list(g)
        results, wrt = self._again(xs)
        seeds: dict[Node, Any] = {}
        for node, c in zip(results, gs, strict=True):
            if c is not None:
                seeds[node] = seeds[node] + c if node in seeds else c
        del results
        found = backprop(seeds, wrt, wrt)
        return tuple(found.get(n) for n in wrt)

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        results, wrt = self._again(xs)
        known = {n: t for n, t in zip(wrt, ts, strict=True) if t is not None}
        found = push(results, known)
        return tuple(
            found[n] if found.get(n) is not None else zeros_like(symbol(n)) for n in results
        )


def _changed(x: Any) -> GradientError:
    return GradientError(
        at(f"the gradient of a checkpoint needs {typed(x)}, which its function was given or uses, "
           "and which was changed in place afterwards; change a copy instead")
    )


def _apart(data: Any, memory: Sequence[Any]) -> Tensor:
    """Return an unrecorded tensor, copied if its memory is part of an argument's."""
    return wrap(data.copy() if any(np.may_share_memory(data, m) for m in memory) else data)


def _around(roots: Sequence[Node], ends: set[Node], since: int) -> tuple[list[Node], list[Tensor]]:
    """Return the nodes and leaves outside of a run, ``ends`` excepted, that its record reads, and
    the tensors among the leaves that require no gradient.
    """
    def begins(node: Node) -> bool:
        old = node.op is None or abs(node.serial) < since
        return old or node in ends or not node.requires_grad

    order = toposort(roots, begins)
    around = [n for n in order if begins(n) and n not in ends]
    handles = [n.handle() for n in around if not n.requires_grad and n.handle is not None]
    read = [x for n in order if n.op is not None for x in n.op.reads]
    return [n for n in around if n.requires_grad], [*read, *(x for x in handles if x is not None)]


# -- state --------------------------------------------------------------------------------------
class _Changes:
    """Copies of tensors made before their first change in place."""

    def __init__(self, around: Any) -> None:
        self.around = around
        self.old: dict[int, tuple[Any, np.ndarray]] = {}

    def __call__(self, x: Tensor) -> None:
        x = root(x)
        known = self.old.get(id(x))
        if x.array is not None and (known is None or known[0]() is not x):
            self.old[id(x)] = weakref.ref(x), x.array.copy()
        if self.around is not None:
            self.around(x)

    def has(self, x: Any) -> bool:
        """Return whether a tensor, or the base of a view, was changed."""
        return id(root(x)) in self.old

    def lasting(self) -> list[tuple[Any, np.ndarray]]:
        """Return the copies of tensors that still exist."""
        return [(x, old) for x, old in self.old.values() if x() is not None]


@contextmanager
def _watching() -> Iterator[_Changes]:
    """A context that collects copies of what is changed in place."""
    changes = _Changes(STATE.watch)
    with witnessed(), switched(watch=changes):
        yield changes


@contextmanager
def same_draws() -> Iterator[None]:
    """A context in which all examples of ``vmap`` draw the same random numbers, for running a
    function again that first ran outside of ``vmap``.
    """
    calls, examples = [], MODE.get().examples
    while examples is not None:
        calls.append((examples, examples.different))
        examples.different, examples = False, examples.around
    try:
        yield
    finally:
        for call, different in calls:
            call.different = different


class as_before(Block):  # noqa: N801 - used as a function
    """A context in which changed tensors have their former values, in memory that is freed at its
    end.
    """

    _swapped: list[tuple[Any, ...]] = []  # noqa: RUF012 - never changed: __init__ makes another

    def __init__(self, changes: Sequence[tuple[Any, np.ndarray]]) -> None:
        self._changes = changes
        self._swapped = []

    def begin(self) -> None:
        with switched(watch=None):
            for reference, old in self._changes:
                x = reference()
                if x is not None:
                    views = views_of(x)
                    self._swapped += [
                        (t, t.array, t._version, t._view, t.node, t._requires_grad)
                        for t in (x, *views)
                    ]
                    x.array, x._version = old.copy(), None
                    _look_again(x, views)

    def end(self) -> None:
        while self._swapped:
            x, data, version, view, node, requires_grad = self._swapped[-1]
            x.array, x._version, x._view = data, version, view
            x.node, x._requires_grad = node, requires_grad
            self._swapped.pop()


def _look_again(x: Tensor, views: Sequence[Tensor]) -> None:
    """Make views refer to the present memory of a tensor, bases before the views of them."""
    for v in views:
        view = v._view
        v.array = view.op.perform(view.base.array)
        share(v, view.op, view.base)
    for t in (x, *views):
        if not t._requires_grad:
            t.node = None
