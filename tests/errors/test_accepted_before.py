"""Golden texts of mistakes that were accepted, or told by a line of ours: data, training, layers in
lists, distributions, and values that are silent elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import data, distributions, metrics, nn, optim, training
from agnesi.sklearn import Classifier
from tests.errors.lambdas import check

X, Y, V = ag.ones((6, 4)), ag.ones((6, 2)), ag.ones(3)
MODEL = nn.Linear(4, 2)
WEIGHT = MODEL.weight
OPTIMIZER = optim.SGD(MODEL.parameters(), lr=0.1)
TRAINER = training.Trainer(MODEL, OPTIMIZER, nn.MSELoss(), jit=False)
SPARSE = ag.sparse_coo_tensor([[0], [0]], [1.0], (2, 2))
BATCH = "a batch must be a tuple of inputs and the target, not"
MAKE = "give (x, y), or a dataset and a collate_fn that make such ones"
EMPTY = ("there is no batch: the data are empty, or a generator that was read to its end; give a "
         "list or a DataLoader")

CASES = [
    (lambda: ag.polyint(V, -1), ValueError,
     "polyint(float32[3], -1): the order of the integral must not be negative: -1"),
    (lambda: ag.polyint(V, 3, [1.0, 2.0]), ag.ShapeError, "polyint(float32[3], 3, [1.0, 2.0]): 3 "
     "integrals have 3 constants, or one for all, not 2"),
    (lambda: ag.repeat_interleave(V, 2, output_size=5), ValueError,
     "repeat_interleave(float32[3], 2): output_size is 5, but the counts give 6 elements"),
    (lambda: ag.vander(V, -1), ValueError, "vander(float32[3], -1): n must be at least 0, not -1"),
    (lambda: TRAINER.fit((X, Y), epochs=-1), ValueError,
     "Trainer.fit: epochs must be at least 0, not -1"),
    (lambda: TRAINER.fit(X, epochs=1), TypeError, f"Trainer.fit: {BATCH} float32[6, 4]; {MAKE}"),
    (lambda: TRAINER.evaluate([]), ValueError, f"Trainer.evaluate: {EMPTY}"),
    (lambda: TRAINER.evaluate(data.DataLoader([1, 2], collate_fn=lambda b: None)), TypeError,
     f"Trainer.evaluate: {BATCH} None; {MAKE}"),
    (lambda: list(data.DataLoader([None, None])), TypeError,
     "DataLoader: samples of a batch are None: the dataset's __getitem__ returns nothing; let it "
     "return a sample, or give a collate_fn"),
    (lambda: list(data.DataLoader([{"a": 1}, {"b": 1}], 2)), ValueError,
     "DataLoader: samples of one batch have different keys: ['a'] and ['b']; give a collate_fn"),
    (lambda: data.DataLoader([1], sampler=3), TypeError,
     "DataLoader: sampler must be a list or another iterable or None, not 3"),
    (lambda: data.RandomSampler(3), TypeError, "RandomSampler: data_source must be something "
     "that has len(), as a list or a dataset, not 3"),
    (lambda: data.Subset([1, 2], 1), TypeError,
     "Subset: indices must be a list of integers, not 1"),
    (lambda: data.TensorDataset(X)[9], IndexError,
     "TensorDataset: there are 6 samples, and no sample 9"),
    (lambda: data.random_split([1, 2], "a"), TypeError, "random_split: lengths must be numbers of "
     "samples, or shares of 1, not 'a'"),
    (lambda: data.random_split([1, 2], [3, -1]), ValueError, "random_split: lengths must be at "
     "least 0, and must sum to 2 or 1, not [3, -1]"),
    (lambda: data.ConcatDataset([[1, 2]])[5], IndexError,
     "ConcatDataset: there are 2 samples, and no sample 5"),
    (lambda: data.SubsetRandomSampler(5), TypeError,
     "SubsetRandomSampler: indices must be a list of integers, not 5"),
    (lambda: nn.functional.multi_margin_loss(X, [0] * 6, weight=V), ag.ShapeError,
     "multi_margin_loss(float32[6, 4], [0, 0, 0, 0, 0, 0], weight=float32[3]): weight must have 4 "
     "elements, not be float32[3]"),
    (lambda: nn.BCEWithLogitsLoss(pos_weight=V)(X, X), ag.ShapeError, "BCEWithLogitsLoss("
     "float32[6, 4], float32[6, 4], pos_weight=float32[3]): sizes 4 and 3 differ on axis -1 and "
     "neither is 1: shapes (6, 4) and (3,) do not broadcast"),
    (lambda: optim.lr_scheduler.StepLR(OPTIMIZER, 1).load_state_dict({"a": 1}), KeyError, "StepLR."
     "load_state_dict: the state is not one of this schedule: it lacks ['base_lrs', 'epoch', "
     "'gamma', 'step_size']; it has besides ['a']"),
    (lambda: nn.Sequential(MODEL).__setitem__(1, MODEL), IndexError,
     "Sequential[1] = ...: its entries are 0 to 0; append(...) adds one"),
    (lambda: ag.autograd.grad(WEIGHT.sum(), V.clone().requires_grad_()), ag.GradientError,
     "grad: float32[] does not depend on float32[3]. Pass allow_unused=True if that is meant"),
    (lambda: setattr(ag.config, "seed", "a"), ValueError,
     "config.seed must be an integer of at least 0, or None, not 'a'"),
    (lambda: setattr(ag.config, "compile", "yes"), ValueError,
     "config.compile must be True or False, not 'yes'"),
    (lambda: setattr(data.RandomSampler([1, 2]), "num_samples", -3), ValueError,
     "RandomSampler.num_samples must be at least 1 or None, not -3"),
    (lambda: metrics.Mean().add_state("total", "a"), TypeError, "Mean.add_state: total must begin "
     "as a number or an array of numbers, not 'a'"),
    (lambda: metrics.Accuracy().load_state_dict({"x": 1}), KeyError, "Accuracy.load_state_dict: "
     "the state is not one of this Accuracy: it lacks ['count', 'right']; it has besides ['x']"),
    (lambda: nn.Sequential(MODEL)[9], IndexError, "Sequential[9]: its entries are 0 to 0"),
    (lambda: nn.ModuleDict({"a": MODEL})["b"], KeyError, "ModuleDict has no 'b', but ['a']"),
    (lambda: nn.ParameterList([MODEL]), TypeError,
     "ParameterList holds parameters, not Linear(4, 2)"),
    (lambda: MODEL.register_buffer("a.b", V), ValueError,
     "Linear.register_buffer: name must be a string without dots, not 'a.b'"),
    (lambda: MODEL.apply(3), TypeError,
     "Linear.apply: fn must be a function, not 3"),
    (lambda: optim.lr_scheduler.StepLR(OPTIMIZER, 1).load_state_dict(3), TypeError, "StepLR."
     "load_state_dict takes a mapping of names to values, not 3; state_dict() gives one"),
    (lambda: Classifier(optimizer="Adamm").fit(np.ones((4, 2)), [0, 1, 0, 1]), ValueError,
     "Classifier.fit: optimizer must be the name of a class of agnesi.optim, such as 'Adam', or a "
     "function that makes one of parameters, not 'Adamm'"),
    (lambda: Classifier(lr="a").fit(np.ones((4, 2)), [0, 1, 0, 1]), TypeError,
     "Classifier.fit: lr must be a number, not 'a'"),
    (lambda: distributions.Normal([0.0, 0.0], [1.0, -2.0]), ValueError,
     "Normal: scale must be positive, not -2. of float32[2]"),
    (lambda: distributions.Normal(V, ag.ones(2)), ag.ShapeError,
     "Normal(loc float32[3], scale float32[2]): sizes 3 and 2 differ on "
     "axis -1 and neither is 1: shapes (3,) and (2,) do not broadcast"),
    (lambda: nn.init.sparse_(ag.ones((3, 3)), 2), ValueError,
     "sparse_: sparsity must be in [0, 1], not 2"),
    (lambda: nn.functional.leaky_relu(V, "a"), TypeError,
     "leaky_relu(float32[3], 'a'): negative_slope must be a number, not 'a'"),
    (lambda: X.narrow(0, 4, 5), IndexError, "narrow(float32[6, 4], 0, 4, 5): 5 elements from 4 on "
     "do not lie on axis 0 of size 6"),
    (lambda: ag.percentile(V, "50"), TypeError,
     "percentile(float32[3], '50'): q must be a number or several, not '50'"),
    (lambda: ag.linspace(0, "1", 3), TypeError,
     "linspace(0, '1', 3): stop must be a number, not '1'"),
    (lambda: ag.random.choice([], 3), ValueError, "choice([], 3): n must be a number, or elements "
     "of which there is one or more, not float32[0]"),
    (lambda: np.asarray(SPARSE), TypeError, "a sparse tensor, float32[2, 2], is no array: "
     "todense() is one of ours, todense().numpy() one of NumPy's"),
    (lambda: ag.value_and_grad(lambda a: "x")(V), TypeError,
     "value_and_grad: <lambda> must return a tensor, not 'x'"),
    (lambda: ag.grad(lambda a, b: (a * b).sum(), argnums=(0, -2))(V, V), ValueError,
     "grad: argnums names argument 0 more than once: (0, -2)"),
    (lambda: ag.distributions.Categorical(ag.ones(3)).log_prob(0.5), ValueError,
     "Categorical.log_prob: value must be a whole number in [0, 2], not 0.5"),
    (lambda: ag.distributions.Binomial(3, 0.5).log_prob(1.5), ValueError, "Binomial.log_prob: "
     "value must be a whole number in [0, 3], not 1.5"),
    (lambda: ag.metrics.ConfusionMatrix(2).update(ag.ones((1, 3)), [0]), ValueError,
     "ConfusionMatrix.update: predictions are float32[1, 3], scores of 3 classes, and num_classes "
     "is 2"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES)
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_constants_in_a_list_of_parameters_are_parameters() -> None:
    """They were dropped: no parameter, and no buffer."""
    made = nn.ParameterList([ag.ones(3), nn.Parameter(ag.ones(2))])
    assert [p.shape for p in made.parameters()] == [(3,), (2,)]


def test_places_from_the_end_are_narrowed() -> None:
    x = ag.arange(5)
    assert [x.narrow(0, -2, 2).tolist(), x.narrow(0, 5, 0).tolist()] == [[3, 4], []]


@pytest.mark.parametrize("form", [
    lambda f, w: f(w), lambda f, w: ag.jit(f)(w), lambda f, w: ag.vmap(f)(w[None])])
def test_weights_sum_to_something_in_every_form(form: Any) -> None:
    with pytest.raises(ValueError, match="weights must not sum to zero"):
        form(lambda w: ag.average(V, weights=w), ag.zeros(3))


def test_methods_that_no_trainer_calls_are_told() -> None:
    with pytest.warns(UserWarning, match="on_train_begin is never called: callbacks have"):
        class Shout(training.Callback):
            def on_train_begin(self, trainer: Any) -> None: ...


def test_arguments_that_a_hook_gave_are_told() -> None:
    layer = nn.Linear(4, 2)
    layer.register_forward_pre_hook(lambda module, args: args * 2)
    with pytest.raises(TypeError, match="3 were given, 2 of which a forward_pre hook gave for 1"):
        layer(X)


def test_files_of_other_kinds_are_named(tmp_path: Any) -> None:
    np.savez(tmp_path / "w.npz", w=np.ones(3))
    with pytest.raises(ValueError, match="it begins as a zip file"):
        ag.load(tmp_path / "w.npz")


def test_freezing_by_assignment_is_told() -> None:
    with pytest.warns(UserWarning, match="changes no parameter: module.requires_grad_"):
        nn.Linear(4, 2).requires_grad = False
