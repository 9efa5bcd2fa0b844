"""``agnesi.utils``: PyTorch's paths to what is elsewhere: ``utils.data``, ``utils.checkpoint``.

In: imports of PyTorch's programs. Out: the names of :mod:`agnesi.data`, of checkpointing and of
exchange. What must hold: nothing is defined here.

Examples
--------
>>> import agnesi as ag
>>> from agnesi.utils.data import DataLoader, TensorDataset
>>> DataLoader is ag.data.DataLoader
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.exports import shown as _shown

if TYPE_CHECKING:
    from agnesi.utils import _pytree as _pytree
    from agnesi.utils import checkpoint as checkpoint
    from agnesi.utils import data as data
    from agnesi.utils import dlpack as dlpack
    from agnesi.utils import tensorboard as tensorboard
else:

    def __getattr__(name: str) -> Any:
        if name in ("_pytree", "checkpoint", "data", "dlpack", "tensorboard"):
            return import_module(f"agnesi.utils.{name}")
        raise _no_attribute("module 'agnesi.utils'", name)


def __dir__() -> list[str]:
    return _shown(__name__)
