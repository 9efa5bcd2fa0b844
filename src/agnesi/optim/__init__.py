"""Optimizers and learning-rate schedules."""

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.errors import no_attribute as _no_attribute
from agnesi.core.exports import shown as _shown
from agnesi.optim import lr_scheduler as lr_scheduler
from agnesi.optim.adam import Adam as Adam
from agnesi.optim.adam import AdamW as AdamW
from agnesi.optim.adaptive import Adadelta as Adadelta
from agnesi.optim.adaptive import Adagrad as Adagrad
from agnesi.optim.adaptive import RMSprop as RMSprop
from agnesi.optim.adaptive import Rprop as Rprop
from agnesi.optim.moments import ASGD as ASGD
from agnesi.optim.moments import Adamax as Adamax
from agnesi.optim.moments import Lamb as Lamb
from agnesi.optim.moments import Lion as Lion
from agnesi.optim.moments import NAdam as NAdam
from agnesi.optim.moments import RAdam as RAdam
from agnesi.optim.optimizer import Optimizer as Optimizer
from agnesi.optim.sgd import SGD as SGD

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.optim'", name)


def __dir__() -> list[str]:
    return _shown(__name__)
