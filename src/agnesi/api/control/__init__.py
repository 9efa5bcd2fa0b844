"""Loops and branches that are values: ``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``map``.

In: Python functions and trees of tensors. Out: trees of tensors; the body runs once on symbols.
What must hold: the result is that of the same loop in Python, gradients included.
"""
