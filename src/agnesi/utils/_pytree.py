"""PyTorch's path to functions of nests; ``agnesi.tree`` has the library's own."""

from agnesi.api.torch.pytree import TreeSpec as TreeSpec
from agnesi.api.torch.pytree import tree_all as tree_all
from agnesi.api.torch.pytree import tree_any as tree_any
from agnesi.api.torch.pytree import tree_flatten as tree_flatten
from agnesi.api.torch.pytree import tree_leaves as tree_leaves
from agnesi.api.torch.pytree import tree_map as tree_map
from agnesi.api.torch.pytree import tree_map_only as tree_map_only
from agnesi.api.torch.pytree import tree_unflatten as tree_unflatten
from agnesi.core.support.exports import shown as _shown


def __dir__() -> list[str]:
    return _shown(__name__)
