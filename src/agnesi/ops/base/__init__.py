"""The primitive operations of which all others are made, and how operands are read.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: an operation states its shape and dtype, its value (NumPy's), its gradient rule and
its loop in one place; no file here imports another folder of ``ops``.
"""
