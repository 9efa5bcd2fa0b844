"""Rules of scalar algebra: canonical form, cancellations, stable forms, cheaper operations.

In: a node of a graph. Out: what takes its place, or None. What must hold: the replacement has the
same shape and dtype, and the same value up to rounding wherever the original is finite; stable
forms are never less exact.
"""
