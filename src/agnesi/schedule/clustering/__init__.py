"""Clustering: which values of a graph get memory, and which nodes become one kernel.

In: the nodes of a closed graph in topological order, with the memory order that each value has.
Out: fusion groups (clusters) of nodes, each with the values that it materializes, in an order in
which every group comes behind those that it reads.

- ``clustering.py`` decides what is materialized, by what ``recomputation.py`` says of the graph and
  how often ``evaluations.py`` counts that a value would be computed; ``cluster.py`` merges clusters
  and keeps their order.
- ``layout.py`` decides in which order the axes of each intermediate value are in memory
  (``Buffer.strides``): channels last around convolutions, by the costs of
  ``codegen/kernels/conv/layouts.py``.
- ``directions.py`` says whether reductions walk along memory or across it: one nest does either.
- ``horizontal_fusion.py`` merges kernels that sweep over the same memory.
- ``scalar_programs.py`` cuts programs that are mostly scalars into kernels, ordered by when their
  results can be ready (``core/ir/start_times.py``; emitted by
  ``codegen/loops/list_scheduling.py``).
- ``comparisons.py`` finds sums that both sides of a comparison are made of, which are kept.
- ``boxes.py``: the boxes in which rolls, pads and concatenations are read where they are used.
- ``sparsity.py`` finds operands of products in which dropout or relu left zeros.
- ``decisions.py`` checks what Python decided by values as early as it is known. All that these
  checks do not need waits for them: it may belong to the other branch of the user's code, and fail
  or print there.

What must hold: a value that is not materialized is computed where it is used, so nothing expensive
may be used there more than a few times; groups form no cycle; effects keep their order.
"""
