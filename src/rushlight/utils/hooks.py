"""``torch.utils.hooks``: the handle that registering a hook returns."""

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
