"""One event of a profile, and what several of one name come to: ``FunctionEvent``, ``FunctionEventAvg``."""

from __future__ import annotations

import bisect
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

from ..base.errors import hinted
from ..base.user_code import to_user
from .kinds import DeviceType
from .numbers import format_time

_DEVICES = (DeviceType.CUDA, DeviceType.PrivateUse1, DeviceType.MTIA, DeviceType.HPU, DeviceType.XPU)


def check(condition, message, hint):
    """PyTorch's AssertionError, where ``condition`` does not hold."""
    if not condition:
        raise AssertionError(hinted(message, hint))


def _deprecated(old, new, use="Use"):
    """The property ``old``, which warns and gives what ``new`` gives."""

    def read(self):
        joint = ", please use" if use == "please" else ". Use"
        sentence = f"`{old}` is deprecated{joint} `{new}` instead."
        warnings.warn(hinted(sentence, "it is the same number"), FutureWarning, stacklevel=to_user())
        return getattr(self, new)

    return property(read, doc=f"`{new}`, by its old name.")


def _as_text(name):
    return property(lambda self: format_time(getattr(self, name)), doc=f"``{name}`` with its unit.")


class FormattedTimesMixin:
    """Averages, and times as text, for events that have ``count`` and totals."""

    count: int
    cpu_time_total: Any
    device_time_total: Any

    cpu_time_str = _as_text("cpu_time")
    device_time_str = _as_text("device_time")
    cpu_time_total_str = _as_text("cpu_time_total")
    device_time_total_str = _as_text("device_time_total")
    self_cpu_time_total_str = _as_text("self_cpu_time_total")
    self_device_time_total_str = _as_text("self_device_time_total")
    cuda_time = _deprecated("cuda_time", "device_time", "please")

    @property
    def cpu_time(self):
        """Microseconds of a call, on average."""
        return 1.0 * self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self):
        """Microseconds of a call on a device, on average."""
        return 1.0 * self.device_time_total / self.count if self.count else 0.0


class Interval:
    """From ``start`` to ``end``, in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel that an event launched: its name, its device and its microseconds."""

    name: str
    device: int
    duration: float


class FunctionEvent(FormattedTimesMixin):
    """One call: of an operation, a node of backward, a block with a name, a kernel.

    What it has is what its constructor takes, under the same names (times in microseconds since the profile began, as
    ``time_range``), and the events around it and within it, ``cpu_parent`` and ``cpu_children``, once they stand in an
    `EventList`.

    >>> from rushlight.autograd.profiler_util import FunctionEvent
    >>> event = FunctionEvent(1, "aten::add", thread=1, start_us=10, end_us=12.5)
    >>> event.cpu_time_total, event.cpu_time_total_str
    (2.5, '2.500us')
    """

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        use_device=None,
        cpu_memory_usage=0,
        device_memory_usage=0,
        is_async=False,
        is_remote=False,
        sequence_nr=-1,
        node_id=-1,
        device_type=DeviceType.CPU,
        device_index=0,
        device_resource_id=None,
        is_legacy=False,
        flops=None,
        trace_name=None,
        concrete_inputs=None,
        kwinputs=None,
        is_user_annotation=False,
        is_python_function=False,
        activity_type=None,
        metadata_json=None,
        flow_id=None,
        flow_type=None,
        flow_start=None,
        external_id=0,
        linked_correlation_id=0,
        extra_meta=None,
        structured_input_shapes=None,
        structured_input_strides=None,
        input_dtypes=None,
        python_id=-1,
        python_parent_id=-1,
        python_module_id=-1,
    ):
        given = dict(locals())
        for name_of_other in ("self", "__class__", "start_us", "end_us", "metadata_json", "extra_meta"):
            given.pop(name_of_other, None)
        self.__dict__.update(given)
        self.time_range = Interval(start_us, end_us)
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.self_cpu_percent = self.total_cpu_percent = self.total_device_percent = -1
        self._metadata_json = metadata_json
        self.event_metadata = None
        if extra_meta:
            raise NotImplementedError(hinted("FunctionEvent: extra_meta is not implemented", "it is what devices tell"))

    def append_kernel(self, name, device, duration):
        """Add a kernel that this event launched."""
        self._check_place(self)
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child):
        """Add an event that ran within this one, and within no other that did."""
        self._check_place(self)
        check(isinstance(child, FunctionEvent), "Expected child to be a FunctionEvent", f"got {type(child).__name__}")
        self._check_place(child, "child ")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Say which event this one ran directly within."""
        self._check_place(self)
        check(
            isinstance(parent, FunctionEvent), "Expected parent to be a FunctionEvent", f"got {type(parent).__name__}"
        )
        self._check_place(parent, "parent ")
        self.cpu_parent = parent

    @staticmethod
    def _check_place(event, which=""):
        hint = f"it is {event.device_type}"
        check(event.device_type == DeviceType.CPU, f"Expected {which}device_type to be CPU", hint)

    @property
    def _counts(self):
        """Whether times and memory of the CPU are this event's own."""
        return not self.is_async and self.device_type == DeviceType.CPU

    @property
    def self_cpu_memory_usage(self):
        """Bytes that this event itself took, less those it gave back."""
        if not self._counts:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self):
        """`self_cpu_memory_usage` on a device."""
        if not self._counts:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def cpu_time_total(self):
        """Microseconds from beginning to end."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self):
        """Microseconds that none of the events within took."""
        if not self._counts:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self):
        """Microseconds of the kernels that this event, and those within it, ran on a device."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type != DeviceType.CPU:
            self._check_device()
            return self.time_range.elapsed_us()
        own = sum(kernel.duration for kernel in self.kernels)
        return own if self.is_legacy else own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self):
        """`device_time_total` without the events within."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type != DeviceType.CPU:
            return self.device_time_total
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    def _check_device(self):
        message = f"Expected device_type to be CUDA, PrivateUse1, MTIA, HPU or XPU, but got {self.device_type}"
        check(self.device_type in _DEVICES, message, "no other device has times of its own")

    metadata_json = _deprecated("metadata_json", "event_metadata")
    self_cuda_memory_usage = _deprecated("self_cuda_memory_usage", "self_device_memory_usage")
    cuda_time_total = _deprecated("cuda_time_total", "device_time_total")
    self_cuda_time_total = _deprecated("self_cuda_time_total", "self_device_time_total")

    @property
    def key(self):
        """The name by which events are put together."""
        return self.name

    def __repr__(self):
        device = self.use_device
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} {device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """What events of one key come to: ``count``, sums of times, memory and ``flops``; else the first one's attributes.

    >>> from rushlight.autograd.profiler_util import FunctionEvent, FunctionEventAvg
    >>> total = FunctionEventAvg()
    >>> total += FunctionEvent(1, "aten::add", thread=1, start_us=10, end_us=12)
    >>> total += FunctionEvent(2, "aten::add", thread=1, start_us=20, end_us=24)
    >>> total.count, total.cpu_time
    (2, 3.0)
    """

    _FROM_FIRST = (
        "key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack",
        "scope", "device_type", "is_legacy", "use_device", "is_user_annotation",
    )  # fmt: skip
    _SUMMED = (
        "cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage",
        "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count",
    )  # fmt: skip

    def __init__(self):
        self.__dict__.update(dict.fromkeys(self._SUMMED, 0))
        self.key = self.use_device = self.input_shapes = self.overload_name = self.stack = self.scope = None
        self.cpu_children = self.cpu_parent = None
        self.node_id, self.device_type, self.flops = 0, DeviceType.CPU, 0
        self.is_async = self.is_remote = self.is_legacy = False

    def add(self, other):
        """Count another event of the same key, or the average of some, in. Returns this one."""
        if self.key is None:
            for name in self._FROM_FIRST:
                setattr(self, name, getattr(other, name))
        known = isinstance(other, (FunctionEvent, FunctionEventAvg))
        check(known, "Expected other to be a FunctionEvent or FunctionEventAvg", f"got {type(other).__name__}")
        message = f"Expected keys to match, but got {other.key} vs {self.key}"
        check(other.key == self.key, message, "events of one name are put together")
        for name in self._SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.flops is None:
            self.flops = other.flops
        elif other.flops is not None:
            self.flops += other.flops
        return self

    __iadd__ = add

    def __repr__(self):
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f" self_{device}_time={self.self_device_time_total_str} {device}_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


class StringTable(defaultdict):
    """Names as they are shown: native ones would be made readable; ours are."""

    def __missing__(self, key):
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds records of memory by their time: each is a list that begins with an object that has ``start_ns()``."""

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._times = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns, end_ns):
        """The records from one time to another, both included."""
        first, last = bisect.bisect_left(self._times, start_ns), bisect.bisect_right(self._times, end_ns)
        yield from self._records[first:last]


for _kind in (FormattedTimesMixin, Interval, Kernel, FunctionEvent, FunctionEventAvg, StringTable, MemRecordsAcc):
    _kind.__module__ = "torch.autograd.profiler_util"
