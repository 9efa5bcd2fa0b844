"""Modules: what they own, how they are saved, and how they look."""

import copy
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim


class Net(nn.Module):
    def __init__(self):
        self.first = nn.Linear(3, 4)
        self.blocks = [nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 4))]
        self.heads = {"a": nn.Linear(4, 1, bias=False)}
        self.scale = ag.ones(4, requires_grad=True)
        self.seen = ag.zeros(4)
        self.note = "plain"

    def forward(self, x):
        x = self.first(x) * self.scale
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x)


def test_names_are_those_of_pytorch():
    model = Net()
    assert [n for n, _ in model.named_parameters()] == [
        "scale", "first.weight", "first.bias", "blocks.0.weight", "blocks.0.bias",
        "blocks.1.1.weight", "blocks.1.1.bias", "heads.a.weight",
    ]
    assert [n for n, _ in model.named_buffers()] == ["seen"]
    assert model.first.weight.shape == (4, 3)
    assert len(list(model.modules())) == 7
    assert [type(m).__name__ for m in model.children()] == [
        "Linear", "Linear", "Sequential", "Linear"
    ]


def test_a_shared_module_counts_once_and_is_saved_under_each_name():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.Tanh(), shared)
    assert len(list(model.parameters())) == 2
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    model.load_state_dict({"0.weight": ag.ones(2, 2), "0.bias": ag.ones(2)})  # one name will do
    model.load_state_dict({n: t + 1 for n, t in model.state_dict().items()})
    assert (shared.weight.array == 2).all()
    tied = Net()
    tied.blocks[0].weight = tied.blocks[1][1].weight
    assert sum(1 for _ in tied.parameters()) == 7
    assert {"blocks.0.weight", "blocks.1.1.weight"} < tied.state_dict().keys()


class Doubly(nn.Module):
    """What lies in lists and dicts of Python's has other names too."""

    def __init__(self):
        self.heads = [nn.Linear(2, 2) for _ in range(2)]
        for i, head in enumerate(self.heads):
            self.add_module(f"head_{i}", head)
        self.kept = []
        self.register_buffer("seen", ag.zeros(2))
        self.kept.append(self.seen)
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.parts = {"norm": self.inner[1], "weight": self.inner[0].weight}
        self.alone = [nn.Linear(2, 1)]
        self.again = nn.Sequential(self.inner[1], self.inner[1])


def test_names_of_attributes_go_before_those_in_lists_and_dicts():
    model = Doubly()
    assert [n for n, _ in model.named_parameters()] == [
        "head_0.weight", "head_0.bias", "head_1.weight", "head_1.bias", "inner.0.weight",
        "inner.0.bias", "inner.1.weight", "inner.1.bias", "alone.0.weight", "alone.0.bias",
    ]
    assert [n for n, _ in model.named_buffers()] == [
        "seen", *(f"inner.1.{n}" for n in ("running_mean", "running_var", "num_batches_tracked"))]
    assert [n for n, _ in model.named_modules()] == [
        "", "head_0", "head_1", "inner", "inner.0", "inner.1", "alone.0", "again"]
    assert [n for n, m in model.named_children() if n.startswith("head")] == ["head_0", "head_1"]
    names = list(model.state_dict())
    assert [n for n in names if n.endswith("weight")] == [
        "head_0.weight", "head_1.weight", "inner.0.weight", "inner.1.weight", "alone.0.weight",
        "again.0.weight", "again.1.weight"]
    assert not any(n.startswith(("heads", "parts", "kept")) for n in names)
    model.load_state_dict(Doubly().state_dict())


def test_classes_behind_modules_are_called_by_their_names():
    class Scaled:
        def __init__(self, scale):
            self.scale = scale

    class Layer(nn.Module, Scaled):
        def __init__(self):
            super().__init__()
            Scaled.__init__(self, 3)
            self.inner = nn.Linear(2, 2)

    class Plain(nn.Module, Scaled):
        pass

    layer = Layer()
    assert layer.scale == 3 and [n for n, _ in layer.named_parameters()] == [
        "inner.weight", "inner.bias"]
    assert not hasattr(Plain(), "scale")
    with pytest.raises(TypeError, match="no arguments"):
        Plain(3)


def test_state_goes_over_in_place():
    ag.manual_seed(0)
    one, two = Net(), Net()
    memory = two.first.weight.array
    x = ag.ones((2, 3))
    assert not np.array_equal(one(x).array, two(x).array)
    saved = one.state_dict()
    two.load_state_dict(saved)
    assert two.first.weight.array is memory
    np.testing.assert_array_equal(one(x).array, two(x).array)
    one.first.bias.array[...] = 7
    assert (saved["first.bias"].array != 7).all()  # the state is a copy


def test_keys_are_told_in_the_order_of_the_module_and_of_the_state():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    told = net.load_state_dict({"z": 1.0, "1.weight": ag.ones(2, 2), "a": 2.0}, strict=False)
    assert told.missing_keys == ["0.weight", "0.bias", "1.bias"]
    assert told.unexpected_keys == ["z", "a"]
    assert repr(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(TypeError, match=r"ag\.load"):
        net.load_state_dict("net.pt")


def test_state_that_does_not_fit_changes_nothing():
    model = Net()
    before = model.state_dict()
    with pytest.raises(KeyError, match=r"missing \['scale'\], unknown \['more'\]"):
        model.load_state_dict({**{k: v for k, v in before.items() if k != "scale"}, "more": 1})
    wrong = {name: np.zeros(t.shape) for name, t in before.items()}
    wrong["heads.a.weight"] = np.zeros((2, 4))
    with pytest.raises(ValueError, match=r"heads.a.weight has shape \(1, 4\).*\(2, 4\)"):
        model.load_state_dict(wrong)
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.array, before[name].array)
    model.load_state_dict({"scale": np.full(4, 3.0), "more": 1}, strict=False)
    assert (model.scale.array == 3).all()


def test_compiled_functions_see_loaded_state():
    model = nn.Linear(2, 2)
    f = ag.jit(model)
    x = ag.ones((1, 2))
    f(x)
    model.load_state_dict({"weight": np.full((2, 2), 2.0), "bias": np.ones(2)})
    assert f(x).tolist() == [[5.0, 5.0]]
    assert len(f.specialisations) == 1


def test_copies_and_pickles_are_independent():
    model = Net()
    x = ag.ones((2, 3))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model.eval()))):
        np.testing.assert_array_equal(model(x).array, other(x).array)
        other.scale.array[...] = 0
        assert (model.scale.array == 1).all()
    assert not pickle.loads(pickle.dumps(model)).training


def test_modes_and_apply_reach_every_module():
    model = Net()
    model.eval()
    assert not any(m.training for m in model.modules())
    model.train()
    assert all(m.training for m in model.modules())
    order = []
    model.apply(lambda m: order.append(type(m).__name__))
    assert order[-1] == "Net" and len(order) == 7
    order = []
    nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).apply(
        lambda m: order.append(type(m).__name__))
    assert order == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_conversion_keeps_tensors_and_drops_gradients():
    model = Net()
    weight = model.first.weight
    model(ag.ones((1, 3))).sum().backward()
    model.to("float64")
    assert model.first.weight is weight and weight.dtype == np.float64
    assert weight.grad is None
    assert model(ag.ones((1, 3), dtype="float64")).dtype == np.float64
    with pytest.raises(TypeError, match="float dtype"):
        model.to("int32")


@pytest.mark.parametrize("target, kind", [
    ((ag.ones(2, dtype="float64"),), "float64"), (("cpu", ag.float64), "float64"),
    ((ag.device("cpu"), "float16"), "float16"), (("cpu",), "float32"), ((None,), "float32"),
    ((), "float32"), (("cpu", None, True), "float32"),
], ids=str)
def test_to_takes_what_tensors_take(target, kind):
    """A tensor for its dtype, and a device beside a dtype."""
    x = ag.ones((1, 3))
    assert nn.Linear(3, 2).to(*target).weight.dtype == x.to(*target).dtype == np.dtype(kind)


@pytest.mark.parametrize("thing", [nn.Linear(3, 2), ag.ones(3)], ids=["module", "tensor"])
def test_to_takes_one_dtype(thing):
    with pytest.raises(TypeError, match="one dtype or tensor, not 2"):
        thing.to("float64", "float16")
    with pytest.raises(TypeError, match="one dtype or tensor, not 2"):
        thing.to("float64", dtype="float16")


def test_zero_grad_forgets():
    model = Net()
    model(ag.ones((1, 3))).sum().backward()
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_the_picture_is_a_tree_with_counts():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.1))).split("\n") == [
        "Sequential()         9",
        "  (0): Linear(2, 3)  9",
        "  (1): Dropout(0.1)",
    ]


# -- what belongs to a module -----------------------------------------------------------------
class _Caching(nn.Module):
    def __init__(self, cache=None):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.mean = ag.zeros(2)
        self.cache = cache
        self.seen = []

    def forward(self, x):
        self.cache = self.layer(x)
        return self.cache.sum()


def _names(module):
    return [[n for n, _ in found] for found in (
        module.named_parameters(), module.named_buffers(), module.state_dict().items())]


EXPECTED = [["layer.weight", "layer.bias"], ["mean"], ["mean", "layer.weight", "layer.bias"]]


@pytest.mark.parametrize("around", [ag.enable_grad, ag.no_grad])
def test_an_activation_that_is_kept_does_not_belong_to_the_module(around):
    net = _Caching()
    with around():
        net(ag.ones(3))
        net.seen.append(net.cache)
        net.extra = ag.ones(3)
    assert _names(net) == EXPECTED
    assert len(list(net.parameters())) == 2
    for copied in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert _names(copied) == EXPECTED
        assert np.array_equal(copied.cache.array, net.cache.array)


def test_an_activation_that_is_kept_by_compiled_code_does_not_belong_to_the_module():
    net = _Caching()
    net(ag.ones(3))
    value = ag.jit(net)(2 * ag.ones(3))
    assert np.isclose(value.item(), net.cache.array.sum())
    assert _names(net) == EXPECTED
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    @ag.jit
    def step(x):
        loss = net(x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    assert step(ag.ones(3)).item() > step(ag.ones(3)).item()
    assert _names(net) == EXPECTED


def test_a_buffer_stays_one_whatever_is_assigned():
    net = _Caching(cache=ag.zeros(2))
    net(ag.ones(3))  # recorded
    assert _names(net)[:2] == [EXPECTED[0], ["mean", "cache"]]
    with ag.no_grad():
        net(ag.ones(3))
    assert _names(net)[1] == ["mean", "cache"]


def test_parts_of_parameters_are_none():
    class Parts(nn.Module):
        def __init__(self):
            self.w = ag.ones(4, requires_grad=True)
            self.first = self.w[:2]

    assert _names(Parts()) == [["w"], [], ["w"]]


@pytest.mark.parametrize("value", [
    ag.ones((2, 3)), ag.ones((2, 3), requires_grad=True) * 2, np.ones((2, 3)), 3.0,
], ids=["constant", "computed", "array", "number"])
def test_a_parameter_is_not_dropped_by_assignment(value):
    layer = nn.Linear(3, 2)
    with pytest.raises(TypeError, match=r"Linear\.weight is a parameter.*copy_\(value\)"):
        layer.weight = value

    @ag.jit
    def step(x):
        layer.weight = x * 2
        return x

    with pytest.raises(TypeError, match=r"Linear\.weight is a parameter"):
        step(ag.ones((2, 3)))
    assert _names(layer)[0] == ["weight", "bias"]


def test_parameters_are_exchanged_removed_and_added():
    layer = nn.Linear(3, 2)
    layer.weight = ag.ones((2, 3), requires_grad=True)
    assert layer(ag.ones(3)).shape == (2,)
    assert _names(layer)[0] == ["weight", "bias"]
    layer.bias = None
    layer.scale = ag.ones((), requires_grad=True)
    assert _names(layer)[0] == ["weight", "scale"]
    layer.scale.requires_grad = False  # frozen, it is a parameter all the same
    assert _names(layer) == [["weight", "scale"], [], ["weight", "scale"]]


def test_parameters_under_a_transformation_are_found():
    net = _Caching()

    def penalty(net):
        return sum((p**2).sum() for p in net.parameters())

    found = ag.grad(penalty)(net)
    assert np.allclose(found["layer.weight"].array, 2 * net.layer.weight.array)
    fast = net.with_parameters({"layer.bias": net.layer.bias * 2})
    assert _names(fast)[0] == EXPECTED[0]


def test_buffers_that_are_registered():
    net = nn.Tanh()
    net.register_buffer("calls", ag.zeros(()))
    net.register_buffer("mask", ag.ones(3), persistent=False)
    net.register_buffer("later", None)
    assert _names(net) == [[], ["calls", "mask"], ["calls"]]
    net.later = ag.ones(2)
    net.other = ag.ones(2)
    assert _names(net)[1] == ["calls", "mask", "later"]
    assert net.half().mask.dtype == ag.float16
    for bad in (3.0, ag.ones(2, requires_grad=True)):
        with pytest.raises(TypeError, match="buffer 'bad'"):
            net.register_buffer("bad", bad)


@pytest.mark.parametrize("bad", [
    lambda t: np.ones(5), lambda t: np.ones(t.shape, complex), lambda t: "text",
    lambda t: np.full(t.shape, None),
])
def test_a_state_of_which_one_entry_does_not_fit_changes_nothing(bad):
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    before = {k: v.tolist() for k, v in net.state_dict().items()}
    state = {k: v + 1 for k, v in net.state_dict().items()}
    *_, last = state
    state[last] = bad(state[last])
    with pytest.raises((TypeError, ValueError), match=rf"{last} .*\n  at .*test_module"):
        net.load_state_dict(state)
    assert {k: v.tolist() for k, v in net.state_dict().items()} == before


def test_a_state_for_read_only_memory_changes_nothing():
    net = nn.Linear(2, 2)
    net.bias.array.flags.writeable = False
    before = net.weight.tolist()
    with pytest.raises(ValueError, match="bias lies in read-only memory"):
        net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})
    assert net.weight.tolist() == before


def test_tensors_may_be_loaded_from_each_other():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    first, second = (layer.weight for layer in net.children())
    before = first.tolist(), second.tolist()
    net.load_state_dict({"0.weight": second, "1.weight": first}, strict=False)
    assert (second.tolist(), first.tolist()) == before


def test_a_parameter_that_was_deleted_is_none_any_more():
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad = False
    del layer.weight
    layer.weight = ag.ones((2, 2))
    assert _names(layer)[0] == ["bias"]


def test_parameters_that_are_made_frozen():
    """As PyTorch's positions that are computed, not learned."""
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(ag.ones(1))
            self.places = nn.Parameter(ag.arange(3.0), requires_grad=False)
            self.register_parameter("more", nn.Parameter(ag.zeros(2), requires_grad=False))

        def forward(self, x):
            return x * self.scale + self.places

    net = Positions()
    for module in (net, copy.deepcopy(net)):
        names = [n for n, _ in module.named_parameters()]
        assert names == list(module.state_dict()) == ["scale", "places", "more"]
        assert not list(module.buffers()) and not module.places.requires_grad
    assert isinstance(net.places, nn.Parameter) and not isinstance(ag.zeros(2), nn.Parameter)
    ag.jit(lambda x: net(x).sum().backward())(ag.ones(3))
    assert net.places.grad is None
    net.more.requires_grad_()
    assert len(ag.optim.SGD(net.parameters(), lr=0.1).parameters) == 3


def test_what_is_directly_inside_by_the_names_of_pytorch() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert list(net._modules.items()) == [("0", net[0]), ("1", net[1])]
    assert list(net._parameters) == [] and list(net[0]._parameters) == ["weight", "bias"]
    assert len(net[1]._buffers) == 3 and list(net.buffers(recurse=False)) == []
    assert next(n for n, _ in net.named_buffers("net")) == "net.1.running_mean"
    net._modules["0"] = nn.ReLU()
    assert type(net[0]) is nn.ReLU


def test_the_meta_device_keeps_a_module_for_calls_with_other_parameters():
    """As ensembles are made: a base whose parameters nobody reads, and those of many stacked."""
    nets = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = ag.func.stack_module_state(nets)
    x = ag.ones((4, 5, 3))
    for base in (nn.Linear(3, 2).to("meta"), nn.Linear(3, 2).to(device="meta")):
        found = ag.vmap(lambda p, b, x, base=base: ag.func.functional_call(base, (p, b), (x,)))(
            parameters, buffers, x)
        assert np.allclose(found.detach(), ag.stack([n(x[0]) for n in nets]).detach())


def test_deep_copies_have_no_gradients_and_shared_parameters_once():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.me = nn.Parameter(ag.ones(2)), self
            self.known = [self.w, self.w.detach()[:1]]

        def __setstate__(self, state):
            super().__setstate__(state)
            self.taken = True

    model = Named()
    model.inner = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model.inner[1].weight = model.inner[0].weight
    model.inner(model.w).sum().backward()
    optimizer = ag.optim.SGD(model.parameters(), lr=0.1)
    made, other = copy.deepcopy((model, optimizer))
    assert all(p.grad is not None for p in model.parameters())
    assert all(p.grad is None for p in made.parameters())
    assert made.me is made and made.taken and made.known[0] is made.w
    assert np.shares_memory(made.known[1].array, made.w.array)
    assert made.inner[1].weight is made.inner[0].weight is other.param_groups[0]["params"][1]
    assert copy.copy(model).w.grad is model.w.grad


def test_the_mode_that_a_module_has_already_is_no_change():
    from agnesi.nn.base.whole import CHANGES

    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    before = CHANGES.count
    model.train()
    assert CHANGES.count == before
    model[1].eval()
    model.train()
    assert all(m.training for m in model.modules())
    assert CHANGES.count == before + 2


@pytest.mark.parametrize("name", ["parameters", "children", "named_children", "modules",
                                  "named_modules", "buffers", "to", "train", "zero_grad"])
def test_methods_of_a_subclass_without_our_options_serve(name):
    """As in programs that give ``parameters()`` of their own: nothing of ours calls these."""
    own = {"train": lambda self, mode=True: nn.Module.train(self, mode),
           "zero_grad": lambda self: None, "to": lambda self, device: self}
    kind = type("Own", (nn.Sequential,), {name: own.get(name, lambda self: iter([]))})
    net = nn.Sequential(kind(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    assert repr(net).count("(0)") == 2
    net.eval().train().zero_grad()
    optim.swa_utils.AveragedModel(net[0]).update_parameters(net[0])
    assert net.half().float()(ag.ones((4, 2))).shape == (4, 3)
