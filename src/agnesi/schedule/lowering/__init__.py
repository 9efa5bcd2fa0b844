"""Lowering: fusion groups become kernels.

In: clusters of nodes. Out: kernels (loop nests, matrix products, convolutions, calls of library
functions, loops and branches whose bodies are programs) over buffers that have no memory yet.
What must hold: every buffer is written before it is read, by one kernel; groups of equal structure
get the same kernel on other buffers, so whatever planning asks of a group belongs to its key.
"""
