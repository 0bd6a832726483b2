"""What rules ask about the graph: whether what they compute enters it."""

from .table import functions


def is_recorded(*tensors):
    """Whether what is now computed from ``tensors``, outputs and gradients that a rule was given, enters the graph."""
    if not functions.interposers and not functions.is_grad_enabled():
        return False
    return any(tensor is not None and tensor.unsqueeze(0)._is_tracked() for tensor in tensors)
