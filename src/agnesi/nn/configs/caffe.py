"""Networks as graphs of named values, with Caffe's layers, whose input sizes are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from itertools import zip_longest
from operator import add
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import at
from agnesi.nn.base.module import Module
from agnesi.nn.configs.caffe_layers import LAYERS, listed, made, unknown
from agnesi.nn.configs.caffe_losses import Function
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.reduce import sum as sum_

#: Layers that bring data in: their outputs are inputs of the network.
SOURCES = frozenset("Data DummyData HDF5Data ImageData Input MemoryData WindowData".split())
#: What an entry says besides its layer's parameters.
_ENTRY = frozenset("type name inputs outputs activation shared loss_weight lr_mult decay_mult "
                   "propagate_down".split())
#: What only a graph's entries say.
_GRAPH = frozenset("shared loss_weight lr_mult decay_mult propagate_down".split())


def activation_for(name: str) -> Module:
    """The layer that an activation's name means, whatever its capitals: a class of ``agnesi.nn``,
    or a function of ``agnesi.nn.functional``."""
    nn = import_module("agnesi.nn")
    plain = name.replace("_", "").lower()
    for kind in dir(nn):
        found = getattr(nn, kind)
        if kind.lower() == plain and isinstance(found, type) and issubclass(found, Module):
            made: Module = found()
            return made
    function = getattr(nn.functional, name.lower(), None)
    if not callable(function):
        raise ValueError(at(f"from_config: there is no activation {name!r} in agnesi.nn or "
                            "agnesi.nn.functional"))
    return Function(function, name)


class Net(Module):
    """A graph of layers over named values, made by :func:`agnesi.nn.from_config`.

    A call takes the inputs by position or name, and gives the values that no layer uses: the one,
    or a dict of them.  Layers are attributes by their names.  Inputs may be left out where only
    losses need them; these are left out then.

    Parameters
    ----------
    description : dict
        "inputs" with shapes, and "layers" with "type", "name", "inputs", "outputs", parameters.
    shapes : mapping of str to sequence of int
        Shapes of inputs that it does not have.
    other : callable
        Makes layers that are not Caffe's of their entries.

    Attributes
    ----------
    loss_weights : dict of str to float
        What :meth:`loss` multiplies values by: "loss_weight" of their layers, or 1 for the first
        value of a layer whose type ends in "Loss" (Caffe's "SoftmaxWithLoss" among them).
    """

    def __init__(self, description: dict[str, Any], shapes: Mapping[str, Any],
                 other: Callable[[Mapping[str, Any]], Module]) -> None:
        self.description = {**description, "type": "Net"}
        known = {**(description.get("inputs") or {}), **shapes}
        self.inputs = list(description.get("inputs") or {})
        self.steps: list[tuple[str, list[str], list[str]]] = []
        self.shared: dict[str, Any] = {}
        self.loss_weights: dict[str, float] = {}
        self.factors: dict[str, list[tuple[float, float]]] = {}
        self.detached: dict[str, list[int]] = {}
        values: dict[str, Any] = {}
        for entry in description["layers"]:
            if entry["type"] in SOURCES:
                for name in entry.get("outputs", []):
                    known.setdefault(name, _source_shape(entry))
                    self.inputs.append(name)
        made = set(self.inputs)
        for entry in description["layers"]:
            self.inputs += [n for n in entry.get("inputs", []) if n not in made]
            made.update(entry.get("inputs", []), entry.get("outputs", []))
        self.inputs = list(dict.fromkeys(self.inputs)) or ["x"]
        for name in self.inputs:
            if known.get(name) is not None:
                values[name] = zeros(tuple(known[name]))
        for i, entry in enumerate(description["layers"]):
            if entry["type"] not in SOURCES | {"Silence"}:
                self._add(i, entry, values, other)

    def _add(self, i: int, entry: Mapping[str, Any], values: dict[str, Any], other: Any) -> None:
        name = str(entry.get("name", f"layer{i}"))
        inputs = list(entry.get("inputs") or ([self.inputs[0]] if not self.steps
                                              else self.steps[-1][2][:1]))
        outputs = list(entry.get("outputs") or [name])
        own = {k: v for k, v in entry.items() if k not in _ENTRY}
        shapes = [tuple(values[n].shape) if n in values else None for n in inputs]
        kind = entry["type"]
        strange = unknown(kind, own) if kind in LAYERS else ["?"]
        if kind in LAYERS and not strange:
            layer = made(kind, name, {**own, "count": len(outputs)}, shapes, inputs)
        elif kind in LAYERS and not hasattr(import_module("agnesi.nn"), kind):
            raise ValueError(at(f"from_config: layer {name!r}: {kind} has no parameter "
                                f"{strange[0]!r} here; it takes {LAYERS[kind][1] or 'none'}"))
        else:
            layer = other({k: v for k, v in entry.items() if k not in _GRAPH})
        self._share(layer, name, entry.get("shared", []))
        attribute = name.replace("/", "_").replace(".", "_")
        setattr(self, attribute, layer)
        self._note(attribute, name, entry, outputs)
        self.steps.append((attribute, inputs, outputs))
        if entry.get("activation"):
            after = f"{attribute}_{entry['activation']}"
            setattr(self, after, activation_for(entry["activation"]))
            self.steps.append((after, outputs[:1], outputs[:1]))
        if None not in shapes:
            layer.eval()
            with no_grad():
                self._step(len(self.steps) - (2 if entry.get("activation") else 1), values)
            layer.train()

    def _note(self, attribute: str, name: str, entry: Mapping[str, Any], outputs: list[str]
              ) -> None:
        """What training needs to know: weights of losses, factors of rates and of decay."""
        weights = [float(w) for w in listed(entry.get("loss_weight", []))]
        if len(weights) not in (0, len(outputs)):
            raise ValueError(at(f"from_config: layer {name!r}: loss_weight has {len(weights)} "
                                f"numbers for its {len(outputs)} outputs"))
        if not weights and str(entry["type"]).endswith("Loss"):
            weights = [1.0]
        self.loss_weights.update((n, w) for n, w in zip(outputs, weights, strict=False) if w)
        rates, decays = (listed(entry.get(f, [])) for f in ("lr_mult", "decay_mult"))
        if rates or decays:
            self.factors[attribute] = [
                (float(r), float(d)) for r, d in zip_longest(rates, decays, fillvalue=1.0)]
        down = listed(entry.get("propagate_down", []))
        if not all(down):
            self.detached[attribute] = [i for i, goes in enumerate(down) if not goes]

    def _share(self, layer: Module, name: str, names: Sequence[str]) -> None:
        """Parameters of a name are those of the first layer that names them so."""
        for parameter, shared in zip(("weight", "bias"), names, strict=False):
            if not shared:
                continue
            mine, first = getattr(layer, parameter, None), self.shared.get(shared)
            if first is None:
                self.shared[shared] = mine
            elif mine is None or mine.shape != first.shape:
                raise ValueError(at(f"from_config: layer {name!r}: {parameter} is shared as "
                                    f"{shared!r}, whose shape is {first.shape}, not "
                                    f"{None if mine is None else mine.shape}"))
            else:
                setattr(layer, parameter, first)

    def _step(self, first: int, values: dict[str, Any]) -> set[str]:
        """Run the layers whose inputs there are; the names of values that were used up."""
        used: set[str] = set()
        for name, inputs, outputs in self.steps[first:]:
            if all(n in values for n in inputs):
                used.update(n for n in inputs if n not in outputs)
                cut = self.detached.get(name, ())
                found = getattr(self, name)(*[values[n].detach() if i in cut else values[n]
                                              for i, n in enumerate(inputs)])
                parts = found if isinstance(found, tuple) else (found,)
                values.update(zip(outputs, parts, strict=False))
        return used

    def forward(self, *xs: Any, **named: Any) -> Any:
        values, used, given = self._values(xs, named)
        ends = {n: v for n, v in values.items() if n not in used and n not in given}
        return next(iter(ends.values())) if len(ends) == 1 else ends

    def loss(self, *xs: Any, **named: Any) -> Any:
        """The sum of the network's losses, each times its weight (``loss_weights``).

        Parameters
        ----------
        *xs, **named : Tensor
            The inputs, as a call takes them, labels among them.

        Returns
        -------
        Tensor

        Raises
        ------
        ValueError
            If no layer is a loss, or inputs of all losses are missing.
        """
        values, _, _ = self._values(xs, named)
        parts = [w * sum_(values[n]) for n, w in self.loss_weights.items() if n in values]
        if not parts:
            known = ", ".join(self.loss_weights)
            raise ValueError(at(f"{type(self).__name__}.loss: " + (
                f"{known} need inputs that were not given; there are {', '.join(self.inputs)}"
                if known else "no layer is a loss, and none has a loss_weight")))
        return reduce(add, parts)

    def param_groups(self, lr: float, weight_decay: float = 0.0) -> list[dict[str, Any]]:
        """Groups of parameters for an optimizer, after the "lr_mult" and "decay_mult" of layers.

        Parameters
        ----------
        lr, weight_decay : float
            What the factors multiply.

        Returns
        -------
        list of dict
            With "params", "lr" and "weight_decay", such as :class:`agnesi.optim.SGD` takes.

        Examples
        --------
        >>> import agnesi as ag
        >>> net = ag.nn.from_config('''input: "x" input_dim: 2 input_dim: 3
        ...     layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
        ...       param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
        ...       inner_product_param { num_output: 4 } }''')
        >>> [(g["lr"], g["weight_decay"]) for g in net.param_groups(0.1, 0.01)]
        [(0.1, 0.01), (0.2, 0.0)]
        """
        factors: dict[int, tuple[float, float]] = {}
        for name, own in self.factors.items():
            for p, both in zip(getattr(self, name).parameters(), own, strict=False):
                factors[id(p)] = both
        groups: dict[tuple[float, float], list[Any]] = {}
        for p in self.parameters():
            groups.setdefault(factors.get(id(p), (1.0, 1.0)), []).append(p)
        return [{"params": ps, "lr": lr * rate, "weight_decay": weight_decay * decay}
                for (rate, decay), ps in groups.items()]

    def _values(self, xs: Any, named: Mapping[str, Any]
                ) -> tuple[dict[str, Any], set[str], set[str]]:
        """All values, the names of those that layers used, and of the inputs."""
        if len(xs) > len(self.inputs) or set(named) - set(self.inputs):
            raise TypeError(at(f"the network takes {', '.join(self.inputs)}"))
        values = dict(zip(self.inputs, map(as_tensor, xs), strict=False))
        values.update((n, as_tensor(x)) for n, x in named.items())
        given = set(values)
        return values, self._step(0, values), given


def _source_shape(entry: Mapping[str, Any]) -> Any:
    """The shape of what a source gives, where its entry has one."""
    shape = entry.get("shape")
    first = shape[0] if isinstance(shape, list) and shape else shape
    if isinstance(first, Mapping):
        return first["dim"]
    images = [entry.get(n) for n in ("channels", "height", "width")]
    count = entry.get("batch_size", entry.get("num"))
    if isinstance(count, int) and all(isinstance(n, int) for n in images):
        return [count, *images]
    return shape if isinstance(shape, list) else None
