"""Lazy modules: layers whose parameters get their sizes from the first input."""

from __future__ import annotations

from typing import Any

from ..parameter import is_lazy


class LazyModuleMixin:
    """Makes a layer lazy: the first base of a class whose second base is the layer.

    The class creates `UninitializedParameter`s, and gives them their sizes in ``initialize_parameters(*args)``, which
    the first call runs with its inputs. Then the module becomes an instance of ``cls_to_become``, the plain layer.
    Follows ``torch.nn.modules.lazy.LazyModuleMixin``.
    """

    cls_to_become: Any = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def has_uninitialized_params(self):
        """Whether a parameter or buffer still lacks its size."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args, **kwargs):
        """Give every parameter its size, from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # A tensor without a size cannot be detached, so lazy ones go in themselves.
        for name, tensor in self._own_state():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Before a state dict is loaded: take the sizes from its tensors."""
        for name, tensor in self._own_state():
            loaded = state_dict.get(prefix + name)
            if tensor is not None and loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
                tensor.materialize(loaded.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        """Before the first forward: give the parameters their sizes and become the plain layer."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        # By identity, not handle.remove(): in a deep copy the handle still knows the original's dictionaries.
        for handle, hooks in (
            (module._initialize_hook, module._forward_pre_hooks),
            (module._initialize_hook, module._forward_pre_hooks_with_kwargs),
            (module._load_hook, module._load_state_dict_pre_hooks),
        ):
            hooks.pop(handle.id, None)
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
