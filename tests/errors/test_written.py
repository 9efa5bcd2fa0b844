"""What is written to an attribute is checked as the constructor's parameter of that name."""

from __future__ import annotations

from typing import Any

import pytest

import agnesi as ag
from agnesi import data, nn, optim
from agnesi import distributions as D
from agnesi.compat import theano
from tests.errors.lambdas import check

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
     "SGD: lr must be a number of at least 0, not 'fast'"),
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
