"""The intermediate representations: nodes, sizes, and the scalar loop language of kernels.

In: what operations say of themselves (their shapes, and the loop of one element of the result).
Out: values that all packages below and above the scheduler exchange: ``Node``, ``Dim``, ``Extent``,
``Expression``, ``Kernel``. Nothing here knows a processor.
What must hold: expressions are immutable, and equal ones are one object while something is
compiled; a node comes behind its operands; an axis is named by a dimension or is fresh.
"""
