"""Lowering: fusion groups become kernels.

In: clusters of nodes. Out: kernels (loop nests, matrix products, convolutions, calls of library
functions, loops and branches whose bodies are programs) over buffers that have no memory yet.

- ``lower.py`` inlines the nodes of a cluster into the expression of each value that it
  materializes.
- ``cluster_dedup.py`` lowers clusters of equal structure once. If planning depends on more than the
  cluster, that must become part of the key. ``kernel_templates.py`` instantiates the kernels on
  other buffers, with stores that are made when they are first read (``put_off``); queries that
  concern all kernels go through ``Kernel.answer``, and code that changes a kernel's body calls
  ``Kernel.change``, after which the kernel is no longer an instance of its template.
- ``piecewise.py`` makes a nest for each region of values that are made of regions (``Op.parts``),
  or of what is computed from them (``Op.boxes``).
- ``loops.py`` makes the kernels of a loop's body a block among those of the function: slices are
  read in place, rows written where they belong, small carries stay in registers.
- ``split_filter_gradients.py`` sums gradients of few filters in parts that follow from sizes
  alone, so that threads have work and results do not depend on their number.
- ``successors.py`` finds the updates of a value that can be made in place.
- ``library_products.py`` chooses the products that a BLAS evaluates under ``fast_compile``.

What must hold: every buffer is written before it is read, by one kernel; groups of equal structure
get the same kernel on other buffers.
"""
