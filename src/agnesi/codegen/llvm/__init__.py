"""LLVM IR as text: what every emitter is written with.

In: operands with their types, and instructions to be written. Out: the text of functions and of a
module. Nothing here knows what a kernel computes.
What must hold: an instruction that a block has already computed on the same operands is not
written twice (value numbering), sizes that are constants are folded, and no function keeps more
than 16 kB on the stack.
"""
