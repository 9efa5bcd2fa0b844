"""``reset_parameters``: layers whose weights start again, as PyTorch's do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.core.tensor import Tensor


class Renewed:
    """Base of layers with parameters, beside Module."""

    def reset_parameters(self) -> None:
        """Draw new initial values for parameters, and begin running statistics again, in place.

        Layers inside are left as they are.
        """
        made = import_module("agnesi.nn.configs").again(self)
        with no_grad():
            for name, value in vars(made).items():
                mine: Any = getattr(self, name, None)
                if isinstance(value, Tensor) and isinstance(mine, Tensor):
                    mine.copy_(value)


class Tracked(Renewed):
    """Base of layers with running statistics."""

    running_mean: Tensor | None
    running_var: Tensor | None

    def reset_running_stats(self) -> None:
        """Begin running means and variances again, in place: 0 and 1."""
        with no_grad():
            for name, value in (("running_mean", 0), ("running_var", 1),
                                ("num_batches_tracked", 0)):
                held = getattr(self, name, None)
                if held is not None:
                    held.copy_(value)
