"""Rules about whole arrays: movements, reductions, products, scatters, pooling, linear algebra.

In: a node of a graph. Out: what takes its place, or None. What must hold: the replacement has the
same shape and dtype, and takes no more memory than the original.
"""
