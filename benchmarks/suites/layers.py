"""Layers and losses, one at a time, jitted, beside PyTorch: forward, then with all gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.models.layers import Layer, layers

TITLE = "layers and losses, one at a time"
THREADS = (1, 2)
GOAL = 1.0


def run(context: Context) -> list[Result]:
    return context.measure_all(case for layer in layers() for case in _cases(layer))


def _cases(layer: Layer) -> Iterator[Case]:
    """The layer's result without a record, and the gradients of the sum of its squares."""
    for what, ours, theirs in (("forward", _our_result, _their_result),
                               ("gradients", _our_gradients, _their_gradients)):
        contenders = {OURS: lambda ours=ours: ours(layer),
                      "torch": lambda theirs=theirs: theirs(layer, np.float32)}
        if layer.inputs[0].ndim == 4:
            contenders["torch channels last"] = (
                lambda theirs=theirs: theirs(layer, np.float32, last=True))
        yield Case(f"{layer.name}, {what}", lambda theirs=theirs: _expected(layer, theirs),
                   contenders, rtol=5e-3, atol=5e-2, goal=GOAL)


# -------------------------------------------------------------------------------------- agnesi


def _our_layer(layer: Layer) -> tuple[Any, list[Any]]:
    """The module with PyTorch's first weights, and its arguments."""
    ag = peers.agnesi()
    module = layer.build(ag.nn)
    for p, weight in zip(module.parameters(), _first_weights(layer), strict=True):
        p.array[...] = weight
    return module, [ag.tensor(x) for x in layer.inputs]


def _our_result(layer: Layer) -> Contender:
    ag = peers.agnesi()
    module, args = _our_layer(layer)
    return Contender(ag.jit(ag.no_grad()(lambda *xs: layer.call(module, *xs))), tuple(args))


def _our_gradients(layer: Layer) -> Contender:
    ag = peers.agnesi()
    module, args = _our_layer(layer)
    floating = layer.inputs[0].dtype == np.float32

    def gradients(x: Any, *more: Any) -> Any:
        xs = (x.detach().requires_grad_() if floating else x, *more)
        leaves = [*module.parameters(), *xs[:floating]]
        for leaf in leaves:
            leaf.grad = None
        (layer.call(module, *xs) ** 2).sum().backward()
        return [leaf.grad for leaf in leaves]

    return Contender(ag.jit(gradients), tuple(args))


# ------------------------------------------------------------------------------------- PyTorch


def _first_weights(layer: Layer) -> list[np.ndarray]:
    module, _ = _their_layer(layer, np.float32)
    return [p.detach().numpy().copy() for p in module.parameters()]


def _their_layer(layer: Layer, dtype: Any, last: bool = False) -> tuple[Any, list[Any]]:
    torch = peers.torch()
    torch.manual_seed(0)
    module = layer.build(torch.nn)
    args = [torch.from_numpy(x.astype(dtype) if x.dtype == np.float32 else x)
            for x in layer.inputs]
    if dtype == np.float64:
        module = module.double()
    if last:
        module = module.to(memory_format=torch.channels_last)
        args[0] = args[0].contiguous(memory_format=torch.channels_last)
    return module, args


def _their_result(layer: Layer, dtype: Any, last: bool = False) -> Contender:
    module, args = _their_layer(layer, dtype, last)  # `peers.torch` switched gradients off
    return Contender(lambda *xs: layer.call(module, *xs), tuple(args))


def _their_gradients(layer: Layer, dtype: Any, last: bool = False) -> Contender:
    torch = peers.torch()
    module, args = _their_layer(layer, dtype, last)
    leaves = list(module.parameters())
    if layer.inputs[0].dtype == np.float32:
        leaves.append(args[0])
    for leaf in leaves:
        leaf.requires_grad_()

    @torch.enable_grad()
    def gradients(*xs: Any) -> Any:
        for leaf in leaves:
            leaf.grad = None
        (layer.call(module, *xs) ** 2).sum().backward()
        return [leaf.grad for leaf in leaves]

    return Contender(gradients, tuple(args))


def _expected(layer: Layer, theirs: Callable[..., Contender]) -> list[np.ndarray]:
    """What PyTorch gives in double precision, as float32."""
    contender = theirs(layer, np.float64)
    found = contender.fn(*contender.args)
    several = found if isinstance(found, list) else [found]
    return [a.detach().numpy().astype(np.float32) for a in several]
