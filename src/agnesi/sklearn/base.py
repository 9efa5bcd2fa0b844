"""The base of all estimators: their options, the loop over batches, and fitted attributes."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from agnesi import nn, optim
from agnesi.api import functions as F
from agnesi.api.random import default_generator
from agnesi.autodiff.recording import no_grad
from agnesi.compiler.jit import jit
from agnesi.core import options
from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.support.migration_hints import with_keyword
from agnesi.core.tensor import Tensor, wrap

#: From so many steps on, a compiled one pays.
_COMPILED_FROM = 200
#: How the names of options of the module and of the optimizer begin.
_OWNERS = ("module__", "optimizer__")
#: Rows that a prediction takes at once.
_BATCH_ROWS = 4096


def perceptron(sizes: list[int], activation: Callable[[], nn.Module]) -> nn.Sequential:
    """Linear layers with activations between them."""
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from the default generator as from one with a seed; then it goes on as before."""
    generator = default_generator()
    before = generator.state_dict()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.load_state_dict(before)


def with_options(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that takes options of the module and of the optimizer besides, as
    ``set_params`` does."""

    @functools.wraps(init)
    def made(self: Any, *args: Any, **keywords: Any) -> None:
        apart = {n: keywords.pop(n) for n in [*keywords] if n.startswith(_OWNERS)}
        init(self, *args, **keywords)
        if apart:
            self.set_params(**apart)

    return made


class Loop:
    """A model, its optimizer and loss, and one step for a batch, compiled where that pays."""

    def __init__(self, module: nn.Module, optimizer: optim.Optimizer, losses: Any,
                 outputs: int, compiled: bool, name: str) -> None:
        self.module, self.optimizer, self.losses = module, optimizer, losses
        self.outputs, self.name = outputs, name
        self.step = jit(self._step) if compiled else self._step
        if optimizer.needs_closure:
            self.step = partial(self._search, jit(self._measure) if compiled else self._measure)

    def _search(self, measure: Callable[..., Tensor], *batch: Any) -> Tensor:
        """The loss of a batch, which an optimizer calls for several times with its gradients."""
        loss: Tensor = self.optimizer.step(lambda: measure(*batch))
        return loss

    def _measure(self, x: Tensor, y: Tensor, w: Tensor, weighted: bool) -> Tensor:
        """The weighted mean loss of a batch, whose gradients the parameters have then."""
        self.optimizer.zero_grad()
        loss = self.mean(x, y, w, weighted)
        loss.backward()
        return loss.detach()

    def _step(self, x: Tensor, y: Tensor, w: Tensor, weighted: bool) -> Tensor:
        """The weighted mean loss of a batch, after whose gradient the parameters went."""
        loss = self._measure(x, y, w, weighted)
        self.optimizer.step()
        return loss

    def mean(self, x: Tensor, y: Tensor, w: Tensor, weighted: bool) -> Tensor:
        """The weighted mean loss of a batch; 0 where all weights are 0."""
        outputs, samples = self.module(x), x.shape[0]
        self._check_outputs(outputs, samples)
        losses = self.losses(F.reshape(outputs, (samples, self.outputs)), y)
        if isinstance(losses, Tensor) and losses.ndim > 1 and losses.shape[0] == samples:
            losses = F.mean(losses, tuple(range(1, losses.ndim)))
        self._check_losses(losses, samples, weighted)
        total = F.sum(w)
        share = w / F.where(total == 0, 1.0, total)
        mean: Tensor = F.sum(F.astype(share, losses.dtype) * losses)
        return mean

    def _check_outputs(self, outputs: Any, samples: int) -> None:
        """A module must give as many numbers as the data wants."""
        wanted: tuple[tuple[int, ...], ...] = ((samples, self.outputs),)
        if self.outputs == 1:
            wanted = *wanted, (samples,)
        if not isinstance(outputs, Tensor) or outputs.shape not in wanted:
            raise ValueError(at(f"{self.name}: the module must give a tensor of shape (samples, "
                                f"{self.outputs}) for these data, not {typed(outputs)} of "
                                f"{samples} samples"))

    def _check_losses(self, losses: Any, samples: int, weighted: bool) -> None:
        """A criterion gives the loss of each sample, or their mean where all count the same."""
        mean = not weighted and isinstance(losses, Tensor) and losses.ndim == 0
        if not mean and (not isinstance(losses, Tensor) or losses.shape != (samples,)):
            raise ValueError(at(f"{self.name}: criterion must give the loss of each sample "
                                f"(reduction='none'), a tensor of shape ({samples},) here, not "
                                f"{typed(losses)}"))


class Estimator(BaseEstimator):
    """Base: an estimator over a module; subclasses say what targets are and what the loss is."""

    module: Any
    hidden_layer_sizes: Any
    criterion: Any
    optimizer: Any
    lr: Any
    weight_decay: Any
    max_epochs: Any
    batch_size: Any
    shuffle: Any
    tol: Any
    n_iter_no_change: Any
    early_stopping: Any
    validation_fraction: Any
    warm_start: Any
    compile: Any
    random_state: Any
    verbose: Any

    module_: Any
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    _loop: Loop

    # -- what subclasses say --------------------------------------------------------------
    def _losses(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The default loss of each sample, from outputs and targets."""
        raise NotImplementedError

    def _score(self, outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        """How good outputs are; larger is better."""
        raise NotImplementedError

    # -- making ---------------------------------------------------------------------------
    def _rows(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr",
                             dtype=[np.float64, np.float32])

    def _weights(self, X: Any, weights: Any) -> Any:
        """How much samples count, checked; None for all the same."""
        if weights is None:
            return None
        known = inspect.signature(_check_sample_weight).parameters
        stricter = {"allow_all_zero_weights": False} if "allow_all_zero_weights" in known else {}
        return _check_sample_weight(weights, X, dtype=X.dtype, ensure_non_negative=True, **stricter)

    def _made(self, features: int, outputs: int, dtype: Any) -> nn.Module:
        """The module for data of this size."""
        if self.module is None:
            hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int)).tolist()
            if min(hidden, default=1) < 1:
                raise ValueError(at(f"{type(self).__name__}: hidden_layer_sizes must be at least "
                                    f"1, not {self.hidden_layer_sizes}"))
            return perceptron([features, *hidden, outputs], nn.ReLU).to(dtype)
        if not callable(self.module):
            raise TypeError(at(f"{type(self).__name__}: module must be a module, or a function "
                               "from the numbers of features and outputs to one, not "
                               f"{typed(self.module)}"))
        if isinstance(self.module, nn.Module):
            made: Any = deepcopy(self.module)
        else:
            made = self.module(features, outputs) if _takes_sizes(self.module) else self.module()
        if not isinstance(made, nn.Module):
            raise TypeError(at(f"{type(self).__name__}: module must be a module, or a function "
                               "from the numbers of features and outputs to one, not "
                               f"{typed(made)}"))
        return made.to(dtype)

    def _begin(self, features: int, outputs: int, dtype: Any, steps: float) -> None:
        """Module, optimizer and step again."""
        self.__dict__.pop("_loop", None)
        self.module_ = self._made(features, outputs, dtype)
        self.n_outputs_, self.loss_curve_, self.n_iter_, self.t_ = outputs, [], 0, 0
        self._connect(steps)

    def _optimizer(self) -> Any:
        """The class of the optimizer, or the function that makes it."""
        name = type(self).__name__
        found = getattr(optim, self.optimizer, None) if isinstance(self.optimizer, str) else (
            self.optimizer)
        if not callable(found):
            raise ValueError(at(f"{name}: optimizer must be the name of a class of agnesi.optim, "
                                "such as 'Adam', or a function that makes one of parameters, not "
                                f"{typed(self.optimizer)}"))
        if self.criterion is not None and not callable(self.criterion):
            raise TypeError(at(f"{name}: criterion must be a function of outputs and targets that "
                               "gives the loss of each sample, or None, not "
                               f"{typed(self.criterion)}"))
        return found

    def _connect(self, steps: float) -> None:
        kind = self._optimizer()
        options = {"lr": self.lr, "weight_decay": self.weight_decay}
        known = inspect.signature(kind).parameters
        optimizer = kind(self.module_.parameters(),
                         **{n: v for n, v in options.items() if n in known and v is not None})
        compiled = steps >= _COMPILED_FROM if self.compile == "auto" else bool(self.compile)
        self._loop = Loop(self.module_, optimizer, self._criterion(), self.n_outputs_, compiled,
                          type(self).__name__)
        self._settings = self._chosen()

    def _chosen(self) -> dict[str, Any]:
        """The options by which an optimizer and a step are made."""
        names = ("optimizer", "criterion", "compile", "lr", "weight_decay")
        return {name: getattr(self, name) for name in names}

    def _go_on(self, steps: float) -> None:
        """Take over what was set since: the rate in place, anything else by a new optimizer."""
        if not self._same_but_rate(self._settings):
            self._connect(steps)
        elif self.lr != self._settings["lr"]:
            for group in self._loop.optimizer.param_groups:
                group["lr"] = self._settings["lr"] = self.lr

    def _same_but_rate(self, before: dict[str, Any]) -> bool:
        """Whether only the rate differs from options of before, which optimizers can change."""
        now = self._chosen()
        return all(v is before[n] or v == before[n] for n, v in now.items() if n != "lr")

    def _criterion(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The loss of each sample: the user's, or the default."""
        given: Any = self.criterion
        if isinstance(given, type) and issubclass(given, nn.Module):
            given = given(reduction="none")
        return self._losses() if given is None else given

    # -- learning -------------------------------------------------------------------------
    def _learn(self, X: Any, y: np.ndarray, weights: Any, outputs: int, *, again: bool,
               epochs: int) -> None:
        """Go through the data, from the beginning or from where the model is."""
        self._check_options()
        random = check_random_state(self.random_state)
        weighted = weights is not None
        weights = np.ones(len(y), X.dtype) if weights is None else np.asarray(weights, X.dtype)
        seed = int(random.randint(2**31 - 1))
        size = self._batch_size(X.shape[0])
        steps = epochs * math.ceil(len(y) / size)
        with seeded(seed):
            if again:
                self._go_on(steps)
            else:
                self._begin(X.shape[1], outputs, X.dtype, steps)
            held = None
            if self.early_stopping and epochs > 1:
                X, y, weights, held = self._held_out(X, y, weights, random)
            self._epochs(X, y, weights, weighted, held, size, epochs, random)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name.

        :param deep: Whether those of the module and the optimizer are there, too, as they were set.
        :returns: As :meth:`set_params` takes them.
        :rtype: dict of str to object
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        for owner in ("module", "optimizer") if deep else ():
            if isinstance(held := found.get(owner), partial):
                found |= {f"{owner}__{name}": value for name, value in held.keywords.items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set options; ``module__x`` and ``optimizer__x`` are the module's and the optimizer's.

        :param **params: Options by name; what is called with those of a module or optimizer is its
            class, or the function that makes it.
        :returns: Itself.
        :rtype: Estimator
        :raises ValueError: If there is no such option, or a module was given that is there already.
        :raises TypeError: If what makes the module or the optimizer does not take the option.
        """
        given: dict[str, dict[str, Any]] = {"module": {}, "optimizer": {}}
        mine, called = self.get_params(deep=False), type(self).__name__
        for name in [n for n in params if "__" in n]:
            owner, _, option = name.partition("__")
            if owner in given:
                given[owner][option] = params.pop(name)
            elif owner in mine and not hasattr(mine[owner], "set_params"):
                raise ValueError(at(f"{called}: {owner} takes no options by name, so there is no "
                                    f"{name}: give {owner}= itself"))
        super().set_params(**params)
        for owner, own in given.items():
            held: Any = getattr(self, owner)
            if owner == "optimizer" and isinstance(held, str):
                held = getattr(optim, held, held)
            if own and (not callable(held) or isinstance(held, nn.Module)):
                raise ValueError(at(f"{called}: {owner}__{next(iter(own))} is an argument of what "
                                    f"makes the {owner}, which must be a class or a function, not "
                                    f"{typed(held)}"))
            if own:
                self._check_taken(owner, held, own)
                setattr(self, owner, partial(held, **own))
        return self

    def _check_taken(self, owner: str, maker: Any, own: Mapping[str, Any]) -> None:
        """Refuse options that what makes the module or the optimizer does not take."""
        known = inspect.signature(maker).parameters
        unknown = [n for n in own if n not in known]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            name = getattr(maker, "__name__", owner)
            message = with_keyword(f"{name}() got an unexpected keyword argument {unknown[0]!r}",
                                tuple(known))
            raise TypeError(at(f"{type(self).__name__}: {message}"))

    def _check_options(self) -> None:
        options.check(lambda: type(self).__name__, inspect.unwrap(type(self).__init__),
                      self.get_params(deep=False).items())

    def _batch_size(self, samples: int) -> int:
        size = min(200, samples) if self.batch_size == "auto" else int(self.batch_size)
        if size < 1:
            raise ValueError(at(f"{type(self).__name__}: batch_size must be at least 1 or 'auto', "
                                f"not {self.batch_size!r}"))
        return min(size, samples)

    def _held_out(self, X: Any, y: np.ndarray, weights: np.ndarray, random: Any) -> Any:
        """A share of the data that is not learned from."""
        order = random.permutation(X.shape[0])
        count = max(1, round(self.validation_fraction * len(order)))
        if count >= len(order):
            raise ValueError(at(f"{type(self).__name__}: early_stopping holds {count} samples back "
                                f"of {len(order)}, and none is left"))
        rest, held = order[count:], order[:count]
        return X[rest], y[rest], weights[rest], (X[held], y[held], weights[held])

    def _epochs(self, X: Any, y: np.ndarray, weights: np.ndarray, weighted: bool, held: Any,
                size: int, epochs: int, random: Any) -> None:
        best, waited, kept = math.inf, 0, None
        self.validation_scores_ = None if held is None else []
        self.module_.train()
        for _ in range(epochs):
            loss = self._epoch(X, y, weights, weighted, size, random)
            self.loss_curve_.append(loss)
            self.n_iter_ += 1
            goal = loss
            if held is not None:
                goal = -self._score(self._outputs(held[0]), *held[1:])
                self.module_.train()
                self.validation_scores_.append(-goal)  # type: ignore[union-attr]
            if self.verbose:
                print(f"epoch {self.n_iter_}: loss {loss:.6f}")
            waited = 0 if goal < best - self.tol else waited + 1
            if goal < best:
                best = goal
                kept = self.module_.state_dict() if held is not None else None
            if waited >= self.n_iter_no_change or not math.isfinite(loss):
                break
        if kept is not None:
            self.module_.load_state_dict(kept)
        elif not math.isfinite(loss):
            raise ValueError(at(f"{type(self).__name__}: the loss became {loss} in epoch "
                                f"{self.n_iter_}: scale the data, or take a smaller lr than "
                                f"{self.lr:g}"))
        self.module_.eval()
        self.loss_, self.best_loss_ = loss, min(self.loss_curve_)
        self.best_validation_score_ = None if held is None else max(self.validation_scores_ or ())

    def _epoch(self, X: Any, y: np.ndarray, weights: np.ndarray, weighted: bool, size: int,
               random: Any) -> float:
        """One way through the data; gives the mean loss."""
        count = X.shape[0]
        order = random.permutation(count) if self.shuffle else np.arange(count)
        losses, shares = [], []
        for begin in range(0, count, size):
            rows = order[begin: begin + size]
            w = weights[rows]
            losses.append(self._loop.step(wrap(_dense(X[rows])), wrap(y[rows]), wrap(w), weighted))
            shares.append(w.sum())
            self.t_ += len(rows)
        total = float(np.sum(shares))
        found = [float(loss) for loss in losses]
        return float(np.dot(found, shares)) / total if total else 0.0

    # -- using ----------------------------------------------------------------------------
    def _outputs(self, X: Any, module: nn.Module | None = None) -> np.ndarray:
        """Return a module's results for rows, in evaluation mode."""
        module = module or self.module_
        module.eval()
        with no_grad():
            parts = [module(wrap(_dense(X[i: i + _BATCH_ROWS]))).numpy()
                     for i in range(0, X.shape[0], _BATCH_ROWS)]
        return np.concatenate(parts)

    def _predicted(self, X: Any, part: str = "") -> np.ndarray:
        """Return the results of the module, or of a part of it, for data of a user."""
        check_is_fitted(self, "module_")
        X = self._rows(X, reset=False)
        dtype = next((p.dtype for p in self.module_.parameters()), X.dtype)
        return self._outputs(X.astype(dtype, copy=False), self.module_.get_submodule(part))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # it gives the attributes themselves
        loop = state.pop("_loop", None)
        if loop is not None:
            state["_optimizer_state"] = loop.optimizer.state_dict()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_optimizer_state", None)
        super().__setstate__(state)
        if saved is None:
            return
        before = getattr(self, "_settings", None) or self._chosen()
        self._connect(0)
        if self._same_but_rate(before):
            self._loop.optimizer.load_state_dict(saved)
            self._settings["lr"] = before["lr"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _takes_sizes(maker: Any) -> bool:
    """Return whether what makes a module takes the numbers of features and outputs: it has
    parameters by place that must be given."""
    known = inspect.signature(maker).parameters.values()
    return any(p.kind is p.VAR_POSITIONAL or (
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        for p in known)


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.ascontiguousarray(rows)
