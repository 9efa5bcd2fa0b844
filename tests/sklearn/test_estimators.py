"""Estimators over modules: scikit-learn's own checks, and what they are used for."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import agnesi as ag
from agnesi import nn
from agnesi.sklearn import AutoEncoder, Classifier, Regressor

QUICK: dict[str, Any] = {"lr": 0.03, "max_epochs": 15, "hidden_layer_sizes": 16, "random_state": 0}
#: What is not checked without settings that must be made before SciPy is imported.
ABSENT = "SCIPY_ARRAY_API is not set"


@pytest.mark.share(9)
@pytest.mark.parametrize("kind", [Classifier, Regressor, AutoEncoder])
def test_scikit_learns_own_checks_pass(kind: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(kind(**QUICK), on_fail=None, on_skip=None)
    assert len(found) > 45
    for check in found:
        assert check["status"] == "passed" or (
            check["status"] == "skipped" and str(check["exception"]).startswith(ABSENT)
        ), (check["check_name"], check["exception"])


def digits() -> tuple[np.ndarray, np.ndarray]:
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(x))[:600]
    return (x[rows] / 16).astype("float32"), y[rows]


def net(features: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(32, classes))


def test_any_module_learns_digits_compiled_and_not() -> None:
    x, y = digits()

    found = []
    for compiled in (True, False):
        model = Classifier(net, lr=0.02, max_epochs=12, batch_size=50, random_state=1,
                           compile=compiled)
        model.fit(x[:400], y[:400])
        assert model.score(x[400:], y[400:]) > 0.85 and model.module_.training is False
        assert model.loss_curve_[-1] < 0.3 * model.loss_curve_[0]
        found.append(model.loss_curve_)
    np.testing.assert_allclose(*found, rtol=1e-2)
    assert model.predict_proba(x[:3]).dtype == np.float32
    before = model.predict(x)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(x), before)
    again.partial_fit(x[:50], y[:50])
    assert again.n_iter_ == model.n_iter_ + 1


def test_a_module_given_is_copied_and_randomness_ends() -> None:
    x, y = digits()
    given = nn.Linear(64, 10)
    weights = given.weight.numpy().copy()
    ag.manual_seed(5)
    wanted = ag.random.normal(size=3).numpy()
    ag.manual_seed(5)
    models = [clone(Classifier(given, max_epochs=3, random_state=0)).fit(x, y) for _ in range(2)]
    np.testing.assert_array_equal(ag.random.normal(size=3).numpy(), wanted)
    np.testing.assert_array_equal(given.weight.numpy(), weights)
    np.testing.assert_array_equal(*(m.module_.weight.numpy() for m in models))


def test_pipelines_searches_and_sparse_rows() -> None:
    x, y = digits()
    pipe = make_pipeline(StandardScaler(), Classifier(max_epochs=5, lr=0.01, random_state=0))
    search = GridSearchCV(pipe, {"classifier__hidden_layer_sizes": [(4,), (32,)]}, cv=2)
    search.fit(x[:300], y[:300])
    assert search.best_params_["classifier__hidden_layer_sizes"] == (32,)
    dense, thin = (Classifier(max_epochs=3, random_state=0).fit(rows, y)
                   for rows in (x, sparse.csr_matrix(x)))
    np.testing.assert_allclose(dense.loss_curve_, thin.loss_curve_, rtol=1e-5)
    np.testing.assert_array_equal(dense.predict(x), thin.predict(sparse.csc_matrix(x)))


class Two(nn.Module):
    """Two layers, with options that a search changes."""

    def __init__(self, features: int, outputs: int, hidden: int = 3) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(features, hidden), nn.Linear(hidden, outputs)

    def forward(self, x: Any) -> Any:
        return self.last(ag.tanh(self.first(x)))


def test_searches_tell_options_to_modules_and_optimizers() -> None:
    x, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 2
    search = GridSearchCV(Classifier(Two, max_epochs=2, random_state=0), {
        "module__hidden": [2, 5], "optimizer": ["SGD"], "optimizer__momentum": [0.5]}, cv=2)
    best = pickle.loads(pickle.dumps(search.fit(x, y).best_estimator_))
    hidden = search.best_params_["module__hidden"]
    assert best.module_.first.weight.shape == (hidden, 4)
    assert best._loop.optimizer.param_groups[0]["momentum"] == 0.5
    assert clone(best).set_params(module__hidden=7).fit(x, y).module_.last.weight.shape[1] == 7
    with pytest.raises(ValueError, match="module__hidden is an argument of what makes the module"):
        Classifier(nn.Linear(4, 2)).set_params(module__hidden=7)
    with pytest.raises(TypeError, match="did you mean `hidden`"):
        Classifier(Two).set_params(module__hiden=7)


class Fixed(Two):
    """The same for data of four features and two classes, as skorch's modules are."""

    def __init__(self, hidden: int = 3) -> None:
        super().__init__(4, 2, hidden)


def test_options_of_modules_and_optimizers_are_taken_when_made() -> None:
    x, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 2
    for kind in (Two, Fixed):
        made = Classifier(kind, module__hidden=6, optimizer="SGD", optimizer__momentum=0.5,
                          max_epochs=2, random_state=0)
        assert made.get_params()["module__hidden"] == 6
        search = GridSearchCV(clone(made), {"module__hidden": [2, 5]}, cv=2).fit(x, y)
        best = search.best_estimator_
        assert best.module_.first.weight.shape == (search.best_params_["module__hidden"], 4)
        assert clone(best).fit(x, y)._loop.optimizer.param_groups[0]["momentum"] == 0.5
    with pytest.raises(TypeError, match="did you mean `hidden`"):
        Classifier(Two, module__hiden=6)
    with pytest.raises(TypeError, match="did you mean `verbose`"):
        Classifier(Two, verbos=True)


def test_early_stopping_keeps_the_best_weights() -> None:
    x, y = digits()
    model = Classifier(lr=0.05, max_epochs=60, early_stopping=True, n_iter_no_change=3,
                       random_state=0).fit(x, y)
    assert model.n_iter_ < 60 and len(model.validation_scores_) == model.n_iter_
    assert model.n_iter_ - 1 - int(np.argmax(model.validation_scores_)) <= 3


def test_weights_of_samples_and_classes_count() -> None:
    x = np.array([[0.0], [0.0], [1.0]])
    y = np.array([0, 1, 1])
    heavy = Classifier(nn.Linear(1, 2), lr=0.1, max_epochs=100, tol=0, random_state=0)
    heavy.fit(x, y, sample_weight=[10.0, 1.0, 1.0])
    assert heavy.predict([[0.0]]) == [0]
    heavy.set_params(class_weight={0: 1.0, 1: 30.0}).fit(x, y, sample_weight=[10.0, 1.0, 1.0])
    assert heavy.predict([[0.0]]) == [1]
    with pytest.raises(ValueError, match=r"classes \[7\] are not among \[0, 1\]"):
        heavy.partial_fit(x, [0, 1, 7])
    with pytest.raises(ValueError, match="needs all classes"):
        clone(heavy).partial_fit(x, y)
    with pytest.raises(TypeError, match="module must be a module, or a function"):
        Classifier(lambda features, classes: 3).fit(x, y)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        Classifier(batch_size=0).fit(x, y)


def test_several_targets_and_a_loss_of_ones_own() -> None:
    x = np.random.default_rng(0).normal(size=(80, 3))
    y = x @ np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 3.0]])

    def absolute(outputs: Any, target: Any) -> Any:
        return abs(outputs - target).mean(1)

    model = Regressor(nn.Linear(3, 2), criterion=absolute, lr=0.05, max_epochs=150,
                      weight_decay=0.0, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.99 and model.predict(x[:4]).shape == (4, 2)
    assert Regressor(max_epochs=2).fit(x, y[:, 0]).predict(x[:4]).shape == (4,)


def test_few_numbers_give_back_features() -> None:
    codes = np.random.default_rng(0).normal(size=(100, 2))
    x = codes @ np.random.default_rng(1).normal(size=(2, 6))
    model = AutoEncoder(lambda n, k: (nn.Linear(n, k), nn.Linear(k, n)), n_components=2, lr=0.02,
                        max_epochs=300, tol=0, random_state=0).fit(x)
    back = model.inverse_transform(model.transform(x))
    assert ((back - x) ** 2).mean() < 0.01 * (x**2).mean()
    assert list(model.get_feature_names_out()) == ["autoencoder0", "autoencoder1"]


def test_labels_go_together_as_in_scikit_learns_own() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4))
    y = (x @ rng.normal(size=(4, 3)) > 0).astype(int)
    model = Classifier(nn.Linear, lr=0.1, max_epochs=60, random_state=0).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MLPClassifier((), max_iter=5, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.9
    for name in ("predict", "predict_proba", "predict_log_proba"):
        ours, wanted = (getattr(m, name)(x) for m in (model, theirs))
        assert ours.shape == wanted.shape and ours.dtype == wanted.dtype
    scores = model.decision_function(x)
    np.testing.assert_allclose(model.predict_proba(x), 1 / (1 + np.exp(-scores)))
    np.testing.assert_array_equal(model.partial_fit(x, y).classes_, theirs.classes_)
    with pytest.raises(ValueError, match="y is not an indicator matrix of labels, other than"):
        model.partial_fit(x, y[:, 0])
    stopped = Classifier(nn.Linear, early_stopping=True, max_epochs=3).fit(x, sparse.csr_matrix(y))
    assert stopped.best_validation_score_ == max(stopped.validation_scores_)


def test_copies_leave_the_original_whole_and_new_rates_count() -> None:
    x, y = digits()
    model = Classifier(lr=0.01, max_epochs=2, warm_start=True, random_state=0).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    for m in (model, again):
        m.partial_fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(x), again.predict_proba(x))
    before = model.predict_proba(x)
    for m in (model, pickle.loads(pickle.dumps(model.set_params(lr=0.0, weight_decay=0.0)))):
        np.testing.assert_array_equal(m.fit(x, y).predict_proba(x), before)
    moved = model.set_params(lr=0.1, optimizer="SGD").fit(x, y)
    assert abs(moved.predict_proba(x) - before).max() > 0.01


def test_what_does_not_fit_is_said() -> None:
    x, y = digits()
    for count in (9, 11):
        with pytest.raises(ValueError, match=rf"shape \(samples, 10\) for these data, not float32"
                                             rf"\[200, {count}\]"):
            Classifier(nn.Linear(64, count)).fit(x, y)
    mean = Classifier(nn.Linear, criterion=nn.CrossEntropyLoss(), max_epochs=1, random_state=0)
    each = clone(mean).set_params(criterion=nn.CrossEntropyLoss)
    np.testing.assert_allclose(mean.fit(x, y).loss_, each.fit(x, y).loss_, rtol=1e-5)
    with pytest.raises(ValueError, match="criterion must give the loss of each sample"):
        mean.fit(x, y, sample_weight=np.arange(len(y)))
    with pytest.raises(ValueError, match="criterion must give the loss of each sample"):
        mean.set_params(compile=True).fit(x, y).partial_fit(x, y, sample_weight=np.arange(len(y)))
    with pytest.raises(ValueError, match=r"the loss became .* take a smaller lr"):
        Regressor(lr=1e9, optimizer="SGD", random_state=0).fit(x, y)
    with pytest.raises(TypeError, match="to two modules, encoder and decoder, not Linear"):
        AutoEncoder(nn.Linear(64, 2)).fit(x)
    absolute = [Regressor(nn.Linear, criterion=c, max_epochs=2, random_state=0).fit(x, y).loss_
                for c in (nn.L1Loss, lambda a, b: abs(a - b).mean(1))]
    np.testing.assert_allclose(*absolute, rtol=1e-5)


def test_options_that_nobody_takes_are_refused_when_they_are_set() -> None:
    model = Classifier(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="criterion takes no options by name, so there is no crit"):
        model.set_params(criterion__x=3)
    with pytest.raises(TypeError, match=r"Adam\(\) .* argument 'learn'; it takes parameters, lr, "):
        model.set_params(optimizer__learn=3)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_optimizer_that_calls_for_gradients_learns(compiled: bool) -> None:
    x, y = digits()
    model = Classifier(optimizer="LBFGS", lr=1.0, hidden_layer_sizes=16, batch_size=400,
                       max_epochs=5, random_state=0, compile=compiled)
    model.fit(x[:400], y[:400])
    assert model.loss_curve_[0] > 2 and model.loss_curve_[-1] < 0.1
