"""Programs that Torch7's libraries were made for: sparse codes, MATLAB's files, spanning trees."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from agnesi import nn

EXAMPLES = str(Path(__file__).parents[2] / "examples")


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)

    def load(name):
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    return load


def test_planted_atoms_are_found(example, capsys):
    coding = example("sparse_coding")
    found, left = coding.main(1000, 40)
    assert found >= coding.ATOMS - 1 and left < 0.1
    assert f"of {coding.ATOMS} atoms found" in capsys.readouterr().out


def test_codes_are_those_of_the_lasso(example):
    coding = example("sparse_coding")
    atoms, x = coding.planted(5, seed=3)
    codes = np.asarray(coding.encode(x, atoms))
    slope = (codes @ atoms - x) @ atoms.T  # the conditions of the optimum
    assert np.all(np.abs(slope) <= coding.PENALTY + 0.02)
    used = np.abs(codes) > 1e-3
    assert np.allclose(slope[used], -coding.PENALTY * np.sign(codes[used]), atol=0.02)
    assert used.sum() < codes.size / 2


def test_weights_go_to_matlab_and_back(example, tmp_path, capsys):
    files = example("matlab_files")
    path = tmp_path / "n.mat"
    assert files.main(str(path)) < 0.01 and "results are the same" in capsys.readouterr().out
    model = files.Network()
    rest = files.load(path, model)
    assert set(rest) == {"x", "y"} and rest["x"].shape == (200, 2)
    struct = scipy.io.loadmat(path, simplify_cells=True)["model"]
    assert np.array_equal(struct["hidden_weight"], model.hidden.weight.array)
    scipy.io.savemat(path, {"model": {"weight": 2.0 * np.eye(2), "bias": [[1.0, 2]]}})
    linear = nn.Linear(2, 2)  # a file that another program wrote, in its own shapes and dtype
    files.load(path, linear)
    assert np.array_equal(linear(np.ones((1, 2), np.float32)).numpy(), [[3, 4]])


def test_discs_are_cut_out(example, tmp_path, capsys):
    segmentation = example("segmentation")
    picture, truth = segmentation.scene()
    numbers = segmentation.segment(picture)
    assert numbers.max() == 2
    for part in range(3):
        assert len(np.unique(numbers[(truth == part)])) == 1
    assert segmentation.main() == 3
    assert capsys.readouterr().out.startswith("3 parts of ")


def test_parts_are_those_of_the_minimum_spanning_tree(example):
    segmentation = example("segmentation")
    rng = np.random.default_rng(2)
    picture = rng.random((3, 5, 6)).astype(np.float32)
    first, second, weight = segmentation.edges(picture)
    parts = segmentation.Parts(30)
    total = 0.0
    for a, b, w in zip(first.tolist(), second.tolist(), weight.tolist(), strict=True):
        a, b = parts.find(a), parts.find(b)
        if a != b:
            parts.join(a, b, w)
            total += w
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = minimum_spanning_tree(coo_matrix((weight.astype(float), (first, second)), (30, 30)))
    assert np.isclose(total, tree.sum(), rtol=1e-5)
    assert segmentation.segment(picture, 1e9, 1).max() == 0
