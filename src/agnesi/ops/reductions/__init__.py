"""Scans, positions of extremes, norms, and reductions that leave out NaN.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: axes and ``keepdims`` are NumPy's; ties give gradients that sum to the cotangent.
"""
