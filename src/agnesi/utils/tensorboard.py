"""PyTorch's path to the writer of TensorBoard's event files, which is tensorboardX's."""

from __future__ import annotations

import functools as _functools
from typing import Any

from agnesi.core.support.errors import at as _at
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.tree import map_leaves as _map_leaves
from agnesi.core.tensor import Tensor as _Tensor


def SummaryWriter(*args: Any, **keywords: Any) -> Any:  # noqa: N802
    """Make a writer of event files, of tensorboardX's class of this name.

    :param args: What the class takes, the folder first.
    :param keywords: The same by name.
    :returns: The writer.
    :rtype: tensorboardX.SummaryWriter
    :raises ImportError: If tensorboardX is not there.
    :see: training.TensorBoardLogger

    >>> from agnesi.utils.tensorboard import SummaryWriter
    >>> try:
    ...     writer = SummaryWriter("/dev/null/log")
    ... except (ImportError, OSError):
    ...     writer = None
    """
    try:
        from tensorboardX import SummaryWriter as Writer
    except ImportError:
        raise ImportError(_at("event files need tensorboardX: pip install 'agnesi[tensorboard]'; "
                              "training.CSVLogger and training.JSONLogger need nothing")) from None
    adding = {name: _of_arrays(getattr(Writer, name)) for name in dir(Writer)
              if name.startswith("add_")}
    return type("SummaryWriter", (Writer,), adding)(*args, **keywords)


def _of_arrays(method: Any) -> Any:
    """A method that is given arrays for tensors, of which tensorboardX does not know."""
    def array(leaf: Any) -> Any:
        return leaf.detach().numpy() if isinstance(leaf, _Tensor) else leaf

    @_functools.wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        return method(self, *_map_leaves(array, args), **_map_leaves(array, keywords))

    return call


def __dir__() -> list[str]:
    return _shown(__name__)
