"""A transformer that learns to give back its input through few numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from agnesi import nn
from agnesi.api import functions as F
from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import Bound, Count, Counts, Decay, NotNegative
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.sklearn.base import Estimator, perceptron, with_options


class _Pair(nn.Module):
    """An encoder and a decoder, one behind the other."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.decoder(self.encoder(x))
        return found


class AutoEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Few numbers from which a decoder gives back the features.

    Parameters
    ----------
    module : callable, optional
        A function from the number of features and ``n_components`` to a pair of modules, encoder
        and decoder; by default linear layers with Tanh between them.
    n_components : int
        How many numbers there are for a sample.
    hidden_layer_sizes : int or sequence of int
        Of the default encoder; the decoder's are in reverse order.
    criterion : callable, optional
        From outputs and features to the loss of each sample, or a class of ``nn`` such as
        ``nn.L1Loss``; the mean squared error by default.
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
        Whether progress is that of samples held back; the best weights stay then.
    validation_fraction : float
        The share of samples held back.
    warm_start : bool
        Whether ``fit`` goes on from where the last one ended.
    compile : bool or "auto"
        Whether a step is compiled; "auto" where there are many.
    random_state : int, RandomState or None
        Where initial weights and orders come from.
    verbose : bool
        Whether to print the loss of each way through the data.

    Attributes
    ----------
    module_ : Module
        What has learned; its parts are ``encoder`` and ``decoder``.
    loss_curve_ : list of float
        The mean loss of each way through the data.

    See Also
    --------
    agnesi.sklearn.Classifier

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.sklearn import AutoEncoder
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = AutoEncoder(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).shape, model.inverse_transform(model.transform(X)).shape
    ((50, 2), (50, 4))
    """

    @with_options
    def __init__(self, module: Callable[..., Any] | None = None, *, n_components: Count = 2,
                 hidden_layer_sizes: Counts = (32,), criterion: Callable[..., Any] | None = None,
                 optimizer: str | Callable[..., Any] = "Adam", lr: NotNegative = 1e-3,
                 weight_decay: NotNegative = 0.0, max_epochs: Count = 200,
                 batch_size: Count | Literal["auto"] = "auto", shuffle: bool = True,
                 tol: Bound = 1e-4, n_iter_no_change: Count = 10, early_stopping: bool = False,
                 validation_fraction: Decay = 0.1, warm_start: bool = False,
                 compile: bool | Literal["auto"] = "auto",
                 random_state: int | np.random.RandomState | None = None, verbose: bool = False
                 ) -> None:
        self.module = module
        self.n_components = n_components
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

    def _made(self, features: int, outputs: int, dtype: Any) -> nn.Module:
        if self.module is not None:
            pair = self.module(features, self.n_components) if callable(self.module) and not (
                isinstance(self.module, nn.Module)) else self.module
            if not (isinstance(pair, tuple | list) and len(pair) == 2
                    and all(isinstance(part, nn.Module) for part in pair)):
                raise TypeError(at("AutoEncoder: module must be a function from the numbers of "
                                   "features and components to two modules, encoder and decoder, "
                                   f"not {typed(self.module)}"))
            encoder, decoder = pair
        else:
            hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int)).tolist()
            sizes = [features, *hidden, self.n_components]
            encoder, decoder = perceptron(sizes, nn.Tanh), perceptron(sizes[::-1], nn.Tanh)
        return _Pair(encoder, decoder).to(dtype)

    def _losses(self) -> Any:
        return _squared_errors

    def _score(self, outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return -float(np.average(((outputs - targets) ** 2).mean(1), weights=weights))

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn to give back features.

        :param y: Not used.
        :type y: object
        :returns: Itself.
        :rtype: AutoEncoder
        """
        again = self.warm_start and hasattr(self, "module_")
        rows = self._rows(X, reset=not again)
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        self._learn(rows, dense, self._weights(rows, sample_weight), rows.shape[1], again=again,
                    epochs=self.max_epochs)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: object) -> np.ndarray:
        """The few numbers of each sample.

        :returns: (samples, n_components).
        """
        return self._predicted(X, "encoder")

    def inverse_transform(self, X: TensorLike) -> np.ndarray:
        """The features that the decoder gives.

        :param X: (samples, n_components).
        :type X: array_like
        :returns: (samples, features).
        """
        check_is_fitted(self, "module_")
        self.module_.eval()
        dtype = next(p.dtype for p in self.module_.parameters())
        with no_grad():
            found: np.ndarray = self.module_.decoder(wrap(np.asarray(X, dtype))).numpy()
        return found


def _squared_errors(outputs: Tensor, target: Tensor) -> Tensor:
    off = outputs - target
    return F.mean(off * off, 1)
