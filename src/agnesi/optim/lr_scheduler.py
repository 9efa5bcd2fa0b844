"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import no_attribute
from agnesi.optim.schedules.base import Scheduler as Scheduler
from agnesi.optim.schedules.composed import ChainedScheduler as ChainedScheduler
from agnesi.optim.schedules.composed import ReduceLROnPlateau as ReduceLROnPlateau
from agnesi.optim.schedules.composed import SequentialLR as SequentialLR
from agnesi.optim.schedules.cycles import CosineAnnealingLR as CosineAnnealingLR
from agnesi.optim.schedules.cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from agnesi.optim.schedules.cycles import CyclicLR as CyclicLR
from agnesi.optim.schedules.cycles import OneCycleLR as OneCycleLR
from agnesi.optim.schedules.decay import ConstantLR as ConstantLR
from agnesi.optim.schedules.decay import ExponentialLR as ExponentialLR
from agnesi.optim.schedules.decay import LambdaLR as LambdaLR
from agnesi.optim.schedules.decay import LinearLR as LinearLR
from agnesi.optim.schedules.decay import MultiplicativeLR as MultiplicativeLR
from agnesi.optim.schedules.decay import MultiStepLR as MultiStepLR
from agnesi.optim.schedules.decay import PolynomialLR as PolynomialLR
from agnesi.optim.schedules.decay import StepLR as StepLR

LRScheduler = _LRScheduler = Scheduler

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.optim.lr_scheduler'", name)


_strictly(__name__)
