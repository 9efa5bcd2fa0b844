"""Metrics that batches are added to, eagerly or in a compiled step, and that are read later.

In: batches of predictions and targets. Out: running totals, and what is computed of them.
What must hold: the value is that of all examples at once, however they were cut in batches.
"""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.metrics.averages import Mean as Mean
from agnesi.metrics.averages import MeanAbsoluteError as MeanAbsoluteError
from agnesi.metrics.averages import MeanSquaredError as MeanSquaredError
from agnesi.metrics.averages import Perplexity as Perplexity
from agnesi.metrics.averages import R2Score as R2Score
from agnesi.metrics.base import Metric as Metric
from agnesi.metrics.classes import AUROC as AUROC
from agnesi.metrics.classes import Accuracy as Accuracy
from agnesi.metrics.classes import ConfusionMatrix as ConfusionMatrix
from agnesi.metrics.classes import F1Score as F1Score
from agnesi.metrics.classes import Precision as Precision
from agnesi.metrics.classes import Recall as Recall

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.metrics'", name)


_strictly(__name__)
