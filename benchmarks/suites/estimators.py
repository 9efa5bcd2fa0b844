"""Our classifier beside scikit-learn's own MLP: one fit on its digits with the same settings."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Contender, Context, Result, time_in_turn

TITLE = "scikit-learn's digits: fit of an MLP of 64-100-10 in batches of 200"
THREADS = (1,)
EPOCHS, TRAINED = 200, 1_300  # as many as scikit-learn goes by default
GOAL = 5.0
#: By how much the accuracies on what was not trained on may differ: some of 497 digits.
NOISE = 0.03


def run(context: Context) -> list[Result]:
    result = Result.empty(context, "MLPClassifier, digits", goal=GOAL)
    try:
        from sklearn.datasets import load_digits
        from sklearn.neural_network import MLPClassifier
    except ImportError as error:
        result.absent["scikit-learn"] = f"missing: {error}"
        return [result]
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    models = {OURS: _ours(),
              "scikit-learn": MLPClassifier((100,), max_iter=EPOCHS, n_iter_no_change=EPOCHS,
                                            random_state=0)}
    ready = {name: Contender(functools.partial(_fitted, model, x[:TRAINED], y[:TRAINED]))
             for name, model in models.items()}
    samples = time_in_turn(ready, context.quick)
    scores = {name: model.score(x[TRAINED:], y[TRAINED:]) for name, model in models.items()}
    if abs(scores[OURS] - scores["scikit-learn"]) > NOISE:
        raise AssertionError(f"accuracies differ: {scores}")
    for name, times in samples.items():
        result.add(name, times)
    return [result]


def _ours() -> Any:
    peers.agnesi()
    from agnesi.sklearn import Classifier

    return Classifier(max_epochs=EPOCHS, n_iter_no_change=EPOCHS, random_state=0)


def _fitted(model: Any, x: np.ndarray, y: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that did not converge
        model.fit(x, y)
