"""Discrete Fourier transforms, under numpy.fft's names.

Examples
--------
>>> import agnesi as ag
>>> x = ag.tensor([1.0, 2.0, 3.0])
>>> ag.fft.irfft(ag.fft.rfft(x), 3)
tensor([1., 2., 3.])
"""

from agnesi.core.support.errors import explain_missing as _explain_missing
from agnesi.core.support.exports import shown as _shown
from agnesi.ops.signal.fft import fft as fft
from agnesi.ops.signal.fft import fft2 as fft2
from agnesi.ops.signal.fft import fftn as fftn
from agnesi.ops.signal.fft import hfft as hfft
from agnesi.ops.signal.fft import hfft2 as hfft2
from agnesi.ops.signal.fft import hfftn as hfftn
from agnesi.ops.signal.fft import ifft as ifft
from agnesi.ops.signal.fft import ifft2 as ifft2
from agnesi.ops.signal.fft import ifftn as ifftn
from agnesi.ops.signal.fft import ihfft as ihfft
from agnesi.ops.signal.fft import ihfft2 as ihfft2
from agnesi.ops.signal.fft import ihfftn as ihfftn
from agnesi.ops.signal.fft import irfft as irfft
from agnesi.ops.signal.fft import irfft2 as irfft2
from agnesi.ops.signal.fft import irfftn as irfftn
from agnesi.ops.signal.fft import rfft as rfft
from agnesi.ops.signal.fft import rfft2 as rfft2
from agnesi.ops.signal.fft import rfftn as rfftn
from agnesi.ops.signal.frequencies import fftfreq as fftfreq
from agnesi.ops.signal.frequencies import fftshift as fftshift
from agnesi.ops.signal.frequencies import ifftshift as ifftshift
from agnesi.ops.signal.frequencies import rfftfreq as rfftfreq

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]


def __dir__() -> list[str]:
    return _shown(__name__)


_explain_missing(__name__)
