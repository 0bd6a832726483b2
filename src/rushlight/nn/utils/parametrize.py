"""Parametrizations: a parameter computed from others by modules, behind the attribute it always had."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd import no_grad
from ...base.contexts import contextmanager
from ...tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

if TYPE_CHECKING:
    from ...nn.modules.module import Module

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

# (id of module, name) -> tensor, while `cached` is entered.
_cache = {}
_cache_depth = [0]


@contextmanager
def cached() -> Iterator[Any]:
    """Inside, every parametrized tensor is computed once and remembered.

    >>> import rushlight as torch
    >>> with torch.nn.utils.parametrize.cached():
    ...     pass
    """
    _cache_depth[0] += 1  # no call stands between this and the try
    try:
        yield
    finally:
        _cache_depth[0] -= 1
        if _cache_depth[0] == 0:
            _cache.clear()


def _gone_back(parametrization, value):
    """What ``right_inverse`` makes of ``value``: the value itself, where there is none, or none that is implemented."""
    if not hasattr(parametrization, "right_inverse"):
        return value
    try:
        return parametrization.right_inverse(value)
    except NotImplementedError:
        return value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to ``original`` (or ``original0``, ``original1``, ...)."""

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            start = original
            for module in reversed(self):
                start = _gone_back(module, start)
        if not isinstance(start, (Tensor, Sequence)):
            message = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
            raise ValueError(f"{message} Got {type(start).__name__}")
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if start.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {start.dtype}"
                )
            if start is not original:
                original.data = start.detach()
            _register(self, "original", original)
        else:
            self._register_originals(original, start)
        if not unsafe:
            self._check_result(shape, dtype)

    def _register_originals(self, original, start):
        for place, tensor in enumerate(start):
            if not isinstance(tensor, Tensor):
                message = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
                raise ValueError(f"{message} Got element {place} of the sequence with type {type(tensor).__name__}.")
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            _register(self, f"original{place}", tensor)

    def _check_result(self, shape, dtype):
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
                )

    def _originals(self):
        """The tensors that everything is computed from."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``, through every ``right_inverse``."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            for original, tensor in zip(self._originals(), self._checked_inverse(value)):
                original.data = tensor.detach()

    def _checked_inverse(self, value):
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                    f"{self.original.dtype}"
                )
            return [value]
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(value)}."
            )
        for place, (original, tensor) in enumerate(zip(self._originals(), value)):
            if tensor.dtype != original.dtype:
                raise ValueError(
                    f"Tensor {place} returned by `right_inverse` has dtype {tensor.dtype} while `original{place}` has "
                    f"dtype {original.dtype}"
                )
        return value

    def forward(self) -> Tensor:
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make ``module.tensor_name`` the result of ``parametrization`` applied to the tensor it was; return the module.

    A further one is applied to the result of those before. If the parametrization has a method ``right_inverse``, the
    first original comes from it, and the attribute can be assigned to.

    Args:
        unsafe (bool): allow it to change shape or dtype. Default: ``False``

    >>> import rushlight as torch
    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", Positive())
    >>> bool((layer.weight > 0).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_chained(tensor_name, getattr(module, tensor_name), parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _change_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations  # type: ignore[assignment]
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_chained(name, before, parametrization):
    """Raise if one more parametrization changes dtype or shape, there or on the way back."""
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        was, became = getattr(before, what), getattr(after, what)
        if was != became:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{what}: {was}\nparametrization(module.{name}).{what}: {became}"
            )
    back = _gone_back(parametrization, after)
    if back is after:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        was, became = getattr(before, what), getattr(back, what)
        if was != became:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {was}\nreturned {what}: {became}"
            )


def _change_class(module):
    """Give ``module`` a class of its own, derived from the one it has, where properties can be put."""
    base = type(module)

    def __getstate__(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def __deepcopy__(self, memo):
        made = memo[id(self)] = self.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    members = {"__getstate__": __getstate__, "__deepcopy__": __deepcopy__}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _property(name):
    def get(self):
        if not _cache_depth[0]:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, set)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether ``module``, or its tensor of that name, is parametrized.

    >>> import rushlight as torch
    >>> torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(2, 2))
    False
    """
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make ``module.tensor_name`` a plain parameter or buffer again; return the module.

    Args:
        leave_parametrized (bool): keep its present value; otherwise it is the original again. Default: ``True``
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        tensor = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that ``module`` had before its first parametrization, else its class."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give ``to_module`` the parametrizations of ``from_module`` and the parameters below them; return ``to_module``.

    Args:
        tensor_name (str): only those of this tensor. Default: all

    >>> import rushlight as torch
    >>> given = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> taken = torch.nn.utils.parametrize.transfer_parametrizations_and_params(given, torch.nn.Linear(2, 3))
    >>> bool((taken.weight == given.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        given = from_module.parametrizations[name]
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        taken = to_module.parametrizations[name]
        for original in [key for key in given._parameters if key.startswith("original")]:
            setattr(taken, original, getattr(given, original))
    return to_module
