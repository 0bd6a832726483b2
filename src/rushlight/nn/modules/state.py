"""A module's state as a flat dictionary of names and tensors, and back."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from itertools import chain
from typing import Any

from ... import __future__ as choices
from ...autograd import no_grad
from ...base.errors import hinted
from ...tensor import Tensor
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"

_BUG_REPORT = (
    "should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the names it did not find and those it did not know."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class ModuleState:
    """``state_dict`` and ``load_state_dict``."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _state_dict_hooks: OrderedDict[int, Any]
    # Written into the metadata of a state dict; a class that changes its members raises it and converts when loading.
    _version = 1

    def get_extra_state(self) -> None:
        """What `state_dict` stores besides tensors; a class that has any overrides this and `set_extra_state`."""
        raise RuntimeError(
            hinted(
                f"Reached a code path in Module.get_extra_state() that {_BUG_REPORT}",
                f"{type(self).__name__} does not override get_extra_state",
            )
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(
            hinted(
                f"Reached a code path in Module.set_extra_state() that {_BUG_REPORT}",
                f"{type(self).__name__} does not override set_extra_state",
            )
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The parameters and persistent buffers by dotted name, sharing their memory.

        Args:
            destination (dict): where to put them. Default: a new ``OrderedDict``
            prefix (str): what every name begins with. Default: ``''``
            keep_vars (bool): the tensors themselves instead of detached ones. Default: ``False``

        >>> import rushlight as torch
        >>> list(torch.nn.Linear(3, 2).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = {"destination": destination, "prefix": prefix, "keep_vars": keep_vars}
            given.update(zip(given, args))
            destination, prefix, keep_vars = given.values()
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own parameters, persistent buffers and extra state into ``destination``."""
        for members, left_out in ((self._parameters, ()), (self._buffers, self._non_persistent_buffers_set)):
            for name, tensor in members.items():
                if tensor is not None and name not in left_out:
                    destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self):
        """(name, tensor or None) of the parameters and persistent buffers of this module alone."""
        persistent = (item for item in self._buffers.items() if item[0] not in self._non_persistent_buffers_set)
        return chain(self._parameters.items(), persistent)

    def _has_extra_state(self, method):
        return getattr(type(self), method) is not getattr(ModuleState, method)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of ``state_dict`` into the parameters and buffers of the same names.

        Args:
            strict (bool): raise if a name is missing or unknown. Default: ``True``
            assign (bool): put the tensors themselves in place instead of copying their values. Default: ``False``

        Returns:
            a named tuple with ``missing_keys`` and ``unexpected_keys``

        Raises:
            RuntimeError: a size differs, or (``strict``) a name is missing or unknown; all problems in one message

        >>> import rushlight as torch
        >>> layer = torch.nn.Linear(3, 2)
        >>> layer.load_state_dict(torch.nn.Linear(3, 2).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                hinted(
                    f"Expected state_dict to be dict-like, got {type(state_dict)}.",
                    "pass what module.state_dict() or torch.load() of a saved state dict returned",
                )
            )
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        loading = _Loading(metadata, strict, assign)
        loading.load(self, state_dict, "")
        if strict:
            loading.complain_about_keys()
        if loading.errors:
            problems = "\n\t".join(loading.errors)
            message = f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{problems}"
            hint = _renaming_hint(loading.missing, loading.unexpected) if strict else None
            raise RuntimeError(hinted(message, hint) if hint else message)
        return _IncompatibleKeys(loading.missing, loading.unexpected)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own entries, those under ``prefix``; problems go into the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {name: tensor for name, tensor in self._own_state() if tensor is not None}
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = _load_tensor(self, name, key, tensor, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE
        takes_extra = self._has_extra_state("set_extra_state")
        if takes_extra:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, *rest = key[len(prefix) :].split(".", 1)
                    if first not in (self._modules if rest else own):
                        unexpected_keys.append(key)


def _load_tensor(module, name, key, current, loaded, assign):
    """Bring ``loaded`` into ``module`` under ``name``; the sentence to report if that cannot be done."""
    if not isinstance(loaded, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(loaded)}"
        )
    lazy = is_lazy(current)
    if not lazy and current.dim() == 0 and loaded.dim() == 1 and loaded.shape[0] == 1:
        loaded = loaded[0]  # checkpoints from before 0-dimensional tensors
    if not lazy and loaded.shape != current.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
            f"the shape in current model is {current.shape}."
        )
    try:
        with no_grad():
            if choices.get_swap_module_params_on_conversion():
                _exchange(current, loaded, assign)
                return None
            if not assign:
                if current.is_meta and not loaded.is_meta:
                    warnings.warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                        "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                        "to their corresponding key in the module instead of copying them in place?)",
                        stacklevel=2,
                    )
                current.copy_(loaded)
                return None
            setattr(module, name, _as_parameter_like(current, loaded))
    except Exception as error:
        doing = "swapping" if choices.get_swap_module_params_on_conversion() else "copying"
        return (
            f'While {doing} the parameter named "{key}", whose dimensions in the model are {current.size()} and '
            f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
        )
    return None


def _as_parameter_like(current, loaded):
    """``loaded`` as a parameter that learns as ``current`` does, where that is one."""
    if not isinstance(current, Parameter):
        return loaded
    if isinstance(loaded, Parameter):
        return loaded.requires_grad_(current.requires_grad)
    return Parameter(loaded, requires_grad=current.requires_grad)


def _exchange(current, loaded, assign):
    """Let ``current`` become what its ``module_load`` makes of ``loaded``."""
    made = current.module_load(loaded, assign=assign)
    if made is current or made is loaded:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in module_load"
        )
    swap_tensors(current, _as_parameter_like(current, made))


class _Loading:
    """One `load_state_dict`: walks the modules with the entries below each, and collects what went wrong."""

    def __init__(self, metadata, strict, assign):
        self.metadata, self.strict, self.assign = metadata, strict, assign
        self.missing, self.unexpected, self.errors = [], [], []

    def load(self, module, state_dict, prefix):
        local_metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state_dict, prefix, local_metadata, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {key: value for key, value in state_dict.items() if key.startswith(below)}, below)
        incompatible = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, incompatible) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def complain_about_keys(self):
        for kind, keys in (("Unexpected", self.unexpected), ("Missing", self.missing)):
            if keys:
                listed = ", ".join(f'"{key}"' for key in keys)
                self.errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")


def _renaming_hint(missing, unexpected):
    """What would make unknown names fit, if it can be seen: a prefix to strip, or the name that is most alike."""
    for prefix, source in (("module.", "DataParallel"), ("_orig_mod.", "compile")):
        if unexpected and all(key.startswith(prefix) for key in unexpected):
            return (
                f"the names begin with '{prefix}', which {source} puts in front; strip it with "
                f"torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state_dict, '{prefix}')"
            )
    import difflib  # rarely needed, and not free to import

    for key in unexpected:
        alike = difflib.get_close_matches(key, missing, n=1)
        if alike:
            return f"'{key}' in the state dict may be what this model calls '{alike[0]}'"
    if missing and not unexpected:
        return "strict=False loads what is there and leaves the rest as it is"
    return None
