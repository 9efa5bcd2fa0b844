"""Discrete Fourier transforms, their frequencies, and window functions.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: norms and sizes mean what they mean to ``numpy.fft``; real inputs keep half of the
spectrum.
"""
