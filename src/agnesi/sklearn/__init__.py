"""Estimators of scikit-learn's kind over any module, for pipelines, searches and the rest of it.

In: a module or its class, and arrays. Out: fitted estimators.
What must hold: scikit-learn's own checks of estimators pass.
"""

from agnesi.core.keywords import strictly as _strictly
from agnesi.sklearn.autoencoder import AutoEncoder as AutoEncoder
from agnesi.sklearn.estimators import Classifier as Classifier
from agnesi.sklearn.estimators import Regressor as Regressor

_strictly(__name__)
