"""Names that are NumPy's or PyTorch's, too, called alike: the same answer, or an error.

``shared_calls.txt`` holds what becomes of each form; ``benchmarks/tests/test_shared_calls.py``
compares with PyTorch and writes it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import agnesi as ag
from agnesi.core.calls import watched
from tests.api.names import shared

ROOT = Path(__file__).parents[3]
LINES = [line.split() for line in
         (ROOT / "tests/api/names/shared_calls.txt").read_text(encoding="utf-8").splitlines()]
#: Answers that are not NumPy's, and why.
NOT_NUMPYS = {
    **dict.fromkeys("argsort cumprod cumsum nancumprod nancumsum".split(),
                    "PyTorch's: what is found of a number is a number, no vector of one"),
    "diff": "a list without differences stays a list there", "trim_zeros": "so does one of numbers",
    "polyint": "a scalar is a polynomial of one coefficient, in a vector",
    "reciprocal": "PyTorch's: integers become floats", "unique_values": "any order is right there",
}
#: Answers that are not PyTorch's, and why.
NOT_PYTORCHS = {"lu": "pivots count from 0, as SciPy's: linalg.lu_factor gives them to lu_unpack",
                "unique_consecutive": "return_inverse by place gives an empty tensor there"}
#: PyTorch gives another answer, NumPy this one: the page for newcomers says so.
NUMPYS = {name for owner, name, kinds in LINES if owner.startswith("torch") and "n" in kinds}


def _rows() -> list[list[str]]:
    text = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    part = text[text.index("What both libraries write"):]
    table = re.findall(r"^\| (`.*?) \|", part[:part.index("\n\n", part.index("| call"))], re.M)
    return [re.findall(r"`(?:ag|x)\.(\w+)", row) for row in table]


def test_the_table_holds_what_is_shared() -> None:
    assert len(LINES) > 800
    for library, known in (("torch", NOT_PYTORCHS), ("numpy", NOT_NUMPYS)):
        assert {n for owner, n, kinds in LINES
                if owner.startswith(library) and "!" in kinds} == set(known)


def test_pivots_are_those_of_scipy() -> None:
    a = ag.tensor([[1.0, 2.0], [2.0, 8.0]])
    for factors in (ag.lu(a), a.lu(), ag.linalg.lu_factor(a)):
        assert factors[1].tolist() == scipy.linalg.lu_factor(a.numpy())[1].tolist() == [1, 1]
        for unpack in (ag.lu_unpack, ag.linalg.lu_unpack):
            p, low, up = unpack(*factors)
            assert (p @ low @ up).tolist() == a.tolist()


def test_what_is_numpys_and_not_pytorchs_is_listed() -> None:
    rows = _rows()
    assert sorted(name for row in rows for name in row) == sorted(NUMPYS)
    assert len(NUMPYS) <= 15
    assert NUMPYS - {"equal"} == set(watched.WATCHED)


@pytest.mark.share(4)
@pytest.mark.parametrize("owner", ["numpy", "numpy.x", "torch", "torch.x"])
def test_calls_become_what_the_table_says(owner: str) -> None:
    method = owner.endswith(".x")
    assert [n for where, n, _ in LINES if where == owner] == sorted(
        n for where, n, _ in LINES if where == owner)
    for where, name, kinds in LINES:
        if where != owner:
            continue
        for call, kind in zip(shared.forms(name, method), kinds, strict=True):
            if kind == ".":
                continue
            mine = shared.answer(call, ag, ag.tensor)
            assert isinstance(mine, Exception) == (kind == "x"), (call, mine)
            if (owner.startswith("numpy") and kind == "=") or kind == "n":
                numpys = shared.answer(call, np, np.array)
                if isinstance(numpys, AttributeError):  # what later NumPys have no more
                    continue
                assert shared.same(mine[0], numpys[0]) and shared.same(mine[1], numpys[1]), call
