"""Settings of the whole process: threads, determinism, precision, warnings, the default device."""

from __future__ import annotations

import os

from . import processors
from .device import default_device, set_default_device
from .errors import hinted, kind_name
from .uninitialised import FILLING

_values = {
    "threads": None,  # asked of the machine when first wanted
    "interop_threads": os.cpu_count() or 1,
    "deterministic": False,
    "deterministic_warns": False,
    "fill_uninitialized": True,
    "matmul_precision": "highest",
    "warn_always": False,
}
_DETERMINISTIC_MODES = {"default": 0, "warn": 1, "error": 2}


def _checked_count(count, name):
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(
            hinted(f"{name} expects an int, but got {type(count).__name__}", "it is a number of threads")
        )
    if count <= 0:
        raise RuntimeError(hinted(f"{name} expects a positive integer", f"it is {count}"))
    return count


thread_listeners = []  # functions that are told the new number of threads


def get_num_threads():
    """How many threads an operation may use.

    At first: RUSHLIGHT_NUM_THREADS or OMP_NUM_THREADS where set, else the cores that this process may run on, within a
    container's quota.
    """
    if _values["threads"] is None:
        _values["threads"] = processors.default_threads()
    return _values["threads"]


def set_num_threads(int):
    """Set how many threads an operation may use."""
    _values["threads"] = _checked_count(int, "set_num_threads")
    for listener in thread_listeners:
        listener(_values["threads"])


def get_num_interop_threads():
    """How many operations may run at once; kept for PyTorch's programs, operations here run one by one."""
    return _values["interop_threads"]


def set_num_interop_threads(int):
    """Set what `get_num_interop_threads` gives."""
    _values["interop_threads"] = _checked_count(int, "set_num_interop_threads")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Note whether only deterministic algorithms are wanted; all of them are here, on the CPU.

    While it is on, tensors that nothing has been written to hold NaN, or the largest integer: see `torch.utils.deterministic`.
    """
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                hinted(
                    f"_set_deterministic_algorithms(): argument {name} must be bool, not {kind_name(value)}",
                    "True or False",
                )
            )
    _values["deterministic"], _values["deterministic_warns"] = mode, warn_only
    _note_filling()


def _note_filling():
    FILLING[:] = [True] if _values["deterministic"] and _values["fill_uninitialized"] else []


def is_uninitialized_memory_filled():
    """Whether new memory is filled while deterministic algorithms are wanted."""
    return _values["fill_uninitialized"]


def fill_uninitialized_memory(mode):
    """Set what `is_uninitialized_memory_filled` gives."""
    if not isinstance(mode, bool):
        raise RuntimeError(hinted(f"expected a bool, but got {type(mode).__name__}", "True or False"))
    _values["fill_uninitialized"] = mode
    _note_filling()


def are_deterministic_algorithms_enabled():
    """Whether `use_deterministic_algorithms` is on."""
    return _values["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether `use_deterministic_algorithms` only warns."""
    return _values["deterministic_warns"]


def get_deterministic_debug_mode():
    """0 (off), 1 (warn) or 2 (error)."""
    return 0 if not _values["deterministic"] else 1 if _values["deterministic_warns"] else 2


def set_deterministic_debug_mode(debug_mode):
    """Set `use_deterministic_algorithms` by number or name: "default", "warn" or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(hinted(f"debug_mode must be str or int, but got {type(debug_mode)}", 'such as "warn"'))
    mode = _DETERMINISTIC_MODES.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        known = "one of `default`, `warn`, `error`," if isinstance(debug_mode, str) else "0, 1, or 2,"
        raise RuntimeError(
            hinted(
                f"invalid value of debug_mode, expected {known} but got {debug_mode}",
                "0 is default, 1 is warn, 2 is error",
            )
        )
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` was last given."""
    return _values["matmul_precision"]


def set_float32_matmul_precision(precision):
    """Say how exact float32 products must be ("highest", "high", "medium"); they are computed in float32 throughout."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            hinted(f"Unknown float32 matmul precision: {precision}", 'use "highest", "high" or "medium"')
        )
    _values["matmul_precision"] = precision


def is_warn_always_enabled():
    """Whether warnings that PyTorch shows once are to be shown each time."""
    return _values["warn_always"]


def set_warn_always(b):
    """Set what `is_warn_always_enabled` gives."""
    _values["warn_always"] = bool(b)


def set_flush_denormal(mode):
    """Ask that denormal numbers count as zero: False, as this cannot be set from Python."""
    return False


def get_default_device():
    """Where new tensors are made that ask for no device: the CPU, unless changed."""
    return default_device()


PUBLIC = (
    get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled, get_deterministic_debug_mode,
    set_deterministic_debug_mode, get_float32_matmul_precision, set_float32_matmul_precision, is_warn_always_enabled,
    set_warn_always, set_flush_denormal, get_default_device, set_default_device,
)  # fmt: skip
