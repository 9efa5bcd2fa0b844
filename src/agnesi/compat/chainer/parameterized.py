"""Functions with parameters as Chainer 1.0 had them: arrays ``W`` and ``gW`` as attributes."""

from __future__ import annotations

from typing import Any

from agnesi.compat.chainer import links
from agnesi.compat.chainer.hierarchy import create_huffman_tree as create_huffman_tree

__all__ = [
    "BatchNormalization", "Bilinear", "BinaryHierarchicalSoftmax", "Convolution2D",
    "Deconvolution2D", "EmbedID", "Inception", "InceptionBN", "Linear", "NegativeSampling",
    "PReLU", "Parameter", "create_huffman_tree",
]


class Parameterized:
    """A link whose parameters and gradients are arrays: ``f.W`` and ``f.gW``."""

    kind: Any

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.__dict__["link"] = self.kind(*args, **keywords)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.link(*args, **keywords)

    def _place(self, name: str) -> tuple[Any, str] | None:
        link = self.__dict__.get("link")
        names = link._params if link is not None else ()
        if name in names:
            return getattr(link, name), "data"
        if name[:1] == "g" and name[1:] in names:
            return getattr(link, name[1:]), "grad"
        return None

    def __getattr__(self, name: str) -> Any:
        if name == "link" or name.startswith("__"):
            raise AttributeError(name)
        place = self._place(name)
        return getattr(self.link, name) if place is None else getattr(*place)

    def __setattr__(self, name: str, value: Any) -> None:
        place = self._place(name)
        if place is None:
            setattr(self.link, name, value)
        else:
            setattr(*place, value)

    @property
    def parameters(self) -> Any:
        """Arrays of all parameters."""
        return self.link.parameters

    @parameters.setter
    def parameters(self, values: Any) -> None:
        self.link.parameters = values

    @property
    def gradients(self) -> Any:
        """Arrays of their gradients."""
        return self.link.gradients

    @gradients.setter
    def gradients(self, values: Any) -> None:
        self.link.gradients = values

    def to_gpu(self, device: Any = None) -> Any:
        """The function itself: devices are the processor."""
        return self

    def to_cpu(self) -> Any:
        """The function itself."""
        return self


def _of(kind: Any) -> Any:
    return type(kind.__name__, (Parameterized,), {
        "kind": kind, "__doc__": kind.__doc__, "__module__": __name__})


BatchNormalization = _of(links.BatchNormalization)
Bilinear = _of(links.Bilinear)
BinaryHierarchicalSoftmax = _of(links.BinaryHierarchicalSoftmax)
BinaryHierarchicalSoftmax.create_huffman_tree = staticmethod(create_huffman_tree)
Convolution2D = _of(links.Convolution2D)
Deconvolution2D = _of(links.Deconvolution2D)
EmbedID = _of(links.EmbedID)
Inception = _of(links.Inception)
InceptionBN = _of(links.InceptionBN)
Linear = _of(links.Linear)
NegativeSampling = _of(links.NegativeSampling)
PReLU = _of(links.PReLU)
Parameter = _of(links.Parameter)
