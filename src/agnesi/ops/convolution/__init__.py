"""Convolutions, pooling and resizing over the spatial axes of images.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.

``Conv`` and its two adjoints (``conv.py``) are each other's derivatives; transposed convolutions
are in ``transposed.py``. Other implementations (``conv_by.py``) are chosen by name, rule or timing
(``conv_choice.py``). Functions, slopes and sums around max-pooling are computed for the winners of
its windows only (``rewrite/arrays/pools.py``). Generated code: ``codegen/kernels/conv``.

What must hold: images have shape ``(batch, channels, *spatial)`` whatever their order in memory;
all implementations of a convolution have the same gradients.
"""
