"""Which public names of PyTorch and its tensors are here, and which are not, with the share.

``python -m benchmarks.names`` prints it; names of which there is nothing to say without other
devices, scripts or quantized tensors (their hint says "nothing") are counted apart.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from typing import Any

import agnesi as ag
from agnesi.core.support import migration_hints

torch: Any = importlib.import_module("torch")
SPACES = {
    "torch": (torch, ag, "module 'agnesi'"), "torch.Tensor": (torch.Tensor, ag.Tensor, "Tensor"),
    "torch.distributions": (torch.distributions, ag.distributions, ""),
}


def names(space: Any) -> list[str]:
    """Public names, but for modules."""
    return [n for n in dir(space)
            if n[0] != "_" and not inspect.ismodule(getattr(space, n, None))]


def there(ours: Any, name: str) -> bool:
    """Whether a name is here; one that only tells what to use is not."""
    return name in dir(ours)


def main() -> None:
    """Print the shares and what is missing."""
    for title, (theirs, ours, owner) in SPACES.items():
        wanted = names(theirs)
        missing = [n for n in wanted if not there(ours, n)]
        void = [n for n in missing if "use nothing" in migration_hints.hint(owner, n)]
        left = [n for n in missing if n not in void]
        found, counted = len(wanted) - len(missing), len(wanted) - len(void)
        print(f"{title}: {found} of {len(wanted)} names; without the {len(void)} that mean nothing "
              f"here {100 * found / counted:.1f} %; missing:")
        print(textwrap.fill(" ".join(left), 100, initial_indent="  ", subsequent_indent="  "))


if __name__ == "__main__":
    main()
