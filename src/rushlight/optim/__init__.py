"""Optimizers and learning-rate schedules: ``torch.optim``."""

import importlib as _importlib

from .optimizer import Optimizer
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam
from . import lr_scheduler

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
    "swap_in_optimizer_params_and_state",
]  # fmt: skip


def __getattr__(name):
    if name == "swa_utils":  # it needs all of nn; optimizers do not
        return _importlib.import_module(".swa_utils", __name__)
    if name == "swap_in_optimizer_params_and_state":
        return _importlib.import_module(".swapping", __name__).swap_in_optimizer_params_and_state
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
