"""Recipes as bytes, and what a second process loads."""

import subprocess
import sys

import numpy as np
import pytest

from agnesi.compiler.compilation.artifact import Recipe

PROGRAM = """
import sys
import numpy as np
import agnesi as ag
f = ag.jit(lambda x: (x @ ag.tensor([[1.0, 2.0], [3.0, 4.0]])).tanh().sum())
assert abs(float(f(ag.ones((3, 2)))) - 3 * np.tanh([4.0, 6.0]).sum()) < 1e-5
print(*(m for m in sys.argv[1:] if m in sys.modules))
"""


@pytest.mark.parametrize(
    "constant",
    [np.zeros((0, 3), "float32"), np.array(True), np.arange(6, dtype="complex128").reshape(2, 3)],
    ids=["empty", "bool", "complex"],
)
def test_recipes_come_back(constant):
    recipe = Recipe("key", "text", [1], [constant, np.arange(3)], [0], {1: 0}, 5, True, optimize=0)
    found = Recipe.unpacked(recipe.packed())
    assert (found.text, found.states, found.reused, found.optimize) == ("text", [1], {1: 0}, 0)
    for one, other in zip(recipe.constants, found.constants, strict=True):
        assert one.dtype == other.dtype and other.flags.writeable
        np.testing.assert_array_equal(one, other)


def test_a_second_process_loads_little(tmp_path, monkeypatch):
    monkeypatch.setenv("AGNESI_CACHE_DIR", str(tmp_path))
    heavy = ("agnesi.rewrite", "agnesi.schedule.passes", "agnesi.codegen.program",
             "agnesi.runtime.llvm_api", "zipfile")
    told = [
        subprocess.run([sys.executable, "-c", PROGRAM, *heavy], capture_output=True, text=True,
                       check=True).stdout.split()
        for _ in range(2)
    ]
    assert "agnesi.runtime.llvm_api" in told[0] and not told[1]
