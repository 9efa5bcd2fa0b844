"""Training of one module by several libraries: the same first weights, data and plain SGD."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Contender

RATE = 0.01
CHECKED_STEPS = 3  # their losses must agree: the second and third depend on the updates before
PARTS = ("forward", "backward", "step")


@dataclass(frozen=True)
class Task:
    """A module to train: ``build(lib)`` makes it, and the last of ``inputs`` are the labels.

    ``part`` is "forward" (scores only), "backward" (gradients too) or "step" (the update too).
    Where there is dropout, answers are compared without it.
    """

    name: str
    build: Callable[[Any], Any]
    inputs: tuple[np.ndarray, ...]
    part: str = "step"
    images: bool = False
    dropout: float = 0.0
    model: Any = None  # its sizes, for those that write it out anew


def torch_module(task: Task) -> Any:
    """PyTorch's module with the first weights that every library gets."""
    torch = peers.torch()
    torch.manual_seed(0)
    model = task.build(torch)
    for p in model.parameters():
        p.requires_grad_(True)
    return model


def first_weights(task: Task) -> list[np.ndarray]:
    """The initial values of the parameters, in order, as PyTorch draws them."""
    return [p.detach().numpy().copy() for p in torch_module(task).parameters()]


def rounds(fn: Callable[..., Any], args: Sequence[Any], task: Task,
           mode: Callable[[bool], Any] = bool) -> Callable[[], np.ndarray]:
    """The check: scores of a forward call, or the losses of some steps.

    ``mode(training)`` switches dropout off before, and on again after.
    """
    times = CHECKED_STEPS if task.part == "step" else 1

    def answer() -> np.ndarray:
        mode(False)
        if task.part == "forward":
            return np.asarray(as_array(fn(*args)), np.float32)
        losses = [float(fn(*args)) for _ in range(times)]
        mode(True)
        return np.array(losses, np.float32)

    return answer


def as_array(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


# -------------------------------------------------------------------------------------- agnesi


def agnesi_function(task: Task) -> tuple[Any, Callable[..., Any], tuple[Any, ...]]:
    """The model, the function as a user writes it, not compiled, and its arguments."""
    ag = peers.agnesi()
    model = task.build(ag)
    for p, weight in zip(model.parameters(), first_weights(task), strict=True):
        p.array[...] = weight
    args = tuple(ag.tensor(x) for x in task.inputs)
    if task.part == "forward":
        model.eval()
        return model, ag.no_grad()(lambda *xs: model(*xs)), args[:-1]
    optimizer = ag.optim.SGD(model.parameters(), lr=RATE)

    def step(*batch: Any) -> Any:
        *inputs, labels = batch
        optimizer.zero_grad()
        loss = ag.nn.functional.cross_entropy(model(*inputs), labels)
        loss.backward()
        if task.part == "step":
            optimizer.step()
        return loss

    return model, step, args


def with_agnesi(task: Task, jit: bool = True, **settings: Any) -> Contender:
    model, fn, args = agnesi_function(task)
    fn = peers.agnesi().jit(fn, **settings) if jit else fn
    return Contender(fn, args, answer=rounds(fn, args, task, model.train))


# ------------------------------------------------------------------------------------- PyTorch


def with_torch(task: Task, compiled: bool = False, channels_last: bool = False,
               dynamic: bool | None = False) -> Contender:
    torch = peers.torch()
    model = torch_module(task)
    args = tuple(torch.from_numpy(x) for x in task.inputs)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        args = tuple(
            a.contiguous(memory_format=torch.channels_last) if a.ndim == 4 else a for a in args
        )
    forward = torch.compile(model, dynamic=dynamic) if compiled else model
    if task.part == "forward":
        model.eval()
        fn = torch.inference_mode()(lambda *xs: forward(*xs))
        return Contender(fn, args[:-1], answer=rounds(fn, args[:-1], task, model.train))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=True)
    cross_entropy = torch.nn.functional.cross_entropy

    @torch.enable_grad()
    def step(*batch: Any) -> Any:
        *inputs, labels = batch
        optimizer.zero_grad()
        loss = cross_entropy(forward(*inputs), labels)
        loss.backward()
        if task.part == "step":
            optimizer.step()
        return loss

    return Contender(step, args, answer=rounds(step, args, task, model.train))


def contenders(task: Task, compiled: bool = True) -> dict[str, Callable[[], Contender]]:
    """agnesi and PyTorch in every form that may be its fastest."""
    found = {
        "agnesi": lambda: with_agnesi(task),
        "torch": lambda: with_torch(task),
    }
    if task.images:
        found["torch last"] = lambda: with_torch(task, channels_last=True)
    if compiled:
        found["torch.compile"] = lambda: with_torch(task, compiled=True)
        if task.images:
            found["torch.compile last"] = lambda: with_torch(
                task, compiled=True, channels_last=True
            )
    return found


def expected(task: Task) -> Callable[[], np.ndarray]:
    """What PyTorch's eager mode gives: the others must agree with it."""
    return lambda: with_torch(task).answer()  # type: ignore[misc]


# ----------------------------------------------------------------------------------------- JAX


def with_jax(task: Task, loss_of: Callable[..., Any]) -> Contender:
    """``loss_of(weights, key, *inputs)`` with its gradients and update; no dropout without key."""
    jax = peers.jax()

    @functools.partial(jax.jit, donate_argnums=0)
    def update(weights: Any, key: Any, *batch: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights, key, *batch)
        if task.part == "step":
            gradients = [w - np.float32(RATE) * g for w, g in zip(weights, gradients, strict=True)]
        return loss, gradients

    state: dict[str, Any] = {
        "weights": list(peers.jax_arrays(*first_weights(task))), "key": None, "step": 0,
    }  # fmt: skip

    def step(*batch: Any) -> Any:
        key = state["key"]
        if key is not None:
            state["step"] += 1
            key = jax.random.fold_in(key, state["step"])
        loss, state["weights"] = update(state["weights"], key, *batch)
        return loss.block_until_ready()

    def mode(training: bool) -> None:
        state["key"] = jax.random.key(0) if training and task.dropout else None

    args = peers.jax_arrays(*task.inputs)
    return Contender(step, args, answer=rounds(step, args, task, mode))


def jax_dropout(x: Any, key: Any, p: float) -> Any:
    """Dropout in training, when there is a key."""
    jax = peers.jax()
    if key is None or not p:
        return x
    return jax.numpy.where(jax.random.bernoulli(key, 1 - p, x.shape), x / np.float32(1 - p), 0)


def jax_cross_entropy(scores: Any, labels: Any) -> Any:
    """The mean over the rows."""
    jax = peers.jax()
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()
