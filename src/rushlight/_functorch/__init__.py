"""What the package ``functorch``, the old home of ``torch.func``, finds of PyTorch's: the same transforms."""

from .deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
