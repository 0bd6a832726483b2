"""Autocast's switches in each thread: for each kind of device whether it is on and its dtype, and the cache of casts."""

from __future__ import annotations

import threading
import warnings

from ..base import dtypes
from ..base.device import device
from ..base.errors import hinted, kind_name

# The kinds of devices that autocast knows, and the dtypes that it starts with; only the CPU computes in this version.
DEFAULTS = {
    "cpu": dtypes.bfloat16, "cuda": dtypes.float16, "xpu": dtypes.float16, "mps": dtypes.float16, "hpu": dtypes.bfloat16,
    "ipu": dtypes.float16, "xla": dtypes.bfloat16, "mtia": dtypes.float16, "maia": dtypes.bfloat16,
    "privateuseone": dtypes.float16,
}  # fmt: skip


class _State(threading.local):
    """The switches of a thread.

    ``casts_to`` is what the listed functions look at: the dtype of those that compute in less precision; None where
    autocast is off, and while one of them runs.
    """

    casts_to = None
    cache_enabled = True
    nesting = 0

    def __init__(self):
        self.enabled, self.dtypes = dict.fromkeys(DEFAULTS, False), dict(DEFAULTS)
        self.cache = {}  # (id of a leaf, dtype) -> the leaf, and its cast


state = _State()
_lock = threading.Lock()
on_first_use = []  # functions to call before the CPU's autocast is on for the first time


def _update():
    state.casts_to = state.dtypes["cpu"] if state.enabled["cpu"] else None
    if state.casts_to is not None:
        _make_ready()


def _make_ready():
    if on_first_use:
        with _lock:  # another thread, entering at the same time, waits until all is there
            while on_first_use:
                on_first_use[-1]()
                on_first_use.pop()


def _refuse_type(name, argument, position, expected, value):
    raise TypeError(
        hinted(
            f"{name}(): argument '{argument}' (position {position}) must be {expected}, not {kind_name(value)}",
            f"such as {name}('cpu'" + {"bool": ", True)", "torch.dtype": ", torch.bfloat16)"}.get(expected, ")"),
        )
    )


def _kind(name, device_type, unknown):
    """The kind of device that ``device_type`` names, one of autocast's; else RuntimeError with PyTorch's words."""
    if device_type.__class__ is str and device_type in DEFAULTS:
        return device_type
    if not isinstance(device_type, str):
        _refuse_type(name, "device_type", 1, "str", device_type)
    kind = device(device_type).type
    if kind not in DEFAULTS:
        raise RuntimeError(hinted(unknown, f"autocast knows {', '.join(DEFAULTS)}; '{kind}' is none of them"))
    return kind


_NO_KEY = "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"


def is_autocast_available(device_type):
    """Whether autocast knows this kind of device.

    >>> import rushlight as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    if not isinstance(device_type, str):
        _refuse_type("_is_autocast_available", "device_type", 1, "str", device_type)
    return device_type in DEFAULTS or device(device_type).type in DEFAULTS


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for a kind of device in this thread; as in PyTorch, "cuda" unless it is named.

    >>> import rushlight as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()
    (True, False)
    """
    return state.enabled[_kind("is_autocast_enabled", device_type, _NO_KEY)]


def is_any_autocast_enabled():
    """Whether autocast is on for any kind of device in this thread."""
    return True in state.enabled.values()


def set_autocast_enabled(device_type, enabled=None):
    """Turn autocast on or off: ``set_autocast_enabled("cpu", True)``; one bool alone is for "cuda"."""
    position = 2
    if enabled is None:
        device_type, enabled, position = "cuda", device_type, 1
    if not isinstance(enabled, bool):
        _refuse_type("set_autocast_enabled", "enabled", position, "bool", enabled)
    state.enabled[_kind("set_autocast_enabled", device_type, _NO_KEY)] = enabled
    _update()


def get_autocast_dtype(device_type):
    """The dtype that autocast casts to on a kind of device, in this thread.

    >>> import rushlight as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return state.dtypes[_kind("get_autocast_dtype", device_type, "unsupported scalarType")]


def set_autocast_dtype(device_type, dtype):
    """Set what `get_autocast_dtype` gives."""
    if not isinstance(dtype, dtypes.DType):
        _refuse_type("set_autocast_dtype", "dtype", 2, "torch.dtype", dtype)
    state.dtypes[_kind("set_autocast_dtype", device_type, "unsupported scalarType")] = dtype
    _update()


def check_switches(device_type, enabled, dtype, cache_enabled):
    """The kind of device that these switches are for, with all made ready for them; they have to be what setters take."""
    if not isinstance(enabled, bool):
        _refuse_type("set_autocast_enabled", "enabled", 2, "bool", enabled)
    kind = _kind("set_autocast_enabled", device_type, _NO_KEY)
    if not isinstance(dtype, dtypes.DType):
        _refuse_type("set_autocast_dtype", "dtype", 2, "torch.dtype", dtype)
    _check_cache_enabled(cache_enabled)
    if enabled and kind == "cpu":
        _make_ready()
    return kind


def as_now():
    """The arguments of `autocast` in whose context calls on the CPU run as they do now."""
    kind = "cpu"
    return {
        "device_type": kind, "enabled": state.enabled[kind], "dtype": state.dtypes[kind],
        "cache_enabled": state.cache_enabled,
    }  # fmt: skip


# ---------------------------------------------------------------- the cache of casts


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept until autocast's outermost context ends."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled):
    """Set what `is_autocast_cache_enabled` gives."""
    _check_cache_enabled(enabled)
    state.cache_enabled = enabled


def _check_cache_enabled(enabled):
    if not isinstance(enabled, bool):
        raise TypeError(hinted(f"enabled must be a bool (got {type(enabled).__name__})", "True or False"))


def clear_autocast_cache():
    """Forget the casts that this thread keeps; the outermost context does so where it ends."""
    state.cache.clear()


def autocast_increment_nesting():
    """Count that a context is entered; returns how many are, in this thread."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting():
    """Count that a context is left; returns how many remain."""
    state.nesting -= 1
    return state.nesting


# ---------------------------------------------------------------- older names


def _deprecated(name, instead):
    warnings.warn(f"torch.{name} is deprecated. Please use torch.{instead} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled():
    """``is_autocast_enabled("cpu")``; deprecated, as in PyTorch."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """``set_autocast_enabled("cpu", enabled)``; deprecated, as in PyTorch."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """``get_autocast_dtype("cpu")``; deprecated, as in PyTorch."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """``set_autocast_dtype("cpu", dtype)``; deprecated, as in PyTorch."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """``get_autocast_dtype("cuda")``; deprecated, as in PyTorch."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """``set_autocast_dtype("cuda", dtype)``; deprecated, as in PyTorch."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
