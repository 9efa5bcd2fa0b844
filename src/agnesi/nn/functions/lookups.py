"""Rows of a table by number, which are made as short as they may be where they are used."""

from __future__ import annotations

from agnesi.autodiff.recording import no_grad
from agnesi.core.options import NotNegativeBound, Order
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import where
from agnesi.ops.neural import embedding as lookups
from agnesi.ops.numerics.bags import bags
from agnesi.ops.reductions.vector_norms import norm


@planned
@public
def embedding(input: TensorLike, weight: TensorLike, padding_idx: int | None = None,
              max_norm: NotNegativeBound | None = None, norm_type: Order = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False, *,
              out: Tensor | None = None) -> Tensor:
    """Rows of ``weight`` by number (PyTorch's); its gradient adds up in the rows that were used.

    :param input: Numbers of rows, from 0.
    :type input: array_like of int
    :param weight: The table, of shape (rows, features).
    :param padding_idx: A row that gets no gradient.
    :param max_norm: The greatest norm of a row; longer ones that are used are made as short first,
        in ``weight``.
    :param norm_type: Of that norm.
    :param scale_grad_by_freq: Whether ``backward`` divides the gradient of a row by how often it is
        among ``input``.
    :param sparse: Whether ``backward`` gives the table a sparse gradient, of the rows in use, which
        :class:`agnesi.optim.SparseAdam`, ``SGD`` and ``Adagrad`` take.
    :returns: Of the shape of ``input`` and (features,).
    :raises IndexError: If there is no such row; in compiled code too; or ``padding_idx`` is
        none.
    :raises DTypeError: If numbers of rows are not integers.
    :raises ShapeError: If ``weight`` is no matrix.
    :see: nn.Embedding, nn.functional.embedding_bag, take

    >>> table = ag.tensor([[0.0, 1.0], [2.0, 3.0]])
    >>> ag.nn.functional.embedding(ag.tensor([1, 1, 0]), table)
    tensor([[2., 3.],
            [2., 3.],
            [0., 1.]])
    """
    if max_norm is not None:
        weight = as_tensor(weight)
        shorten(weight, as_tensor(input), max_norm, norm_type)
    return lookups.embedding(input, weight, padding_idx, sparse=sparse,
                             scale_grad_by_freq=scale_grad_by_freq)


@public
def embedding_bag(ids: TensorLike, weight: TensorLike, offsets: TensorLike | None = None, *,
                  mode: str = "mean", per_sample_weights: TensorLike | None = None,
                  padding_idx: int | None = None, sparse: bool = False,
                  scale_grad_by_freq: bool = False, include_last_offset: bool = False,
                  max_norm: NotNegativeBound | None = None, norm_type: Order = 2.0,
                  out: Tensor | None = None) -> Tensor:
    """The mean, sum or maximum of the rows of ``weight`` in each bag (PyTorch's).

    :param ids: Numbers of rows: a bag in each row, or, with ``offsets``, all bags one behind the
        other.
    :type ids: array_like of int
    :param weight: The table, of shape (rows, features).
    :param offsets: Where each bag begins in ``ids``; the first at 0.
    :type offsets: array_like of int, optional
    :param mode: What becomes of the rows of a bag.
    :type mode: {"mean", "sum", "max"}
    :param per_sample_weights: With "sum", a factor for each of ``ids``.
    :param padding_idx: A row that does not count, with which bags of unequal sizes are filled up.
    :param sparse: Whether ``backward`` gives the table a sparse gradient, as in
        :func:`agnesi.nn.functional.embedding`.
    :param scale_grad_by_freq: Whether the gradient of a row is divided by how often it is among
        ``ids``.
    :param include_last_offset: Whether ``offsets`` end with the number of ``ids``.
    :param max_norm: The greatest norm of a row; longer ones that are used are made as short first,
        in place.
    :param norm_type: Which norm.
    :returns: Of shape (bags, features); 0 for what is empty.
    :raises ShapeError: If ``ids`` have not one axis with ``offsets`` and two without.
    :raises ValueError: If ``offsets`` do not begin with 0 or fall, or ways do not go together.
    :see: nn.EmbeddingBag, nn.functional.embedding

    >>> table = ag.tensor([[0.0, 1.0], [2.0, 3.0]])
    >>> ag.nn.functional.embedding_bag([[0, 1], [1, 1]], table)
    tensor([[1., 2.],
            [2., 3.]])
    >>> ag.nn.functional.embedding_bag([0, 1, 1], table, [0, 1], mode="sum")
    tensor([[0., 1.],
            [4., 6.]])
    """
    if max_norm is not None:
        weight = as_tensor(weight)
        shorten(weight, as_tensor(ids), max_norm, norm_type)
    return bags(ids, as_tensor(weight), offsets, mode=mode, per_sample_weights=per_sample_weights,
                padding_idx=padding_idx, sparse=sparse, scale_grad_by_freq=scale_grad_by_freq,
                include_last_offset=include_last_offset)


def shorten(weight: Tensor, indices: Tensor, most: float, degree: float) -> None:
    """Make rows that are used and too long as short as they may be, in place."""
    with no_grad():
        used = lookups.embedding(indices, weight)
        lengths = norm(used, degree, axis=-1, keepdims=True)
        weight[indices] = used * where(lengths > most, most / (lengths + 1e-7), 1)
