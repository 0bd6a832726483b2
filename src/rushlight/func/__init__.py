"""Transforms of functions: ``grad``, ``vjp``, ``jvp``, ``vmap``, Jacobians and Hessians, which nest freely."""

from . import custom_mapped as custom_mapped
from .forward import jvp as jvp
from .jacobians import (
    debug_unwrap as debug_unwrap,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    linearize as linearize,
)
from .modules import (
    functional_call as functional_call,
    functionalize as functionalize,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
    stack_module_state as stack_module_state,
)
from .rearranging import rearrange as rearrange
from .reverse import (
    grad as grad,
    grad_and_value as grad_and_value,
    vjp as vjp,
)
from .vmap import vmap as vmap
