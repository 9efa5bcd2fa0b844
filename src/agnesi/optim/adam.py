"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.core.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arith import sqrt
from agnesi.optim.hyper import Hyper
from agnesi.optim.optimizer import Optimizer


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    Parameters
    ----------
    parameters : iterable of Tensor
        What to optimise.
    lr : float
        Learning rate.
    betas : tuple of float
        How much is kept of the running means of gradient and squared gradient.
    eps : float
        Added to the root of the mean square.
    weight_decay : float
        Multiple of the parameter that is added to its gradient.

    Raises
    ------
    ValueError
        If ``betas`` are not two numbers.
    TypeError
        If a parameter is no tensor that requires grad.

    See Also
    --------
    optim.AdamW, optim.SGD, optim.lr_scheduler.CosineAnnealingLR

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5...], requires_grad=True)
    """

    slot_names = ("mean", "mean_square")
    beta1 = Hyper(below=1.0)
    beta2 = Hyper(below=1.0)
    eps = Hyper()
    weight_decay = Hyper(optional=True)

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, *,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ValueError(at(f"{type(self).__name__}: betas must be two numbers, not {betas!r}"))
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.decays = weight_decay != 0
        self._steps = wrap(np.array(0))

    def begin(self) -> tuple[Any, ...]:
        """The step's size and the root of the second mean's correction, in double precision.

        Returns
        -------
        tuple
            Two float64 numbers.
        """
        steps: Any = self._steps
        t = steps.add_(1).astype("float64")
        return self.lr / (1 - self.beta1**t), sqrt(1 - self.beta2**t)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, square, size, root = rest
        g = self.decay(p, g)
        mean.add_((1 - self.beta1) * (g - mean))
        square.add_((1 - self.beta2) * (g * g - square))
        scale = sqrt(square) / root.astype(p.dtype) + self.eps
        p.sub_(size.astype(p.dtype) * mean / scale)

    def decay(self, p: Any, g: Any) -> Any:
        """The gradient with weight decay.

        Parameters
        ----------
        p : Tensor
            The parameter.
        g : Tensor
            Its gradient.

        Returns
        -------
        Tensor
            The gradient to go on with.
        """
        return g + self.weight_decay * p if self.decays else g


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2019).

    Parameters are those of :class:`Adam`; ``weight_decay`` is 0.01 by default.

    Parameters
    ----------
    parameters : iterable of Tensor
        What to optimise.
    lr : float
        Learning rate.
    betas : tuple of float
        How much is kept of the running means of gradient and squared gradient.
    eps : float
        Added to the root of the mean square.
    weight_decay : float
        Share of ``lr`` by which parameters shrink in a step, apart from the gradient.

    See Also
    --------
    optim.Adam, optim.SGD

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.AdamW([w], lr=0.5, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5...], requires_grad=True)
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, *,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def decay(self, p: Any, g: Any) -> Any:
        """Shrink the parameter; the gradient stays as it is.

        Parameters
        ----------
        p : Tensor
            The parameter.
        g : Tensor
            Its gradient.

        Returns
        -------
        Tensor
            The gradient to go on with.
        """
        if self.decays:
            p.mul_(1 - self.lr * self.weight_decay)
        return g
