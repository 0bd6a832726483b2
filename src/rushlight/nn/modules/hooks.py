"""Hooks of modules: their registration, on one module or on all, and the call that runs them."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...autograd.hooks import RemovableHandle
from ...base.errors import hinted
from ...tensor import Tensor
from .backward_hooks import BackwardHook, register_on_node

if TYPE_CHECKING:
    from ...nn.modules.module import Module, ModuleT

global_forward_pre_hooks = OrderedDict()
global_forward_hooks = OrderedDict()
global_forward_hooks_with_kwargs = OrderedDict()
global_forward_hooks_always_called = OrderedDict()
global_backward_pre_hooks = OrderedDict()
global_backward_hooks = OrderedDict()
global_buffer_registration_hooks = OrderedDict()
global_module_registration_hooks = OrderedDict()
global_parameter_registration_hooks = OrderedDict()

# Whether the global backward hooks are full ones; None while none was ever registered.
_global_backward_kind = [None]


def _register(registry, hook, extra=(), prepend=False):
    """Enter ``hook`` in ``registry`` and flag it in each dictionary of ``extra``; the handle removes all of it."""
    handle = RemovableHandle(registry, extra_dict=list(extra))
    try:
        registry[handle.id] = hook
        for flags in extra:
            flags[handle.id] = True
        if prepend:
            for entries in (registry, *extra):
                entries.move_to_end(handle.id, last=False)
    except BaseException:  # Ctrl-C: nobody has the handle
        handle.remove()
        raise
    return handle


def _require_kind(current, full, where):
    if current is (not full):
        raise RuntimeError(
            hinted(
                f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them.",
                "remove the handles of the other kind; register_full_backward_hook is the one to keep",
            )
        )


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module; it may return new ``args``.

    >>> import rushlight as torch
    >>> show = lambda module, args: print(type(module).__name__)
    >>> handle = torch.nn.modules.module.register_module_forward_pre_hook(show)
    >>> output = torch.nn.ReLU()(torch.zeros(1))
    ReLU
    >>> handle.remove()
    """
    return _register(global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module; it may return a new output.

    Args:
        with_kwargs (bool): call ``hook(module, args, kwargs, output)``. Default: ``False``
        always_call (bool): call it also when forward raised. Default: ``False``
    """
    extra = [global_forward_hooks_with_kwargs] * with_kwargs + [global_forward_hooks_always_called] * always_call
    return _register(global_forward_hooks, hook, extra)


def register_module_backward_hook(
    hook: Callable[
        [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
    ],
) -> RemovableHandle:
    """The old form of `register_module_full_backward_hook`: sees only the gradients of the last node."""
    _require_kind(_global_backward_kind[0], False, "as a global Module hook")
    _global_backward_kind[0] = False
    return _register(global_backward_hooks, hook)


def register_module_full_backward_pre_hook(
    hook: Callable[[Module, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None],
) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module; it may return a new ``grad_output``."""
    return _register(global_backward_pre_hooks, hook)


def register_module_full_backward_hook(
    hook: Callable[
        [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
    ],
) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` once the input gradients of any module are known."""
    _require_kind(_global_backward_kind[0], True, "as a global Module hook")
    _global_backward_kind[0] = True
    return _register(global_backward_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module registers a buffer; it may return another one."""
    return _register(global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module registers a submodule; it may return another one."""
    return _register(global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module registers a parameter; it may return another one."""
    return _register(global_parameter_registration_hooks, hook)


def registered(hooks: Any, module: Module, name: str, value: Any) -> Any:
    """What the registration hooks make of ``value`` before ``module`` stores it under ``name``."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


class WeakHook:
    """A hook that is given its module, which it does not keep alive, and that copies along with the module."""

    def __init__(self, hook: Callable[..., Any], module: Module | None = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module = weakref.ref(module) if self.with_module else None
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["with_module"] and state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(state["hook"], state.get("module"))


class ModuleHooks:
    """Registration of hooks on one module. Every method returns a handle whose ``remove()`` takes the hook away."""

    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, Any]
    _forward_hooks_always_called: OrderedDict[int, Any]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, Any]
    _backward_hooks: OrderedDict[int, Any]
    _backward_pre_hooks: OrderedDict[int, Any]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self,
        hook: Callable[[ModuleT, tuple[Any, ...]], Any | None]
        | Callable[[ModuleT, tuple[Any, ...], dict[str, Any]], tuple[Any, dict[str, Any]] | None],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns (unless ``None``) replaces ``args``.

        Args:
            prepend (bool): run before the hooks that are there already. Default: ``False``
            with_kwargs (bool): call ``hook(module, args, kwargs)``; it may return both. Default: ``False``

        >>> import rushlight as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(torch.zeros(2))
        tensor([1., 1.])
        """
        extra = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return _register(self._forward_pre_hooks, hook, extra, prepend)

    def register_forward_hook(
        self,
        hook: Callable[[ModuleT, tuple[Any, ...], Any], Any | None]
        | Callable[[ModuleT, tuple[Any, ...], dict[str, Any], Any], Any | None],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns (unless ``None``) replaces the output.

        Args:
            prepend (bool): run before the hooks that are there already. Default: ``False``
            with_kwargs (bool): call ``hook(module, args, kwargs, output)``. Default: ``False``
            always_call (bool): call it also when forward raised. Default: ``False``

        >>> import rushlight as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
        >>> output = layer(torch.zeros(2))
        torch.Size([2])
        """
        extra = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return _register(self._forward_hooks, hook, extra, prepend)

    def register_full_backward_pre_hook(
        self,
        hook: Callable[[Module, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward; it may return a new ``grad_output``."""
        return _register(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(
        self,
        hook: Callable[
            [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
        ],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once the gradients of the module's inputs are known.

        Both are tuples with an entry per positional argument and output, ``None`` for those that are no tensors. A
        returned tuple replaces ``grad_input``. Inputs and outputs must not be written in place.

        >>> import rushlight as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(torch.ones(2, requires_grad=True)).sum().backward()
        (tensor([1., 1.]),)
        """
        _require_kind(self._is_full_backward_hook, True, "on a single Module")
        self._is_full_backward_hook = True
        return _register(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(
        self,
        hook: Callable[
            [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
        ],
    ) -> RemovableHandle:
        """The old form of `register_full_backward_hook`: sees only the gradients of the output's last node."""
        _require_kind(self._is_full_backward_hook, False, "on a single Module")
        self._is_full_backward_hook = False
        return _register(self._backward_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects from this module."""
        return _register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """After `state_dict`, call ``hook(module, state_dict, prefix, local_metadata)``; it may change the dict."""
        hook._from_public_api = True
        return _register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """As `register_state_dict_post_hook`, but what the hook returns (unless ``None``) replaces the dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before `load_state_dict` reads this module's own entries."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """As `register_load_state_dict_pre_hook`; the hook is given the module only if asked for."""
        return _register(self._load_state_dict_pre_hooks, WeakHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after `load_state_dict`; it may clear the lists in place."""
        return _register(self._load_state_dict_post_hooks, hook)

    def _get_backward_hooks(self):
        """The backward hooks that hold for this module, global ones first, as (full, non-full)."""
        full, non_full = [], []
        for kind, hooks in (
            (_global_backward_kind[0], global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            (full if kind else non_full).extend(hooks.values())
        return full, non_full

    def _get_backward_pre_hooks(self):
        return [*global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


def call_with_hooks(module: Module, args: Any, kwargs: Any) -> Any:
    """``module.forward(*args, **kwargs)`` with every hook around it: what ``module(...)`` does once there is one."""
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise


class _Call:
    """One call of a module that has hooks; each step may replace the arguments or the output."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.output = None
        self.finished = set()

    def run(self):
        module = self.module
        full, non_full = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        self.run_forward_pre_hooks()
        backward_hook = None
        if full or pre:
            backward_hook = BackwardHook(module, full, pre)
            self.args = backward_hook.watch_inputs(self.args)
        self.output = module.forward(*self.args, **self.kwargs)
        for identity, hook in self.forward_hooks():
            self.finished.add(identity)
            self.run_forward_hook(identity, hook)
        if backward_hook is not None:
            if not isinstance(self.output, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors"
                    f" but received {type(self.output)}",
                    stacklevel=4,
                )
            self.output = backward_hook.watch_outputs(self.output)
        if non_full:
            register_on_node(self.args, self.output, [WeakHook(hook, module) for hook in non_full])
        return self.output

    def run_forward_pre_hooks(self):
        module = self.module
        for identity, hook in chain(global_forward_pre_hooks.copy().items(), module._forward_pre_hooks.copy().items()):
            if identity not in module._forward_pre_hooks_with_kwargs:
                args = hook(module, self.args)
                if args is not None:
                    self.args = args if isinstance(args, tuple) else (args,)
                continue
            both = hook(module, self.args, self.kwargs)
            if both is not None:
                if not (isinstance(both, tuple) and len(both) == 2):
                    raise RuntimeError(
                        hinted(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {both}.",
                            "a hook registered with with_kwargs=True replaces both, or nothing",
                        )
                    )
                self.args, self.kwargs = both

    def forward_hooks(self):
        return [*global_forward_hooks.items(), *self.module._forward_hooks.items()]

    def run_forward_hook(self, identity, hook):
        if identity in self.module._forward_hooks_with_kwargs or identity in global_forward_hooks_with_kwargs:
            output = hook(self.module, self.args, self.kwargs, self.output)
        else:
            output = hook(self.module, self.args, self.output)
        if output is not None:
            self.output = output

    def run_always_called(self):
        """After an error: the hooks that wanted to be called in any case and were not yet."""
        for identity, hook in self.forward_hooks():
            everywhere = identity in global_forward_hooks_always_called
            if identity in self.finished or not (everywhere or identity in self.module._forward_hooks_always_called):
                continue
            try:
                self.run_forward_hook(identity, hook)
            except Exception as error:
                warnings.warn(
                    f"{'global ' * everywhere}module forward hook with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error}",
                    stacklevel=4,
                )
