"""L-BFGS over the parameters of a model, with a closure that computes loss and gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from agnesi.autodiff.recording import enable_grad, no_grad
from agnesi.autodiff.rules import location_of
from agnesi.core.op import typed
from agnesi.core.options import Count, NotNegative
from agnesi.core.public import renamed
from agnesi.core.support.errors import StateError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import wrap
from agnesi.ops.arrays.loading import check_state
from agnesi.ops.sparse.words import dense
from agnesi.optim.flat.descent import Memory
from agnesi.optim.flat.search import Point, evaluated, strong_wolfe
from agnesi.optim.groups import Parameters
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.states import is_worded

#: What is kept, and what PyTorch calls it.
_WORDS = {"steps": "n_iter", "direction": "d", "length": "t", "gradient": "prev_flat_grad",
          "scale": "H_diag", "moves": "old_stps", "turns": "old_dirs"}


class LBFGS(Optimizer):
    """L-BFGS on one flat vector; a step calls its closure several times (Liu and Nocedal, 1989).

    :param parameters: What to optimise, real and in one group.
    :type parameters: iterable of Tensor
    :param lr: Length of steps, in their own unit; with a line search where that begins.
    :param max_iter: The most directions in one step.
    :param max_eval: The most calls of the closure in one step; 5/4 of ``max_iter`` by default.
    :param tolerance_grad: A step ends where no element of the gradient is larger.
    :param tolerance_change: A step ends where value and parameters change by no more.
    :param history_size: How many changes of the gradient are kept.
    :param line_search_fn: How far to go along a direction; ``lr`` by default.
    :raises ValueError: If there are several groups, or a number is out of its range.
    :raises TypeError: If a parameter is complex, or no tensor that requires grad.
    :see: optim.flat.lbfgs, optim.SGD

    >>> w = ag.tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = ag.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w).sum()
    ...     loss.backward()
    ...     return loss
    >>> float(optimizer.step(closure))
    25.0
    >>> bool((abs(w) < 1e-5).all())
    True
    """

    needs_closure = True

    def __init__(self, parameters: Parameters, lr: NotNegative = 1.0, max_iter: Count = 20,
                 max_eval: Count | None = None, tolerance_grad: NotNegative = 1e-7,
                 tolerance_change: NotNegative = 1e-9, history_size: Count = 100,
                 line_search_fn: Literal["strong_wolfe"] | None = None) -> None:
        super().__init__(parameters, lr)
        for p in self.own_parameters:
            if p.dtype.kind == "c":
                raise TypeError(at(f"LBFGS: parameters are real, not {typed(p)}"))
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(at(f"LBFGS: there is no line_search_fn {line_search_fn!r}, but "
                                "'strong_wolfe'"))
        self.max_iter, self.line_search_fn = max_iter, line_search_fn
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.memory, self.steps = Memory(history_size), 0
        #: The last direction, how far it went, and the gradient before.
        self.last: tuple[np.ndarray, float, np.ndarray] | None = None

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        raise ValueError(at("LBFGS: all parameters are one vector, which has one group"))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if closure is None or not callable(closure):
            raise TypeError(at("LBFGS.step needs a function that computes the gradients and gives "
                               f"the loss, not {typed(closure)}"))
        if is_tracing():
            raise TypeError(at("LBFGS decides from values how far to go: call step outside of "
                               "ag.jit, with a closure that is compiled"))
        first: list[Any] = []

        def feval(x: np.ndarray) -> tuple[float, np.ndarray]:
            self._write(x)
            with enable_grad():
                loss = closure()
            if loss is None:
                raise TypeError(at("LBFGS.step: the closure must return the loss, not None: end it "
                                   "with `return loss`", location_of(closure)))
            first.append(loss)
            return float(loss), self._gradient()

        self._descend(feval, self._vector())
        return first[0]

    @no_grad()
    def _descend(self, feval: Any, x: np.ndarray) -> None:
        value, g = evaluated(feval, x)
        x, calls = self._vector(), 1  # which the closure may have changed, to clip it for example
        if not np.abs(g).max(initial=0.0) > self.tolerance_grad:
            return
        for i in range(1, self.max_iter + 1):
            d = self._direction(g)
            t = self.lr * (min(1.0, 1 / float(np.abs(g).sum())) if self.steps == 1 else 1.0)
            slope, old = float(g @ d), value
            self.last = d, t, g
            if not slope <= -self.tolerance_change:
                break
            if self.line_search_fn:
                start = Point(0.0, value, g, slope)

                def along(t: float, x: Any = x, d: Any = d) -> Point:
                    value, g = evaluated(feval, x + np.asarray(t * d, d.dtype))
                    return Point(t, value, g, float(g @ d))

                found, count = strong_wolfe(
                    along, start, t, float(np.abs(d).max()), tolerance=self.tolerance_change,
                    most=max(self.max_eval - calls, 1))
                t, value, calls = found.t, found.value, calls + count
                self.last, x, g = (d, t, g), x + np.asarray(t * d, d.dtype), found.gradient
            else:
                x = x + np.asarray(t * d, d.dtype)
                if i < self.max_iter:
                    (value, g), calls = evaluated(feval, x), calls + 1
                    x = self._vector()
            if (calls >= self.max_eval or not np.abs(g).max() > self.tolerance_grad
                    or np.abs(t * d).max() <= self.tolerance_change
                    or abs(value - old) < self.tolerance_change):
                break
        self._write(x)

    def _direction(self, g: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.last is not None:
            d, t, before = self.last
            self.memory.note(np.asarray(t * d, d.dtype), g - before)
        return self.memory.direction(g)

    def _vector(self) -> np.ndarray:
        return np.concatenate([p.array.reshape(-1) for p in self.own_parameters])

    def _gradient(self) -> np.ndarray:
        return np.concatenate([
            np.zeros(p.array.size, p.dtype) if p.grad is None else dense(p.grad).array.reshape(-1)
            for p in self.own_parameters])

    @no_grad()
    def _write(self, x: np.ndarray) -> None:
        begin = 0
        for p in self.own_parameters:
            part: Any = x[begin: begin + p.array.size]
            p.copy_(part.reshape(p.array.shape))
            begin += p.array.size

    def state_dict(self, copy: bool = True) -> dict[str, Any]:
        size = sum(p.array.size for p in self.own_parameters)
        d, t, g = (np.zeros(size), 0.0, np.zeros(size)) if self.last is None else self.last
        memory = self.memory
        own = {
            "steps": self.steps, "direction": d, "length": t, "gradient": g,
            "scale": memory.scale,
        }
        kept: dict[str, Any] = {_WORDS[name]: wrap(np.array(value)) for name, value in own.items()}
        for name, vectors in (("moves", memory.moves), ("turns", memory.turns)):
            kept[_WORDS[name]] = [wrap(v.copy()) for v in vectors]
        kept["ro"] = [wrap(np.array(1 / (y @ s))) for s, y in zip(memory.moves, memory.turns,
                                                                 strict=True)]
        return {**super().state_dict(copy), "state": {0: kept}}

    @renamed(state_dict="state")
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state("LBFGS", state)
        has_words = is_worded(state)
        entry = state["state"].get(0, {}) if has_words else state
        found = {name: np.asarray(entry[key]) for name, word in _WORDS.items()
                 if (key := word if has_words else name) in entry}
        if entry and found.keys() != _WORDS.keys():
            raise StateError(at("the state is not one of this LBFGS"))
        size, dtype = sum(p.array.size for p in self.own_parameters), self._vector().dtype
        vectors = [v for v in found.values() if v.ndim and v.size]
        if any(v.shape[-1] != size for v in vectors):
            raise ValueError(at(f"LBFGS has {size} numbers to optimise, the state another many"))
        super().load_state_dict({**state, "state": {}} if has_words else {
            n: v for n, v in state.items() if n not in _WORDS})
        self.steps, self.last = int(found.get("steps", 0)), None
        self.memory.scale = float(found.get("scale", 1.0))
        self.memory.moves = [v.astype(dtype) for v in found.get("moves", ())]
        self.memory.turns = [v.astype(dtype) for v in found.get("turns", ())]
        if self.steps:
            self.last = (found["direction"].astype(dtype), float(found["length"]),
                         found["gradient"].astype(dtype))
