"""Module: what every layer and model derives from."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self, TypeVar

from ...base.errors import hinted
from ...base.public_names import public_module
from ...tensor import Tensor
from ..parameter import Buffer, Parameter
from .conversion import ModuleConversion
from .hooks import (
    ModuleHooks,
    call_with_hooks,
    global_backward_hooks,
    global_backward_pre_hooks,
    global_buffer_registration_hooks,
    global_forward_hooks,
    global_forward_pre_hooks,
    global_module_registration_hooks,
    global_parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from .state import EXTRA_STATE, ModuleState, _IncompatibleKeys
from .tree import ModuleTree

__all__ = [
    "Module",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_BEFORE_INIT = "call super().__init__() first in the class's own __init__"


def _no_forward(self, *input):
    """What the module computes; every subclass overrides it."""
    raise NotImplementedError(
        hinted(
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            "define forward(self, ...) in the class; a container such as ModuleList is indexed, not called",
        )
    )


ModuleT = TypeVar("ModuleT", bound="Module")


_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE  # PyTorch's name, which libraries ask for


class Module(ModuleTree, ModuleState, ModuleHooks, ModuleConversion):
    """Base class of layers and models, ``torch.nn.Module``.

    A subclass creates its parameters and submodules in ``__init__``, after ``super().__init__()``, and computes in
    ``forward``. Parameters, buffers and submodules are found because assigning them to an attribute files them in
    ``_parameters``, ``_buffers`` and ``_modules``.

    >>> import rushlight as torch
    >>> class Double(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(torch.ones(2))
    tensor([2., 2.])
    """

    dump_patches = False
    training: bool

    # A class with several bases sets it to pass its arguments on to the next base's __init__.
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        for name in _HOOK_DICTS:
            state[name] = OrderedDict()
        state["_is_full_backward_hook"] = None
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__
        try:
            hooked = (
                state["_forward_hooks"]
                or state["_forward_pre_hooks"]
                or state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or global_forward_hooks
                or global_forward_pre_hooks
                or global_backward_hooks
                or global_backward_pre_hooks
            )
        except KeyError:
            raise AttributeError(
                hinted(f"'{type(self).__name__}' object has no attribute '_backward_hooks'", _BEFORE_INIT)
            ) from None
        if hooked:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    _call_impl = __call__
    _compiled_call_impl: Callable[..., Any] | None = None  # what `compile` was asked for: the call itself

    forward: Callable[..., Any] = _no_forward  # subclasses take the arguments that they like

    def __getattr__(self, name: str) -> Tensor | Module:
        # Python calls this only when normal look-up has failed, so members are what it is called for.
        state = self.__dict__
        if "_parameters" in state:
            if name in (members := state["_parameters"]):
                return members[name]
            if name in (members := state["_buffers"]):
                return members[name]
            if name in (members := state["_modules"]):
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Tensor | Module) -> None:
        state = self.__dict__
        parameters, modules, buffers = state.get("_parameters"), state.get("_modules"), state.get("_buffers")
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError(hinted("cannot assign parameters before Module.__init__() call", _BEFORE_INIT))
            _forget(name, state, buffers, modules, state["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise _wrong_member(value, "parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError(hinted("cannot assign module before Module.__init__() call", _BEFORE_INIT))
            _forget(name, state, parameters, buffers, state["_non_persistent_buffers_set"])
            modules[name] = registered(global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise _wrong_member(value, "child module", name, "torch.nn.Module or None")
            modules[name] = registered(global_module_registration_hooks, self, name, value)
        elif is_tensor and isinstance(value, Buffer):
            self._register_assigned_buffer(name, value)
        elif buffers is not None and name in buffers:
            if value is not None and not is_tensor:
                raise _wrong_member(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None")
            buffers[name] = registered(global_buffer_registration_hooks, self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        state = self.__dict__
        names = {*dir(type(self)), *state, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """File ``param`` (or ``None``) under ``name`` among the parameters.

        Raises:
            KeyError: the name is empty, has a dot, or is taken by something else
            TypeError: ``param`` is not a Parameter
            ValueError: ``param`` was computed from other tensors
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError(hinted("cannot assign parameter before Module.__init__() call", _BEFORE_INIT))
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                message = f"cannot assign '{typename(param)}' object to parameter '{name}'"
                raise TypeError(
                    hinted(f"{message} (torch.nn.Parameter or None required)", "wrap it: torch.nn.Parameter(tensor)")
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = registered(global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """File ``tensor`` (or ``None``) under ``name`` among the buffers: state that is not trained.

        Args:
            persistent (bool): whether `state_dict` holds it. Default: ``True``

        >>> import rushlight as torch
        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError(hinted("cannot assign buffer before Module.__init__() call", _BEFORE_INIT))
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = registered(global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def _register_assigned_buffer(self, name, buffer):
        """`register_buffer`, which a subclass may have overridden without the argument ``persistent``."""
        code = getattr(type(self).register_buffer, "__code__", None)
        if code is None or "persistent" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            self.register_buffer(name, buffer, buffer.persistent)
        elif buffer.persistent:
            self.register_buffer(name, buffer)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                "without the persistent argument is not allowed."
            )

    def add_module(self, name: str, module: Module | None) -> None:
        """File ``module`` (or ``None``) under ``name`` among the submodules."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = registered(global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind, name, members):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if name not in members and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on every submodule, children first, then on this module; return the module.

        >>> import rushlight as torch
        >>> layer = torch.nn.Linear(2, 2).apply(lambda module: torch.nn.init.ones_(module.weight))
        >>> layer.weight.sum().item()
        4.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout drops, batch norm measures) here and below; return the module."""
        if not isinstance(mode, bool):
            raise ValueError(hinted("training mode is expected to be boolean", f"train() was given {mode!r}"))
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode here and below: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether every parameter records gradients; return the module.

        >>> import rushlight as torch
        >>> torch.nn.Linear(2, 2).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none (bool): make them ``None`` instead of filling them with zeros. Default: ``True``
        """
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that other processes see when they get the module; see ``Tensor.share_memory_``."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's call in place: arguments are those of ``torch.compile``, which runs it as it is in this version."""
        compiling = importlib.import_module("rushlight.compiler.compiling")
        self._compiled_call_impl = compiling.compile(self._call_impl, *args, **kwargs)

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the printed form says about this module besides its submodules; a subclass overrides it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        lines = "".join(f"\n  {line}" for line in extra_lines + children)
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_DICTS:  # pickles of older versions lack the newer ones
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)


for _part in Module.__bases__:  # messages and tracebacks name the methods by the class that users know
    for _member in vars(_part).values():
        if callable(_member):
            _member.__qualname__ = f"Module.{_member.__name__}"


def held(module: Module, name: str) -> Any:
    """The attribute ``name`` of a module, a parameter or buffer as a rule: by itself one costs a failed look-up and a call."""
    state = module.__dict__
    if name in (members := state["_parameters"]) or name in (members := state["_buffers"]):
        return members[name]
    return getattr(module, name)


def indented(text: str) -> str:
    """``text`` with every line but the first two columns further right."""
    return text.replace("\n", "\n  ")


def typename(value: Any) -> str:
    """The name of a value's type as PyTorch's messages give it.

    >>> typename(3), typename(Module())
    ('int', 'torch.nn.modules.module.Module')
    """
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    if kind.__module__ in ("builtins", "__builtin__", None):
        return kind.__name__
    return f"{public_module(kind.__module__)}.{kind.__qualname__}"


def _forget(name, *holders):
    """Take ``name`` out of the places that held it."""
    for holder in holders:
        if name in holder:
            if isinstance(holder, dict):
                del holder[name]
            else:
                holder.discard(name)


def _wrong_member(value, kind, name, expected):
    message = f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected} expected)"
    if kind == "parameter" and isinstance(value, Tensor):
        return TypeError(hinted(message, f"wrap it in torch.nn.Parameter, or del the parameter '{name}' first"))
    return TypeError(hinted(message, f"'{name}' is registered; del it first to store something else there"))
