"""The class of arrays inside of derivatives."""

from agnesi.core.tensor import Tensor as ArrayBox

__all__ = ["ArrayBox"]
