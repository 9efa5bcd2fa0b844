"""Reading and writing at indices, joining and splitting, diagonals.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: keys mean what they mean to NumPy, negative indices and masks included; indices out
of range are an error also in compiled code.
"""
