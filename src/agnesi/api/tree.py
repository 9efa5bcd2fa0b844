"""Nests of tensors: which classes are containers, taking nests apart, working on their leaves."""

from agnesi.api.nests import all as all
from agnesi.api.nests import flatten_with_path as flatten_with_path
from agnesi.api.nests import keystr as keystr
from agnesi.api.nests import leaves_with_path as leaves_with_path
from agnesi.api.nests import map_with_path as map_with_path
from agnesi.api.nests import reduce as reduce
from agnesi.api.nests import register_dataclass as register_dataclass
from agnesi.api.nests import structure as structure
from agnesi.api.nests import transpose as transpose
from agnesi.api.nests import unflatten as unflatten
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.tree import flatten as flatten
from agnesi.core.support.tree import leaves as leaves
from agnesi.core.support.tree import map_leaves as map
from agnesi.core.support.tree import register as register

__all__ = [
    "all", "flatten", "flatten_with_path", "keystr",
    "leaves", "leaves_with_path", "map", "map_with_path", "reduce", "register",
    "register_dataclass", "structure", "transpose", "unflatten",
]


_strictly(__name__)
