"""Memory: the order of kernels, and the address of each buffer.

In: kernels with their dependences (``schedule/dependence.py`` finds the reads and writes of each
once). Out: the same kernels in the order of the smallest peak that was found (``order.py``),
state written in place and results in the memory of arguments (``placement.py``), results over what
is read where they are written (``overwriting.py``) or over rows that were read as a whole
(``inplace_rows.py``), and an arena with an offset for every temporary (``arena.py``). What is only
copied into a result is made there.

Under a limit (``ag.jit(memory_limit=...)``) values are computed again behind a gap
(``rematerialize.py``); with ``save_dtype`` they are kept in half precision while idle
(``compressed_residuals.py``). For dynamic sizes the arena is laid out for a multiple of the sizes
seen (``dynamic_sizes.py``). ``fn.plan()`` prints all of it. By hand, ``ag.checkpoint`` does the
same, eagerly and compiled (``autodiff/checkpoint.py``, ``autodiff/recompute.py``).

What must hold: two buffers whose lifetimes meet share no byte unless one may be written over the
other; what an error leaves behind is as eager execution leaves it. ``schedule/verify.py`` checks
both, apart from the code that decides.
"""
