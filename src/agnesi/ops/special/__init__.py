"""Special functions under SciPy's names.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: values are SciPy's to a few units in the last place; arguments without a derivative
rule say so.
"""
