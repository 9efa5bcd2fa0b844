"""Golden texts of errors inside of models, and of layers, losses and optimizers called wrongly."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.ndimage

import agnesi as ag
from agnesi import nn, optim
from agnesi import symbolic as T
from tests.errors.lambdas import check


class Net(nn.Module):
    """A model with layers in a list, a dict and a sequence."""

    def __init__(self) -> None:
        self.encoder = [nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5), nn.Linear(6, 2))]
        self.heads = {"mean": nn.Sequential(nn.ReLU(), nn.LayerNorm(7))}

    def forward(self, x: Any, head: bool = False) -> Any:
        for layer in [self.heads["mean"]] if head else self.encoder:
            x = layer(x)
        return x


class Block(nn.Module):
    """A layer whose own lines go wrong."""

    def forward(self, x: Any) -> Any:
        return x + ag.ones(7)


class Silent(nn.Module):
    """A layer without ``forward``."""


X = ag.ones((2, 3))
INNER = ("encoder.1.1, Linear(6, 2): linear(float32[2, 5], float32[2, 6], float32[2]): features "
         "differ: 5 (axis -1 of x (2, 5)) and 6 (axis 1 of weight (2, 6))")
WAYS: dict[str, Any] = {
    "eager": lambda net: net(X), "jit": lambda net: ag.jit(net)(X),
    "jit of a function": lambda net: ag.jit(lambda x: net(x))(X),
    "grad": lambda net: ag.grad(lambda n: n(X).sum())(net),
    "vmap": lambda net: ag.vmap(net)(ag.ones((4, 2, 3))),
    "symbolic": lambda net: net(T.fmatrix("x", shape=(2, 3))),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_layer_is_named_by_its_path(way: str) -> None:
    with pytest.raises(ag.ShapeError) as caught:
        WAYS[way](Net())
    told, _, place = str(caught.value).partition("\n  at ")
    assert told == INNER and "test_models.py:" in place and "\n" not in place


def test_paths_through_dicts_and_of_own_layers() -> None:
    with pytest.raises(ag.ShapeError, match=r"^heads\.mean\.1, LayerNorm\(7\): layer_norm\("):
        Net()(X, head=True)
    with pytest.raises(ag.ShapeError, match=r"^1, Block\(\): add\(float32\[2, 3\], float32\[7\]"):
        nn.Sequential(nn.ReLU(), Block())(X)
    with pytest.raises(ag.ShapeError, match=r"^add\(float32\[2, 3\]"):
        Block()(X)  # which the traceback shows


def test_what_the_users_layers_raise_passes() -> None:
    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match=r"^'mine'$"):
        nn.Sequential(Own())(X)


CASES = [
    (lambda: nn.ReLU(X), TypeError, "ReLU: inplace must be True or False, not float32[2, 3]; make "
     "it first, and then call it: ReLU(...)(x)"),
    (lambda: nn.CrossEntropyLoss(X, ag.arange(2)), TypeError, "CrossEntropyLoss: reduction must be "
     "'mean', 'sum' or 'none', not int64[2]; make it first, and then call it: "
     "CrossEntropyLoss(...)(x)"),
    (lambda: nn.CrossEntropyLoss()(X), TypeError, "CrossEntropyLoss: forward() missing 1 required "
     "positional argument: 'target'; it is called as CrossEntropyLoss()(logits, target)"),
    (lambda: nn.ReLU()(3, 4), TypeError, "ReLU: forward() takes 2 positional arguments but 3 were "
     "given; it is called as ReLU()(x)"),
    (lambda: nn.Dropout("0.5"), TypeError, "Dropout: p must be a number, not '0.5'"),
    (lambda: Silent()(X), AttributeError,
     "Silent has no forward(self, ...), which a call of it runs"),
    (lambda: nn.Linear(3, 4).load_state_dict({"weight": X}), KeyError,
     "state for Linear: missing ['bias'], unknown []; strict=False loads what fits"),
    (lambda: nn.Linear(3, 4).load_state_dict(nn.Linear(3, 4)), TypeError, "Linear.load_state_dict "
     "takes a mapping of names to values, not Linear(3, 4); give its state, .state_dict()"),
    (lambda: nn.init.xavier_uniform_(nn.Linear(3, 4)), TypeError,
     "nn.init.xavier_uniform_ fills a tensor, not Linear(3, 4); give its weight"),
    (lambda: nn.MultiheadAttention(8, 2)(*[ag.ones((5, 2, 8))] * 3, attn_mask=X), ag.ShapeError,
     "MultiheadAttention: attn_mask must be (5, 5) or (4, 5, 5), not float32[2, 3]"),
    (lambda: nn.MultiheadAttention(8, 2)(*[ag.ones((5, 2, 8))] * 3, key_padding_mask=X > 0),
     ag.ShapeError, "MultiheadAttention: key_padding_mask must be (2, 5) or (5,), not bool[2, 3]"),
    (lambda: nn.functional.scaled_dot_product_attention(*[ag.ones((2, 4, 8))] * 3, X),
     ag.ShapeError, "scaled_dot_product_attention(float32[2, 4, 8], float32[2, 4, 8], float32[2, 4,"
     " 8], float32[2, 3]): attn_mask must broadcast to the scores' shape (..., queries, keys), "
     "(2, 4, 4), which float32[2, 3] does not"),
    (lambda: optim.SGD([ag.ones(2, requires_grad=True)]).step(X), TypeError, "SGD.step takes "
     "nothing, or a function that computes the gradients, not float32[2, 3]; call loss.backward() "
     "before it"),
    (lambda: optim.Adam(nn.Sequential(nn.Linear(2, 2))), TypeError,
     "Adam optimises an iterable of tensors, not Sequential(): write Adam([w], ...) for one tensor"
     ", Adam(model.parameters(), ...) for a module"),
    (lambda: optim.SGD([], 0.1), ValueError, "SGD: there are no parameters to optimise"),
    (lambda: optim.Adam([ag.ones(2, requires_grad=True)]).zero_grad(X), TypeError,
     "Adam.zero_grad: set_to_none must be True or False, not float32[2, 3]"),
    (lambda: optim.SGD([ag.ones(2, requires_grad=True)]).load_state_dict("s.npz"), TypeError,
     "SGD.load_state_dict takes a mapping of names to values, not 's.npz'; read the file first, as "
     "ag.load(path) does"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES)
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


REFUSED = [
    (lambda: nn.Linear(3, 4, "bias"), TypeError, "Linear: bias must be True or False, not 'bias'"),
    (lambda: nn.Sequential(nn.ReLU), TypeError,
     "Sequential: layer 0 is the class ReLU: make a layer of it, ReLU(...)"),
    (lambda: nn.MaxPool2d(), TypeError,
     "MaxPool2d() missing 1 required positional argument: 'kernel_size'"),
    (lambda: Net().train("yes"), TypeError, "Net.train: mode must be True or False, not 'yes'"),
    (lambda: ag.custom_vjp(3), TypeError, "custom_vjp: function must be a function, not 3"),
    (lambda: ag.op(abs, vjp=3), TypeError, "op: vjp must be a function or None, not 3"),
    (lambda: ag.Dim(3), TypeError, "Dim: a size is named by a string, not 3"),
    (lambda: T.matrix(3), TypeError, "matrix: name must be a string or None, not 3"),
    (lambda: ag.percentile(X, 150), ValueError,
     "percentile(float32[2, 3], 150): q must lie between 0 and 100, not 150"),
    (lambda: ag.random.randint(0, 1.5), TypeError,
     "randint(0, 1.5): high must be an integer, not 1.5"),
    (lambda: ag.grad(ag.sum, argnums="x")(X), TypeError, "grad: argnums must be an integer "
     "or a list or tuple, not 'x'"),
    (lambda: ag.where(X > 0, X), TypeError, "where(bool[2, 3], float32[2, 3], None): where takes a "
     "condition alone, or a condition and both branches: where(condition, x1, x2)"),
    (lambda: ag.vstack(X, X), TypeError, "vstack(float32[2, 3], float32[2, 3]): vstack() takes 1 "
     "positional argument but 2 were given; it is called as vstack(tensors), with the tensors in "
     "one list or tuple"),
    (lambda: ag.stack(X, X), TypeError, "stack(float32[2, 3], float32[2, 3]): the tensors to join "
     "come first, in one list or tuple, and then the axis: write ([a, b], axis)"),
    (lambda: ag.scan(X, abs, X), TypeError, "scan: f must be a function, not float32[2, 3]; the "
     "order is scan(f, init, xs, length, *, non_sequences, reverse, until, strict, "
     "truncate_gradient, checkpoint)"),
    (lambda: ag.jvp(ag.sin, X, X), TypeError, "jvp: primals must be a tuple with an entry for each "
     "argument of sin, not float32[2, 3]: write jvp(f, (x,), (t,))"),
    (lambda: ag.jit(lambda x: x)(), TypeError,
     "jit: <lambda>() missing 1 required positional argument: 'x'"),
    (lambda: ag.manual_seed("a"), TypeError,
     "manual_seed: seed must be an integer or None, not 'a'"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), REFUSED)
def test_what_was_accepted_or_told_badly(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_each_module_names_the_one_before_without_a_walk(monkeypatch: Any) -> None:
    """On its way out of many modules in each other, an error takes a step at each."""
    model = nn.Linear(3, 2)
    for _ in range(100):
        model = nn.Sequential(nn.ReLU(), model)
    monkeypatch.delattr(nn.Module, "named_modules")
    ends = r"^(1\.){7}1 \.\.\. (1\.){3}1, Linear\(3, 2\): linear\("
    with pytest.raises(ag.ShapeError, match=ends):
        model(ag.ones((1, 5)))


@pytest.mark.parametrize("kind", [
    *(v for v in vars(ag.optim).values() if isinstance(v, type)
      and issubclass(v, ag.optim.Optimizer)),
    *(v for v in vars(ag.optim.lr_scheduler).values() if isinstance(v, type)),
    ag.optim.swa_utils.SWALR])
def test_optimizers_and_schedules_without_arguments_say_what_they_need(kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) needs \w+.*\n  at .*test_models"):
        kind()


def test_errors_within_other_libraries_have_the_users_line() -> None:
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ag.GradientError, match=r"at .*test_models\.py"):
        scipy.ndimage.gaussian_filter(x * 2, 1.0)
    with pytest.raises(ag.TraceError, match=r"at .*test_models\.py"):
        ag.jit(lambda x: scipy.ndimage.gaussian_filter(x, 1.0))(ag.ones(2))
