"""Classifiers and regressors over any module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from agnesi.api import functions as F
from agnesi.core.options import Bound, Count, Counts, Decay, NotNegative
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from agnesi.sklearn.base import Estimator, with_options


class Classifier(ClassifierMixin, Estimator):
    """A classifier over any module that gives a score for each class, or for each of many labels.

    Parameters
    ----------
    module : Module or callable, optional
        A module, of which a copy learns, or a class or function from the numbers of features and
        outputs to one, or from nothing where no argument must be given; its other arguments are
        options ``module__name``. By default linear layers with ReLU between them.
    hidden_layer_sizes : int or sequence of int
        Of the default module.
    criterion : callable, optional
        From outputs and targets to the loss of each sample, or a class of ``nn`` such as
        ``nn.CrossEntropyLoss``; by default the cross-entropy of the scores, for labels the binary
        one. Where all samples count the same, their mean is enough.
    optimizer : str or class
        Of ``agnesi.optim``, by its name, or called with parameters, ``lr`` and ``weight_decay``;
        other arguments are options ``optimizer__name``.
    lr : float
        Learning rate.
    weight_decay : float
        As the optimizer takes it.
    max_epochs : int
        The most ways through the data.
    batch_size : int or "auto"
        Samples of a step; at most 200 by default.
    shuffle : bool
        Whether each way through the data is in another order.
    tol : float
        How much better counts.
    n_iter_no_change : int
        Ways through the data without progress after which it ends.
    early_stopping : bool
        Whether progress is that of the score of samples held back; the best weights stay then.
    validation_fraction : float
        The share of samples held back.
    warm_start : bool
        Whether ``fit`` goes on from where the last one ended.
    compile : bool or "auto"
        Whether a step is compiled; "auto" where there are many.
    class_weight : dict or "balanced", optional
        Weights of classes; "balanced" in inverse proportion to how often they are there.
    random_state : int, RandomState or None
        Where initial weights, orders and dropout come from.
    verbose : bool
        Whether to print the loss of each way through the data.

    Attributes
    ----------
    module_ : Module
        What has learned.
    classes_ : numpy.ndarray
        The classes, in the order of the module's outputs.
    loss_curve_, validation_scores_ : list of float
        The mean loss, and with early stopping the accuracy, of each way through the data.
    loss_, best_loss_, best_validation_score_ : float
        The last loss, and the best loss and accuracy.
    n_iter_ : int
        How many there were.

    See Also
    --------
    agnesi.sklearn.Regressor, nn.Module

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi import nn
    >>> from agnesi.sklearn import Classifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> model = Classifier(lambda features, classes: nn.Linear(features, classes), lr=0.1,
    ...                    random_state=0)
    >>> model.fit(X, y).predict([[-1.0], [4.0]])
    array(['a', 'b'], dtype='<U1')
    """

    @with_options
    def __init__(self, module: Callable[..., Any] | None = None, *,
                 hidden_layer_sizes: Counts = (100,), criterion: Callable[..., Any] | None = None,
                 optimizer: str | Callable[..., Any] = "Adam", lr: NotNegative = 1e-3,
                 weight_decay: NotNegative = 1e-4, max_epochs: Count = 200,
                 batch_size: Count | Literal["auto"] = "auto", shuffle: bool = True,
                 tol: Bound = 1e-4, n_iter_no_change: Count = 10, early_stopping: bool = False,
                 validation_fraction: Decay = 0.1, warm_start: bool = False,
                 compile: bool | Literal["auto"] = "auto",
                 class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
                 random_state: int | np.random.RandomState | None = None, verbose: bool = False
                 ) -> None:
        self.module = module
        self.hidden_layer_sizes = hidden_layer_sizes
        self.criterion = criterion
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.compile = compile
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def _losses(self) -> Any:
        return _label_losses if self.is_multilabel_ else _class_losses

    def _score(self, outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return float(accuracy_score(targets, self._chosen_of(outputs), sample_weight=weights))

    def _chosen_of(self, scores: np.ndarray) -> np.ndarray:
        """The place of the largest score, or 1 for each label that is more likely than not."""
        return (scores > 0).astype(np.int64) if self.is_multilabel_ else scores.argmax(1)

    def _data(self, X: Any, y: Any, weights: Any, reset: bool) -> tuple[Any, Any, Any]:
        several = type_of_target(y, input_name="y") == "multilabel-indicator"
        X, y = validate_data(self, X, y, reset=reset, accept_sparse="csr", multi_output=several,
                             dtype=[np.float64, np.float32])
        check_classification_targets(y)
        if reset:
            self.is_multilabel_ = several
        elif several != self.is_multilabel_:
            raise ValueError(at(f"Classifier: y is {'' if several else 'not '}an indicator matrix "
                                "of labels, other than before"))
        y = y.toarray() if sparse.issparse(y) else y
        weights = self._weights(X, weights)
        if self.class_weight is not None:
            own = compute_sample_weight(self.class_weight, y)
            weights = own if weights is None else weights * own
        return X, y, weights

    def _numbers(self, X: Any, y: Any) -> np.ndarray:
        """Targets of the loss: places of classes, or 0 and 1 for each label."""
        if self.is_multilabel_:
            if y.shape[1] != len(self.classes_):
                raise ValueError(at(f"Classifier: y has {y.shape[1]} labels, not "
                                    f"{len(self.classes_)}"))
            return np.asarray(y, X.dtype)
        places = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        unknown = sorted(set(np.asarray(y)[self.classes_[places] != y].tolist()))
        if unknown:
            raise ValueError(at(f"Classifier: classes {unknown} are not among "
                                f"{self.classes_.tolist()}"))
        return places.astype(np.int64)

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn classes from data.

        :param y: The class of each sample, or a matrix with 1 for each label that it has.
        :type y: array_like
        :returns: Itself.
        :rtype: Classifier
        :raises ValueError: If X and y do not fit, or an option is out of its range.
        """
        again = self.warm_start and hasattr(self, "module_")
        X, labels, weights = self._data(X, y, sample_weight, reset=not again)
        if not again:
            self.classes_ = (np.arange(labels.shape[1]) if self.is_multilabel_
                             else np.unique(labels))
        self._learn(X, self._numbers(X, labels), weights, len(self.classes_), again=again,
                    epochs=self.max_epochs)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None,
                    sample_weight: object = None) -> Self:
        """Go once through more data.

        :like: Classifier.fit
        :param classes: All classes, for the first call; labels need none.
        :type classes: array_like, optional
        :raises ValueError: If classes are missing in the first call, or others come later.
        """
        again = hasattr(self, "module_")
        X, found, weights = self._data(X, y, sample_weight, reset=not again)
        known = None if classes is None else np.unique(np.asarray(classes))
        if known is None and self.is_multilabel_:
            known = np.arange(found.shape[1])
        if again:
            if known is not None and not np.array_equal(known, self.classes_):
                raise ValueError(at(f"Classifier: classes={classes!r} is not the same as on last "
                                    f"call to partial_fit, was: {self.classes_!r}"))
        elif known is None:
            raise ValueError(at("Classifier: the first partial_fit needs all classes: "
                                "partial_fit(X, y, classes=...)"))
        else:
            self.classes_ = known
        self._learn(X, self._numbers(X, found), weights, len(self.classes_), again=again, epochs=1)
        return self

    def decision_function(self, X: object) -> np.ndarray:
        """The scores of classes; of two classes how much larger the second's is.

        :returns: (samples, classes), or (samples,).
        """
        scores = self._predicted(X)
        two = scores.shape[1] == 2 and not self.is_multilabel_
        return scores[:, 1] - scores[:, 0] if two else scores

    def predict_proba(self, X: object) -> np.ndarray:
        """The probabilities of classes: the softmax of the scores, of labels their sigmoid.

        :returns: (samples, classes).
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: object) -> np.ndarray:
        """The logarithms of the probabilities.

        :returns: (samples, classes).
        """
        scores = self._predicted(X)
        if self.is_multilabel_:
            return -np.logaddexp(0, -scores)
        scores = scores - scores.max(1, keepdims=True)
        found: np.ndarray = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        return found

    def predict(self, X: object) -> np.ndarray:
        """The class of the largest score; of labels 1 for each with a positive score.

        :returns: (samples,) or (samples, labels).
        """
        places = self._chosen_of(self._predicted(X))
        return places if self.is_multilabel_ else self.classes_[places]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Regressor(RegressorMixin, Estimator):
    """A regressor over any module that gives a number for each target.

    Parameters
    ----------
    module : Module or callable, optional
        A module, of which a copy learns, or a class or function from the numbers of features and
        outputs to one, or from nothing where no argument must be given; its other arguments are
        options ``module__name``. By default linear layers with ReLU between them.
    hidden_layer_sizes : int or sequence of int
        Of the default module.
    criterion : callable, optional
        From outputs and targets to the loss of each sample, or a class of ``nn`` such as
        ``nn.L1Loss``; the mean squared error by default. Where all samples count the same, their
        mean is enough.
    optimizer : str or class
        Of ``agnesi.optim``, by its name, or called with parameters, ``lr`` and ``weight_decay``.
    lr : float
        Learning rate.
    weight_decay : float
        As the optimizer takes it.
    max_epochs : int
        The most ways through the data.
    batch_size : int or "auto"
        Samples of a step; at most 200 by default.
    shuffle : bool
        Whether each way through the data is in another order.
    tol : float
        How much better counts.
    n_iter_no_change : int
        Ways through the data without progress after which it ends.
    early_stopping : bool
        Whether progress is that of the score of samples held back; the best weights stay then.
    validation_fraction : float
        The share of samples held back.
    warm_start : bool
        Whether ``fit`` goes on from where the last one ended.
    compile : bool or "auto"
        Whether a step is compiled; "auto" where there are many.
    random_state : int, RandomState or None
        Where initial weights, orders and dropout come from.
    verbose : bool
        Whether to print the loss of each way through the data.

    Attributes
    ----------
    module_ : Module
        What has learned.
    loss_curve_, validation_scores_ : list of float
        The mean loss, and with early stopping R2, of each way through the data.
    loss_, best_loss_, best_validation_score_ : float
        The last loss, and the best loss and R2.
    n_iter_ : int
        How many there were.

    See Also
    --------
    agnesi.sklearn.Classifier, nn.Module

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi import nn
    >>> from agnesi.sklearn import Regressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> model = Regressor(nn.Linear, lr=0.1, weight_decay=0.0, max_epochs=500,
    ...                   n_iter_no_change=500, random_state=0)
    >>> model.fit(X, y).predict([[10.0]]).round()
    array([21.])
    """

    @with_options
    def __init__(self, module: Callable[..., Any] | None = None, *,
                 hidden_layer_sizes: Counts = (100,), criterion: Callable[..., Any] | None = None,
                 optimizer: str | Callable[..., Any] = "Adam", lr: NotNegative = 1e-3,
                 weight_decay: NotNegative = 1e-4, max_epochs: Count = 200,
                 batch_size: Count | Literal["auto"] = "auto", shuffle: bool = True,
                 tol: Bound = 1e-4, n_iter_no_change: Count = 10, early_stopping: bool = False,
                 validation_fraction: Decay = 0.1, warm_start: bool = False,
                 compile: bool | Literal["auto"] = "auto",
                 random_state: int | np.random.RandomState | None = None, verbose: bool = False
                 ) -> None:
        self.module = module
        self.hidden_layer_sizes = hidden_layer_sizes
        self.criterion = criterion
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.compile = compile
        self.random_state = random_state
        self.verbose = verbose

    def _losses(self) -> Any:
        return _squared_errors

    def _score(self, outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return float(r2_score(targets, outputs.reshape(targets.shape), sample_weight=weights))

    def _run(self, X: Any, y: Any, sample_weight: Any, again: bool, epochs: int) -> Self:
        X, y = validate_data(self, X, y, reset=not again, accept_sparse="csr", multi_output=True,
                             y_numeric=True, dtype=[np.float64, np.float32])
        sample_weight = self._weights(X, sample_weight)
        y = np.asarray(y, X.dtype)
        self.is_flat_ = y.ndim == 1
        y = y.reshape(len(y), -1)
        self._learn(X, y, sample_weight, y.shape[1], again=again, epochs=epochs)
        return self

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn numbers from data.

        :param y: (samples,) or (samples, targets).
        :type y: array_like
        :returns: Itself.
        :rtype: Regressor
        :raises ValueError: If X and y do not fit, or an option is out of its range.
        """
        return self._run(X, y, sample_weight, self.warm_start and hasattr(self, "module_"),
                         self.max_epochs)

    def partial_fit(self, X: object, y: object, sample_weight: object = None
                    ) -> Self:
        """Go once through more data.

        :like: Regressor.fit
        :raises ValueError: If X and y do not fit.
        """
        return self._run(X, y, sample_weight, hasattr(self, "module_"), 1)

    def predict(self, X: object) -> np.ndarray:
        """Return the module's results.

        :returns: (samples,) or (samples, targets), as the targets were.
        """
        outputs = self._predicted(X)
        return outputs.reshape(-1) if self.is_flat_ else outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _class_losses(scores: Tensor, target: Tensor) -> Tensor:
    return cross_entropy(scores, target, reduction="none")


def _label_losses(scores: Tensor, target: Tensor) -> Tensor:
    losses = binary_cross_entropy_with_logits(scores, target, reduction="none")
    return F.sum(losses, 1)


def _squared_errors(outputs: Tensor, target: Tensor) -> Tensor:
    off = outputs - target
    return F.mean(off * off, 1)
