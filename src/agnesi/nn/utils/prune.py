"""Parameters of which elements are zero for good, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from agnesi.api import functions as F
from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.options import Order
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.utils.gradients import parameters_to_vector
from agnesi.nn.utils.pruning import METHODS
from agnesi.nn.utils.pruning import BasePruningMethod as BasePruningMethod
from agnesi.nn.utils.pruning import CustomFromMask as CustomFromMask
from agnesi.nn.utils.pruning import Identity as Identity
from agnesi.nn.utils.pruning import L1Unstructured as L1Unstructured
from agnesi.nn.utils.pruning import LnStructured as LnStructured
from agnesi.nn.utils.pruning import PruningContainer as PruningContainer
from agnesi.nn.utils.pruning import RandomStructured as RandomStructured
from agnesi.nn.utils.pruning import RandomUnstructured as RandomUnstructured

M = TypeVar("M", bound=Module)


def identity(module: M, name: str) -> M:
    """Let a parameter be computed from ``name_orig`` and a mask of ones, ``name_mask``.

    :param module: Whose parameter it is.
    :param name: Of the parameter.
    :returns: The module itself.
    :raises ValueError: If there is no such parameter.
    :see: nn.utils.prune.remove

    >>> ag.nn.utils.prune.identity(ag.nn.Linear(2, 3), "bias").bias_mask
    tensor([1., 1., 1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prune elements of a parameter at random.

    :like: identity
    :param amount: How many of those that are left; a float is a share of them.
    :raises ValueError: If there is no such parameter, or there are not so many.
    :see: nn.utils.prune.l1_unstructured

    >>> layer = ag.nn.utils.prune.random_unstructured(ag.nn.Linear(2, 3), "weight", amount=1)
    >>> int((layer.weight_mask == 0).sum())
    1
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float,
                    importance_scores: Tensor | None = None) -> M:
    """Prune the smallest elements of a parameter.

    :like: random_unstructured
    :param importance_scores: The importance of each element, instead of their magnitudes.
    :see: nn.utils.prune.global_unstructured

    >>> layer = ag.nn.utils.prune.l1_unstructured(ag.nn.Linear(2, 3), "weight", amount=0.5)
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prune channels of a parameter at random.

    :like: random_unstructured
    :param dim: The axis of the channels.
    :see: nn.utils.prune.ln_structured

    >>> layer = ag.nn.utils.prune.random_structured(ag.nn.Linear(5, 3), "weight", 3, dim=1)
    >>> int((layer.weight.sum(axis=0) == 0).sum())
    3
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: float, n: Order, dim: int,
                  importance_scores: Tensor | None = None) -> M:
    """Prune the channels of a parameter whose norms are smallest.

    :like: random_unstructured
    :param n: Of the norm.
    :param dim: The axis of the channels.
    :param importance_scores: The importance of each element, instead of their magnitudes.
    :see: nn.utils.prune.random_structured

    >>> layer = ag.nn.utils.prune.ln_structured(ag.nn.Conv2d(5, 4, 2), "weight", 0.5, n=1, dim=0)
    >>> layer.weight_mask.mean(axis=(1, 2, 3)).sum()
    tensor(2.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]],
                        pruning_method: type[BasePruningMethod],
                        importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
                        **kwargs: Any) -> None:
    """Prune several parameters as if they were one.

    :param parameters: Modules and names.
    :type parameters: iterable of pairs
    :param pruning_method: The class of it, whose ``PRUNING_TYPE`` is unstructured.
    :param importance_scores: By module and name, the importance of each element, instead of
        their values.
    :type importance_scores: mapping, optional
    :param **kwargs: What the class takes, such as ``amount``.
    :raises TypeError: If the method prunes channels.
    :see: nn.utils.prune.l1_unstructured

    >>> net = ag.nn.Sequential(ag.nn.Linear(10, 4), ag.nn.Linear(4, 1))
    >>> prune = ag.nn.utils.prune
    >>> prune.global_unstructured([(net[0], "weight"), (net[1], "weight")],
    ...                           pruning_method=prune.L1Unstructured, amount=10)
    >>> int((ag.nn.utils.parameters_to_vector(net.buffers()) == 0).sum())
    10
    """
    pairs, given = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(at(f"global_unstructured: {pruning_method.__name__} is "
                           f"{method.PRUNING_TYPE}; it takes methods that are unstructured"))
    with no_grad():
        values = [getattr(module, name) for module, name in pairs]
        scores = parameters_to_vector([given.get(pair, value).detach()
                                       for pair, value in zip(pairs, values, strict=True)])
        masks = parameters_to_vector([getattr(module, f"{name}_mask", F.ones_like(value))
                                      for (module, name), value in zip(pairs, values, strict=True)])
        mask, start = PruningContainer(method).compute_mask(scores, masks), 0
        for (module, name), value in zip(pairs, values, strict=True):
            part = mask[start:start + value.size].reshape(value.shape)
            custom_from_mask(module, name, part)
            start += value.size


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune a parameter where a mask is zero.

    :like: identity
    :param mask: Of the parameter's shape.
    :raises ShapeError: If the mask is of another shape.
    :see: nn.utils.prune.l1_unstructured

    >>> layer = ag.nn.utils.prune.custom_from_mask(ag.nn.Linear(5, 3), "bias", ag.tensor([0, 1, 0]))
    >>> layer.bias_mask
    tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: M, name: str) -> M:
    """Let a parameter be one again, which has zeros where it was pruned.

    :like: identity
    :raises ValueError: If it is not pruned.
    :see: nn.utils.prune.is_pruned

    >>> layer = ag.nn.utils.prune.l1_unstructured(ag.nn.Linear(2, 3), "weight", amount=0.5)
    >>> list(ag.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    method = vars(module).get(METHODS, {}).get(name)
    if method is None:
        raise ValueError(at(f"prune.remove: {type(module).__name__}.{name} is not pruned"))
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of one in it, is pruned.

    :param module: The module.
    :returns: Whether there is one.
    :see: nn.utils.prune.remove

    >>> ag.nn.utils.prune.is_pruned(ag.nn.Linear(2, 3))
    False
    """
    return any(vars(m).get(METHODS) for m in module.modules())


_strictly(__name__)
