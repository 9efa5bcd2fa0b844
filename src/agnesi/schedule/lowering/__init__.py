"""Lowering: fusion groups become kernels.

In: clusters of nodes. Out: kernels (loop nests, matrix products, convolutions, calls of library
functions, loops and branches whose bodies are programs) over buffers that have no memory yet.

- ``lower.py`` inlines the nodes of a cluster into the expression of each value that it
  materializes.
- ``cluster_dedup.py`` lowers clusters of equal structure once. Whoever lets planning depend on
  more than the cluster adds that to its key. ``kernel_templates.py`` makes the kernels again on
  other buffers, with stores that are made when they are first read (``put_off``); what is asked of
  all kernels goes through ``Kernel.answer``, and whoever changes a kernel's body calls
  ``Kernel.change``, after which it is an instance of no template.
- ``piecewise.py`` makes a nest for each region of values that are made of regions (``Op.parts``).
- ``loops.py`` makes the kernels of a loop's body a block among those of the function: slices are
  read in place, rows written where they belong, small carries stay in registers.
- ``split_filter_gradients.py`` sums gradients of few filters in parts that follow from sizes
  alone, so that threads have work and results do not depend on their number.
- ``successors.py`` tells which writes into a value happen where it lies.
- ``library_products.py`` chooses the products that a BLAS evaluates under ``fast_compile``.

What must hold: every buffer is written before it is read, by one kernel; groups of equal structure
get the same kernel on other buffers.
"""
