"""Functions of ours that compiled code and eager operations call by name.

Some algorithms are no loop nests: sorts (``sorting/``), running sums and extremes of rows
(``rowwise/``), draws of NumPy's old generator (``mersenne/``), many small systems of equations,
Fourier transforms and bfloat16 products (``lanes/``). They are generated functions with C's calling
convention, one module per dtype and size, which ``Foreign`` kernels find by name as they find a
library's
(``compiler/library/generated.py``); planning only begins to make them (``BEGINNERS`` in
``core/ir/foreign.py``), and idle threads compile them. Threads share their work through
``Call.units``. Complex numbers are ordered by integer keys (``ops/base/complex_order.py``). Roots
and logarithms of matrices take Schur's form from LAPACK and finish on its triangle
(``triangles.py``). Eager operations call the same code (``ops/base/native.py``).

In: the name of a function, which holds its dtypes and parameters. Out: the text of a module that
defines it. What must hold: the arguments are in memory as ``core/ir/calls/sorting.py`` and the
callers in ``compiler`` say; the result does not depend on the number of threads.
"""
