"""``torch.cuda`` of a build without CUDA: asking is answered, using raises."""

from collections import OrderedDict as _OrderedDict
import contextlib as _contextlib
import importlib as _importlib

from ..base.device import check_device as _check_device
from ..base.errors import AcceleratorError, OutOfMemoryError
from ..base.errors import missing_key as _missing_key
from ..compat import absent as _absent
from . import amp

_M = "torch.cuda"
has_half, has_magma, _initialized, default_generators = True, False, False, ()


def _uncompiled():
    _check_device("cuda")


def _no_statistics():
    raise _missing_key("allocated_bytes.all.current", _absent.HINT.format(module=_M))


_nothing = lambda: None
_zero = lambda: 0
_lazy_init = _uncompiled
_absent.define(
    globals(),
    {
        "caching_allocator_alloc(size, device=None, stream=None); can_device_access_peer(device, peer_device); cudart(); "
        "current_blas_handle(); current_solver_handle(); current_device(); current_stream(device=None); "
        "default_stream(device=None); get_device_capability(device=None); get_device_name(device=None); "
        "get_device_properties(device=None); get_per_process_memory_fraction(device=None); get_rng_state(device='cuda'); "
        "get_stream_from_external(data_ptr, device=None); get_sync_debug_mode(); init(); initial_seed(); ipc_collect(); "
        "mem_get_info(device=None); set_per_process_memory_fraction(fraction, device=None); set_sync_debug_mode(debug_mode); "
        "synchronize(device=None)": _uncompiled,
        "caching_allocator_enable(value=True); empty_cache(); manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); "
        "set_rng_state(new_state, device='cuda'); set_rng_state_all(new_states); set_stream(stream); "
        "_lazy_call(callable, **kwargs)": _nothing,
        "device_count(); max_memory_allocated(device=None); max_memory_cached(device=None); max_memory_reserved(device=None); "
        "memory_allocated(device=None); memory_cached(device=None); memory_reserved(device=None)": _zero,
        "device_memory_used(device=None); memory_usage(device=None); temperature(device=None); power_draw(device=None); "
        "clock_rate(device=None); utilization(device=None)": _absent.refusal(
            ModuleNotFoundError, "nvidia-ml-py does not seem to be installed or it can't be imported.", _M
        ),
        "get_arch_list(); get_rng_state_all()": list,
        "get_gencode_flags()": str,
        "host_memory_stats(); memory_stats(device=None)": _OrderedDict,
        "host_memory_stats_as_nested_dict(); memory_stats_as_nested_dict(device=None)": dict,
        "is_available(); is_bf16_supported(including_emulation=True); is_initialized(); is_tf32_supported(); "
        "_is_compiled(); _is_in_bad_fork()": lambda: False,
        "list_gpu_processes(device=None)": lambda: "pynvml module not found, please install nvidia-ml-py",
        "graph_pool_handle()": _absent.dummy("_graph_pool_handle", _M),
        "is_current_stream_capturing()": _absent.dummy("_cuda_isCurrentStreamCapturing", _M),
        "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)": _absent.dummy(
            "CUDAGraph", _M
        ),
        "memory_summary(device=None, abbreviated=False)": _no_statistics,
        "caching_allocator_disabled(); use_mem_pool(pool, device=None)": _contextlib.nullcontext,
        "caching_allocator_delete(mem_ptr)": _absent.missing("_cuda_cudaCachingAllocator_raw_delete", _M),
        "get_allocator_backend()": _absent.missing("_cuda_getAllocatorBackend", _M),
        "change_current_allocator(allocator)": _absent.missing("_cuda_changeCurrentAllocator", _M),
        "memory_snapshot(mempool_id=None, include_traces=True)": _absent.missing("_cuda_memorySnapshot", _M),
        "reset_accumulated_host_memory_stats()": _absent.missing("_cuda_resetAccumulatedHostMemoryStats", _M),
        "reset_accumulated_memory_stats(device=None)": _absent.missing("_cuda_resetAccumulatedMemoryStats", _M),
        "reset_max_memory_allocated(device=None); reset_max_memory_cached(device=None); "
        "reset_peak_memory_stats(device=None)": _absent.missing("_cuda_resetPeakMemoryStats", _M),
        "reset_peak_host_memory_stats()": _absent.missing("_cuda_resetPeakHostMemoryStats", _M),
        "set_device(device)": _absent.missing("_cuda_setDevice", _M),
    },
)

StreamContext = _absent.StreamContext
Stream = _absent.dummy_class("Stream", _M, "torch.cuda.Stream requires CUDA support")
ExternalStream = _absent.dummy_class("ExternalStream", _M, "torch.cuda.Stream requires CUDA support", base=Stream)
Event, CUDAGraph, MemPool = (_absent.dummy_class(name, _M) for name in ("Event", "CUDAGraph", "MemPool"))
_CudaDeviceProperties = _absent.dummy_class("_CudaDeviceProperties", _M)


def stream(stream):
    """A block whose work goes to a stream: without a device nothing changes."""
    return StreamContext(stream)


class device(_absent.NoDevice):
    """A block with another current device: entering it needs one."""

    enter_refusal = staticmethod(_absent.refusal(RuntimeError, "PyTorch was compiled without CUDA support", _M))


class device_of(device):
    """The device of a tensor: nothing changes for one in the CPU's memory."""

    def __init__(self, obj):
        self.idx = -1

    def __enter__(self):
        return None


class graph:
    """A block that is captured into a graph of CUDA: needs one."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        Stream()


class DeferredCudaCallError(Exception):
    """An error of a call that waited for CUDA's start."""


class _TensorType(type):
    """``torch.cuda.FloatTensor``, ...: classes without instances."""

    def __call__(cls, *args, **kwargs):
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.\n"
            f"hint: {_absent.HINT.format(module=_M)}"
        )


for _kind in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    globals()[f"{_kind}Tensor"] = _TensorType(f"{_kind}Tensor", (), {"__module__": _M})
    globals()[f"{_kind}Storage"] = _absent.dummy_class(
        f"{_kind}Storage", _M, "Torch not compiled with CUDA enabled", AssertionError
    )
del _kind


def __getattr__(name):
    if name in ("memory", "nvtx", "profiler", "random", "streams"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
