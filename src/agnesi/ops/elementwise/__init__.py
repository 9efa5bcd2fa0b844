"""Elementwise functions: a row of a table each, with its derivative.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: a row has NumPy's or SciPy's values for every dtype, and derivatives that are
themselves built of operations, so that they have derivatives again.
"""
