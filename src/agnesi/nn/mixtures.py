"""Layers made of several: maxout, inception, and experts that a gate chooses from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.containers import ModuleList
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.functional import max_pool2d, relu, softmax
from agnesi.nn.layers.convs import Conv2d
from agnesi.nn.layers.linear import Linear
from agnesi.ops.base.compare import greater_equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.select import where
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.sorting.sort import sort


class Maxout(Module):
    """The greatest of several linear maps (Goodfellow et al., 2013).

    Parameters
    ----------
    in_features, out_features : int
        Features of the input and of the result.
    num_pieces : int
        Of how many maps the greatest is taken.
    bias : bool
        Whether the maps have biases.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    linear : Linear
        All maps.

    See Also
    --------
    nn.Linear, nn.ReLU

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Maxout(3, 2, 4)(ag.ones((5, 3))).shape
    (5, 2)
    """

    _rules = rules("out_features num_pieces")

    def __init__(self, in_features: Count, out_features: Count, num_pieces: Count,
                 bias: bool = True, *, dtype: DTypeLike = None) -> None:
        self.out_features = size_of(self, out_features, "out_features")
        self.num_pieces = size_of(self, num_pieces, "num_pieces")
        self.linear = Linear(in_features, out_features * num_pieces, bias, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        pieces = self.linear(x)
        shape = (*pieces.shape[:-1], self.out_features, self.num_pieces)
        return greatest(reshape(pieces, shape), -1)

    def extra_repr(self) -> str:
        return f"{self.out_features}, num_pieces={self.num_pieces}"


class Inception(Module):
    """Four branches of convolutions side by side, as in GoogLeNet (Szegedy et al., 2014).

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out1 : int
        Of the convolution of size 1.
    proj3, out3 : int
        Of the projection and the convolution of size 3.
    proj5, out5 : int
        Of the projection and the convolution of size 5.
    proj_pool : int
        Of the projection behind the pool.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    conv1, proj3, conv3, proj5, conv5, projp : Conv2d
        The convolutions.

    See Also
    --------
    nn.Concat, nn.Conv2d

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Inception(8, 4, 3, 6, 2, 5, 7)(ag.ones((1, 8, 5, 5))).shape
    (1, 22, 5, 5)
    """

    def __init__(self, in_channels: Count, out1: Count, proj3: Count, out3: Count, proj5: Count,
                 out5: Count, proj_pool: Count, *, dtype: DTypeLike = None) -> None:
        self.conv1 = Conv2d(in_channels, out1, 1, dtype=dtype)
        self.proj3 = Conv2d(in_channels, proj3, 1, dtype=dtype)
        self.conv3 = Conv2d(proj3, out3, 3, padding=1, dtype=dtype)
        self.proj5 = Conv2d(in_channels, proj5, 1, dtype=dtype)
        self.conv5 = Conv2d(proj5, out5, 5, padding=2, dtype=dtype)
        self.projp = Conv2d(in_channels, proj_pool, 1, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.conv1(x), self.conv3(relu(self.proj3(x))), self.conv5(relu(self.proj5(x))),
            self.projp(max_pool2d(x, 3, stride=1, padding=1)),
        ]
        return relu(concat(branches, 1))


class MixtureOfExperts(Module):
    """Experts whose results are weighted by a gate, which may choose a few for each row.

    All experts see all rows, so that sizes do not depend on values; rows count only where the gate
    chose (Shazeer et al., 2017).

    Parameters
    ----------
    experts : iterable of Module
        From (..., in_features) to results of one shape.
    in_features : int
        Features of the input.
    top_k : int, optional
        How many experts a row gets; all by default.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    experts : ModuleList
        The experts.
    gate : Linear
        The scores of experts.

    Raises
    ------
    ValueError
        If ``top_k`` is not between 1 and the number of experts.

    See Also
    --------
    nn.ConcatTable

    Examples
    --------
    >>> import agnesi as ag
    >>> net = ag.nn.MixtureOfExperts([ag.nn.Linear(3, 2) for _ in range(4)], 3, top_k=2)
    >>> net(ag.ones((5, 3))).shape, net.balance(ag.ones((5, 3))).shape
    ((5, 2), ())
    """

    def __init__(self, experts: Iterable[Module], in_features: Count, top_k: Count | None = None, *,
                 dtype: DTypeLike = None) -> None:
        self.experts = ModuleList(experts)
        count = len(self.experts)
        self.top_k = count if top_k is None else top_k
        if not 1 <= self.top_k <= count:
            raise ValueError(at(f"MixtureOfExperts: top_k must be between 1 and {count}, the "
                                f"number of experts, not {top_k}"))
        self.gate = Linear(in_features, count, False, dtype=dtype)

    def weights(self, x: Tensor) -> Tensor:
        """How much each expert counts; 0 where it is not chosen.

        :param x: (..., in_features).
        :returns: (..., experts); the sum of each row is 1.
        """
        scores = self.gate(x)
        if self.top_k < len(self.experts):
            least = sort(scores.detach(), -1)[..., -self.top_k]
            scores = where(greater_equal(scores, expand_dims(least, -1)), scores, -float("inf"))
        return softmax(scores, -1)

    def forward(self, x: Tensor) -> Tensor:
        x = as_tensor(x)
        weights = self.weights(x)
        results = [expert(x) for expert in self.experts]
        if any(y.ndim != x.ndim for y in results):
            raise ShapeError(at(f"MixtureOfExperts: experts must give as many axes as {typed(x)} "
                                f"has, not {typed(results)}"))
        return sum_of(stack(results, -1) * expand_dims(weights, -2), -1)

    def balance(self, x: Tensor) -> Tensor:
        """Return the load-balancing loss that gives experts equal shares of rows (Fedus et al.,
        2021).

        :param x: (..., in_features).
        :returns: A number: 1 for equal shares, and larger otherwise.
        """
        count = len(self.experts)
        weights = reshape(self.weights(x), (-1, count))
        hopes: Any = mean(reshape(softmax(self.gate(x), -1), (-1, count)), 0)
        chosen = mean(cast(weights > 0, weights.dtype), 0) / self.top_k
        return count * sum_of(hopes * chosen.detach())

    def extra_repr(self) -> str:
        return f"top_k={self.top_k}"
