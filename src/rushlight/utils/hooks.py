"""``torch.utils.hooks``: the handle that registering a hook returns, and hooks that are not to be saved."""

from ..autograd.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
