"""Every name that PyTorch and agnesi share, called alike.

The answers are in ``tests/api/names/shared_calls.txt``; ``python -m
benchmarks.tests.test_shared_calls`` writes that file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import agnesi as ag
from tests.api.names import shared

torch = pytest.importorskip("torch")
FILE = Path(__file__).parents[2] / "tests/api/names/shared_calls.txt"


def lines() -> list[str]:
    """A line for each name: whose, its name, and what becomes of its forms."""
    found = []
    for library, space, method in ((torch, torch, False), (torch, torch.Tensor, True),
                                   (np, np, False), (np, np.ndarray, True)):
        ours = ag.Tensor if method else ag
        make = torch.tensor if library is torch else np.array
        owner = library.__name__ + (".x" if method else "")
        found += [f"{owner} {name} {kinds}" for name, kinds in shared.kinds(
            space, ours, make, library, method)]
    return found


@pytest.mark.filterwarnings("ignore")
def test_the_table_is_what_is_found() -> None:
    assert lines() == FILE.read_text().splitlines()


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n")
