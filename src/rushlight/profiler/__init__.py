"""``torch.profiler``: who ran when, as tables and traces."""

from . import itt
from .blocks import kineto_available, record_function
from .kinds import DeviceType, ProfilerAction, ProfilerActivity, RecordScope, _ExperimentalConfig
from .schedules import ExecutionTraceObserver, schedule, tensorboard_trace_handler
from .profiler import _KinetoProfile, profile, supported_activities
from .steps import KinetoStepTracker

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
