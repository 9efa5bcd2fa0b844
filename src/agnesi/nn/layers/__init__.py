"""Layers: modules with weights or settings, each over functions of ``nn.functional``.

In: images of shape ``(batch, channels, *spatial)``, rows of shape ``(..., features)``, or
sequences, as each layer says. Out: tensors. What must hold: names of parameters, their shapes and
first values are PyTorch's, so that its state dictionaries load.
"""
