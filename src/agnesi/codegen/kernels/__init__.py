"""Kernels with a shape of their own: products, convolutions, sparse products, calls of functions.

In: the kernel with its sizes, and the processor that it is planned for. Out: a plan (how many units
of work there are, how much workspace each thread needs) and the LLVM IR that runs it.
What must hold: whatever has no plan here is also right as a loop nest; epilogues are computed while
a tile of results is in registers.
"""
