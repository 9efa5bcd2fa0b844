"""Optimizers that take one step, and searches to the end, along gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.optim.options import table
from agnesi.core.support.errors import ShapeError, at, call_user, typed
from agnesi.optim import flat

Feval = Callable[[Any], tuple[Any, Any]]
Result = tuple[Any, list[float]]


def evaluated(feval: Feval, x: Any) -> tuple[Any, Any]:
    """The loss and its gradient, as a user's function gives them."""
    if not hasattr(x, "array"):
        raise TypeError(at("x must be a tensor of parameters, as module.getParameters() gives, not "
                           f"{typed(x)}"))
    found = call_user(feval, (x,), {}, "optim", "feval(x)")
    if not isinstance(found, (tuple, list)) or len(found) != 2 or not hasattr(found[1], "array"):
        raise TypeError(at("feval(x) must return the loss and its gradient, a tensor like x, not "
                           f"{typed(found)}"))
    return found[0], found[1]


def _begun(feval: Feval, x: Any, config: Any, state: Any) -> tuple[float, Any, Any, Any]:
    config = table(config)
    state = config if state is None else state
    loss, gradient = evaluated(feval, x)
    if gradient.array.shape != x.array.shape:
        raise ShapeError(at(f"feval must return a gradient of the sizes of x, {typed(x)}, not "
                            f"{typed(gradient)}"))
    state["evalCounter"] = state.get("evalCounter", 0)
    g = np.array(gradient.array)
    if config.get("weightDecay", 0):
        g += config["weightDecay"] * x.array
    return float(loss), g, config, state


def _memory(state: Any, name: str, like: Any, value: float = 0) -> Any:
    if name not in state:
        state[name] = np.full_like(like, value)
    return state[name]


def sgd(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step along the gradient.

    :param feval:
    :type feval: callable
    :param x: A vector, changed in place.
    :type x: Tensor
    :param config, state: ``learningRate``, ``learningRateDecay``, ``weightDecay``,
        ``weightDecays``, ``momentum``, ``dampening``, ``nesterov``, ``learningRates``.
    :type config, state: dict, optional
    :returns x:
    :returns losses: The loss before the step.
    :rtype: list of float
    """
    loss, g, config, state = _begun(feval, x, config, state)
    rate = config.get("learningRate", 1e-3)
    if config.get("weightDecays") is not None:
        g += config["weightDecays"].array * x.array
    momentum = config.get("momentum", 0)
    if momentum:
        if "dfdx" not in state:
            state["dfdx"] = g.copy()
        else:
            state["dfdx"] *= momentum
            state["dfdx"] += (1 - config.get("dampening", momentum)) * g
        g = g + momentum * state["dfdx"] if config.get("nesterov") else state["dfdx"]
    rate /= 1 + state["evalCounter"] * config.get("learningRateDecay", 0)
    scale = config.get("learningRates")
    x.array[...] -= rate * (g if scale is None else g * scale.array)
    state["evalCounter"] += 1
    return x, [loss]


def asgd(feval: Feval, x: Any, config: Any = None, state: Any = None) -> tuple[Any, Any, Any]:
    """A step of averaged descent: x, the loss, and the average (``eta0``, ``lambda``, ``alpha``,
    ``t0``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    t = state.get("t", 0)
    decay, eta0 = config.get("lambda", 1e-4), config.get("eta0", 1e-4)
    eta = state.get("eta_t", eta0)
    x.array[...] *= 1 - decay * eta
    x.array[...] -= eta * g
    average = state.setdefault("ax", np.zeros_like(x.array))
    average += state.get("mu_t", 1.0) * (x.array - average)
    t += 1
    state.update(t=t, eta_t=eta0 / (1 + decay * eta0 * t) ** config.get("alpha", 0.75),
                 mu_t=1 / max(1, t - config.get("t0", 1e6)))
    return x, [loss], type(x)(average.copy())


def adagrad(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step over the root of the sum of squares (``learningRate``, ``learningRateDecay``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    square = _memory(state, "paramVariance", g)
    square += g * g
    rate = config.get("learningRate", 1e-3)
    rate /= 1 + state["evalCounter"] * config.get("learningRateDecay", 0)
    x.array[...] -= rate * g / (np.sqrt(square) + 1e-10)
    state["evalCounter"] += 1
    return x, [loss]


def adadelta(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step in the units of x (``rho``, ``eps``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    rho, eps = config.get("rho", 0.9), config.get("eps", 1e-6)
    square, moved = _memory(state, "paramVariance", g), _memory(state, "accDelta", g)
    square += (1 - rho) * (g * g - square)
    step = np.sqrt((moved + eps) / (square + eps)) * g
    moved += (1 - rho) * (step * step - moved)
    x.array[...] -= step
    return x, [loss]


def rmsprop(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step over the root of the mean square (``learningRate``, ``alpha``, ``epsilon``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    square = _memory(state, "m", g)
    square += (1 - config.get("alpha", 0.99)) * (g * g - square)
    x.array[...] -= config.get("learningRate", 1e-2) * g / (
        np.sqrt(square) + config.get("epsilon", 1e-8))
    return x, [loss]


def adam(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step of Adam (``learningRate``, ``beta1``, ``beta2``, ``epsilon``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    b1, b2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    state["t"] = t = state.get("t", 0) + 1
    mean, square = _memory(state, "m", g), _memory(state, "v", g)
    mean += (1 - b1) * (g - mean)
    square += (1 - b2) * (g * g - square)
    rate = config.get("learningRate", 1e-3) * np.sqrt(1 - b2**t) / (1 - b1**t)
    x.array[...] -= rate * mean / (np.sqrt(square) + config.get("epsilon", 1e-8))
    return x, [loss]


def adamax(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step of Adam by the largest gradient (``learningRate``, ``beta1``, ``beta2``,
    ``epsilon``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    b1, b2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    state["t"] = t = state.get("t", 0) + 1
    mean, most = _memory(state, "m", g), _memory(state, "u", g)
    mean += (1 - b1) * (g - mean)
    np.maximum(b2 * most, np.abs(g) + config.get("epsilon", 1e-38), out=most)
    x.array[...] -= config.get("learningRate", 0.002) / (1 - b1**t) * mean / most
    return x, [loss]


def nag(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step of Nesterov's: along the gradient at where momentum leads (``learningRate``,
    ``learningRateDecay``, ``momentum``, ``learningRates``)."""
    config = table(config)
    state = config if state is None else state
    momentum = config.get("momentum", 0.9)
    if momentum <= 0:
        raise ValueError(f"nag: momentum is a positive number, not {momentum}")
    if "dfdx" in state:
        x.array[...] += momentum * state["dfdx"]
    loss, g, config, state = _begun(feval, x, config, state)
    rate = config.get("learningRate", 1e-3)
    rate /= 1 + state["evalCounter"] * config.get("learningRateDecay", 0)
    scale = config.get("learningRates")
    step = rate * (g if scale is None else g * scale.array)
    moves = _memory(state, "dfdx", g)
    moves *= momentum
    moves -= step
    x.array[...] -= step
    state["evalCounter"] += 1
    return x, [loss]


def rprop(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """A step by the signs of the gradient (``stepsize``, ``etaplus``, ``etaminus``)."""
    loss, g, config, state = _begun(feval, x, config, state)
    steps = _memory(state, "stepsize_", g, config.get("stepsize", 0.1))
    before = _memory(state, "delta", g)
    agreed = np.sign(before * g)
    steps *= np.where(agreed > 0, config.get("etaplus", 1.2),
                      np.where(agreed < 0, config.get("etaminus", 0.5), 1))
    np.clip(steps, config.get("stepsizemin", 1e-6), config.get("stepsizemax", 50), out=steps)
    g = np.where(agreed < 0, 0, g)
    x.array[...] -= np.sign(g) * steps
    before[...] = g
    return x, [loss]


def _whole(minimise: Callable[..., Any], feval: Feval, x: Any, config: Any,
           options: dict[str, Any]) -> Result:
    """A method that goes on to the end, on copies of x."""
    def values(v: Any) -> tuple[float, Any]:
        np.copyto(x.array, v.reshape(x.array.shape))
        loss, g = evaluated(feval, x)
        return float(loss), np.array(g.array, dtype=float).reshape(-1)

    found = minimise(values, x.array.reshape(-1).astype(float), **options)
    np.copyto(x.array, found.x.reshape(x.array.shape))
    config["funcEval"] = found.evaluations
    return x, list(found.values)


def cg(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """Conjugate gradients to the end: x, and the losses on the way (``maxIter``)."""
    config = table(config)
    options = {"max_iter": config.get("maxIter", 200)}
    return _whole(flat.cg, feval, x, config, options)


def lbfgs(feval: Feval, x: Any, config: Any = None, state: Any = None) -> Result:
    """L-BFGS to the end: x, and the losses (``maxIter``, ``nCorrection``, ``tolFun``)."""
    config = table(config)
    options = {"max_iter": config.get("maxIter", 200),
               "history_size": config.get("nCorrection", 100),
               "tolerance_grad": config.get("tolFun", 1e-7)}
    return _whole(flat.lbfgs, feval, x, config, options)
