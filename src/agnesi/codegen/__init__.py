"""Code generation: kernels become LLVM IR as text.

In: kernels with memory, the target, and how loop nests are mapped to it
(``core/ir/mapping.py``). Out: one module of IR text (``program.py``): a function per kernel, and a
body that calls them in order. ``emit_program`` is the only entry. IR is written as text
(``llvm/builder.py``), not through llvmlite's builder: nothing of LLVM is needed to emit, and equal
kernels are equal text.

- ``llvm/``: what every emitter is written with. Index arithmetic is folded while it is written
  (``llvm/folding.py``, ``llvm/sizes.py``), addresses a constant apart share a base
  (``llvm/address_reuse.py``), what a block has computed is not written again
  (``llvm/value_numbering.py``): no pass of LLVM combines instructions later. Code that kernels have
  in common but for sizes is outlined into functions that they call (``llvm/outlining.py``), such as
  Winograd's transforms. Workspace beyond 16 kB is a block of the thread's, not on the stack
  (``llvm/scratch.py``, ``runtime/native/scratch.ll``).
- ``loops/``: loop nests, whose loops, lanes and blocks ``schedule/mapping`` has chosen; emitters
  only emit. Stores that fill a contiguous stretch together are shuffled into registers
  (``loops/slp_stores.py``), large operands whose stride along the lanes is not 1 are transposed
  block by block (``loops/blocked_transpose.py``). An axis of dynamic size takes full vectors and a
  masked one (``loops/tail_masking.py``), with masks computed at the start of the function; values
  that are soon read again are stored in pieces instead (``llvm/partial_store.py``). Scalars of
  sizes alone are computed in every kernel that needs them.
- ``kernels/``: products, convolutions, sparse products, calls of functions.
- ``library/``: functions of ours that compiled code calls by name.
- ``arithmetic/``, ``vmath/``: scalar operations and vector mathematics. Expensive functions of a
  single scalar are calls of shared functions with short dependence chains
  (``vmath/low_latency.py``), which may differ from a lane of a vector in the last digit.
- ``control.py``: loops and branches around kernels. Checks become conditional branches where they
  are needed; long runs of iterations are driven by a table.
- ``opt_level.py``: kernels with a small share of the work are compiled at LLVM's fastest level.
- ``interrupts.py``: code that takes longer than a millisecond polls for signals between kernels,
  iterations of loops, and chunks of a kernel's units (``runtime/native/interrupts.ll``).

What must hold: kernels get addresses through a table that the call passes, so kernels of equal
structure (``kernel_key.py``) are one function, wherever they read and write
(``position_independent.py``). Kinds of kernels, plans of convolutions, forms of products and
vector functions are imported by name when a program first needs them (``program.py``,
``kernels/gemm/driver.py``, ``arithmetic/scalars.py``).
"""
