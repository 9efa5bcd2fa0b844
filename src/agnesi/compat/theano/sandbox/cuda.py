"""``theano.sandbox.cuda`` and ``theano.gpuarray``: there is no GPU, which programs request."""

import sys

dnn = sys.modules[f"{__name__}.dnn"] = sys.modules["agnesi.compat.theano.gpuarray.dnn"] = (
    sys.modules[__name__])
cuda_available = cuda_enabled = pygpu_activated = False


def dnn_present() -> bool:
    """Return whether there is cuDNN."""
    return False


dnn_available = dnn_present
dnn_present.msg = "there is no GPU"  # type: ignore[attr-defined]
