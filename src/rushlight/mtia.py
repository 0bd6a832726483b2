"""``torch.mtia`` of a build without Meta's accelerator: asking is answered, using raises."""

from .base.streams import Event, Stream  # noqa: F401  # names of this module, too
from .compat import absent as _absent

_M = "torch.mtia"
default_generators = ()


def _without(function):
    return _absent.refusal(RuntimeError, f"Cannot execute {function}() without MTIA backend.", _M)


_lazy_init = _absent.refusal(
    AssertionError,
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in your python "
    "src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
    _M,
)
_absent.define(
    globals(),
    {
        "init(); get_rng_state(device='mtia'); initial_seed()": _lazy_init,
        "is_available(); is_initialized(); _is_compiled(); _is_in_bad_fork()": lambda: False,
        "is_bf16_supported(including_emulation=True)": lambda: True,
        "synchronize(device=None); current_device(); current_stream(device=None); default_stream(device=None); "
        "get_device_capability(device=None); get_device_properties(device=None); stream(stream); "
        "set_rng_state(new_state, device='mtia')": _without("getCurrentDevice"),
        "device_count(); max_memory_allocated(device=None); memory_allocated(device=None)": lambda: 0,
        "memory_stats(device=None)": dict,
        "reset_peak_memory_stats(device=None); record_memory_history(enabled='all', stacks='python', max_entries=0); "
        "set_stream(stream); set_rng_state_all(new_states); manual_seed(seed); manual_seed_all(seed); seed(); "
        "seed_all()": lambda: None,
        "snapshot()": _without("memorySnapshot"),
        "attach_out_of_memory_observer(observer)": _without("attachOutOfMemoryObserver"),
        "empty_cache()": _without("emptyCache"),
        "set_device(device)": _without("setCurrentDevice"),
        "get_rng_state_all()": list,
        "graph_pool_handle()": _without("graphPoolHandle"),
    },
)
MTIAGraph = _absent.dummy_class("MTIAGraph", _M, "Cannot execute mtiagraphCreate() without MTIA backend.")


class device(_absent.NoDevice):
    """A block with another current device: entering it needs one."""

    enter_refusal = staticmethod(_without("maybeExchangeDevice"))


class StreamContext:
    """A block whose work goes to a stream: needs a device."""

    def __init__(self, stream):
        _without("getCurrentDevice")()


class DeferredMtiaCallError(Exception):
    """An error of a call that waited for the accelerator's start."""
