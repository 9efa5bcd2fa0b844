"""Convolutions, pooling and resizing over the spatial axes of images.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.
What must hold: images have shape ``(batch, channels, *spatial)`` whatever their order in memory;
all implementations of a convolution have the same gradients.
"""
