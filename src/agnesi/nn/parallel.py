"""PyTorch's modules that run on several devices, on the one that there is."""

from __future__ import annotations

from typing import Any

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.paths import absent as _absent
from agnesi.nn.base.module import Module


class DataParallel(Module):
    """Call the wrapped module, as PyTorch's does without a GPU; threads share a batch anyway.

    :param module: What is called; ``state_dict`` has its names behind ``module.``.
    :param device_ids: Taken from PyTorch's calls.
    :type device_ids: sequence, optional
    :param output_device: The same.
    :param dim: The same.
    :see: distributed.data_parallel

    >>> net = nn.DataParallel(nn.Linear(2, 3))
    >>> net(ag.ones((4, 2))).shape, [*net.state_dict()]
    ((4, 3), ['module.weight', 'module.bias'])
    """

    def __init__(self, module: Module, device_ids: object = None,
                 output_device: object = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        return self.module(*inputs, **keywords)


DistributedDataParallel = _absent("agnesi.nn.parallel", "DistributedDataParallel")

_strictly(__name__)
