"""Decompositions by eigenvalues and singular values, and what is made of them.

In: tensors whose last two axes are matrices. Out: eigenvalues and vectors, singular ones, factors.
What must hold: derivatives are right, or refused, where values are repeated (``gaps``).
"""
