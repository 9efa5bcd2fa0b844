"""Matrix products and sums of products.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: accumulation is at least as wide as NumPy's; a product never needs a copy of an
operand that is only transposed.
"""
