"""The scheduler: a closed graph becomes kernels in order, with memory for all that they write.

In: a closed, rewritten graph (``core/graph.py``), and the compile policy. Out: a ``Program``
(``schedule/program.py``): kernels (``core/ir/kernels.py``) in the order in which they run, and an
offset in one arena for every temporary. A kernel is a loop nest, a matrix product or convolution
with its epilogue, a loop or branch around other kernels, a check that may stop the call with an
error at the user's line, a sparse product, a C function that is called by name
(``core/ir/foreign.py``), or a call back into Python.

``passes.py`` has the list of passes, in order. A pass is a function from a program to a program;
it has a name, by which ``jit(exclude=...)`` leaves it out, and a count of what it changed, which
``plan()`` and ``explain()`` print. No pass starts inside another one; the bodies of loops and
branches are programs of their own, which go through the same list.

1. ``clustering/``: which values are materialized, and which of them one kernel fills.
2. ``lowering/``: each cluster becomes a kernel; everything that is not materialized is inlined
   into it through ``Op.lower``. Clusters of equal structure, as repeated layers have them, become
   kernels once. Complex expressions become real ones (``complexes.py``).
3. ``transforms/``: programs of kernels become faster ones.
4. ``memory/``: the order of kernels, updates in place, the arena.

Code generators are then given ``mapping/``, which decides for each loop nest how its loops run on
the target: in which order, on how many lanes, in which units of work.

What must hold after every pass, and is checked after each in all tests (``verify.py``, with
``config.verify``):

- Buffers are written before they are read; types and addresses agree; no memory is written while
  it is still needed.
- No value is recomputed needlessly. A nest evaluates it in the loops from the outermost one to the
  innermost one that it depends on (``evaluation_counts.py``; which loop is innermost,
  ``core/ir/lanes.py``). Where other loops are between, the value is materialized
  (``transforms/hoist_reductions.py``), and so is an expensive one that is evaluated at three
  points or moved to three (``Clustering._is_repeated`` in ``clustering/clustering.py``). Kernels
  take at most twice the expensive instructions of the single operations and four times all; of
  dynamic sizes, at no higher power (``core/ir/growth.py``).
- A call that fails has changed nothing: what it writes in place comes behind all kernels that may
  fail (``memory/placement.py``).
"""
