"""What PyTorch's profilers enumerate, under its names and numbers, and the experimental settings."""

from __future__ import annotations

from enum import Enum


class _Native(Enum):
    """Enumerations whose members are numbers, too."""

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


class ProfilerActivity(_Native):
    """What is profiled: here, the CPU.

    >>> import rushlight as torch
    >>> torch.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """

    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5


class DeviceType(_Native):
    """Where an event ran."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    MTIA = 19
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    PrivateUse1 = 20


class ProfilerState(_Native):
    """How events are recorded."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5
    KINETO = 6
    KINETO_GPU_FALLBACK = 7
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9


class RecordScope(_Native):
    """What kind of code an event is: an operation, a node of backward, a block of the user's, ..."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class ProfilerAction(Enum):
    """What a profiler does in a step: a schedule says it.

    ``DEVICE_STOPPED`` is PyTorch's for a device that stopped early; a schedule may not return it.
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class _ExperimentalConfig:
    """PyTorch's experimental settings. ``trace_only`` makes no events but those of the exported trace; others change nothing here."""

    def __init__(
        self,
        profiler_metrics=(),
        profiler_measure_per_kernel=False,
        verbose=False,
        performance_events=(),
        enable_cuda_sync_events=False,
        adjust_profiler_step=False,
        disable_external_correlation=False,
        profile_all_threads=False,
        capture_overload_names=False,
        record_python_gc_info=False,
        expose_kineto_event_metadata=False,
        custom_profiler_config="",
        adjust_timestamps=False,
        trace_only=False,
    ):
        self.custom_profiler_config, self.trace_only = custom_profiler_config, trace_only


for _kind in (ProfilerActivity, RecordScope, ProfilerState, _ExperimentalConfig):
    _kind.__module__ = "torch._C._profiler"
DeviceType.__module__ = "torch._C._autograd"
