"""What weight_norm, spectral_norm and pruning share: the hooks that set a weight before each forward pass."""

from __future__ import annotations


def take_off(module, kind, matches):
    """Undo the hook of class ``kind`` before ``module``'s forward for which ``matches(hook)`` holds, and return it.

    None where there is no such hook.
    """
    for identity, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and matches(hook):
            hook.remove(module)
            del module._forward_pre_hooks[identity]
            return hook
    return None
