"""Transforms: programs of kernels become faster programs of kernels.

In and out: a program whose buffers have no memory yet. Each pass is a function from a program to a
program that counts what it changed, and can be left out.
What must hold: results are the same bits (or, for reductions that are split, the same sums in
another order that does not depend on the number of threads); a kernel's body is only replaced
through ``Kernel.change``, by which templates notice.
"""
