"""Operations of one's own, as Theano declares them: ``Op``, ``as_op``, ``OpFromGraph``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from agnesi.api.custom import userops
from agnesi.autodiff import opgraph
from agnesi.autodiff.recording import stop_gradient
from agnesi.compat.theano.ops import c_code
from agnesi.compat.theano.ops.params import params_of, params_type_of
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.derivatives import Disconnected, NullTypeGradError
from agnesi.compat.theano.tensor.generators import generator_like
from agnesi.compat.theano.types import Apply, TensorType
from agnesi.compat.theano.variable import Variable, bare, floats, wrapped
from agnesi.core.op import typed
from agnesi.core.support.dtypes import fits
from agnesi.core.support.errors import MissingRuleError, at
from agnesi.core.support.signal_errors import is_from_signal
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros_like


class Op:
    """Base of operations: ``make_node`` or ``itypes`` and ``otypes``, ``perform``, ``grad``.

    ``make_node(*inputs)`` returns an :class:`Apply` whose outputs have the types;
    ``perform(node, inputs, output_storage)`` puts arrays into ``output_storage[i][0]``;
    ``grad(inputs, output_grads)`` (or ``L_op``) returns expressions; ``infer_shape`` is used where
    it is defined.
    """

    __props__: tuple[str, ...] | None = None
    itypes: Sequence[TensorType] | None = None
    otypes: Sequence[TensorType] | None = None

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self._props() == other._props()

    def __hash__(self) -> int:
        return hash((type(self), self._props()))

    def _props(self) -> tuple[Any, ...]:
        props = self.__props__
        return (id(self),) if props is None else tuple(getattr(self, p) for p in props)

    def __str__(self) -> str:
        shown = ", ".join(f"{p}={getattr(self, p)}" for p in self.__props__ or ())
        return f"{type(self).__name__}{shown and f'{{{shown}}}'}"

    def make_node(self, *inputs: Any) -> Apply:
        """The operation on inputs; the default checks ``itypes`` and makes ``otypes``."""
        if self.itypes is None or self.otypes is None:
            raise NotImplementedError(at(f"{type(self).__name__}: an Op declares itypes and "
                                         "otypes, or make_node(self, x), which gives an Apply"))
        if len(inputs) != len(self.itypes):
            raise ValueError(f"We expected {len(self.itypes)} inputs but got {len(inputs)}.")
        given = [as_tensor_variable(x) for x in inputs]
        for x, kind in zip(given, _types(self.itypes), strict=True):
            if not kind.is_super(x.type):
                raise TypeError(f"{type(self).__name__}: {x!r} is {x.type}, not {kind}")
        return Apply(self, given, [kind() for kind in _types(self.otypes)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        """Compute the outputs: by ``c_code`` where there is such a method."""
        if hasattr(self, "c_code"):
            c_code.run(self, node, inputs, output_storage)
            return
        raise NotImplementedError(at(f"{type(self).__name__} has no perform(self, node, inputs, "
                                     "outputs), which computes the values"))

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        node = self.make_node(*inputs, **keywords)
        if not isinstance(node, Apply):
            raise TypeError(at(f"{type(self).__name__}.make_node must return Apply(self, inputs, "
                               f"outputs), not {node!r}"))
        found = self._found(node, self._connected(node))
        if len(node.outputs) == 1 and isinstance(found, tuple):
            found = found[0]
        outputs = list(found) if isinstance(found, tuple) else [found]
        node.outputs = wrapped(outputs)
        return node.outputs[0] if len(outputs) == 1 else node.outputs

    def _found(self, node: Apply, given: Sequence[Any]) -> Any:
        """The results of a node: the shapes are tried out; where ``perform`` fails, they are those
        of inputs with as many axes, else what it gives when it is called."""
        failed = [False]
        try:
            return self._operation(node, failed)(*given)
        except Exception:
            if not failed[0]:
                raise
        alike = [_alike(x, given) for x in node.outputs]
        known = [tuple(1 if one else None for one in x.type.broadcastable) for x in node.outputs]
        return self._operation(node, failed, lambda xs: [
            open_ if i is None else () if i < 0 else tuple(xs[i].shape)
            for i, open_ in zip(alike, known, strict=True)])(*given)

    def _operation(self, node: Apply, failed: list[bool], shapes: Any = None) -> Callable[..., Any]:
        """The operation of a node.

        :param failed: Takes down whether ``perform`` fails where shapes are tried out.
        :param shapes: Gives the outputs' shapes for operands, where they are not tried out.
        """
        kinds = [np.dtype(x.dtype) for x in node.outputs]

        def params() -> tuple[Any, ...]:
            own = params_type_of(self) is not None and type(self).perform is not Op.perform
            return (params_of(self, node),) if own else ()

        def perform(*arrays: np.ndarray) -> Any:
            storage: list[list[Any]] = [[None] for _ in kinds]
            cells = list(storage)
            destroyed = {i for of in dict(getattr(self, "destroy_map", None) or {}).values()
                         for i in of}
            arrays = tuple(a.copy() if i in destroyed else a for i, a in enumerate(arrays))
            try:
                self.perform(node, list(arrays), storage, *params())
            except Exception as error:
                failed[0] = not is_from_signal(error) and (
                    type(self).perform is not Op.perform or hasattr(self, "c_code"))
                raise
            for i, (cell, now) in enumerate(zip(cells, storage, strict=True)):
                if cell is not now or cell[0] is None:
                    raise TypeError(at(
                        f"{type(self).__name__}.perform: outputs[{i}] is a list of one place, "
                        f"which is to be filled: outputs[{i}][0] = value"))
            found = tuple(self._filled(i, np.asarray(cell[0]), x.type) for i, (cell, x) in
                          enumerate(zip(storage, node.outputs, strict=True)))
            return found if len(found) > 1 else found[0]

        rule = self._vjp(node)
        options: dict[str, Any] = {"outputs": len(kinds)}
        if any(k.kind not in "fc" for k in kinds) and rule is None:
            options["differentiable"] = False
        if rule is not None:
            options["vjp"] = rule
        if getattr(self, "R_op", None) is not None:
            options["jvp"] = self._jvp(node)
        if (infer := self._infer(node, kinds)) is not None:
            options["infer"] = infer
        elif shapes is not None:
            options["infer"] = lambda *xs: _several([*zip(shapes(xs), kinds, strict=True)])
        perform.__name__ = type(self).__name__
        perform.__dict__["made_by"] = self
        return userops.op(perform, **options)

    def _filled(self, i: int, found: np.ndarray, declared: TensorType) -> np.ndarray:
        """What ``perform`` put into a place, if it is of the type that the node declares."""
        kind = np.dtype(declared.dtype)
        if (found.ndim != declared.ndim or found.dtype.kind not in "biufc"
                or not fits(found.dtype, kind)):
            raise TypeError(at(
                f"{type(self).__name__}.perform: outputs[{i}] is {typed(found)}, where the node "
                f"declares {declared}"))
        return found.astype(kind, copy=False)

    def _vjp(self, node: Apply) -> Callable[..., Any] | None:
        own: Any = getattr(self, "L_op", None)
        old: Any = getattr(self, "grad", None)
        if own is None and old is None:
            def missing(g: Any, y: Any, *xs: Any) -> NoReturn:
                name = type(self).__name__
                raise MissingRuleError(at(f"{name} has no derivative: write {name}.grad(self, "
                                          "inputs, output_gradients), which returns a gradient for "
                                          "each input"))

            return missing

        def vjp(g: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
            many = len(node.outputs) > 1
            given, values = wrapped(list(xs)), wrapped(list(y) if many else [y])
            cotangents = [Disconnected() if v is None else wrapped(v) for v in (g if many else [g])]
            with floats():
                found = own(given, values, cotangents) if own else old(given, cotangents)
            found = found if isinstance(found, (list, tuple)) else [found]
            if len(found) != len(xs):
                raise ValueError(at(f"{type(self).__name__}.{'L_op' if own else 'grad'} returned "
                                    f"{len(found)} gradients for {len(xs)} inputs"))
            return tuple(None if v is None or x.dtype.kind in "biu" else self._missing(i, x)
                         if isinstance(v, Disconnected) else as_tensor(bare(v))
                         for i, (v, x) in enumerate(zip(found, xs, strict=True)))

        return vjp

    def _jvp(self, node: Apply) -> Callable[..., Any]:
        """The rule ``R_op``, by which derivatives along directions are computed."""
        rule: Any = self.R_op  # type: ignore[attr-defined]

        def jvp(ts: Any, y: Any, *xs: Any) -> Any:
            many = len(node.outputs) > 1
            with floats():
                found = rule(wrapped(list(xs)), [t if t is None else wrapped(t) for t in ts])
            found = found if isinstance(found, (list, tuple)) else [found]
            if len(found) != len(node.outputs):
                raise ValueError(at(f"{type(self).__name__}.R_op returned {len(found)} directions "
                                    f"for {len(node.outputs)} outputs"))
            made = tuple(zeros_like(of) if t is None else as_tensor(bare(t))
                         for t, of in zip(found, y if many else [y], strict=True))
            return made if many else made[0]

        return jvp

    def _missing(self, i: int, x: Any) -> Any:
        """What stands for a derivative that there is not: an error where it is computed."""
        def perform(x: np.ndarray) -> np.ndarray:
            raise NullTypeGradError(f"{type(self).__name__}.grad: there is no derivative to input "
                                    f"{i}")

        return userops.op(perform, infer=lambda x: (x.shape, x.dtype), differentiable=False)(x)

    def _connected(self, node: Apply) -> list[Any]:
        """The inputs, cut from their gradients where ``connection_pattern`` says so."""
        given = [as_tensor(bare(as_tensor_variable(x))) for x in node.inputs]
        pattern = getattr(self, "connection_pattern", None)
        rows = [(True,)] * len(given) if pattern is None else pattern(node)
        return [x if any(row) else stop_gradient(x) for x, row in zip(given, rows, strict=True)]

    def _infer(self, node: Apply, kinds: list[np.dtype]) -> Callable[..., Any] | None:
        if not hasattr(self, "infer_shape"):
            return None

        rule = self.infer_shape
        graph = (None,) * (len(inspect.signature(rule).parameters) > 2)  # PyTensor's comes first

        def infer(*xs: Any) -> Any:
            shapes = rule(*graph, node, [tuple(x.shape) for x in xs])
            pairs = tuple((tuple(map(bare, s)), k) for s, k in zip(shapes, kinds, strict=True))
            return _several(pairs)

        return infer


def _several(found: Sequence[Any]) -> Any:
    """What agnesi's rules return: one, or a tuple of several."""
    return tuple(found) if len(found) > 1 else found[0]


def _alike(output: Any, inputs: Sequence[Any]) -> int | None:
    """Which input has as many axes as an output; -1 for a scalar."""
    return next((i for i, x in enumerate(inputs) if x.ndim == output.ndim),
                None if output.ndim else -1)


class ViewOp(Op):
    """The identity, for classes that give it a gradient of their own."""

    view_map: ClassVar[dict[int, list[int]]] = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """The operation on ``x``, which gives its type."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        """Hand the input on."""
        output_storage[0][0] = inputs[0]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Any:
        """The shape of the input."""
        return shapes

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> Any:
        """The gradient as it comes."""
        return list(output_grads)


def as_op(itypes: Any, otypes: Any, infer_shape: Any = None) -> Callable[[Any], Any]:
    """A decorator that makes an operation of a function of arrays."""
    ins = itypes if isinstance(itypes, (list, tuple)) else [itypes]
    outs = otypes if isinstance(otypes, (list, tuple)) else [otypes]

    def made(fn: Callable[..., Any]) -> Op:
        def perform(self: Op, node: Apply, inputs: Any, storage: Any) -> None:
            found = fn(*inputs)
            for cell, value in zip(storage, found if len(outs) > 1 else [found], strict=True):
                cell[0] = value

        rules = {} if infer_shape is None else {"infer_shape": staticmethod(infer_shape)}
        kind = type(fn.__name__, (Op,), {
            "perform": perform, "itypes": _types(ins), "otypes": _types(outs), **rules})
        return kind()

    return made


def _types(given: Sequence[Any]) -> list[TensorType]:
    """Types, of types or of the functions that make variables of them (``T.dvector``)."""
    return [x if isinstance(x, TensorType) else x().type for x in given]


class OpFromGraph:
    """An operation made of expressions."""

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable],
                 inline: bool = False, grad_overrides: Any = None, name: str = "graph",
                 lop_overrides: Any = None, **ignored: Any) -> None:
        for name_, given_ in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(given_, (list, tuple)):
                raise TypeError(at(f"OpFromGraph: {name_} must be a list of variables: write "
                                   f"[{given_!r}]"))
        self._single = len(outputs) == 1
        self._outputs = list(outputs)
        rule = None
        if callable(lop_overrides) or callable(grad_overrides):
            def rule(g: Any, y: Any, *xs: Any) -> Any:
                values = wrapped([y] if self._single else list(y))
                cotangents = [Disconnected() if v is None else wrapped(v)
                              for v in ([g] if self._single else g)]
                given = wrapped(list(xs))
                found = (lop_overrides(given, values, cotangents) if callable(lop_overrides)
                         else grad_overrides(given, cotangents))
                return tuple(None if isinstance(v, Disconnected) else as_tensor(bare(v))
                             for v in found)
        given = [bare(x) for x in outputs]
        self._made = opgraph.OpFromGraph(
            [bare(x) for x in inputs], given[0] if self._single else given, inline=inline,
            vjp=rule, name=name or "graph")

    def __call__(self, *inputs: Any) -> Any:
        found = self._made(*[as_tensor(bare(as_tensor_variable(x))) for x in inputs])
        if self._single:
            return generator_like(self._outputs[0], found)
        return [generator_like(model, x) for model, x in zip(self._outputs, found, strict=True)]
