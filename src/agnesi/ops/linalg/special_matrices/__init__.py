"""Matrices of a special form: banded, Toeplitz and the like, and tables such as Hilbert's.

In: the few tensors that define the matrix. Out: the matrix, or the solution of a system with it.
What must hold: gradients go to the defining tensors, without a pass over the whole matrix where
the form allows it.
"""
