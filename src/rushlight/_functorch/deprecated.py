"""What ``functorch`` exports: the functions of ``torch.func``, each with the warning that its name is old."""

from __future__ import annotations

import functools
import warnings

from .. import func
from . import make_functional as _modules
from . import vmap as _batching


def _deprecated(function, advice):
    name = function.__name__

    @functools.wraps(function)
    def call(*args, **kwargs):
        warnings.warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
            f"Please use `{advice}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
            "details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return call


# From the module of that name, which is thereby imported before: a later import would put it in the function's place.
vmap = _deprecated(_batching.vmap, "torch.vmap")
grad = _deprecated(func.grad, "torch.func.grad")
grad_and_value = _deprecated(func.grad_and_value, "torch.func.grad_and_value")
vjp = _deprecated(func.vjp, "torch.func.vjp")
jvp = _deprecated(func.jvp, "torch.func.jvp")
jacrev = _deprecated(func.jacrev, "torch.func.jacrev")
jacfwd = _deprecated(func.jacfwd, "torch.func.jacfwd")
hessian = _deprecated(func.hessian, "torch.func.hessian")
functionalize = _deprecated(func.functionalize, "torch.func.functionalize")
make_functional = _deprecated(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_modules.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
