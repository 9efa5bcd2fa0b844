"""Sorts, partial sorts, and elements by their rank.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: orders are stable where NumPy's are, NaN comes last, and the gradient goes back
along the same permutation.
"""
