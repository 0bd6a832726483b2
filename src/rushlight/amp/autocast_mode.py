"""``torch.autocast``, and the decorators by which functions with derivatives of their own take part in it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from ..base import dtypes
from ..base.dtypes import DType
from ..base.errors import hinted
from ..tensor.base import Tensor
from .state import (
    check_switches,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    state,
)

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

SUPPORTED = (dtypes.bfloat16, dtypes.float16)


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(hinted(f"Expected `device_type` of type `str`, got: `{type(device_type)}`", "such as 'cpu'"))


class autocast:
    """Mixed precision: a context and a decorator in which operations compute in the dtypes that suit them.

    On the CPU matrix products, linear layers, convolutions and attention cast what they get to ``dtype``, where they
    take half the time; losses, Fourier transforms and linear algebra cast half precision to float32; joining tensors
    casts to the widest dtype among them; everything else computes in the dtypes that it gets. Parameters stay in float32, and
    so do their gradients: each parameter is cast once, by an operation of the graph. Put the forward pass and the loss
    inside, ``backward()`` outside.

    Args:
        device_type: "cpu". "cuda" warns and stays off, other kinds of devices have no effect in this version.
        dtype: bfloat16 or float16; `torch.get_autocast_dtype` unless given, for the CPU bfloat16.
        enabled: False for a region in which nothing is cast.
        cache_enabled: whether the casts of parameters are kept until the outermost context ends; True unless it was turned off.

    Follows ``torch.autocast``.

    >>> import rushlight as torch
    >>> layer = torch.nn.Linear(4, 2)
    >>> with torch.autocast("cpu"):
    ...     output = layer(torch.ones(3, 4))
    ...     loss = torch.nn.functional.mse_loss(output, torch.zeros(3, 2))
    >>> output.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    >>> loss.backward()
    >>> layer.weight.grad.dtype
    torch.float32
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        _check_device_type(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                hinted(f"User specified an unsupported autocast device_type '{device_type}'", "the CPU's is 'cpu'")
            )
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in SUPPORTED:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: tuple[Any, ...] = ()  # (what this was before, what the switches were) where it is entered

    def __enter__(self) -> Self:
        kind = check_switches(self.device, self._enabled, self.fast_dtype, self._cache_enabled)
        before = state.enabled[kind], state.dtypes[kind], state.cache_enabled
        # In one row without calls, so that Ctrl-C finds all of it done or nothing: autograd/modes.py.
        self._before = self._before, (kind, *before)
        state.enabled[kind], state.dtypes[kind], state.cache_enabled = (
            self._enabled,
            self.fast_dtype,
            self._cache_enabled,
        )
        state.casts_to = state.dtypes["cpu"] if state.enabled["cpu"] else None
        state.nesting += 1
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
        self._before, (kind, enabled, dtype, state.cache_enabled) = self._before
        state.enabled[kind], state.dtypes[kind] = enabled, dtype
        state.casts_to = state.dtypes["cpu"] if state.enabled["cpu"] else None
        state.nesting -= 1
        if state.nesting == 0:
            clear_autocast_cache()
        return False

    def __call__(self, function: Any) -> Any:
        if not callable(function):
            raise TypeError(
                hinted(
                    f"autocast()(func) requires a callable, but got {type(function).__name__}. Did you mean to use autocast as a "
                    "context manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)",
                    "as a decorator it takes the function whose calls it is for",
                )
            )
        return autocast_decorator(self, function)


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Any:
    """``func`` with its calls inside ``autocast_instance``."""

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return wrapped


# ---------------------------------------------------------------- functions with derivatives of their own


def _cast(value, device_type, dtype):
    """``value`` with the floating-point tensors of the device in it cast, float64 excepted; containers are made anew."""
    if isinstance(value, Tensor):
        casts = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if casts else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """Decorate the ``forward`` of a ``torch.autograd.Function`` for autocast.

    Args:
        device_type: "cpu".
        cast_inputs: a dtype: where autocast is on, floating-point tensors are cast to it, and ``forward`` runs with
            autocast off. None: ``forward`` runs as it is called.

    >>> import rushlight as torch
    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, a, b):
    ...         ctx.save_for_backward(a, b)
    ...         return a @ b
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         a, b = ctx.saved_tensors
    ...         return grad @ b.T, a.T @ grad
    >>> with torch.autocast("cpu"):
    ...     Product.apply(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        ctx, enabled = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a ``torch.autograd.Function``: it runs with autocast as `custom_fwd` left it."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward
