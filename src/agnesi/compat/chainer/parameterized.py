"""Functions with parameters as Chainer 1.0 had them: arrays ``W`` and ``gW`` as attributes."""

from __future__ import annotations

from typing import Any

from agnesi.compat.chainer import links
from agnesi.compat.chainer.formula import Formula
from agnesi.compat.chainer.hierarchy import create_huffman_tree as create_huffman_tree
from agnesi.core.support.errors import no_attribute

__all__ = [
    "BatchNormalization", "Bilinear", "BinaryHierarchicalSoftmax", "Convolution2D",
    "Deconvolution2D", "EmbedID", "Inception", "InceptionBN", "Linear", "NegativeSampling",
    "PReLU", "Parameter", "create_huffman_tree",
]


class Applied(Formula):
    """The creator of what a function with parameters made: it has their names, too."""

    called: Parameterized

    def __getattr__(self, name: str) -> Any:
        if "called" not in self.__dict__ or name.startswith("__"):
            raise no_attribute("Function", name)
        return getattr(self.called, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What ``isinstance(y.creator, F.Linear)`` requests."""
        return type(self.called) if "called" in self.__dict__ else Applied

    @property
    def label(self) -> str:
        return type(self.called).__name__

    @property  # type: ignore[misc]
    def parameters(self) -> Any:
        return self.called.parameters

    @property  # type: ignore[misc]
    def gradients(self) -> Any:
        return self.called.gradients


class Parameterized:
    """A link whose parameters and gradients are arrays: ``f.W`` and ``f.gW``."""

    kind: Any

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.__dict__["link"] = self.kind(*args, **keywords)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        results = self.link(*args, **keywords)
        for y in results if isinstance(results, tuple) else (results,):
            creator = y.creator
            if type(creator) is Formula and self._reads(creator.inputs):
                creator.__class__ = Applied
                vars(creator)["called"] = self
        return results

    def _reads(self, variables: Any) -> bool:
        """Whether parameters of its own, not of links below it, are among the variables."""
        names = self.link._params
        return any(x is getattr(self.link, name) for x in variables for name in names)

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
