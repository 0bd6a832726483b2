"""``torch.autograd.grad_mode``: the modes under PyTorch's module name."""

from .modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
