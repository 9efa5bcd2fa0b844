"""``autograd.numpy.fft``: NumPy's, which is agnesi's inside of derivatives."""

import numpy.fft as _theirs

from agnesi.compat.autograd.numpy.forwarding import forwarding as _forwarding

__getattr__ = _forwarding(__name__, _theirs)
