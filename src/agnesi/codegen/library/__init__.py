"""Functions of ours that compiled code and eager operations call by name.

In: the name of a function, which holds its dtypes and parameters. Out: the text of a module that
defines it: sorts, row-wise scans and extremes, transforms and solvers along the lanes of vectors.
What must hold: the arguments lie in memory as ``core/ir/calls/sorting.py`` and the callers in
``compiler`` say; the result does not depend on the number of threads.
"""
