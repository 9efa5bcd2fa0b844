"""Distributions beyond those of ``ops.random``, under NumPy's names and with its arguments.

``size`` is the result's shape; by default that of the parameters that are tensors.  Floats are of
``dtype``, else of the parameters' dtype, else of ``config.default_float``.  Parameters that are
Python numbers are checked; where tensors hold impossible ones, floats are NaN and integers -1.

In: parameters and sizes. Out: tensors.
What must hold: a seed gives the same numbers eagerly and compiled.
"""
