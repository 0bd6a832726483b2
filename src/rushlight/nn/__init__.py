"""Neural networks: functional, Parameter, Module and the layers, first values, utilities."""

from . import functional, grad, init, parameter
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .modules import *
from . import modules, parallel, utils
from .parallel import DataParallel
