"""Neural networks: functional, Parameter, Module and the layers, first values, utilities."""

from . import functional as functional, grad as grad, init as init, parameter as parameter
from .factory import factory_kwargs as factory_kwargs
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)
from .modules import *
from . import attention as attention, modules as modules, parallel as parallel, utils as utils
from .parallel import DataParallel as DataParallel
