"""``torch.autograd.profiler``: one profile as a context, and blocks with a name."""

from __future__ import annotations

import contextlib
import time
import uuid
import warnings
from types import SimpleNamespace
from typing import Any

from ..base.errors import hinted, kind_name
from ..base.user_code import to_user
from .arguments import described
from .building import events_of, kernel_table
from .event_list import EventList
from .events import check
from .kinds import ProfilerActivity, ProfilerState, RecordScope, _ExperimentalConfig
from .recorder import Recorder, now, of_this_thread
from .traces import write_trace

_DEVICES = ("cuda", "xpu", "mtia", "hpu")


def check_name(name: Any, operation: str) -> None:
    """Refuse a block's name that is no str, for an operation of PyTorch's."""
    if not isinstance(name, str):
        raise RuntimeError(
            hinted(
                f"profiler::{operation}() Expected a value of type 'str' for argument 'name' but instead found type "
                f"'{kind_name(name)}'.",
                "record_function takes the block's name",
            )
        )


class record_function(contextlib.ContextDecorator):
    """A name for a block in profiles, and as a decorator for a function; outside of profiles nothing happens.

    Args:
        name: the event's name.
        args: a text that belongs to it; none by default.

    >>> import rushlight as torch
    >>> with torch.profiler.profile() as profiler:
    ...     with torch.profiler.record_function("forward"):
    ...         x = torch.ones(2) + 1
    >>> [event.name for event in profiler.events()]
    ['forward', 'aten::ones', 'aten::add']
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self.record: list | None = None  # the events of the blocks that were entered, for each the profilers' records

    def __enter__(self):
        check_name(self.name, "_record_function_enter_new")
        begun = [
            recorder.begin(self.name, "user_annotation", RecordScope.USER_SCOPE.value) for recorder in of_this_thread()
        ]
        if self.args is not None:
            for record in filter(None, begun):
                record.arguments = described((self.args,))
        self.record = [*(self.record or ()), begun]
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        if not self.run_callbacks_on_exit:
            return
        check(self.record, "Expected record to be set", "the block was not entered")
        self._end()

    def _end(self):
        ended = now()
        for record in filter(None, self.record.pop()):
            record.ended = ended

    def _call_end_callbacks_on_future(self, fut):
        """Let the event end when a future is done. Returns a future that is done then."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError(
                hinted(
                    "_call_end_callbacks_on_future can only be called once.", "the event ends with its future already"
                )
            )
        self.run_callbacks_on_exit = False
        check(self.record, "Expected record to be set", "the block was not entered")

        def done(future):
            self._end()
            return future.value()

        return fut.then(done)


class profile:
    """A context that profiles its block: what most programs use is `torch.profiler.profile`.

    Args:
        enabled: False makes it do nothing.
        record_shapes: whether events have the shapes of their arguments.
        with_flops: whether the floating-point operations of products and convolutions are counted.
        profile_memory: whether the memory of tensors is followed.
        with_stack: whether events have the lines of the user's code that they came from.
        with_modules: whether calls of modules are events.
        acc_events: whether events of an earlier block of the same profile are kept.
        use_cuda, use_device: devices other than the CPU, which are not here: a warning.
        use_kineto, use_cpu, experimental_config, custom_trace_id_callback, post_processing_timeout_s, activity_filters: as in
            PyTorch, with little to do here.

    >>> import rushlight as torch
    >>> with torch.autograd.profiler.profile() as profiler:
    ...     y = torch.ones(2, requires_grad=True) * 2
    >>> profiler.function_events.key_averages()[1].key
    'aten::mul'
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        if not enabled:
            return
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.use_cpu, self.acc_events = use_cpu, acc_events
        self.experimental_config = experimental_config or _ExperimentalConfig()
        self.custom_trace_id_callback = custom_trace_id_callback
        self.activity_filters = activity_filters or {}
        self.trace_id, self.entered = "", False
        self.metadata: dict[str, str] = {}
        self._events: EventList | None = None
        self._old_events: EventList | None = None
        self._recorder: Recorder | None = None
        self._finished: Recorder | None = None
        hint = "there are no devices but the CPU: leave use_cpu=True"
        check(use_cpu or use_kineto, "Device-only events supported only with Kineto (use_kineto=True)", hint)
        self.use_cuda = False
        self.use_device = _known_device(use_cuda, use_device)
        check(use_cpu, "No activities specified for the profiler", hint)
        self.kineto_activities, self.profiler_kind = {ProfilerActivity.CPU}, ProfilerState.KINETO
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError(
                hinted("post_processing_timeout_s must be non-negative", f"got {post_processing_timeout_s}")
            )
        self.post_processing_timeout_s = post_processing_timeout_s

    def default_trace_id(self):
        """A new random name for a trace."""
        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self):
        """A name for the next trace: what the program's own function gives, or a random one."""
        return (self.custom_trace_id_callback or self.default_trace_id)()

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(hinted("Profiler context manager is not reentrant", "make another profile"))
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self):
        self.entered, self.trace_id = True, self.create_trace_id()

    def _start_trace(self):
        self.entered = True
        self.__exit__(None, None, None)  # where it was begun already
        self._recorder = Recorder(self.record_shapes, self.profile_memory, self.with_stack, self.with_modules)
        self._epoch = time.time_ns()
        self._recorder.start()

    def __exit__(self, kind, value, trace):
        if not self.enabled or self._recorder is None:
            return False
        self._recorder.stop()
        self._recorder, self._finished = None, self._recorder
        if self._events and self.acc_events:
            self._old_events = self._events
        self._events = None
        if self._finished.lost:
            warnings.warn(
                hinted(
                    f"{self._finished.lost} launches of kernels are not in the profile",
                    "the log of launches was full: profile fewer steps at a time",
                ),
                stacklevel=to_user(),
            )
        if self.acc_events and not self.experimental_config.trace_only:
            self._read()
        return False

    def _ensure_events(self):
        if self.experimental_config.trace_only:
            raise RuntimeError(
                hinted(
                    "events() is not available when trace_only=True in ExperimentalConfig. Use export_chrome_trace() instead.",
                    "trace_only makes no events",
                )
            )
        return self._read()

    def _read(self):
        """The events, made when they are first asked for."""
        if self._events is None:
            if self._finished is None:
                self._events = EventList()
                self._events._tree_built = True
            else:
                self._events = events_of(self._finished, self.use_device, self.profile_memory, self.with_flops)
            self._events += self._old_events or ()
            self._old_events = None
        return self._events

    def _shown(self, show):
        return "<unfinished torch.autograd.profile>" if self._finished is None else show(self._ensure_events())

    def __repr__(self):
        return self._shown(repr)

    def __str__(self):
        return self._shown(str)

    @property
    def function_events(self):
        """The events, an `EventList`."""
        return self._ensure_events()

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
    ):
        """`EventList.table` of the events."""
        widths = max_src_column_width, max_name_column_width, max_shapes_column_width
        return self._ensure_events().table(sort_by, row_limit, *widths, header, top_level_events_only)

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """Write a trace that chrome://tracing and Perfetto open."""
        noted = sorted((when - self._finished.began, size) for when, size in self._finished.memory)
        session = SimpleNamespace(
            metadata=self.metadata | (metadata or {}),
            trace_id=self.trace_id,
            memory=[(when / 1000, size) for when, size in noted],
            epoch=self._epoch,
        )
        write_trace(path, self._read(), session)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """`EventList.export_stacks` of the events."""
        events = self._ensure_events()
        check(self.with_stack, "export_stacks() requires with_stack=True", "the stacks were not recorded")
        return events.export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled, activities):
        """Go on, or pause, in the midst of a block; ``activities`` has `ProfilerActivity.CPU`."""
        if self._recorder is not None and ProfilerActivity.CPU in set(activities):
            self._recorder.paused = not enabled

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """`EventList.key_averages` of the events."""
        return self._ensure_events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """`EventList.total_average` of the events."""
        return self._ensure_events().total_average()

    def kernel_table(self, row_limit=100):
        """The kernels that ran, most time first: launches, threads, microseconds; of products and convolutions also GFLOP/s, and how
        much that is of what the multiply-add units can do."""
        return kernel_table(self._ensure_events(), row_limit)

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events, each without those within."""
        return self._ensure_events().self_cpu_time_total


def _known_device(use_cuda, use_device):
    """None, with PyTorch's warning where a device was asked for: there are none."""
    if use_cuda:
        sentence = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
        warnings.warn(hinted(sentence, "there is no CUDA here"), FutureWarning, stacklevel=to_user())
        use_device = "cuda"
    if use_device is not None:
        sentence = f"The {use_device} is not a valid device option."
        if use_device in _DEVICES:
            sentence = f"{use_device.upper()} is not available, disabling {use_device.upper()} profiling"
        warnings.warn(hinted(sentence, "the CPU is profiled"), stacklevel=to_user())


def kineto_available():
    """Whether profiles can be recorded: True."""
    return True


for _kind in (profile, record_function):
    _kind.__module__ = "torch.autograd.profiler"
