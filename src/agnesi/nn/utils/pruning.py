"""Ways to choose which elements of a parameter are zero: the classes of PyTorch's ``prune``."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api.linalg import vector_norm
from agnesi.api.random import rand
from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import Order
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.utils.computed import compute, held, is_computed
from agnesi.nn.utils.weights import no_parameter

#: Where a module keeps how its parameters are pruned.
METHODS = "_pruned"


def _masked(module: Any, name: str) -> Tensor:
    orig: Tensor = getattr(module, f"{name}_orig")
    return getattr(module, f"{name}_mask").to(orig.dtype) * orig


@no_grad()
def _set_original(module: Any, value: Tensor, name: str) -> None:
    getattr(module, f"{name}_orig").copy_(value)


class BasePruningMethod:
    """How a mask is chosen: subclasses define ``compute_mask``.

    Attributes
    ----------
    PRUNING_TYPE : {"unstructured", "structured", "global"}
        What another pruning of the same parameter chooses from: the elements that are left, the
        channels along ``dim`` that are left, or all.

    See Also
    --------
    nn.utils.prune.custom_from_mask

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = ag.nn.Linear(3, 2)
    >>> method = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0.],
            [1., 0., 1.]])
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str = ""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Choose what stays.

        :param t: The parameter, or the importance of each of its elements.
        :param default_mask: Ones, or the mask so far.
        :returns: A mask of ``t``'s shape, zero for what goes.
        :raises NotImplementedError: Always: subclasses define it.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no compute_mask(t, default_mask)"))

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter of a module with zeros where its mask has some.

        :param module: Whose parameter is pruned.
        :returns: The product, with gradients for what is left.
        """
        return _masked(module, self._tensor_name)

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter, which is from then on computed from ``name_orig`` and ``name_mask``.

        :param module: Whose parameter it is.
        :param name: Of the parameter.
        :param *args: For the class.
        :param importance_scores: The importance of each element, instead of their magnitudes.
        :param **kwargs: For the class.
        :returns: The method, or the container of it and those before it.
        :raises ValueError: If there is no such parameter.
        :raises ShapeError: If the scores have another shape than the parameter.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        known = vars(module).get(METHODS, {})
        orig = getattr(module, name, None)
        if not isinstance(orig, Tensor) or (name not in known and is_computed(module, name)):
            raise no_parameter(module, name, cls.__name__)
        with no_grad():
            if name in known:
                before = known[name]
                method = PruningContainer(*(before if isinstance(before, PruningContainer)
                                            else [before]), method)
                default = getattr(module, f"{name}_mask").clone()
            else:
                default = F.ones_like(orig)
            scores = _scores(cls, importance_scores, orig).detach()
            mask = method.compute_mask(scores, default_mask=default)
        if name not in known:
            compute(module, name, partial(_masked, name=name), partial(_set_original, name=name))
            setattr(module, f"{name}_orig", orig)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, METHODS, {**known, name: method})
        return method

    @no_grad()
    def prune(self, t: Tensor, default_mask: Tensor | None = None,
              importance_scores: Tensor | None = None) -> Tensor:
        """A tensor with zeros where the mask that is chosen has some.

        :param t: The tensor.
        :param default_mask: A mask so far.
        :param importance_scores: The importance of each element, instead of their magnitudes.
        :returns: The product.
        :raises ShapeError: If the scores have another shape than the tensor.
        """
        default = F.ones_like(t) if default_mask is None else default_mask
        scores = _scores(type(self), importance_scores, t)
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Let the parameter be one again, which has zeros where it was pruned.

        :param module: Whose parameter it is.
        :raises ValueError: If it is not pruned.
        """
        name = self._tensor_name
        if name not in vars(module).get(METHODS, {}):
            raise ValueError(at(f"prune.remove: {type(module).__name__}.{name} is not pruned"))
        orig: Any = getattr(module, f"{name}_orig")
        with no_grad():
            orig.data = np.array(_masked(module, name).array)
        for part in ("_orig", "_mask"):
            delattr(module, name + part)
        held(module, name, orig)
        left = {n: method for n, method in vars(module)[METHODS].items() if n != name}
        setattr(module, METHODS, left)


def _scores(kind: type, scores: Tensor | None, orig: Tensor) -> Tensor:
    if scores is not None and scores.shape != orig.shape:
        raise ShapeError(at(f"{kind.__name__}: importance_scores must be of shape "
                            f"{tuple(orig.shape)}, not {typed(scores)}"))
    return orig if scores is None else scores


class PruningContainer(BasePruningMethod):
    """Methods that prune one parameter one after the other.

    :param *args: The methods, in order; the last one chooses among what the others left.
    :see: nn.utils.prune.BasePruningMethod

    >>> import agnesi as ag
    >>> from agnesi.nn.utils import prune
    >>> layer = ag.nn.Linear(4, 2)
    >>> first = prune.L1Unstructured.apply(layer, "weight", 2)
    >>> len(prune.L1Unstructured.apply(layer, "weight", 1)), int(layer.weight_mask.sum())
    (2, 5)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self._tensor_name = self._tensor_name or method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method of the same parameter.

        :param method: The method.
        :raises ValueError: If it prunes another parameter.
        """
        if method._tensor_name != self._tensor_name:
            raise ValueError(at(f"PruningContainer: the methods are of {self._tensor_name!r}, but "
                                f"this one is of {method._tensor_name!r}"))
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype)
        place: Any = ...
        if method.PRUNING_TYPE == "unstructured":
            place = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = _axis(method, t)
            left = F.sum(default_mask, tuple(a for a in range(t.ndim) if a != dim)) != 0
            place = (slice(None),) * dim + (left,)
        new = method.compute_mask(t[place], default_mask=default_mask[place])
        mask[place] = new.to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Nothing is pruned, but the parameter is computed from a mask of ones.

    :see: nn.utils.prune.identity

    >>> ag.nn.utils.prune.Identity().prune(ag.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


def _axis(method: Any, t: Tensor) -> int:
    if t.ndim < 2:
        raise ShapeError(at(f"{type(method).__name__}: channels are of tensors of two axes or more,"
                            f" not {typed(t)}"))
    if not -t.ndim <= method.dim < t.ndim:
        raise IndexError(at(f"{type(method).__name__}: dim={method.dim} of {typed(t)}"))
    return int(method.dim) % t.ndim


class _Amount(BasePruningMethod):
    """What prunes a number of elements or channels, or a share of them."""

    def __init__(self, amount: float) -> None:
        given: Any = amount
        if isinstance(given, bool) or not isinstance(given, numbers.Real):
            raise TypeError(at(f"{type(self).__name__}: amount must be a number, not "
                               f"{typed(amount)}"))
        whole = isinstance(given, numbers.Integral)
        if amount < 0 or (amount > 1 and not whole):
            raise ValueError(at(f"{type(self).__name__}: amount={amount!r} must be a share between "
                                "0. and 1., or a count"))
        self.amount: int | float = int(amount) if whole else float(amount)

    def _count(self, size: int) -> int:
        if isinstance(self.amount, float):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(at(f"{type(self).__name__}: amount={self.amount} of {size}"))
        return self.amount

    def _without(self, order: Tensor, mask: Tensor) -> Tensor:
        flat = mask.clone().reshape(-1)
        flat[F.argsort(order.reshape(-1))[:self._count(order.size)]] = 0
        return flat.reshape(mask.shape)


class _Channels(_Amount):
    """What prunes channels."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _order(self, t: Tensor, dim: int) -> Tensor:
        return rand(t.shape[dim])

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = _axis(self, t)
        shape = [-1 if a == dim else 1 for a in range(t.ndim)]
        order = self._order(t, dim)
        left = self._without(order, F.ones_like(order))
        return left.reshape(shape).to(t.dtype) * default_mask


class RandomUnstructured(_Amount):
    """Elements are pruned at random.

    :param amount: How many, or which share.
    :type amount: int or float
    :see: nn.utils.prune.random_unstructured

    >>> int((ag.nn.utils.prune.RandomUnstructured(2).prune(ag.ones(5)) == 0).sum())
    2
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._without(rand(t.shape), default_mask)


class L1Unstructured(_Amount):
    """The smallest elements are pruned.

    :param amount: How many, or which share.
    :type amount: int or float
    :see: nn.utils.prune.l1_unstructured

    >>> ag.nn.utils.prune.L1Unstructured(2).prune(ag.tensor([3.0, -1.0, 2.0]))
    tensor([ 3., -0.,  0.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._without(F.abs(t), default_mask)


class RandomStructured(_Channels):
    """Channels are pruned at random.

    :param amount: How many, or which share.
    :type amount: int or float
    :param dim: The axis of the channels.
    :see: nn.utils.prune.random_structured

    >>> pruned = ag.nn.utils.prune.RandomStructured(2, dim=1).prune(ag.ones((2, 5)))
    >>> int((pruned[0] == 0).sum())
    2
    """


class LnStructured(_Channels):
    """Channels of the smallest norms are pruned.

    :like: RandomStructured
    :param n: Of the norm.
    :see: nn.utils.prune.ln_structured

    >>> x = ag.tensor([[3.0, 1.0], [1.0, 1.0]])
    >>> ag.nn.utils.prune.LnStructured(1, n=2, dim=0).prune(x)
    tensor([[3., 1.],
            [0., 0.]])
    """

    def __init__(self, amount: float, n: Order, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _order(self, t: Tensor, dim: int) -> Tensor:
        rows = F.reshape(F.moveaxis(t, dim, 0), (t.shape[dim], -1))
        return vector_norm(rows, ord=self.n, axis=1)


class CustomFromMask(BasePruningMethod):
    """The mask is given.

    :param mask: Of the parameter's shape, zero for what goes.
    :see: nn.utils.prune.custom_from_mask

    >>> ag.nn.utils.prune.CustomFromMask(ag.tensor([0, 1])).prune(ag.tensor([3.0, 4.0]))
    tensor([0., 4.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if self.mask.shape != default_mask.shape:
            raise ShapeError(at(f"CustomFromMask: the mask must be of shape "
                                f"{tuple(default_mask.shape)}, not {typed(self.mask)}"))
        return default_mask * self.mask.to(default_mask.dtype)
