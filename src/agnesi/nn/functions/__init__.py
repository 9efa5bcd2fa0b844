"""Functions and layers that :mod:`agnesi.nn.functional` is made of.

In: tensors and parameters of the function. Out: tensors. Whatever is a module as well is here next
to its function. What must hold: nothing here imports ``nn.functional`` or a layer.
"""
