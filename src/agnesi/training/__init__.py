"""Training: the loop around a compiled step, and what may happen between batches and epochs.

In: a module, an optimizer, batches. Out: the trained module, and a history.
What must hold: a training that was stopped goes on bit by bit.
"""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.training.callbacks import Callback as Callback
from agnesi.training.callbacks import EarlyStopping as EarlyStopping
from agnesi.training.callbacks import ModelCheckpoint as ModelCheckpoint
from agnesi.training.callbacks import TimeBudget as TimeBudget
from agnesi.training.history import History as History
from agnesi.training.logs import CSVLogger as CSVLogger
from agnesi.training.logs import JSONLogger as JSONLogger
from agnesi.training.logs import Progress as Progress
from agnesi.training.logs import TensorBoardLogger as TensorBoardLogger
from agnesi.training.rates import RateTest as RateTest
from agnesi.training.rates import find_lr as find_lr
from agnesi.training.trainer import Trainer as Trainer

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.training'", name)


_strictly(__name__)
