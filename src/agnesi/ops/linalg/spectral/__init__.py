"""Decompositions by eigenvalues and singular values, and what is made of them.

What must hold: derivatives are right, or refused, where values are repeated (``gaps``).
"""
