"""Modules around one other."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import Tensor, new
from agnesi.compat.torch7.nn.containers import Concat, Container
from agnesi.compat.torch7.nn.module import Module
from agnesi.compat.torch7.tensor import axis_of
from agnesi.core.support import tree

__all__ = [
    "GPU",
    "Bottle",
    "Convert",
    "Decorator",
    "DepthConcat",
    "DontCast",
    "MapTable",
    "NaN",
    "Profile",
]


class Decorator(Container):
    """The module that it holds; base of those below."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.modules = [module]

    def _inner(self, input: Any) -> Any:
        """What the module gets of an input or of a gradient."""
        return input

    def updateOutput(self, input: Any) -> Any:
        self.output = self.modules[0].updateOutput(self._inner(input))
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = self.modules[0].updateGradInput(self._inner(input),
                                                         self._inner(gradOutput))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        self.modules[0].accGradParameters(self._inner(input), self._inner(gradOutput), scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        self.modules[0].accUpdateGradParameters(self._inner(input), self._inner(gradOutput), lr)


class Bottle(Decorator):
    """A module of samples of few axes, on more: those in front become one."""

    def __init__(self, module: Any, nInputDim: int = 2, nOutputDim: int | None = None) -> None:
        super().__init__(module)
        self.nInputDim, self.nOutputDim = nInputDim, nOutputDim or nInputDim

    def _flat(self, x: Any, axes: int) -> Any:
        lead = x.dim() - axes + 1
        return x if lead < 2 else x.contiguous().view(-1, *x.array.shape[lead:])

    def updateOutput(self, input: Any) -> Any:
        lead = input.array.shape[:input.dim() - self.nInputDim + 1]
        found = self.modules[0].updateOutput(self._flat(input, self.nInputDim))
        self.output = found if len(lead) < 2 else found.view(*lead, *found.array.shape[1:])
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        found = self.modules[0].updateGradInput(self._flat(input, self.nInputDim),
                                                self._flat(gradOutput, self.nOutputDim))
        self.gradInput = found.view(*input.array.shape)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        super().accGradParameters(self._flat(input, self.nInputDim),
                                  self._flat(gradOutput, self.nOutputDim), scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        super().accUpdateGradParameters(self._flat(input, self.nInputDim),
                                        self._flat(gradOutput, self.nOutputDim), lr)


class GPU(Decorator):
    """The module that it holds: there is one device, whose number does not matter."""

    def __init__(self, module: Any, device: int = 1, outdevice: int = 1) -> None:
        super().__init__(module)


class DontCast(Decorator):
    """A module that keeps its type when those around change theirs; what it gets and returns is
    cast."""

    def __init__(self, module: Any, castin: bool = True, castout: bool | None = None,
                 moduleType: str | None = None) -> None:
        super().__init__(module)
        self.castin, self.castout = castin, castin if castout is None else castout
        weights = module.parameters()[0]
        self.moduleType = moduleType or (weights[0].type() if weights else "torch.DoubleTensor")
        self.outer = Tensor()

    def type(self, name: str) -> Module:
        """The type of what it returns; that of the module stays."""
        self.outer = Tensor().type(name)
        return self

    def _inner(self, input: Any) -> Any:
        return tree.map_leaves(lambda t: t.type(self.moduleType), input) if self.castin else input

    def _outer(self, found: Any) -> Any:
        return tree.map_leaves(lambda t: t.typeAs(self.outer), found) if self.castout else found

    def updateOutput(self, input: Any) -> Any:
        self.output = self._outer(super().updateOutput(input))
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = self._outer(super().updateGradInput(input, gradOutput))
        return self.gradInput


class NaN(Decorator):
    """A module whose NaNs are errors that name it."""

    def __init__(self, module: Any, id: Any = None) -> None:
        super().__init__(module)
        self.id = id

    def _check(self, **values: Any) -> None:
        found = {name: any(np.isnan(t.array).any() for t in tree.flatten(x)[0])
                 for name, x in values.items()}
        name = next((name for name, there in found.items() if there), None)
        if name is not None:
            raise FloatingPointError(f"NaN found in {name} of module {self!r}"
                                     + (f" (id {self.id})" if self.id is not None else ""))

    def updateOutput(self, input: Any) -> Any:
        self._check(input=input, parameters=self.parameters()[0])
        self._check(output=super().updateOutput(input))
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self._check(gradOutput=gradOutput)
        self._check(gradInput=super().updateGradInput(input, gradOutput))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        super().accGradParameters(input, gradOutput, scale)
        self._check(**{"gradients of parameters": self.parameters()[1]})


class Profile(Decorator):
    """A module whose time is printed after each ``print_interval`` calls."""

    def __init__(self, module: Any, print_interval: int = 100, name: str | None = None) -> None:
        super().__init__(module)
        self.print_interval, self.name = print_interval, name or repr(module)
        self.spent = {"forward": [0.0, 0], "backward": [0.0, 0]}

    def _timed(self, way: str, call: Any, *args: Any) -> Any:
        start = time.perf_counter()
        found = call(*args)
        kept = self.spent[way]
        kept[0] += time.perf_counter() - start
        kept[1] += 1
        if kept[1] % self.print_interval == 0:
            print(f"{self.name} took {kept[0]:.3f} seconds for {kept[1]} {way} passes")
            kept[:] = [0.0, 0]
        return found

    def updateOutput(self, input: Any) -> Any:
        return self._timed("forward", super().updateOutput, input)

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        return self._timed("backward", super().updateGradInput, input, gradOutput)


class MapTable(Container):
    """One module on each entry of a table, with the same parameters by default."""

    def __init__(self, module: Any, shared: bool = True) -> None:
        super().__init__()
        self.shared = shared
        self.add(module)

    def _extend(self, count: int) -> list[Any]:
        first = self.modules[0]
        while len(self.modules) < count:
            names = [n for w in first.walk() for n in w.weights] if self.shared else []
            self.modules.append(first.clone(*names, *(f"grad{n[0].upper()}{n[1:]}" for n in names)))
        return self.modules[:count]

    def resize(self, count: int) -> None:
        """Keep as many copies as there will be entries."""
        self._extend(count)
        del self.modules[max(count, 1):]

    def updateOutput(self, input: Any) -> Any:
        self.output = [m.updateOutput(x)
                       for m, x in zip(self._extend(len(input)), input, strict=True)]
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = [m.updateGradInput(x, g) for m, x, g in zip(
            self._extend(len(input)), input, gradOutput, strict=True)]
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        for m, x, g in zip(self._extend(len(input)), input, gradOutput, strict=True):
            m.accGradParameters(x, g, scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        for m, x, g in zip(self._extend(len(input)), input, gradOutput, strict=True):
            m.accUpdateGradParameters(x, g, lr)


class DepthConcat(Concat):
    """:class:`Concat` of results of several sizes: smaller ones are in the middle of zeros."""

    def _windows(self, outputs: list[Any]) -> tuple[list[int], list[tuple[slice, ...]]]:
        shapes = [y.array.shape for y in outputs]
        axis = axis_of(self.dimension, len(shapes[0]))
        full = [max(sizes) for sizes in zip(*shapes, strict=True)]
        full[axis] = sum(shape[axis] for shape in shapes)
        keys, at = [], 0
        for shape in shapes:
            key = [slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(full, shape, strict=True)]
            key[axis] = slice(at, at + shape[axis])
            at += shape[axis]
            keys.append(tuple(key))
        return full, keys

    def _joined(self, outputs: list[Any]) -> Any:
        full, keys = self._windows(outputs)
        found = np.zeros(full, outputs[0].array.dtype)
        for key, y in zip(keys, outputs, strict=True):
            found[key] = y.array
        self.output = new(found)
        return self.output

    def _parts(self, gradOutput: Any) -> list[Any]:
        keys = self._windows([m.output for m in self.modules])[1]
        return [new(gradOutput.array[key].copy()) for key in keys]


class Convert(Module):
    """Batches in another order of axes, which letters name: "bchw" to "bf" or "bhwc"; "b" is that
    of a batch, and samples without it are accepted."""

    def __init__(self, inputShape: str | None = None, outputShape: str | None = None) -> None:
        super().__init__()
        if outputShape and not inputShape:
            raise ValueError(f"Convert(None, {outputShape!r}) needs the order of the input, too")
        given = inputShape or "b*"
        wanted = outputShape or given
        self.inputShape, self.outputShape = (s if "b" in s else f"b{s}" for s in (given, wanted))

    def compute(self, x: Any) -> Any:
        if self.inputShape == self.outputShape:
            return x * 1
        single = x.ndim < len(self.inputShape)
        if single:
            x = ag.expand_dims(x, self.inputShape.index("b"))
        y = self._converted(x)
        return ag.squeeze(y, self.outputShape.index("b")) if single else y

    def _converted(self, x: Any) -> Any:
        given, wanted = self.inputShape, self.outputShape
        if sorted(given) == sorted(wanted):
            return ag.transpose(x, [given.index(c) for c in wanted])
        first = ag.moveaxis(x, given.index("b"), 0)
        if wanted in ("bf", "fb"):
            flat = first.reshape((first.shape[0], -1))
            return flat if wanted == "bf" else flat.T
        if wanted == "b" and len(given) == 2 and ("t" in given or first.shape[1] == 1):
            return first[:, 0]
        if wanted == "bt" and given == "b":
            return first[:, None]
        raise ValueError(f"Convert({given!r}, {wanted!r}) of shape {tuple(x.shape)}: there are "
                         "orders of the same letters, 'bf' of all, 'b' of 'bt' or one feature, and "
                         "'bt' of 'b'")
