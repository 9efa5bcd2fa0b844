"""Calls that mean what they mean in PyTorch where a module writes agnesi as torch."""

import textwrap
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi.api.tensor.words import ANSWERS
from agnesi.core.calls.watched import REFUSED, WATCHED

X = ag.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
V = ag.tensor([4.0, 1.0, 0.0, 2.0])
#: What a call gives, in words that mean the same in every module.
SAME = {
    "torch.max(x, 1)": "x.max(dim=1)", "x.max(1)": "x.max(dim=1)", "x.min(0)": "x.min(dim=0)",
    "torch.min(x, -1, True)": "x.min(dim=-1, keepdim=True)", "torch.max(x)": "ag.amax(x)",
    "torch.max(x, 1, keepdim=True)": "x.max(dim=1, keepdim=True)",
    "torch.max(x, x * 0 + 2)": "ag.maximum(x, 2.0)",
    "torch.sort(x)": "x.sort(dim=-1)", "torch.sort(x, 0)": "x.sort(dim=0)",
    "x.sort(1, True)": "x.sort(dim=1, descending=True)",
    "torch.sort(v, descending=True)": "v.sort(dim=0, descending=True)",
    "torch.median(v)": "v.median()", "torch.median(x, 1)": "x.median(dim=1)",
    "torch.nanmedian(v)": "v.nanmedian()", "torch.nanmedian(x, 0)": "x.nanmedian(dim=0)",
    "x.std()": "x.std(correction=1)", "torch.var(x, 0)": "x.var(axis=0, correction=1)",
    "x.std(dim=1)": "x.std(axis=1, correction=1)", "x.var(0, False)": "x.var(axis=0, correction=0)",
    "x.std(1, keepdim=True)": "x.std(axis=1, correction=1, keepdims=True)",
    "x.var(dim=0, unbiased=False)": "x.var(axis=0, correction=0)",
    "torch.split(v, 3)": "v.split(3)", "torch.split(x, [1, 2], 1)": "x.split([1, 2], 1)",
    "torch.split(x, 2, dim=1)": "x.split(2, 1)", "x.repeat(2, 1)": "x.tile(2, 1)",
    "v.repeat(2)": "v.tile(2)", "v.repeat(2, 1)": "v.tile(2, 1)",
    "x.repeat((1, 2))": "x.tile(1, 2)",
    "v.repeat(x.shape)": "v.tile(2, 3)",
    "x.nonzero()": "ag.argwhere(x)", "torch.nonzero(v)": "ag.argwhere(v)",
    "torch.nonzero(v, as_tuple=True)": "(ag.argwhere(v)[:, 0],)",
    "torch.meshgrid(v, v + 9)": "ag.meshgrid(v, v + 9, indexing='ij')",
    "torch.meshgrid([v, v + 9])": "ag.meshgrid(v, v + 9, indexing='ij')",
    "torch.meshgrid([v, v], indexing='xy')": "ag.meshgrid(v, v)",
    "torch.logspace(0, 2, 3, 2)": "ag.logspace(0, 2, 3, base=2)",
    "torch.gradient(v)": "[ag.gradient(v, axis=0)]",
    "torch.gradient(x)": "[ag.gradient(x, axis=0), ag.gradient(x, axis=1)]",
    "torch.histogram(v)[0]": "ag.histogram(v, 100)[0] * 1.0",
    "torch.histogram(v, 4)[0]": "ag.histogram(v, 4)[0] * 1.0",
    "torch.triu_indices(3, 2)": "ag.stack(ag.triu_indices(3, m=2))",
    "torch.tril_indices(3, 3, -1)": "ag.stack(ag.tril_indices(3, k=-1))",
    "torch.tril_indices(row=2, col=3, offset=1)": "ag.stack(ag.tril_indices(2, k=1, m=3))",
    "torch.equal(x, x + 0)": "x.equal(x)", "torch.equal(x, v)": "ag.tensor(False)",
    "x.transpose(0, 1)": "x.T", "x.transpose(-1, -2)": "x.T",
    "v[(v > 1).byte()]": "v[v > 1]", "x[(x > 1).to(torch.uint8)]": "x[x > 1]",
    "x[0, (x[0] > 1).byte()]": "x[0, x[0] > 1]",
    "torch.where((v > 1).byte(), v, -v)": "ag.where(v > 1, v, -v)",
    "x.squeeze(1)": "x", "x[:, :1].squeeze(1)": "x[:, 0]", "torch.squeeze(x[:1])": "x[0]",
}


def run(text, name="torch", **names):
    module = types.ModuleType("program")
    module.__dict__.update({name: ag, **names})
    exec(compile(textwrap.dedent(text), "program.py", "exec"), module.__dict__)
    return module.__dict__


def values(found):
    return [values(f) for f in found] if isinstance(found, (list, tuple)) else (
        found.dtype, found.shape, found.tolist())


def same(a, b):
    return all(map(same, a, b)) if isinstance(a, list) else (
        a[:2] == b[:2] and np.allclose(a[2], b[2]))


@pytest.mark.parametrize("form", SAME)
def test_calls_are_pytorchs(form):
    expected = values(eval(SAME[form], {"ag": ag, "x": X, "v": V}))
    f = run(f"def f():\n    result = {form}\n    return result", x=X, v=V)["f"]
    for g in [f] * 12 + [ag.jit(f)]:  # of which the later ones are planned
        assert same(values(g()), expected)


def test_all_that_is_said_to_differ_is_answered():
    assert {*WATCHED, *REFUSED} <= ANSWERS.keys()


def test_other_modules_have_numpys_answers():
    program = """
        def f(x):
            return ag.max(x, 1), x.std(), x.repeat(2, 1), ag.split(x, 2), ag.nonzero(x)
    """
    run(program.replace("ag.", "torch."))["f"](X)
    for _ in range(12):
        top, std, each, parts, places = run(program, "ag")["f"](X)
        assert top.tolist() == [3.0, 5.0] and std.item() == pytest.approx(np.std(X.numpy()))
        assert each.shape == (2, 6) and len(parts) == 2 and isinstance(places, tuple)


def test_pairs_compile_and_have_gradients():
    f = run("def f(x):\n    pair = x.max(1)\n    return pair[0].sum(), pair.indices")["f"]
    x = ag.tensor([[3.0, 1.0], [0.0, 5.0], [2.0, 4.0]])
    value, places = ag.jit(f)(x)
    assert value.item() == 12.0 and places.tolist() == [0, 1, 1]
    assert ag.grad(lambda x: f(x)[0])(x).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(("rows", "text"), [(5, "too many values to unpack"),
                                            (1, "not enough values to unpack")])
def test_unpacked_rows_tell_of_the_pair(rows, text):
    x = ag.zeros((rows, 3))
    with pytest.raises(ValueError, match=text + r" \(expected 2\).*write x.max\(dim="):
        _, _ = ag.max(x, 1)


def test_tuples_that_are_no_shapes_are_data():
    assert ag.LongTensor((True, False)).tolist() == [1, 0]
    assert ag.FloatTensor((-1, 2)).tolist() == [-1.0, 2.0]
    assert ag.LongTensor((1, 2)).tolist() == [1, 2]


def test_no_plan_of_one_module_answers_the_other():
    x = ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f = run("def f(x):\n    return x.transpose(0, 1), x.transpose(-1, -2)")["f"]
    for g in [f] * 12 + [ag.jit(f)]:
        assert [y.tolist() for y in g(x)] == [x.T.tolist()] * 2
    for _ in range(3):  # which no plan of the other module answers
        with pytest.raises(TypeError, match="leaves a matrix as it is in NumPy"):
            x.transpose(0, 1)


WRITES = """
def step(v):
    y, z = v * 1, v * 1
    y[(v > 1).byte()] = 9.0
    z[(v > 1).byte()] = v[(v > 1).byte()] * 2
    return y, z
"""


@pytest.mark.parametrize("jit", [False, True])
def test_masks_of_uint8_are_written_under(jit):
    masks, places = (run(WRITES, name=n)["step"] for n in ("torch", "ag"))
    masks, places = (ag.jit(masks), ag.jit(places)) if jit else (masks, places)
    assert values(masks(V)) == values((ag.where(V > 1, 9.0, V), ag.where(V > 1, V * 2, V)))
    assert places(V)[0].tolist() == [9.0, 9.0, 0.0, 2.0]


def test_other_masks_than_of_bools_select_nothing():
    with pytest.raises(TypeError, match="must be bool, not uint8"):
        ag.masked_select(V, (V > 1).byte())
