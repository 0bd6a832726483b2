"""Transforms of functions: ``grad``, ``vjp``, ``jvp``, ``vmap``, Jacobians and Hessians, which nest freely."""

from . import custom_mapped
from .forward import jvp
from .jacobians import debug_unwrap, hessian, jacfwd, jacrev, linearize
from .modules import functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state
from .rearranging import rearrange
from .reverse import grad, grad_and_value, vjp
from .vmap import vmap
