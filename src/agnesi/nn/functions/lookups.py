"""Rows of a table by number, which are made as short as they may be where they are used."""

from __future__ import annotations

from agnesi.autodiff.recording import no_grad
from agnesi.core.accepted import TensorLike
from agnesi.core.options import NotNegativeBound, Order
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import where
from agnesi.ops.neural import embedding as lookups
from agnesi.ops.reductions.vectornorms import norm


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
    :raises IndexError: If there is no such row; compiled code tells so too; or ``padding_idx`` is
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


def shorten(weight: Tensor, indices: Tensor, most: float, degree: float) -> None:
    """Make rows that are used and too long as short as they may be, in place."""
    with no_grad():
        used = lookups.embedding(indices, weight)
        lengths = norm(used, degree, axis=-1, keepdims=True)
        weight[indices] = used * where(lengths > most, most / (lengths + 1e-7), 1)
