"""PyTorch's path to the writer of TensorBoard's event files, which is tensorboardX's."""

from __future__ import annotations

from typing import Any

from agnesi.core.support.errors import at as _at
from agnesi.core.support.exports import shown as _shown


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
    return Writer(*args, **keywords)


def __dir__() -> list[str]:
    return _shown(__name__)
