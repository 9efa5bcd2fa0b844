"""Arrays rearranged, repeated, counted, and inquired about, as NumPy does it.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: all results are new tensors; sizes that depend on data are sizes of the graph.
"""
