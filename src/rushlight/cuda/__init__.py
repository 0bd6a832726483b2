"""``torch.cuda`` of a build without CUDA: asking is answered, using raises."""

from . import amp
from ..base.device import check_device


def is_available():
    """Whether CUDA can be used: False in this version."""
    return False


def device_count():
    """The number of CUDA devices: 0 in this version."""
    return 0


def is_initialized():
    """Whether CUDA was started: never in this version."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether the current CUDA device computes in bfloat16: False in this version."""
    return False


def manual_seed(seed):
    """Seed the current CUDA device; ignored without one, as PyTorch does."""


def manual_seed_all(seed):
    """Seed every CUDA device; ignored without one, as PyTorch does."""


def empty_cache():
    """Release cached CUDA memory; nothing to do without a device."""


def _refused(name):
    def function(*args, **kwargs):
        check_device("cuda")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Refused: ``{name}`` needs a CUDA device, which this version does not use."
    return function


(
    current_device,
    set_device,
    synchronize,
    get_device_name,
    get_device_properties,
    memory_allocated,
    max_memory_allocated,
    init,
) = (
    _refused(n)
    for n in (
        "current_device",
        "set_device",
        "synchronize",
        "get_device_name",
        "get_device_properties",
        "memory_allocated",
        "max_memory_allocated",
        "init",
    )
)
