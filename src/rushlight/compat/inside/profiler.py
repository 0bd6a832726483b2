"""``torch.profiler``: there is no profiler in this version: its names are here, profiling is refused where it begins."""

import enum as _enum

from ...autograd.profiler import kineto_available, record_function
from ...autograd.profiler import profile as _profile


class ProfilerActivity(_enum.Enum):
    """What is profiled."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(_enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class profile(_profile):
    """A block that is profiled: refused where it is entered."""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, **options):
        super().__init__()

    def start(self):
        """Begin: refused."""
        self.__enter__()


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0, acc_events=False):
    """Which steps are profiled: a function from a step's number to a `ProfilerAction`."""

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        length = wait + warmup + active
        if 0 < repeat <= step // length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """What writes a profile for TensorBoard: a function of a profiler, and there are none."""
    return lambda profiler: None


def supported_activities():
    """What can be profiled: nothing in this version."""
    return set()
