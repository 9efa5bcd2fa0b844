"""Discrete Fourier transforms, under numpy.fft's names.

Examples
--------
>>> import agnesi as ag
>>> x = ag.tensor([1.0, 2.0, 3.0])
>>> ag.fft.irfft(ag.fft.rfft(x), 3)
tensor([1., 2., 3.])
"""

from agnesi.core.exports import shown as _shown
from agnesi.ops.fft import fft as fft
from agnesi.ops.fft import fft2 as fft2
from agnesi.ops.fft import fftn as fftn
from agnesi.ops.fft import hfft as hfft
from agnesi.ops.fft import ifft as ifft
from agnesi.ops.fft import ifft2 as ifft2
from agnesi.ops.fft import ifftn as ifftn
from agnesi.ops.fft import ihfft as ihfft
from agnesi.ops.fft import irfft as irfft
from agnesi.ops.fft import irfft2 as irfft2
from agnesi.ops.fft import irfftn as irfftn
from agnesi.ops.fft import rfft as rfft
from agnesi.ops.fft import rfft2 as rfft2
from agnesi.ops.fft import rfftn as rfftn
from agnesi.ops.frequencies import fftfreq as fftfreq
from agnesi.ops.frequencies import fftshift as fftshift
from agnesi.ops.frequencies import ifftshift as ifftshift
from agnesi.ops.frequencies import rfftfreq as rfftfreq

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]


def __dir__() -> list[str]:
    return _shown(__name__)
