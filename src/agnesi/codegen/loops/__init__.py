"""Loop nests: axes, expressions and stores of a kernel become loops over vectors.

In: the plan of a nest (``core/ir/mapping.py``: loops in order, the axis of the lanes, the
expression of each store) and the addresses of its buffers. Out: LLVM IR
of a function that computes the units ``[begin, end)`` of the nest.
What must hold: units can run on any thread in any order, so no two of them write the same element;
lanes beyond the end of an axis are masked and touch no memory.
"""
