"""Nests, modules and views of any depth: walked without recursion, or refused by our errors."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.support import tree
from agnesi.core.support.errors import NestingError
from tests.share import share

KINDS = {
    "list": lambda v: [v], "tuple": lambda v: (v,), "dict": lambda v: {"a": v},
    "pair": lambda v: [ag.ones(2), v],
}


def nest(kind, depth, leaf=None):
    made = ag.tensor([1.0, 2.0]) if leaf is None else leaf
    for _ in range(depth):
        made = KINDS[kind](made)
    return made


class Box(nn.Module):
    def __init__(self, inner=None):
        self.w = ag.tensor([2.0], requires_grad=True)
        self.inner = inner

    def forward(self, x):
        return x * self.w if self.inner is None else self.inner(x * self.w)


def boxes(depth):
    made = Box()
    for _ in range(depth):
        made = Box(made)
    return made


@pytest.mark.share(8)
@pytest.mark.parametrize(("kind", "depth"), [
    ("list", 5000), ("tuple", 1000), ("dict", 1000), ("pair", 5000), ("tuple", 30_000),
])
def test_trees_have_no_depth_that_is_too_much(kind, depth):
    given = nest(kind, depth)
    leaves, shape = tree.flatten(given)
    again = tree.flatten(shape.build(leaves))[1]
    assert shape.depth == depth and shape.leaves == len(leaves)
    assert shape == again and hash(shape) == hash(again)
    assert shape != tree.flatten(nest(kind, depth - 1))[1]
    assert len(repr(shape)) < 300
    assert sum(map(len, shape.paths("x"))) < 100 * len(leaves)
    doubled = tree.map_leaves(lambda v: v * 2, given)
    assert len(tree.flatten(doubled)[0]) == len(leaves)


def test_a_nest_that_contains_itself_is_refused():
    own = [1]
    own.append({"a": own})
    for call in (tree.flatten, ag.jit(lambda t: 1), ag.grad(lambda t: ag.ones(()))):
        with pytest.raises(ValueError, match="contains itself"):
            call(own)


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_calls_take_and_give_deep_nests(kind):
    given = nest(kind, 1000)
    double = ag.jit(lambda t: tree.map_leaves(lambda v: v * 2, t))
    for _ in range(2):
        found = tree.flatten(double(given))[0]
        np.testing.assert_array_equal(found[-1].numpy(), [2, 4])
    assert len(double.specialisations) == 1
    slopes = ag.grad(lambda t: (tree.flatten(t)[0][-1] ** 2).sum())(nest(kind, 1000))
    np.testing.assert_array_equal(tree.flatten(slopes)[0][-1].numpy(), [2, 4])
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        kept = ag.jit(lambda t: [t, t])(nest(kind, 1000, np.ones(2)))
    assert kept[0] is kept[1] and type(tree.flatten(kept[0])[0][-1]) is np.ndarray
    held = nest(kind, 1000)
    closed = ag.jit(lambda x: x * tree.flatten(held)[0][-1])
    np.testing.assert_array_equal(closed(ag.ones(2)).numpy(), [1, 2])


@pytest.mark.share(3)
@pytest.mark.parametrize("depth", [100, 1000, 5000, 100_000])
def test_lists_deeper_than_arrays_have_axes(depth):
    with pytest.raises(NestingError, match="more than 64 deep"):
        ag.tensor(nest("list", depth, 1.0))
    with pytest.raises(NestingError, match="more than 64 deep"):
        ag.stack([nest("list", depth)])
    with pytest.raises(NestingError, match="more than 64 deep"):
        ag.block(nest("list", depth))


def test_no_public_function_runs_into_the_stacks_end():
    deep = nest("list", 1000)
    refused, names = 0, share(sorted(set(dir(ag))), 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            function = getattr(ag, name)
            home = getattr(function, "__module__", None) or ""
            if not callable(function) or not home.startswith("agnesi"):
                continue
            for given in ((deep,), (ag.ones(2), deep)):
                try:
                    function(*given)
                except RecursionError:
                    pytest.fail(f"{name}{len(given)}")
                except Exception as error:
                    assert "recursion" not in str(error), name
                    refused += 1
    assert refused > len(names) / 2


@pytest.mark.parametrize("call", [
    lambda deep: ag.config(cache=deep), lambda deep: ag.config(threads=deep),
    lambda deep: ag.testing.assert_allclose(deep, ag.ones(2)),
    lambda deep: ag.isdtype(ag.ones(2).dtype, deep), lambda deep: ag.arange(3, device=deep),
    lambda deep: ag.ones(2).to(deep),
])
@pytest.mark.parametrize("kind", ["list", "tuple"])
def test_messages_show_no_value_that_has_no_text(call, kind):
    with pytest.raises((ValueError, TypeError)) as found:
        call(nest(kind, 3000))
    assert "recursion" not in str(found.value)


def test_savers_and_collators_tell_what_lies_too_deep(tmp_path):
    deep = nest("list", 3000)
    for function in (lambda: ag.save({"a": deep}, tmp_path / "a"),
                     lambda: ag.saving.save_checkpoint(tmp_path / "a", x=deep),
                     lambda: ag.data.default_collate([deep, deep])):
        with pytest.raises(NestingError, match="more than 100 deep"):
            function()


@pytest.mark.parametrize("depth", [20, 1000])
def test_modules_have_no_depth_that_is_too_much(depth):
    model = boxes(depth)
    assert len(list(model.parameters())) == len(list(model.modules())) == depth + 1
    assert len(list(model.named_parameters())) == len(model.state_dict()) == depth + 1
    assert len(repr(model).splitlines()) < 60
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert len({*map(id, other.modules())} - {*map(id, model.modules())}) == depth + 1
        assert list(vars(other)) == ["w", "inner"]
    assert copy.copy(model).inner is model.inner
    count = []
    model.eval().apply(count.append).to("float64")
    assert len(count) == depth + 1 and not count[0].training and count[0].w.dtype == "float64"
    changed = model.with_parameters({"w": ag.ones(1)})
    assert changed.inner is not model.inner and changed.inner.w is model.inner.w


def test_very_deep_modules_are_named_by_nobody():
    model = boxes(6000)
    assert sum(1 for _ in model.parameters()) == 6001
    assert len(repr(model).splitlines()) < 60
    with pytest.raises(NestingError, match="too deep in each other to have names"):
        model.state_dict()


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_shared_and_circular_modules_are_copied_as_they_are(protocol):
    model = boxes(200)
    last = list(model.modules())[-1]
    model.tied = [last, {"w": last.w}]
    other = pickle.loads(pickle.dumps(model, protocol))
    ends = list(other.modules())
    assert other.tied[0] is ends[-1] and other.tied[1]["w"] is ends[-1].w
    last.outermost = model
    assert list(copy.deepcopy(model).modules())[-1].outermost is not model
    for outer, inner in zip(model.modules(), list(model.modules())[1:], strict=False):
        inner.around = [outer]
    with pytest.raises(NestingError, match="refers back to the Box around it"):
        pickle.dumps(model, protocol)


def test_calls_of_modules_in_each_other_end_with_an_error_of_ours():
    assert boxes(100)(ag.ones(1)).shape == (1,)
    for call in (boxes(1000), ag.jit(boxes(1000))):
        with pytest.raises(NestingError, match="modules call each other") as told:
            call(ag.ones(1))
        assert len(str(told.value)) < 500


def test_layers_of_ours_in_each_other_are_looked_at_a_few_times_only():
    layer = ag.nn.Linear(1, 1)
    for _ in range(1000):
        layer = ag.nn.Sequential(layer)
    with pytest.raises(NestingError, match="modules call each other"):
        layer(ag.ones(1))
    assert sum(bool(m._whole) for m in layer.modules()) < 20  # each looks at all that it holds


@pytest.mark.parametrize("compile", [lambda f: f, ag.jit])
def test_views_of_views_follow_a_change(compile):
    def f(x):
        x = x * 1
        ends = [x]
        for _ in range(900):
            ends.append(ends[-1][:])
        first = ends[-1].sum()
        x += 1
        ends[-1][0] = 7
        return first, x.sum(), ends[-1].sum()

    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    first, whole, last = compile(f)(x)
    assert (first.item(), whole.item(), last.item()) == (6, 14, 14)


def test_nested_tuples_that_a_traced_function_reads():
    """A global of 5000 levels, and one in which each level holds the one below twice."""
    deep, wide, x = ag.ones(2), (np.ones(2),), ag.ones(1)
    for _ in range(5000):
        deep = (deep, x)
    for _ in range(60):
        wide = (wide, wide)
    assert ag.jit(lambda y: deep)(x)[1] is not None
    assert ag.jit(lambda y: (wide[0] is wide[1], y * 2)[1])(x).item() == 2.0
