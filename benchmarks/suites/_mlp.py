"""The six training steps of the MLP rows: nets, data, the NumPy reference, each library's step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Contender

NETS = ((784, 10), (784, 500, 10), (784, 1000, 1000, 1000, 10))
BATCHES = (1, 60)
RATE = 0.01
CHECKED_STEPS = 3  # their losses must agree: the second and third depend on the updates before


@dataclass(frozen=True)
class Problem:
    """A net's sizes with its first weights, and one batch of data."""

    sizes: tuple[int, ...]
    batch: int
    weights: tuple[np.ndarray, ...]  # (inputs, outputs) matrices and bias vectors by turns
    x: np.ndarray
    y: np.ndarray

    @property
    def name(self) -> str:
        return f"{'-'.join(map(str, self.sizes))} batch {self.batch}"

    @property
    def flops(self) -> int:
        """Forward product, weight gradient, and input gradient but for the first layer."""
        pairs = list(pairwise(self.sizes))
        products = 3 * sum(a * b for a, b in pairs) - pairs[0][0] * pairs[0][1]
        return 2 * self.batch * products

    @property
    def bytes(self) -> int:
        """Weights read going forward, read and written where gradient and update are one pass."""
        return 3 * sum(w.nbytes for w in self.weights[::2]) + self.x.nbytes


def make(sizes: tuple[int, ...], batch: int) -> Problem:
    rng = np.random.default_rng(sum(sizes) + batch)
    weights: list[np.ndarray] = []
    for a, b in pairwise(sizes):
        weights += [
            rng.uniform(-1, 1, (a, b)).astype(np.float32) / np.float32(np.sqrt(a)),
            np.zeros(b, np.float32),
        ]
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    return Problem(sizes, batch, tuple(weights), x, rng.integers(0, sizes[-1], batch))


def losses(step: Callable[..., Any], *args: Any) -> Callable[[], np.ndarray]:
    """The check of a step: its losses while it trains."""
    return lambda: np.array([float(step(*args)) for _ in range(CHECKED_STEPS)], np.float32)


# --------------------------------------------------------------------------------------- NumPy


def numpy_step(weights: Sequence[np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.floating]:
    """The step written by hand, updating `weights`: what the others must agree with, and a peer."""

    def step(x: np.ndarray, y: np.ndarray) -> np.floating:
        rows = np.arange(len(y))
        hidden = [x]
        for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            z = hidden[-1] @ w
            z += b
            hidden.append(np.tanh(z, out=z))
        z = hidden[-1] @ weights[-2] + weights[-1]
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        total = p.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - z[rows, y]).mean()
        p /= total
        p[rows, y] -= 1
        p *= np.float32(1 / len(y))
        for layer in range(len(hidden) - 1, -1, -1):
            h, w, b = hidden[layer], weights[2 * layer], weights[2 * layer + 1]
            back = p @ w.T * (1 - h * h) if layer else None
            w -= np.float32(RATE) * (h.T @ p)
            b -= np.float32(RATE) * p.sum(axis=0)
            p = back
        return loss

    return step


def with_numpy(problem: Problem) -> Contender:
    step = numpy_step([w.copy() for w in problem.weights])
    return Contender(step, (problem.x, problem.y), answer=losses(step, problem.x, problem.y))


# -------------------------------------------------------------------------------------- agnesi


def agnesi_step(problem: Problem) -> Callable[..., Any]:
    """The step as a user writes it, to be run as it is or compiled by one decorator."""
    peers.agnesi()
    from agnesi import nn, optim

    layers: list[Any] = []
    for a, b in pairwise(problem.sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    for parameter, weight in zip(model.parameters(), problem.weights, strict=True):
        parameter.array[...] = weight.T  # Linear.weight is (outputs, inputs)
    optimizer = optim.SGD(model.parameters(), lr=RATE)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def with_agnesi(problem: Problem, jit: bool) -> Contender:
    ag = peers.agnesi()
    step = agnesi_step(problem)
    step = ag.jit(step) if jit else step
    args = ag.tensor(problem.x), ag.tensor(problem.y)
    return Contender(step, args, answer=losses(step, *args))


# ------------------------------------------------------------------------------------- PyTorch


def torch_model(problem: Problem) -> Any:
    torch = peers.torch()
    layers: list[Any] = []
    for a, b in pairwise(problem.sizes):
        layers += [torch.nn.Linear(a, b), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers[:-1])
    for parameter, weight in zip(model.parameters(), problem.weights, strict=True):
        parameter.copy_(torch.from_numpy(weight.T.copy()))
    return model


def torch_step(problem: Problem) -> Callable[..., Any]:
    """Model, optimizer and `backward` as PyTorch's tutorials write them, with foreach updates."""
    torch = peers.torch()
    model = torch_model(problem)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=True)
    cross_entropy = torch.nn.functional.cross_entropy

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return torch.enable_grad()(step)


def torch_short_step(problem: Problem) -> Callable[..., Any]:
    """PyTorch's fastest eager form: no optimizer object, updates in place."""
    torch = peers.torch()
    model = torch_model(problem)
    parameters = list(model.parameters())
    cross_entropy, grad = torch.nn.functional.cross_entropy, torch.autograd.grad

    def step(x: Any, y: Any) -> Any:
        with torch.enable_grad():
            loss = cross_entropy(model(x), y)
            gradients = grad(loss, parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.add_(gradient, alpha=-RATE)
        return loss

    return step


def torch_compiled_step(problem: Problem) -> Callable[..., Any]:
    """Forward, backward and update in one `torch.compile` graph, its fastest form here."""
    torch = peers.torch()
    model = torch_model(problem)
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        logits = torch.func.functional_call(model, parameters, (x,))
        return torch.nn.functional.cross_entropy(logits, y)

    @torch.compile(dynamic=False)
    def step(parameters: Any, x: Any, y: Any) -> Any:
        gradients, loss = torch.func.grad_and_value(loss_of)(parameters, x, y)
        for name, parameter in parameters.items():
            # Not add_(gradient, alpha=-RATE): PyTorch 2.13 compiles that to wrong updates here.
            parameter.sub_(gradients[name] * RATE)
        return loss

    return lambda x, y: step(parameters, x, y)


def with_torch(problem: Problem, make_step: Callable[[Problem], Callable[..., Any]]) -> Contender:
    torch = peers.torch()
    step = make_step(problem)
    args = torch.from_numpy(problem.x), torch.from_numpy(problem.y)
    return Contender(step, args, answer=losses(step, *args))


# ---------------------------------------------------------------------------- JAX and PyTensor


def jax_step(problem: Problem) -> Callable[..., Any]:
    """`value_and_grad` and the update in one jitted function whose parameters are donated."""
    jax = peers.jax()

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        for w, b in parameters[:-1]:
            x = jax.numpy.tanh(x @ w + b)
        w, b = parameters[-1]
        logs = jax.nn.log_softmax(x @ w + b)
        return -jax.numpy.take_along_axis(logs, y[:, None], axis=1).mean()

    def update(parameters: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradients), loss

    compiled = jax.jit(update, donate_argnums=0)
    arrays = peers.jax_arrays(*problem.weights)
    parameters = list(zip(arrays[::2], arrays[1::2], strict=True))

    def step(x: Any, y: Any) -> Any:
        nonlocal parameters
        parameters, loss = compiled(parameters, x, y)
        return loss.block_until_ready()

    return step


def with_jax(problem: Problem) -> Contender:
    step = jax_step(problem)
    args = peers.jax_arrays(problem.x, problem.y)
    return Contender(step, args, answer=losses(step, *args))


def pytensor_step(problem: Problem, linker: str) -> Callable[..., Any]:
    """A function with updates of shared variables."""
    pytensor = peers.pytensor()
    pt = pytensor.tensor
    x, y = pt.fmatrix("x"), pt.lvector("y")
    shared = [pytensor.shared(w.copy(), borrow=True) for w in problem.weights]
    value = x
    for w, b in zip(shared[:-2:2], shared[1:-2:2], strict=True):
        value = pt.tanh(value @ w + b)
    logs = pt.special.log_softmax(value @ shared[-2] + shared[-1], axis=-1)
    loss = -logs[pt.arange(y.shape[0]), y].mean(dtype="float32")
    gradients = pytensor.grad(loss, shared)
    rate = np.float32(RATE)
    updates = [(p, p - rate * g) for p, g in zip(shared, gradients, strict=True)]
    return peers.pytensor_function([x, y], loss, linker, updates)


def with_pytensor(problem: Problem, linker: str) -> Contender:
    step = pytensor_step(problem, linker)
    args = problem.x, problem.y
    return Contender(step, args, answer=losses(step, *args))
