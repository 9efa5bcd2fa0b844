"""Draws that every kind of stream makes of its own uniform and normal numbers, by NumPy's names."""

from __future__ import annotations

from typing import Any

from agnesi.api.streams.common import RandomVariable, Streams
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.indexing.index import take, take_along_axis


class Simple(Streams):
    """Methods of ``numpy.random.RandomState`` that are short for others."""

    #: Of each kind of streams: ``uniform(size, low, high, dtype)``, ``normal(size, avg, std,
    #: dtype)``, and the numbers below ``n`` in random order, ``permutation(size, n)``.
    uniform: Any
    normal: Any
    permutation: Any
    #: ``_distributed(name, size, params, dtype)`` draws from a distribution of NumPy's;
    #: ``_vectors(name, size, params, like, dtype=)`` draws vectors as long as ``like``.
    _distributed: Any
    _vectors: Any

    def random(self, size: ShapeLike = (), dtype: DTypeLike = None) -> RandomVariable:
        """Uniform numbers between 0 and 1.

        :param size: Shape of the draw.
        :type size: int, Dim or tuple, optional
        :param dtype: A float type; as for ``uniform`` by default.
        :returns: Its numbers are other ones in each call of a function.

        >>> import agnesi as ag
        >>> from agnesi import symbolic as T
        >>> ag.function([], T.RandomStreams(1).random((2, 3)))().shape
        (2, 3)
        """
        found: RandomVariable = self.uniform(size, dtype=dtype)
        return found

    def rand(self, *sizes: Any, dtype: DTypeLike = None) -> RandomVariable:
        """The same, with the sizes one by one.

        :like: Simple.random
        :param *sizes: Shape of the draw.
        :type *sizes: int or Dim
        """
        return self.random(sizes, dtype)

    def randn(self, *sizes: Any, dtype: DTypeLike = None) -> RandomVariable:
        """Numbers of the standard normal distribution, with the sizes one by one.

        :like: Simple.rand
        :param dtype: A float type; as for ``normal`` by default.
        """
        found: RandomVariable = self.normal(sizes, dtype=dtype)
        return found

    def shuffle(self, x: TensorLike) -> RandomVariable:
        """Return a new variable with the entries along the first axis in random order.

        :param x: With an axis at least.
        :returns: Of the same shape and dtype; its order is another one in each call of a function.
        :raises ShapeError: If it has no axis.

        >>> import agnesi as ag
        >>> from agnesi import symbolic as T
        >>> x = T.lvector("x")
        >>> f = ag.function([x], T.RandomStreams(1).shuffle(x))
        >>> sorted(f([5, 6, 7]).tolist())
        [5, 6, 7]
        """
        x = as_tensor(x)
        if not x.ndim:
            raise ShapeError(at(f"shuffle brings rows in another order, and {typed(x)} has none"))
        order = self.permutation((), x.shape[0])
        return self.seen(take(x, order, 0), order)

    def shuffle_row_elements(self, x: TensorLike) -> RandomVariable:
        """A matrix with the elements of each row in random order.

        :param x: A matrix.
        :returns: Of the same shape and dtype.
        """
        x = as_tensor(x)
        order = self.permutation(x.shape[:-1], x.shape[-1])
        return self.seen(take_along_axis(x, order, -1), order)

    def dirichlet(self, size: ShapeLike | None = None, alpha: TensorLike = (1.0, 1.0),
                  dtype: DTypeLike = None) -> RandomVariable:
        """Shares that sum to 1.

        :like: Simple.random
        :param alpha: The shapes, a vector.
        :param dtype: That of the result; by default what NumPy draws.
        """
        found: RandomVariable = self._vectors("dirichlet", size, (alpha,), alpha, dtype=dtype)
        return found

    def multivariate_normal(self, size: ShapeLike | None = None, mean: TensorLike = (0.0,),
                            cov: TensorLike = ((1.0,),),
                            dtype: DTypeLike = None) -> RandomVariable:
        """Normal vectors.

        :like: Simple.dirichlet
        :param mean: A vector.
        :param cov: A matrix of covariances.
        """
        found: RandomVariable = self._vectors(
            "multivariate_normal", size, (mean, cov), mean, dtype=dtype)
        return found

    def random_integers(self, size: ShapeLike | None = None, low: TensorLike = 0,
                        high: TensorLike = 1,
                        dtype: DTypeLike = None) -> RandomVariable:
        """Integers in [low, high], both included.

        :like: Simple.dirichlet
        :param low, high: The bounds.
        :type low, high: int or Tensor, optional
        """
        return self.randint(size, low, as_tensor(high) + 1, dtype)

    def randint(self, size: ShapeLike | None = None, low: TensorLike = 0,
                high: TensorLike | None = None,
                dtype: DTypeLike = None) -> RandomVariable:
        """Integers in [low, high), or in [0, low).

        :like: Simple.random_integers
        """
        params = (0, low) if high is None else (low, high)
        found: RandomVariable = self._distributed("randint", size, params, dtype)
        return found
