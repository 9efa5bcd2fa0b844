"""Nests of tensors: which classes are containers, taking nests apart, working on their leaves."""

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.tree import flatten as flatten
from agnesi.core.support.tree import leaves as leaves
from agnesi.core.support.tree import map_leaves as map
from agnesi.core.support.tree import register as register

__all__ = ["flatten", "leaves", "map", "register"]


def __dir__() -> list[str]:
    return _shown(__name__)


_strictly(__name__)
