"""PyTorch's path to ``agnesi.checkpoint``, which runs functions again instead of keeping values."""

from agnesi.autodiff.checkpoint import checkpoint as checkpoint
from agnesi.autodiff.checkpoint import checkpoint_sequential as checkpoint_sequential
from agnesi.core.support.exports import shown as _shown


def __dir__() -> list[str]:
    return _shown(__name__)
