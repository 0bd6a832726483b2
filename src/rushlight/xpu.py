"""``torch.xpu`` of a build without Intel's GPUs: asking is answered, using raises."""

import contextlib as _contextlib
from collections import OrderedDict as _OrderedDict

from .compat import absent as _absent

_M = "torch.xpu"
default_generators = ()
_uncompiled = _lazy_init = _absent.refusal(AssertionError, "Torch not compiled with XPU enabled", _M)
_absent.define(
    globals(),
    {
        "can_device_access_peer(device, peer); current_device(); current_stream(device=None); get_device_capability(device=None); "
        "get_device_name(device=None); get_device_properties(device=None); get_per_process_memory_fraction(device=None); "
        "get_rng_state(device='xpu'); get_stream_from_external(data_ptr, device=None); init(); initial_seed(); "
        "mem_get_info(device=None); set_device(device); set_per_process_memory_fraction(fraction, device=None); "
        "synchronize(device=None)": _uncompiled,
        "change_current_allocator(allocator)": _absent.missing("_xpu_changeCurrentAllocator", _M),
        "clock_rate(device=None); device_memory_used(device=None); memory_usage(device=None); power_draw(device=None); "
        "temperature(device=None); utilization(device=None)": _absent.refusal(
            ImportError, "pyzes is required; install it with 'pip install pyzes'.", _M
        ),
        "device_count(); max_memory_allocated(device=None); max_memory_reserved(device=None); memory_allocated(device=None); "
        "memory_reserved(device=None)": lambda: 0,
        "empty_cache(); manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); set_rng_state(new_state, device='xpu'); "
        "set_rng_state_all(new_states); set_stream(stream); _lazy_call(callable, **kwargs)": lambda: None,
        "get_arch_list(); get_rng_state_all(); memory_snapshot(mempool_id=None)": list,
        "get_gencode_flags()": str,
        "graph_pool_handle()": _absent.dummy("_xpu_graph_pool_handle", _M),
        "is_current_stream_capturing()": _absent.dummy("_xpu_isCurrentStreamCapturing", _M),
        "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)": _absent.dummy(
            "XPUGraph", _M
        ),
        "is_available(); is_bf16_supported(including_emulation=True); is_initialized(); is_tf32_supported(); "
        "_is_compiled(); _is_in_bad_fork()": lambda: False,
        "memory_stats(device=None)": _OrderedDict,
        "memory_stats_as_nested_dict(device=None)": dict,
        "use_mem_pool(pool, device=None)": _contextlib.nullcontext,
        "reset_accumulated_memory_stats(device=None)": _absent.missing("_xpu_resetAccumulatedMemoryStats", _M),
        "reset_peak_memory_stats(device=None)": _absent.missing("_xpu_resetPeakMemoryStats", _M),
    },
)
StreamContext = _absent.StreamContext
Stream = _absent.dummy_class("Stream", _M)
Event, XPUGraph, MemPool = (_absent.dummy_class(name, _M) for name in ("Event", "XPUGraph", "MemPool"))
_XpuDeviceProperties = _absent.dummy_class("_XpuDeviceProperties", _M)


def stream(stream):
    """A block whose work goes to a stream: without a device nothing changes."""
    return StreamContext(stream)


class device(_absent.NoDevice):
    """A block with another current device: entering it needs one."""

    enter_refusal = staticmethod(_absent.refusal(NotImplementedError, "PyTorch was compiled without XPU support", _M))


class device_of(device):
    """The device of a tensor: entering it needs one."""
