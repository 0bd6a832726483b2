"""``torch.accelerator`` of a build for the CPU: there is none; asking is answered, using raises."""

import importlib as _importlib

from .base.device import device as _device
from .base.errors import hinted as _hinted
from .compat import absent as _absent

_M = "torch.accelerator"
_none = _absent.refusal(RuntimeError, "Cannot access accelerator device when none is available.", _M)
_absent.define(
    globals(),
    {
        "is_available()": lambda: False,
        "current_accelerator(check_available=False)": lambda: None,
        "device_count()": lambda: 0,
        "current_device_idx(); current_device_index(); get_device_capability(device=None, /); current_stream(device=None, /); "
        "empty_cache(); empty_host_cache(); get_memory_info(device_index=None, /); max_memory_allocated(device_index=None, /); "
        "max_memory_reserved(device_index=None, /); memory_allocated(device_index=None, /); "
        "memory_reserved(device_index=None, /); memory_stats(device_index=None, /); "
        "reset_accumulated_memory_stats(device_index=None, /); reset_peak_memory_stats(device_index=None, /); "
        "set_device_idx(device, /); set_device_index(device, /); set_stream(stream); synchronize(device=None, /)": _none,
    },
)


class device_index:
    """A block with another current device; None leaves it as it is."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _none()

    def __exit__(self, *error):
        return None


def get_device_module(device=None):
    """``torch.get_device_module``: the module of a device type, such as ``torch.cuda``; `torch.cpu` where none is named."""
    if device is None:
        kind = "cpu"
    elif isinstance(device, (_device, str)):
        kind = _device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(
            _hinted(
                f"Device '{device}' does not have a corresponding module registered as 'torch.{kind}'.",
                "torch.device(...).type says which device it is",
            )
        )
    return _importlib.import_module(f".{kind}", __package__)
