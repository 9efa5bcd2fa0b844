"""Functions between layers: activations, attention, normalization, losses.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: values and gradients stay finite wherever the exact ones are.
"""
