"""Results of two branches that differ in size: both are filled up to the greater one, and what was
filled up is left out behind the branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core.ir.dims import combine, is_open, leaves, resolve
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled
from agnesi.ops.base.select import where
from agnesi.ops.indexing.join import concat

#: Values of unknown sizes at which two sizes are compared.
_TRIED = (1009, 10007, 100003)


def _same(m: Any, n: Any) -> bool:
    """Whether two sizes are one, however they are written."""
    if m == n or not (is_open(m) or is_open(n)):
        return bool(m == n)
    unknown = list(dict.fromkeys((*leaves(m), *leaves(n))))
    tried = [{d: k * (i + 2) + i for i, d in enumerate(unknown)} for k in _TRIED]
    try:
        return all(resolve(m, known) == resolve(n, known) for known in tried)
    except ShapeError:  # a size that exists only where others are equal: nothing is known of it
        return False


class Filled:
    """Pairs of results, of which those of one rank may have any sizes.

    :ivar sizes: Of each pair, the two sizes along each axis where they differ.
    """

    def __init__(self, first: Sequence[Any], second: Sequence[Any]) -> None:
        self.sizes = [self._differing(x, y) for x, y in zip(first, second, strict=True)]

    @staticmethod
    def _differing(x: Any, y: Any) -> dict[int, tuple[Any, Any]]:
        if not (isinstance(x, Tensor) and isinstance(y, Tensor) and x.ndim == y.ndim):
            return {}
        pairs = enumerate(zip(x.shape, y.shape, strict=True))
        return {k: pair for k, pair in pairs if not _same(*pair)}

    def up(self, values: Sequence[Any], within: Callable[[], Any]) -> list[Any]:
        """Results of one branch, those of any size filled up with zeros; ``within`` its trace."""
        return [self._up(x, sizes, within) if sizes else x
                for x, sizes in zip(values, self.sizes, strict=True)]

    @staticmethod
    def _up(x: Tensor, sizes: dict[int, tuple[Any, Any]], within: Callable[[], Any]) -> Tensor:
        with within():
            for k, pair in sizes.items():
                more = combine("-", combine("max", *pair), x.shape[k])
                x = concat([x, filled((*x.shape[:k], more, *x.shape[k + 1:]), 0, x.dtype)], k)
            return x

    def cut(self, found: Sequence[Tensor], chosen: Tensor) -> list[Tensor]:
        """The results without what was filled up."""
        return [self._cut(x, sizes, chosen) if sizes else x
                for x, sizes in zip(found, self.sizes, strict=True)]

    @staticmethod
    def _cut(x: Tensor, sizes: dict[int, tuple[Any, Any]], chosen: Tensor) -> Tensor:
        ends = {k: where(chosen, *map(as_tensor, pair)) for k, pair in sizes.items()}
        return x[tuple([slice(ends.get(k)) for k in range(x.ndim)])]
