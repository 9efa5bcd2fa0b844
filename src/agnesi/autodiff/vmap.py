"""``vmap``: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from agnesi.autodiff.batched import Batch, Done, Example
from agnesi.autodiff.recording import detach, last_change
from agnesi.autodiff.reverse import tensor_of
from agnesi.core import value_sizes
from agnesi.core.calls.arguments import missing_key
from agnesi.core.dispatch import apply, current, graph_node, symbolic
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.op import Op, typed
from agnesi.core.programs import begins_program
from agnesi.core.public import higher, renamed
from agnesi.core.shapes import fits
from agnesi.core.storage.leaves import COPY
from agnesi.core.support import tree
from agnesi.core.support.config import STATE, switched
from agnesi.core.support.errors import ExampleSizeError, GradientError, ShapeError, at, call_user
from agnesi.core.support.tracing import current_trace, finish, is_tracing
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.transformed import transformed
from agnesi.ops.arrays.replicate import copy
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.identity import ALIAS

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@higher
@renamed(func="f", in_dims="in_axes", out_dims="out_axes", chunk_size="")
def vmap(f: Callable[P, R], in_axes: int | Sequence[Any] | Mapping[Any, Any] | None = 0,
         out_axes: int | Sequence[Any] | Mapping[Any, Any] | None = 0, axis_size: int | None = None,
         *, randomness: str = "different") -> Callable[P, R]:
    """The function that computes ``f`` for many examples at once.

    ``f`` runs once, on one example that has no values yet, and what it did is done for all
    examples.  Tensors that it uses without being given them, and arguments whose axis is None, are
    the same for all examples, and have values that Python may look at.  Loops and branches of the
    library may depend on the example: a loop then runs until all examples are done, a branch runs
    on both sides.  Results can be differentiated, batched again, and compiled.  Where sizes inside
    differ between examples, as that of ``unique(x)``, these may be computed one by one.

    :param f: A function of tensors, or of nested containers of them.
    :param in_axes: Along which axis of each argument the examples are; None where it is the same
        for all.  A tuple has an entry for each argument; an entry may be a nest that begins like
        the argument.
    :type in_axes: int, None, or nest
    :param out_axes: Where examples are in results; None for results that are the same for all.
    :type out_axes: int, None, or nest
    :param axis_size: The number of examples, where no argument has it.
    :param randomness: Whether each example draws random numbers of its own.  With "different", a
        draw of ``n`` numbers inside takes those of one draw of (examples, n) outside.
    :type randomness: {"different", "same"}
    :returns: It takes what ``f`` takes; keyword arguments are batched along their first axis.
    :raises ShapeError: If arguments hold different numbers of examples.
    :raises TraceError: If Python decides by a value, or takes it out.
    :raises TypeError: If what the function returns is no nest of tensors.
    :raises ValueError: If no argument has examples and ``axis_size`` is not given, or a result with
        ``out_axes=None`` differs between examples.
    :see: vectorize, map, jit, apply_along_axis

    >>> ag.vmap(lambda x, y: (x * y).sum())(ag.ones((2, 3)), ag.ones((2, 3)))
    tensor([3., 3.])
    >>> ag.vmap(ag.grad(lambda w, x: (w * x) ** 2), in_axes=(None, 0))(3.0, ag.tensor([1.0, 2.0]))
    tensor([ 6., 24.])
    """
    if randomness not in ("different", "same"):
        raise ValueError(at(f"randomness must be 'different' or 'same', not {randomness!r}"))

    def batched(*args: Any, **keywords: Any) -> Any:
        leaves, shape = tree.flatten((args, keywords))
        if isinstance(in_axes, list):
            axes = tuple(in_axes)
        else:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(at(f"vmap: in_axes has {len(axes)} entries for {len(args)} arguments"))
        along = _spread_axes("in_axes", axes, args)
        along += [0] * (len(leaves) - len(along))
        call = _Call(leaves, along, _parameter_names(f, shape), axis_size, randomness)
        args, keywords = shape.build(call.stand_ins)
        begun, sized = list(call.batch.known), None
        with call.running():
            try:
                result = call_user(f, args, keywords, "vmap")
            except ExampleSizeError as error:
                sized = error
            except KeyError as error:
                if (missing := missing_key(error)) is None:
                    raise
                raise missing from None
            ends, its_shape = tree.flatten(None if sized else result)
            ends = [symbol(t.node) if isinstance(t, Tensor) and t._lazy else t for t in ends]  # type: ignore[arg-type]
        finish(begun, "a function in ag.vmap")
        if sized is not None:
            return call.in_turn(f, shape, leaves, out_axes, sized)
        behind = _spread_axes("out_axes", out_axes, result)
        return its_shape.build(call.results(ends, behind, its_shape.paths("the result")))

    again = functools.partial(vmap, randomness=randomness)
    return transformed(batched, "vmap", again, f, in_axes, out_axes, axis_size)


def _parameter_names(f: Any, shape: tree.Tree) -> list[str]:
    """Return the names of arguments, and the paths inside them, as the function's parameters spell
    them.
    """
    positional, keywords = shape.children
    code = getattr(f, "__code__", None)
    names = code.co_varnames[hasattr(f, "__self__"): code.co_argcount] if code is not None else ()
    found = []
    for i, child in enumerate(positional.children):
        found += child.paths(names[i] if i < len(names) else f"argument {i}")
    return found + [path[2:].replace("']", "", 1) for path in keywords.paths()]


def _spread_axes(what: str, axes: Any, nest: Any) -> list[int | None]:
    """Return an axis for each leaf of a nest; ``axes`` may be a prefix of the nest."""
    found: list[int | None] = []
    stack = [(axes, nest)]
    while stack:
        axes, nest = stack.pop()
        if axes is None or isinstance(axes, int):
            found += [axes] * tree.flatten(nest)[1].leaves
            continue
        parts, inner = tree.children(axes), tree.children(nest)
        named = isinstance(axes, dict) and isinstance(nest, dict)
        if parts is None or inner is None or len(parts) != len(inner) or (
                named and axes.keys() != nest.keys()):
            raise ValueError(at(
                f"vmap: {what} is {typed(axes)}, which is no axis and no nest of axes like "
                + (", ".join(tree.flatten(nest)[1].paths(
                    "arguments" if what == "in_axes" else "the result")) or "nothing")
            ))
        stack += reversed([*zip(parts, inner, strict=True)])
    return found


class _Call:
    """One call of a batched function.

    :ivar stand_ins: The tensors that the function gets for the leaves of its arguments.
    :ivar length: The number of examples.
    """

    def __init__(self, leaves: Sequence[Any], axes: Sequence[int | None], paths: Sequence[str],
                 size: int | None, randomness: str) -> None:
        self.around = STATE.examples
        self.trace = current_trace()
        self.different = randomness == "different"
        whole: list[Any] = []
        self.length = size
        for x, axis, path in zip(leaves, axes, paths, strict=True):
            whole.append(None if axis is None else self._examples(x, axis, path))
        if self.length is None:
            raise ValueError(at("vmap: no argument has an axis of examples; give axis_size"))
        self.whole = whole
        #: Whether the function has drawn numbers or had an effect, which nothing repeats.
        self.acted = False
        self.since = next_serial()
        self.flowing: dict[Node, bool] = {}
        self.met: dict[Node, tuple[Tensor, Any]] = {}
        self.batch = Batch(self.length, self, outer=self._outside)
        #: Whether what the function does belongs to a symbolic program.
        self.symbolic = True if begins_program(leaves) else STATE.symbolic or False
        self.examples: set[Node] = set()
        self.stand_ins = [
            x if y is None else self._example(y) for x, y in zip(leaves, whole, strict=True)
        ]

    def _examples(self, x: Any, axis: int, path: str) -> Tensor:
        if isinstance(x, (str, bytes)):
            raise TypeError(at(f"vmap: {path} must be a tensor with an axis of examples, not "
                               f"{typed(x)}; give None in in_axes for what is the same for all"))
        t = as_tensor(x)
        if not -t.ndim <= axis < t.ndim:
            raise ShapeError(
                at(f"vmap: {path} is {typed(t)} and has no axis {axis} for examples; "
                   "give None in in_axes for what is the same for all")
            )
        n = t.shape[axis]
        if self.length is None:
            self.length = n
        elif not fits((n,), (self.length,)):
            raise ShapeError(
                at(f"vmap: {path} has {n} examples on axis {axis}, others have {self.length}; "
                   f"it is {typed(t)}: give None in in_axes for what is the same for all")
            )
        t = moveaxis(t, axis, 0) if axis else t
        if n != self.length:  # they turn out to be equal, or this refuses
            t = reshape(t, (self.length, *t.shape[1:]))
        return t

    def _example(self, whole: Tensor) -> Tensor:
        node = Node(None, (), whole.shape[1:], whole.dtype, requires_grad=whole._requires_grad,
                    name="one example of vmap")
        self.batch.known[node] = whole, True
        self.examples.add(node)
        x = symbol(node)
        x._name = None
        return x

    def gives(self, node: Node) -> bool:
        """Return whether a node is an example of this call, or of an outer one."""
        return node in self.examples or (self.around is not None and self.around.gives(node))

    def running(self) -> switched:
        """A context in which the function runs."""
        return switched(examples=self, symbolic=self.symbolic)

    def _paused(self) -> switched:
        return switched(examples=self.around)

    # -- what is the same for all ---------------------------------------------------------
    def meet(self, node: Node, x: Tensor) -> None:
        """Record the tensor of an outside node that the function uses."""
        if not is_tracing() and node not in self.met:
            self.met[node] = x, last_change(x)
        if self.around is not None:
            self.around.meet(node, x)

    def _outside(self, node: Node) -> Tensor | None:
        """Return the tensor of a node that is not batched, from outside or made before the call;
        None for others.
        """
        found = self.met.get(node)
        if found is not None:
            x, change = found
            if last_change(x) != change:
                raise GradientError(
                    at(f"vmap: {typed(x)}, which the function uses, was changed in place "
                       "afterwards; change a copy instead")
                )
            return self._wanted(x, node)
        if node.serial < self.since or self._begins_inside(node):
            return tensor_of(node, self.since) if not is_tracing() else symbol(node)
        return None

    def _begins_inside(self, node: Node) -> bool:
        """Return whether a symbol from outside for which ``requires_grad`` was set is used inside
        for the first time.
        """
        begun = node.op is ALIAS and node.handle is not None
        return begun and node.inputs[0].serial < self.since

    def _wanted(self, x: Tensor, node: Node | None = None) -> Tensor:
        """Return a value without a record that only derivatives inside needed."""
        return x if not x._requires_grad or self._flows(node or current(x)) else detach(x)

    def _flows(self, root: Node) -> bool:
        """Return whether gradients are wanted at a node by anything but derivatives inside."""
        flowing = self.flowing
        for node in toposort([root], lambda n: n in flowing or not n.requires_grad):
            if node in flowing:
                continue
            begins = node.op is None or (
                node.op is ALIAS and (abs(node.serial) < self.since or self._begins_inside(node))
            )
            flowing[node] = node.requires_grad and (begins or any(flowing[n] for n in node.inputs))
        return flowing[root]

    # -- what the library asks ------------------------------------------------------------
    def _found(self, nodes: Sequence[Node]) -> list[Any]:
        """Return the values of nodes; those found in the body of a loop or branch are not kept."""
        if current_trace() is self.trace:
            return self.batch(nodes)
        return Batch(self.length, self, dict(self.batch.known), self._outside)(nodes)

    def common(self, target: Tensor, value: Tensor) -> Tensor:
        """Return a value that is written into a tensor from outside and must be the same for all
        examples.
        """
        self.acted = True
        node = target.node
        own = target.array is None and node is not None and node.serial > self.since
        if own or current_trace() is not self.trace:
            return value
        with self._paused():
            ((found, differs),) = self.batch([graph_node(value)])
        if differs:
            raise TypeError(
                at(f"vmap: what is written into {typed(target)} differs between examples, but the "
                   "tensor does not; make it from an argument (x * 0), or return the value")
            )
        return found if self.around is None else self.around.common(target, found)

    def size(self, x: Tensor, size_of: Callable[[Tensor], Any]) -> Any:
        """Return the size whose value is the scalar of ``size_of``; None if it differs between
        examples.
        """
        with self._paused():
            ((found, differs),) = self._found([graph_node(x)])
            return None if differs else size_of(found)

    def outside(self, act: Callable[..., list[Tensor]], op: Op, xs: Sequence[Tensor],
                each: bool) -> list[Tensor]:
        """Results of ``act(rows, *tensors)``, which gets what ``xs`` are for all examples and does
        the effect ``op``, whose derivatives they have.

        They have an axis for examples where an operand has one, or always, with ``each``.
        """
        self.acted = True
        nodes = [graph_node(x) for x in xs]
        with self._paused():
            found = self._found(nodes)
            rows = [differs for _, differs in found]
            results = act(rows, *[x for x, _ in found])
        if each or any(rows):
            results = [symbolic(Example(self), (y,)) for y in results]
        return [symbolic(Done(op), (y, *xs)) for y in results]

    def drawing(self, draw: Callable[..., list[Tensor]], xs: Sequence[Tensor]) -> list[Tensor]:
        """Return random draws for all examples, with an axis of examples; with ``length=None`` the
        same draws for all.
        """
        self.acted = True
        nodes = [graph_node(x) for x in xs]
        with self._paused():
            found = self._found(nodes)
            rows = [differs for _, differs in found]
            apart = self.different or any(rows)
            results = draw(rows, self.length if apart else None, *[x for x, _ in found])
        return [symbolic(Example(self), (y,)) for y in results] if apart else results

    def drawn(self, draw: Callable[[Any], Tensor], size: Any) -> Tensor:
        """Return random words for one example."""
        self.acted = True
        with self._paused():
            ask = draw if self.around is None else functools.partial(self.around.drawn, draw)
            if not self.different:
                return ask(size)
            words = reshape(ask(self.length * size), (self.length, size))
        return symbolic(Example(self), (words,))

    def in_turn(self, f: Function, shape: tree.Tree, leaves: Sequence[Any], out_axes: Any,
                error: ExampleSizeError) -> Any:
        """Return the results of a function that finds different sizes in each example, evaluated
        one by one.
        """
        if self.acted or not any(x is not None for x in self.whole):
            raise error

        def one(rows: Sequence[Tensor]) -> Any:
            mine = iter([copy(x) for x in rows])  # the function may change its arguments
            args, keywords = shape.build(
                [x if y is None else next(mine) for x, y in zip(leaves, self.whole, strict=True)])
            result = call_user(f, args, keywords, "vmap")
            shapes.append([np.shape(y) for y in tree.flatten(result)[0]])
            if not all(map(fits, shapes[0], shapes[-1])):
                raise error
            return result

        shapes: list[Any] = []
        found, its_shape = tree.flatten(value_sizes.row_loop()(one, tuple(
            x for x in self.whole if x is not None)))
        axes = _spread_axes("out_axes", out_axes, its_shape.build(found))
        return its_shape.build([
            self._placed(y, True, axis, path)
            for y, axis, path in zip(found, axes, its_shape.paths("the result"), strict=True)])

    # -- results --------------------------------------------------------------------------
    def results(self, ends: Sequence[Any], axes: Sequence[int | None],
                paths: Sequence[str]) -> list[Any]:
        """Return the results for all examples."""
        for y, path in zip(ends, paths, strict=True):
            if not isinstance(y, (Tensor, np.ndarray, np.generic, int, float, complex)):
                raise TypeError(at(f"vmap: {path} must be a tensor, not {typed(y)}"))
        tensors = [as_tensor(y) for y in ends]
        open_ = [y for y in tensors if y.array is None]
        found = dict(zip(map(id, open_), self.batch([graph_node(y) for y in open_]), strict=True))
        found |= {id(y): (self._wanted(y), False) for y in tensors if y.array is not None}
        return [
            self._placed(*found[id(y)], axis, path)
            for y, axis, path in zip(tensors, axes, paths, strict=True)
        ]

    def _placed(self, y: Tensor, differs: bool, axis: int | None, path: str) -> Tensor:
        if axis is None:
            if differs:
                raise ValueError(
                    at(f"vmap: {path} differs between examples; it needs an axis in out_axes")
                )
            return y
        if not differs:
            y = apply(COPY, broadcast_to(y, (self.length, *y.shape)))  # it may be changed in place
        if not -y.ndim <= axis < y.ndim:
            raise ShapeError(at(f"vmap: out_axes puts the examples on axis {axis}, but {path} is "
                                f"{typed(y)} with them"))
        return moveaxis(y, 0, axis) if axis else y
