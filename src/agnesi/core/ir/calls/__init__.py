"""Functions that kernels call instead of computing in a loop: how they are described.

In: names and sizes. Out: descriptions of calls of BLAS products, sorts, and the inner loops of
NumPy's and SciPy's universal functions, which ``schedule`` plans and ``codegen`` emits.
What must hold: a description holds no address; that is found when the code is bound.
"""
