"""Random numbers: counter-based bits (Philox4x32-10), and distributions made of them.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: a seed gives the same numbers eagerly and compiled, on any number of threads.
"""
