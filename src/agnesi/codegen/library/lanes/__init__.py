"""Functions of many small problems at once, one in each lane of vectors: C functions that
compiled code calls by name (``core/ir/foreign.py``).

In: the name of a function, which holds its dtype and sizes. Out: a module of IR.
What must hold: a problem's result does not depend on which lane it has, or on its neighbours.
"""
