"""Optimizers that see more than single elements of a parameter: Adafactor, Muon, SparseAdam."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from agnesi.core.op import typed
from agnesi.core.options import Decay, NotNegative, Positive, Size
from agnesi.core.support import dtypes
from agnesi.core.support.errors import at
from agnesi.core.tensor import wrap
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.movement import swapaxes
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.reductions.vector_norms import norm
from agnesi.ops.sparse.coordinates import COO
from agnesi.optim.adam import Adam, two_betas
from agnesi.optim.decay import Decaying
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper


class Adafactor(Decaying):
    """Adafactor: mean squares of matrices as a product of rows and columns (Shazeer, 2018).

    :param lr: The largest step, relative to the parameter's root mean square.
    :param beta2_decay: Power of the step's number that is the share of new squares in the mean.
    :param eps: The least mean square's root, by default that of the dtype, and the least root mean
        square of a parameter.
    :type eps: tuple of (float or None, float)
    :param d: The largest root mean square of a step before it is scaled.
    :param weight_decay: Share of ``lr`` by which parameters shrink in a step.
    :raises TypeError: If a parameter is complex, or no tensor that requires grad.
    :raises ValueError: If a number is out of its range.
    :see: optim.Adam, optim.Muon

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adafactor([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_names = ("rows", "columns")
    slot_words: Mapping[str, str] = {"rows": "row_var", "columns": "col_var"}

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[NotNegative | None, NotNegative] = (None, 1e-3), d: Positive = 1.0,
                 weight_decay: NotNegative = 0.0, *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize,
                         decoupled=True)
        for p in self.own_parameters:
            if p.dtype.kind == "c":
                raise TypeError(at(f"Adafactor: parameters are real, not {typed(p)}"))
        if d < 1.0:
            raise ValueError(at(f"Adafactor: d must be at least 1, not {d}"))
        self.eps: tuple[float | None, float] = (eps[0], float(eps[1]))
        self.beta2_decay, self.d = float(beta2_decay), float(d)
        self._steps = wrap(np.array(0))

    def slot_word(self, name: str, p: Any) -> str:
        return super().slot_word(name, p) if p.ndim > 1 else "variance"

    def slot_shape(self, name: str, p: Any) -> tuple[int, ...]:
        if p.ndim < 2:
            return tuple(p.shape) if name == "rows" else (0,)
        return (*p.shape[:-1], 1) if name == "rows" else (*p.shape[:-2], 1, p.shape[-1])

    def begin(self) -> tuple[Any, ...]:
        """The share of new squares, and the step's relative size.

        :returns: Two float64 numbers.
        """
        steps: Any = self._steps
        t = steps.add_(1).astype("float64")
        return t**self.beta2_decay, minimum(self.lr, 1 / sqrt(t))

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        rows, columns, share, relative = rest
        share, relative = share.astype(p.dtype), relative.astype(p.dtype)
        least = float(dtypes.limits(p.dtype).eps) if self.eps[0] is None else float(self.eps[0])
        far = 1 / math.sqrt(max(p.size, 1))
        size = maximum(norm(p) * far, self.eps[1]) * relative
        g = self.slope(p, g)
        squares = g * g
        if p.ndim > 1:
            rows.add_(share * (mean(squares, -1, keepdims=True) - rows))
            columns.add_(share * (mean(squares, -2, keepdims=True) - columns))
            expected = rows * columns / maximum(mean(rows, -2, keepdims=True), least)
        else:
            expected = rows.add_(share * (squares - rows))
        step = g / sqrt(maximum(expected, least * least))
        p.sub_(size / maximum(norm(step) * far / self.d, 1.0) * step)


class Muon(Decaying):
    """Muon: steps of matrices with all singular values near 1 (Jordan et al., 2024).

    The polynomial is applied in the parameters' dtype; PyTorch applies the same one in bfloat16,
    whose steps differ from these by that rounding.

    :param parameters: Matrices, or groups of them with options of their own; embeddings and vectors
        are for another optimizer.
    :param weight_decay: Share of ``lr`` by which parameters shrink in a step.
    :param momentum: How much is kept of the running mean of gradients.
    :param nesterov: Whether to look ahead along the momentum.
    :param ns_coefficients: Of the polynomial that brings singular values towards 1.
    :type ns_coefficients: tuple of float
    :param eps: The least norm that the mean is divided by.
    :param ns_steps: How often the polynomial is applied.
    :param adjust_lr_fn: How the rate follows the matrix's shape: by the root of its ratio, as by
        default, or of its longer side.
    :raises ValueError: If a parameter is no matrix, or a number out of its range.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.SGD, optim.Adafactor

    >>> w = ag.tensor([[1.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> optimizer = ag.optim.Muon([w], lr=0.5, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool(w[1, 1] < 2)
    True
    """

    slot_names = ("momentum",)
    momentum = Hyper()

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 weight_decay: NotNegative = 0.1, momentum: NotNegative = 0.95,
                 nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: NotNegative = 1e-7, ns_steps: Size = 5,
                 adjust_lr_fn: Literal["original", "match_rms_adamw"] | None = None) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, decoupled=True)
        for p in self.own_parameters:
            if p.ndim != 2 or p.dtype.kind == "c":
                raise ValueError(at(f"Muon: parameters are real matrices, not {typed(p)}: give "
                                    "others to another optimizer"))
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(at(f"Muon: there is no adjust_lr_fn {adjust_lr_fn!r}"))
        self.momentum, self.nesterov = momentum, nesterov
        self.ns_coefficients, self.ns_steps = tuple(ns_coefficients), ns_steps
        self.eps, self.adjust_lr_fn = float(eps), adjust_lr_fn

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        (v,) = rest
        g = self.slope(p, g)
        v.add_((1 - self.momentum) * (g - v))
        step = g + self.momentum * (v - g) if self.nesterov else v
        down, across = p.shape
        factor = (0.2 * math.sqrt(max(down, across)) if self.adjust_lr_fn == "match_rms_adamw"
                  else math.sqrt(max(1.0, down / across)))
        p.sub_(self.lr * factor * self._levelled(step))

    def _levelled(self, g: Any) -> Any:
        """A matrix of the same singular vectors whose singular values are near 1."""
        a, b, c = self.ns_coefficients
        tall = g.shape[0] > g.shape[1]
        x = swapaxes(g, 0, 1) if tall else g
        x = x / maximum(norm(x), self.eps)
        for _ in range(self.ns_steps):
            gram = matmul(x, swapaxes(x, 0, 1))
            x = a * x + matmul(b * gram + c * matmul(gram, gram), x)
        return swapaxes(x, 0, 1) if tall else x


class SparseAdam(Adam):
    """Adam in which only rows with a gradient change, means included (Kingma and Ba, 2015).

    Sparse gradients (``nn.Embedding(..., sparse=True)``) name these rows, and a step takes no
    longer for a larger table.  In dense ones a row has no gradient where it is 0 throughout, as
    that of an embedding's row that no id of the batch names.

    :param betas: How much is kept of the running means of gradient and squared gradient.
    :param eps: Added to the root of the mean square.
    :raises ValueError: If ``betas`` are not two numbers.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.Adam, nn.Embedding

    >>> table = ag.ones((3, 2), requires_grad=True)
    >>> optimizer = ag.optim.SparseAdam([table], lr=0.5)
    >>> ag.nn.functional.embedding([1], table).sum().backward()
    >>> optimizer.step()
    >>> table.detach().round(3)
    tensor([[1. , 1. ],
            [0.5, 0.5],
            [1. , 1. ]])
    """

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=two_betas(self, betas), eps=eps, maximize=maximize)

    def begin(self) -> tuple[Any, ...]:
        size, root = super().begin()
        return (size * root,)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        average, square, size = rest
        g = self.slope(p, g)
        inner = tuple(range(1, p.ndim))
        touched = any_of(g != 0, inner, keepdims=True) if inner else g != 0
        average.add_(where(touched, (1 - self.beta1) * (g - average), 0.0))
        square.add_(where(touched, (1 - self.beta2) * (g * g - square), 0.0))
        step = size.astype(p.dtype) * average / (sqrt(square) + self.eps)
        p.sub_(where(touched, step, 0.0))

    def update_rows(self, p: Any, g: COO, *rest: Any) -> None:
        average, square, size = rest
        rows, slopes = self.row_slopes(g)
        old, spread = average[rows], square[rows]
        mean = old + (1 - self.beta1) * (slopes - old)
        spread = spread + (1 - self.beta2) * (slopes * slopes - spread)
        average[rows], square[rows] = mean, spread
        p[rows] = p[rows] - size.astype(p.dtype) * mean / (sqrt(spread) + self.eps)
