"""``torch.mps`` of a build without Metal: asking is answered, using raises."""

from .compat import absent as _absent

_M = "torch.mps"


def _without(function):
    return _absent.refusal(RuntimeError, f"Cannot execute {function}() without MPS backend.", _M)


_absent.define(
    globals(),
    {
        "is_available(); _is_in_bad_fork()": lambda: False,
        "device_count()": lambda: 0,
        "manual_seed(seed)": lambda: None,
        "compile_shader(source)": _absent.refusal(RuntimeError, "MPS is not available", _M),
        "get_rng_state(device='mps'); seed(); set_rng_state(new_state, device='mps')": _without("getDefaultGenerator"),
        "synchronize()": _without("deviceSynchronize"),
        "empty_cache()": _without("emptyCache"),
        "current_allocated_memory()": _without("getCurrentAllocatedMemory"),
        "driver_allocated_memory()": _without("getDriverAllocatedMemory"),
        "recommended_max_memory()": _without("getRecommendedMaxMemory"),
    },
)
Event = _absent.dummy_class("Event", _M, "Cannot execute acquireEvent() without MPS backend.")


def set_per_process_memory_fraction(fraction):
    """Bound the memory that is used: needs the device."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 2:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~2")
    _without("setMemoryFraction")()


def load_metallib(source):
    """A library of Metal's functions: needs the device."""
    if not isinstance(source, (bytes, str)) and not hasattr(source, "__fspath__"):
        raise TypeError(f"expected bytes or path, got {type(source).__name__}")
    _absent.refusal(RuntimeError, "MPS is not available", _M)()
