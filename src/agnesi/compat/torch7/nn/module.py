"""The protocol of Torch7's modules, and modules whose values and gradients are agnesi's."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.autodiff.transforms import vjp
from agnesi.compat.torch7.counting import from_one
from agnesi.compat.torch7.maths import Tensor
from agnesi.compat.torch7.nn.telling import wrap_methods
from agnesi.compat.torch7.tensor import Storage, View, dtype_of
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, at, no_attribute
from agnesi.ops.base.convert import as_tensor


def arrays(x: Any) -> Any:
    """A tensor or table of tensors as tensors of agnesi's, on the same memory."""
    return tree.map_leaves(lambda t: as_tensor(t.array) if isinstance(t, View) else t, x)


def written(old: Any, found: Any) -> Any:
    """Results in the memory of earlier ones, where these have the same structure."""
    if isinstance(found, (list, tuple)):
        olds = old if isinstance(old, list) and len(old) == len(found) else [None] * len(found)
        return [written(a, b) for a, b in zip(olds, found, strict=True)]
    array = np.asarray(found)
    if not isinstance(old, Tensor) or old.array.dtype != array.dtype:
        return Tensor(np.array(array), dtype=array.dtype)
    old.resize(*array.shape)
    np.copyto(old.array, array)
    return old


def keep_arguments(kind: Any) -> None:
    """Let a class's constructor keep its arguments in ``_made``, which files contain."""
    begin = vars(kind).get("__init__")
    if begin is None:
        return

    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807 - it is one
        if "_made" not in vars(self):
            self._made = args, named
        begin(self, *args, **named)

    kind.__init__ = __init__


class Module:
    """Base of modules; a subclass gives ``compute(x, *parameters)`` in agnesi's functions.

    Attributes
    ----------
    output, gradInput : Tensor or list of Tensor
        What the last calls computed, in memory that later ones use again.
    weights : tuple of str
        Names of its parameters, whose gradients are ``gradWeight``, ``gradBias``.
    """

    weights: tuple[str, ...] = ()
    train = True
    _made: tuple[tuple[Any, ...], dict[str, Any]]

    #: Whether the input is a table.
    _table = False
    #: Whether the entries of that table go element by element.
    _elementwise = False

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        keep_arguments(cls)
        wrap_methods(cls)

    def __init__(self) -> None:
        self.output: Any = Tensor()
        self.gradInput: Any = Tensor()

    def compute(self, x: Any, *parameters: Any) -> Any:
        raise NotImplementedError(at(f"{type(self).__name__} needs compute(x, *parameters)"))

    # -- parameters -----------------------------------------------------------------------------
    def add_parameter(self, name: str, array: Any) -> None:
        """A parameter, and its gradient beside it."""
        setattr(self, name, Tensor(array))
        setattr(self, f"grad{name[0].upper()}{name[1:]}", Tensor(np.zeros(np.shape(array))))

    def _own(self) -> list[tuple[Tensor, Tensor]]:
        pairs = [(getattr(self, n, None), getattr(self, f"grad{n[0].upper()}{n[1:]}", None))
                 for n in self.weights]
        return [(w, g) for w, g in pairs if w is not None and g is not None]

    def children(self) -> list[Any]:
        """The modules inside."""
        return []

    def walk(self) -> Iterator[Any]:
        """The module and all inside, each once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            m = stack.pop()
            if id(m) not in seen:
                seen.add(id(m))
                yield m
                stack.extend(reversed(m.children()))

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """All parameters, and their gradients."""
        pairs = [pair for m in self.walk() for pair in m._own()]
        return [w for w, _ in pairs], [g for _, g in pairs]

    def getParameters(self) -> tuple[Tensor, Tensor]:
        """All parameters as one vector and all gradients as another: the module's own tensors look
        into these from now on; what several share is there once."""
        params, grads = self.parameters()
        return _flattened(params), _flattened(grads)

    # -- forward and backward --------------------------------------------------------------------
    def updateOutput(self, input: Any) -> Any:
        """The result, which stays in ``output``."""
        parameters = [arrays(w) for w, _ in self._own()]
        self.output = written(self.output, self.compute(arrays(input), *parameters))
        return self.output

    def _pulled(self, input: Any, gradOutput: Any, wanted: str) -> Any:
        parameters = [arrays(w) for w, _ in self._own()]
        x = arrays(input)
        if wanted == "input":
            leaves, shape = tree.flatten(x)
            floats = [i for i, v in enumerate(leaves) if v.dtype.kind == "f"]

            def of_floats(*given: Any) -> Any:
                filled = list(leaves)
                for i, v in zip(floats, given, strict=True):
                    filled[i] = v
                return self.compute(shape.build(filled), *parameters)

            y, pull = vjp(of_floats, *[leaves[i] for i in floats])
            g = _as(y, arrays(gradOutput))
            found = dict(zip(floats, pull(g), strict=True))
            return shape.build([found.get(i, np.zeros(v.shape)) for i, v in enumerate(leaves)])
        y, pull = vjp(lambda *given: self.compute(x, *given), *parameters)
        return pull(_as(y, arrays(gradOutput)))

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """The gradient of the input, which stays in ``gradInput``."""
        self.gradInput = written(self.gradInput, self._pulled(input, gradOutput, "input"))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        """Add ``scale`` times the gradients of parameters to theirs."""
        own = self._own()
        if own:
            found = self._pulled(input, gradOutput, "parameters")
            for (_, g), new in zip(own, found, strict=True):
                g.array[...] += scale * np.asarray(new)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        """Change parameters by minus ``lr`` times their gradients at once."""
        for (w, _), new in zip(self._own(), self._pulled(input, gradOutput, "parameters")
                               if self._own() else (), strict=True):
            w.array[...] -= lr * np.asarray(new)

    def forward(self, input: Any = None) -> Any:
        """The result."""
        return from_one(self.updateOutput, type(self).__name__)(input)

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        """The gradient of the input; those of parameters are added to theirs."""
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    __call__ = forward

    def backwardUpdate(self, input: Any, gradOutput: Any, lr: float) -> Any:
        """The gradient of the input; parameters are changed at once."""
        self.updateGradInput(input, gradOutput)
        self.accUpdateGradParameters(input, gradOutput, lr)
        return self.gradInput

    # -- what else there is to do ------------------------------------------------------------------
    def apply(self, callback: Any) -> None:
        """Call a function with the module and all inside."""
        for m in self.walk():
            callback(m)

    def listModules(self) -> list[Any]:
        """The module and all modules in it."""
        return list(self.walk())

    def findModules(self, typename: str) -> list[Any]:
        """The modules of a class, which is named as in "nn.Linear"."""
        return [m for m in self.walk() if type(m).__name__ == typename.removeprefix("nn.")]

    def replace(self, callback: Any) -> Any:
        """What a function returns for the module, after it replaced those inside."""
        found = callback(self)
        inner: Any = getattr(found, "modules", None) or ()
        for i, m in enumerate(inner):
            inner[i] = m.replace(callback)
        return found

    def clearState(self) -> Any:
        """Give back the memory of results and gradients of inputs."""
        for m in self.walk():
            m.output, m.gradInput = Tensor(), Tensor()
        return self

    def zeroGradParameters(self) -> None:
        """Set gradients to zero."""
        for g in self.parameters()[1]:
            g.zero()

    def updateParameters(self, learningRate: float) -> None:
        """Change parameters by minus ``learningRate`` times their gradients, shared ones once."""
        pairs = {(id(w._storage), w._offset, id(g._storage), g._offset): (w, g)
                 for w, g in zip(*self.parameters(), strict=True)}
        for w, g in pairs.values():
            w.array[...] -= learningRate * g.array

    def training(self) -> None:
        """Behave as in training."""
        for m in self.walk():
            m.train = True

    def evaluate(self) -> None:
        """Behave as in use."""
        for m in self.walk():
            m.train = False

    def reset(self, stdv: float | None = None) -> Module:
        """New values for parameters."""
        for child in self.children():
            child.reset(stdv)
        return self

    def clone(self, *names: str) -> Any:
        """A copy; parameters of these names are shared with it."""
        found = copy.deepcopy(self)
        return found.share(self, *names) if names else found

    def share(self, other: Module, *names: str) -> Module:
        """Let parameters of these names look where those of another module look."""
        for mine, its in zip(self.walk(), other.walk(), strict=True):
            for name in names:
                if getattr(mine, name, None) is not None:
                    getattr(mine, name).set(getattr(its, name))
        return self

    def type(self, name: str) -> Module:
        """All tensors as another type; what was shared stays shared."""
        kind, made = dtype_of(name), {}
        for m in self.walk():
            for key, value in list(m.__dict__.items()):
                if isinstance(value, View):
                    old = value._storage
                    if id(old) not in made:
                        made[id(old)] = old, Storage(0, kind)
                        made[id(old)][1].data = old.data.astype(kind)
                    found = Tensor.__new__(Tensor)
                    found._look(made[id(old)][1], value._offset, value._sizes, value._steps)
                    m.__dict__[key] = found
        return self

    def float(self) -> Module:
        """All tensors in single precision."""
        return self.type("torch.FloatTensor")

    def double(self) -> Module:
        """All tensors in double precision."""
        return self.type("torch.DoubleTensor")

    def cuda(self, device: Any = None) -> Module:
        """All tensors in single precision, which those of devices have; there is one device."""
        return self.float()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("torch7.Module", name, self)

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"


def _as(y: Any, g: Any) -> Any:
    """A cotangent in the structure and dtypes of a result."""
    ys, shape = tree.flatten(y)
    gs = tree.flatten(g)[0]
    sizes = [["x".join(map(str, np.shape(t))) for t in ts] for ts in (ys, gs)]
    if [t.size for t in ys] != [getattr(t, "size", None) for t in gs]:
        shown = [s[0] if len(s) == 1 else f"[{', '.join(s)}]" for s in sizes]
        raise ShapeError(f"gradOutput must be as the output, {shown[0]}, not {shown[1]}")
    return shape.build([t.reshape(v.shape).astype(v.dtype) for v, t in zip(ys, gs, strict=True)])


def _flattened(tensors: list[Tensor]) -> Tensor:
    places: dict[tuple[int, int], int] = {}
    size = 0
    for t in tensors:
        key = id(t._storage), t._offset
        if key not in places:
            places[key] = size
            size += t.nElement()
    dtype = tensors[0].array.dtype if tensors else None
    flat = Tensor(size, dtype=dtype)
    for t in tensors:
        at = places[id(t._storage), t._offset]
        flat.array[at:at + t.nElement()] = t.array.reshape(-1)
    keys = [(id(t._storage), t._offset) for t in tensors]
    for t, key in zip(tensors, keys, strict=True):
        t.set(flat._storage, places[key] + 1, list(t._sizes))
    return flat


keep_arguments(Module)
wrap_methods(Module)
