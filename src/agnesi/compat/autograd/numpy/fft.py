"""``autograd.numpy.fft``: NumPy's, which is agnesi's inside of derivatives."""

import numpy.fft as _theirs

from agnesi.compat.autograd.numpy.lent import lent as _lent

__getattr__ = _lent(__name__, _theirs)
