"""Statistics, polynomials, sets, and calculus on samples.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: values are NumPy's, and everything is made of operations that have gradients.
"""
