"""What is written to an attribute is checked as the constructor's parameter of that name."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import agnesi as ag
from agnesi import data, nn, optim
from agnesi import distributions as D
from agnesi.compat import theano
from tests.errors.lambdas import check
from tests.errors.option_samples import classes, needed

X = ag.ones((4, 3))


def written(owner: Any, name: str, value: Any) -> Any:
    return lambda: setattr(owner, name, value)


def optimizer() -> Any:
    return optim.SGD(nn.Linear(3, 2).parameters(), lr=0.1)


def worded(**options: Any) -> Any:
    state = optimizer().state_dict()
    state["param_groups"][0].update(options)
    return state


LOADER = data.DataLoader(data.TensorDataset(X), batch_size=2)
CASES = [
    (written(nn.BatchNorm1d(3), "momentum", "0.1"), TypeError,
     "BatchNorm1d.momentum must be a number or None, not '0.1'"),
    (written(nn.BatchNorm1d(3), "running_mean", [0.0]), TypeError, "BatchNorm1d.running_mean is a "
     "buffer, float32[3], and cannot become [0.0]: assign a tensor, or None"),
    (written(nn.Dropout(), "p", 50), ValueError, "Dropout.p must be in [0, 1], not 50"),
    (written(nn.Linear(3, 2), "training", "eval"), TypeError, "Linear.training must be True or "
     "False, not 'eval'; module.train() and module.eval() set it of all modules inside, too"),
    (written(nn.MultiheadAttention(4, 2), "out_proj", 3), TypeError, "MultiheadAttention.out_proj "
     "is a layer, Linear(4, 4), and cannot become 3: assign a module, or None"),
    (written(optim.lr_scheduler.StepLR(optimizer(), 2), "gamma", "a"), TypeError,
     "StepLR.gamma must be a number, not 'a'"),
    (written(optimizer(), "learning_rate", 0.1), AttributeError,
     "SGD has no attribute 'learning_rate'; use `lr`; options are set in "
     "optimizer.param_groups, for each group"),
    (written(optimizer(), "param_groups", []), AttributeError, "SGD.param_groups cannot be set: it "
     "is computed: the groups, as mappings of options by name whose numbers may be set"),
    (lambda: optimizer().param_groups[0].update(momentun=0.9), KeyError,
     "SGD: a group of parameters has no 'momentun'; did you mean `momentum`?"),
    (written(ag.jit(abs), "threads", 3), AttributeError,
     "threads of the compiled abs cannot be set: ag.config.threads = 3 sets it for all"),
    (written(ag.jit(abs), "optimizer", "None"), AttributeError, "optimizer of the compiled abs "
     "cannot be set: make another one with ag.jit(abs, optimizer='None')"),
    (written(D.Normal(0.0, 1.0), "scale", -1.0), ValueError,
     "Normal: scale must be positive, not -1."),
    (written(D.Normal(ag.zeros(3), 1.0), "loc", "a"), TypeError, "Normal.loc must be numbers that "
     "broadcast to float32[3], not 'a'; another shape needs another Normal"),
    (written(theano.config, "floatx", "float32"), AttributeError,
     "theano.config has no setting 'floatx'; did you mean 'floatX'?"),
    (lambda: theano.config.foo, AttributeError, "theano.config has no setting 'foo'"),
    (lambda: optimizer().load_state_dict(worded(lr="fast")), ValueError,
     "SGD.load_state_dict: lr must be a number of at least 0, not 'fast'"),
    (written(nn.LSTM(3, 4, 2), "num_layers", 1), AttributeError, "LSTM.num_layers was used when "
     "the layer was made, and cannot become 1: make another one, LSTM(..., num_layers=1)"),
    (written(nn.MultiheadAttention(8, 2), "num_heads", 3), ValueError,
     "MultiheadAttention: num_heads=3 does not divide embed_dim=8"),
    (written(nn.Embedding(10, 3), "padding_idx", 77), ValueError,
     "Embedding: padding_idx=77 is none of 10 vectors"),
    (lambda: nn.functional.embedding(ag.tensor([1]), X, 4), IndexError,
     "embedding(int64[1], float32[4, 3], 4): padding_idx=4 is none of 4 rows"),
    (written(nn.Linear(3, 2), "forward", 3), TypeError,
     "Linear.forward is a method, and cannot become 3: it is called, as in forward(...)"),
    (written(ag.random.Generator(0), "seed", 3), TypeError,
     "Generator.seed is a method, and cannot become 3: it is called, as in seed(...)"),
    (written(LOADER, "batch_size", 4), AttributeError, "DataLoader.batch_size was used when the "
     "loader was made, and cannot be set: make another one, with batch_size=..."),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES, ids=range(len(CASES)))
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_what_fits_is_written() -> None:
    norm, layer, chain = nn.BatchNorm1d(3), nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2))
    norm.momentum, norm.running_mean = None, ag.ones(3)
    layer.training, layer.bias = False, None
    assert not layer.training and chain.training
    chain.extra = nn.Linear(2, 1)
    assert isinstance(chain(X), ag.Tensor)
    schedule = optim.lr_scheduler.StepLR(optimizer(), 2)
    schedule.gamma, schedule.note = 0.5, "mine"
    assert schedule.gamma == 0.5


def test_compiled_functions_follow_the_mode_of_one_module() -> None:
    drop = nn.Dropout(0.5)
    f = ag.jit(lambda x: drop(x))
    assert (f(ag.ones(100)) == 0).any()
    drop.training = False
    assert f(ag.ones(3)).tolist() == [1.0, 1.0, 1.0]


def shapes(module: Any) -> list[Any]:
    return [(n, t.shape) for n, t in module.state_dict().items()]


def others(value: Any) -> list[Any]:
    """Other values of an option that decides over shapes."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [*{value * 2, value + 1}]
    if isinstance(value, tuple):
        return [tuple(2 * v if isinstance(v, int) else v for v in value)]
    return []


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", [k for k in classes().values() if issubclass(k, nn.Module)])
def test_options_by_which_weights_were_made_are_told(kind: Any) -> None:
    given = needed(kind.__name__, kind)
    silent = []
    for option in inspect.signature(kind).parameters:
        made = kind(**given)
        for value in others(vars(made).get(option)):
            try:
                changed = shapes(kind(**{**given, option: value})) != shapes(made)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    setattr(made, option, value)
            except (AttributeError, TypeError, ValueError):
                continue
            if changed and not told:
                silent.append((option, value))
    assert [s for s in silent if s[0] not in ("groups", "track_running_stats")] == []


def test_statistics_that_are_not_tracked_stay() -> None:
    norm = nn.BatchNorm1d(3)
    norm.track_running_stats = False
    norm(ag.arange(6.0).reshape(2, 3))
    assert norm.running_mean is not None and norm.running_mean.tolist() == [0.0, 0.0, 0.0]


def test_sizes_may_be_written_with_their_weights() -> None:
    layer = nn.Linear(3, 2)
    layer.weight, layer.bias = nn.Parameter(ag.ones((5, 3))), None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.out_features = 5
    with pytest.warns(UserWarning, match=r"Linear.in_features = 7 changes no weights: weight is "
                      r"float32\[5, 3\]; assign other weights, too"):
        layer.in_features = 7


def test_attributes_that_hide_methods_are_told() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.parameters = [1]  # type: ignore[assignment,method-assign]

    with pytest.warns(UserWarning, match=r"Net.parameters = \[1\] hides a method"):
        Net()


class Mixed:
    @property
    def scaled(self) -> Any:
        return self.factor  # type: ignore[attr-defined]


@pytest.mark.parametrize("base, args", [
    (D.Normal, (0.0, 1.0)), (nn.Linear, (2, 1)), (optim.SGD, ([ag.ones(1, requires_grad=True)],))])
def test_a_property_that_fails_tells_what_it_lacks(base: Any, args: Any) -> None:
    found = type("Found", (Mixed, base), {})(*args)
    with pytest.raises(AttributeError, match="'factor'"):
        _ = found.scaled
    assert not hasattr(found, "scaled")
