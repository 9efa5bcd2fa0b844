"""Averages of a model's weights: exponential ones, and those of stochastic weight averaging."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.options import Epoch, NotNegative, Size
from agnesi.core.public import public
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.module import Module
from agnesi.nn.layers.norms import _BatchNorm
from agnesi.ops.base.convert import cast
from agnesi.ops.base.select import where
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.base import Scheduler

#: From the average, the value of now, and the count of those in the average, to the next average.
_Average = Callable[[Any, Any, Any], Any]
_Averages = Callable[[Any, Any, Any], None]


@public
def get_ema_avg_fn(decay: float = 0.999) -> _Average:
    """An exponential moving average, for :class:`AveragedModel`.

    :param decay: How much of the average is kept.
    :returns: From the average, a value and the count to the next average.
    :rtype: callable
    :raises ValueError: If ``decay`` is not between 0 and 1.
    :see: optim.swa_utils.AveragedModel

    >>> ag.optim.swa_utils.get_ema_avg_fn(0.75)(4.0, 8.0, 1)
    5.0
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(at(f"get_ema_avg_fn: decay must lie between 0 and 1, not {decay}"))
    return lambda average, value, count: average + (1 - decay) * (value - average)


@public
def get_swa_avg_fn() -> _Average:
    """The mean of all values so far, for :class:`AveragedModel`.

    :returns: From the average, a value and the count to the next average.
    :rtype: callable
    :see: optim.swa_utils.AveragedModel

    >>> ag.optim.swa_utils.get_swa_avg_fn()(4.0, 8.0, 1)
    6.0
    """
    return lambda average, value, count: average + (value - average) / (count + 1)


def _of_lists(average: _Average) -> _Averages:
    def update(averages: Iterable[Any], values: Iterable[Any], count: Any) -> None:
        for held, value in zip(averages, values, strict=True):
            held.copy_(cast(average(held, value, count), held.dtype))

    return update


@public
def get_ema_multi_avg_fn(decay: float = 0.999) -> _Averages:
    """An exponential moving average of lists of tensors, in place.

    :param decay: How much of the averages is kept.
    :returns: Takes the averages, the values and the count.
    :rtype: callable
    :raises ValueError: If ``decay`` is not between 0 and 1.
    :see: optim.swa_utils.get_ema_avg_fn

    >>> average = ag.tensor([4.0])
    >>> ag.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [ag.tensor([8.0])], 1)
    >>> average
    tensor([5.])
    """
    return _of_lists(get_ema_avg_fn(decay))


@public
def get_swa_multi_avg_fn() -> _Averages:
    """The means of lists of tensors, in place.

    :returns: Takes the averages, the values and the count.
    :rtype: callable
    :see: optim.swa_utils.get_swa_avg_fn

    >>> average = ag.tensor([4.0])
    >>> ag.optim.swa_utils.get_swa_multi_avg_fn()([average], [ag.tensor([8.0])], 1)
    >>> average
    tensor([6.])
    """
    return _of_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose weights are an average of what the model's were.

    Parameters
    ----------
    model : Module
        Is copied.
    device : str, optional
        Only "cpu".
    avg_fn : callable, optional
        From average, value and count to the next average; the mean by default.
    multi_avg_fn : callable, optional
        In its place, for lists of tensors, which it changes.
    use_buffers : bool
        Whether buffers are averaged as parameters are; the model's are copied otherwise.

    Attributes
    ----------
    module : Module
        The copy.
    n_averaged : Tensor
        How many models are in the average.

    Raises
    ------
    TypeError
        If ``model`` is no module, or both functions are given.

    See Also
    --------
    optim.swa_utils.update_bn, optim.swa_utils.get_ema_avg_fn

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi.optim.swa_utils import AveragedModel
    >>> net = ag.nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(net)
    >>> for value in (1.0, 3.0):
    ...     keys = net.load_state_dict({"weight": [[value]]})
    ...     average.update_parameters(net)
    >>> average(ag.ones(1))
    tensor([2.], requires_grad=True)
    """

    def __init__(self, model: Module, device: str | None = None, avg_fn: _Average | None = None,
                 multi_avg_fn: _Averages | None = None, use_buffers: bool = False) -> None:
        if not isinstance(model, Module):
            raise TypeError(at(f"AveragedModel averages a module, not {typed(model)}"))
        if avg_fn is not None and multi_avg_fn is not None:
            raise TypeError(at("AveragedModel takes avg_fn or multi_avg_fn, not both"))
        self.module = deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.n_averaged = wrap(np.array(0))
        self._average = multi_avg_fn or _of_lists(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **keywords: Any) -> Any:
        return self.module(*args, **keywords)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the weights of now into the average; also inside of a compiled step.

        :param model: As the one that was copied.
        :raises ValueError: If it has other parameters.
        """
        count: Any = self.n_averaged
        pairs = self._pairs(model.parameters(), self.module.parameters())
        buffers = self._pairs(model.buffers(), self.module.buffers())
        floats = [b for b in buffers if b[0].dtype.kind == "f"] if self.use_buffers else []
        pairs += floats
        averages: list[Any] = [held for _, held in pairs]
        values: list[Any] = [value.detach() for value, _ in pairs]
        self._average(averages, values, count)
        for held, value in zip(averages, values, strict=True):
            held.copy_(where(count == 0, value, held))
        for value, held in buffers:
            if not any(held is mean for _, mean in floats):
                held.copy_(value)
        count.add_(1)

    def _pairs(self, values: Iterable[Tensor], averages: Iterable[Tensor]) -> list[tuple[Any, Any]]:
        values, averages = list(values), list(averages)
        if [v.shape for v in values] != [a.shape for a in averages]:
            apart = [(v, a) for v, a in zip(values, averages, strict=False) if v.shape != a.shape]
            counts = f"{len(values)} for {len(averages)}" if not apart else (
                f"{typed(apart[0][0])} in the place of {typed(apart[0][1])}")
            raise ValueError(at("AveragedModel.update_parameters: the model has other parameters "
                                f"than the one that was copied: {counts}"))
        return list(zip(values, averages, strict=True))


@public
def update_bn(loader: Iterable[Any], model: Module, device: str | None = None) -> None:
    """Compute the running statistics of batch normalisations again, as means over all batches.

    :param loader: Batches; of tuples and lists the first entry is the input.
    :param model: Is called with them in training mode.
    :param device: Only "cpu".
    :see: optim.swa_utils.AveragedModel, nn.BatchNorm1d

    >>> norm = ag.nn.BatchNorm1d(1)
    >>> ag.optim.swa_utils.update_bn([ag.tensor([[1.0], [3.0]])], norm)
    >>> norm.running_mean
    tensor([2.])
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    momenta, training = [m.momentum for m in norms], model.training
    for m in norms:
        m.reset_running_stats()
    model.train()
    with no_grad():
        for i, batch in enumerate(loader):
            for m in norms:
                m.momentum = 1 / (i + 1)
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    for m, momentum in zip(norms, momenta, strict=True):
        m.momentum = momentum
    model.train(training)


class SWALR(Scheduler):
    """From the present rates to constant ones for stochastic weight averaging.

    :param swa_lr: The constant rate, or that of each group.
    :param anneal_epochs: Epochs until then.
    :param anneal_strategy: Along half a cosine, or in a straight line.
    :param last_epoch: The epoch to go on behind; -1 starts again.
    :raises ValueError: If there is no such strategy.
    :see: optim.swa_utils.AveragedModel

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.75
    """

    def __init__(self, optimizer: Optimizer, swa_lr: NotNegative | list[NotNegative],
                 anneal_epochs: Size = 10, anneal_strategy: Literal["cos", "linear"] = "cos",
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if anneal_strategy not in ("cos", "linear") or anneal_epochs < 0:
            raise ValueError(at(f"SWALR: there is no anneal_strategy {anneal_strategy!r} over "
                                f"{anneal_epochs} epochs"))
        self.swa_lrs, self.anneal_epochs = self.each("swa_lr", swa_lr), anneal_epochs
        self.strategy, self.begins = anneal_strategy, [g["lr"] for g in optimizer.param_groups]

    def rates(self, epoch: float) -> list[float]:
        if epoch == 1:  # another schedule may have been at work until now
            self.begins = [group["lr"] for group in self.optimizer.param_groups]
        share = min(1.0, epoch / max(1, self.anneal_epochs))
        share = (1 - math.cos(math.pi * share)) / 2 if self.strategy == "cos" else share
        return [end * share + begin * (1 - share)
                for begin, end in zip(self.begins, self.swa_lrs, strict=True)]


_strictly(__name__)
