"""PyTorch's path to exchange through DLPack."""

from agnesi.api.tensor.exchange import from_dlpack as from_dlpack
from agnesi.core.support.exports import shown as _shown
from agnesi.core.tensor import Tensor as _Tensor

to_dlpack = _Tensor.__dlpack__


def __dir__() -> list[str]:
    return _shown(__name__)
