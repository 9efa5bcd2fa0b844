"""Optimizers and learning-rate schedules."""

from agnesi.optim import lr_scheduler as lr_scheduler
from agnesi.optim.adam import Adam as Adam
from agnesi.optim.adam import AdamW as AdamW
from agnesi.optim.optimizer import Optimizer as Optimizer
from agnesi.optim.sgd import SGD as SGD
