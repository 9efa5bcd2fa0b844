"""Branches and loops as operations whose bodies are graphs.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: a body reads nothing but its arguments and constants; what Python decided while a
graph was recorded is checked again when the compiled code runs.
"""
