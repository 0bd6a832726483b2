"""``torch.profiler.profile``: a profile over the steps of a program, as a schedule says."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import warnings

from ..base.errors import hinted
from ..base.user_code import to_user
from .blocks import profile as _Block
from .blocks import record_function
from .events import check
from .kinds import ProfilerAction, ProfilerActivity
from .schedules import ExecutionTraceObserver, schedule, tensorboard_trace_handler

__all__ = [
    "ExecutionTraceObserver",
    "ProfilerAction",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_STEP = "ProfilerStep"
_DEVICES = {"CUDA": "cuda", "XPU": "xpu", "MTIA": "mtia", "HPU": "hpu", "PrivateUse1": "privateuseone"}
_shown: set[str] = set()  # warnings that come once in a process


def supported_activities():
    """What can be profiled: the CPU."""
    return {ProfilerActivity.CPU}


def _always(step):
    return ProfilerAction.RECORD


def _read_activities(activities):
    """The set of activities, and what to keep of those that were given with names."""
    found, filters = set(), {}
    for item in activities:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(
                hinted(f"Expected ProfilerActivity or dict, got {type(item)}", "ProfilerActivity.CPU is one")
            )
        for activity in item if isinstance(item, dict) else (item,):
            if activity in found:
                raise ValueError(hinted(f"Activity {activity} specified more than once", "once is enough"))
            found.add(activity)
            if isinstance(item, dict):
                filters[activity] = set(item[activity])
    return found, filters


class _KinetoProfile:
    """A profile that is begun and ended by hand: what `profile` is made of. The arguments are those of `profile`."""

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        found = (supported_activities(), {}) if activities is None else _read_activities(activities)
        self.activities, self.activity_filters = found
        if self.activity_filters:
            raise NotImplementedError(
                hinted("profile: parts of an activity are not implemented", "pass activities=[ProfilerActivity.CPU]")
            )
        self.record_shapes, self.with_flops, self.profile_memory = record_shapes, with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        self.experimental_config, self.acc_events = experimental_config, acc_events
        self.execution_trace_observer = execution_trace_observer
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler: _Block | None = None
        asked = (each for each in _DEVICES if ProfilerActivity[each] in self.activities)
        self.use_device = _DEVICES.get(next(asked, None))  # there are none: the profile warns
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, str] = {}

    def start(self):
        """Begin to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self):
        """End."""
        self.stop_trace()

    def prepare_trace(self):
        """Get ready: what was recorded before is let go, unless ``acc_events`` keeps it."""
        if self.profiler is not None and not self.acc_events:
            sentence = (
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                "reported. To keep events across cycles, set acc_events=True."
            )
            if sentence not in _shown:
                _shown.add(sentence)
                warnings.warn(hinted(sentence, "on_trace_ready sees each cycle's"), stacklevel=to_user())
        if self.profiler is not None:
            self.profiler.__exit__(None, None, None)  # where it was begun already
        if self.profiler is None or not self.acc_events:
            self.profiler = _Block(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_device=self.use_device,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                use_kineto=True,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
                activity_filters=self.activity_filters,
            )
        self.profiler._prepare_trace()

    def start_trace(self):
        """Begin to record, once it is prepared."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        check(
            self.profiler is not None, "Profiler must be initialized before starting trace", "prepare_trace() does it"
        )
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self.add_metadata_json(name, "1")
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)
        self.profiler._start_trace()

    def stop_trace(self):
        """End."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        check(self.profiler is not None, "Profiler must be initialized before stopping trace", "start() does it")
        self.profiler.__exit__(None, None, None)

    def _profiler(self, what):
        check(self.profiler is not None, f"Profiler must be initialized before {what}", "start() does it")
        return self.profiler

    def export_chrome_trace(self, path, use_python_export=False):
        """Write the last cycle as a trace that chrome://tracing and Perfetto open; compressed where the path ends in .gz."""
        profiler = self._profiler("exporting chrome trace")
        if not path.endswith(".gz"):
            return profiler.export_chrome_trace(path, self._trace_metadata, use_python_export)
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(plain, self._trace_metadata, use_python_export)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the stacks of events, with their microseconds: what flame graphs are drawn of. Needs ``with_stack``."""
        return self._profiler("exporting stacks").export_stacks(path, metric)

    def toggle_collection_dynamic(self, enable, activities):
        """Go on, or pause, in the midst of a profile."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Averages by name, and by input shapes or the first lines of the stack if asked for: an `EventList`."""
        groups = group_by_input_shape, group_by_stack_n, group_by_overload_name
        return self._profiler("getting key averages").key_averages(*groups)

    def events(self):
        """All events, an `EventList` of `FunctionEvent`."""
        return self._profiler("accessing events").function_events

    def kernel_table(self, row_limit=100):
        """The kernels that ran, most time first: launches, threads, microseconds; of products and convolutions also GFLOP/s, and how
        much that is of what the multiply-add units can do.

        >>> import rushlight as torch
        >>> x = torch.ones(512, 512)
        >>> with torch.profiler.profile() as profiler:
        ...     y = (x @ x).exp()
        >>> print(profiler.kernel_table())  # doctest: +SKIP
        ------  -------------  -------  --------  ------  -------  -------
        Kernel  # of Launches  Threads  Total us  us avg  GFLOP/s  of peak
        ------  -------------  -------  --------  ------  -------  -------
        matmul              1        2     871.9   871.9    307.9      91%
        exp                 1        2      46.6    46.6       --       --
        ------  -------------  -------  --------  ------  -------  -------
        """
        return self._profiler("showing kernels").kernel_table(row_limit)

    def add_metadata(self, key, value):
        """Add a text to the trace."""
        self._trace_metadata[key] = json.dumps(value)

    def add_metadata_json(self, key, value):
        """Add a value, as JSON text, to the trace."""
        self._trace_metadata[key] = value

    def preset_metadata_json(self, key, value):
        """`add_metadata_json` before the profile begins."""
        self.preset_metadata[key] = value

    def export_memory_timeline(self, path, device=None):
        """Not implemented: a figure of the memory by kind of tensor."""
        sentence = (
            "`export_memory_timeline` is deprecated and will be removed in a future version. Please use "
            "`torch.cuda.memory._record_memory_history` and `torch.cuda.memory._export_memory_snapshot` instead."
        )
        warnings.warn(hinted(sentence, "it is not implemented here"), FutureWarning, stacklevel=to_user())
        missing = [
            f"{name}=True" for name in ("record_shapes", "profile_memory", "with_stack") if not getattr(self, name)
        ]
        if missing:
            raise ValueError(hinted(f"{', '.join(missing)} required for memory profiling.", "pass them to profile()"))
        raise NotImplementedError(
            hinted("export_memory_timeline is not implemented", "traces show memory as it is taken and given back")
        )


class profile(_KinetoProfile):
    """A context that records what runs within: operations, nodes of backward, named blocks, steps of optimizers, kernels.

    Off, it costs nothing; on, some microseconds for each operation.

    Args:
        activities: a list of `ProfilerActivity`; the CPU is what there is.
        schedule: a function from a step's number to a `ProfilerAction`, see `schedule`; everything is recorded by default.
        on_trace_ready: called with the profile at the end of each cycle of the schedule, or of the context.
        record_shapes: events have the shapes, types and numbers of their arguments.
        profile_memory: the memory of tensors, taken and given back.
        with_stack: events have the lines of the user's code; calls of modules and of the user's functions are events.
        with_flops: floating-point operations of products, convolutions, sums.
        with_modules: calls of modules are events.
        experimental_config, execution_trace_observer, acc_events, custom_trace_id_callback, post_processing_timeout_s: as in PyTorch.
        use_cuda: deprecated.

    >>> import rushlight as torch
    >>> model = torch.nn.Linear(3, 2)
    >>> with torch.profiler.profile(record_shapes=True) as profiler:
    ...     with torch.profiler.record_function("step"):
    ...         model(torch.ones(4, 3)).sum().backward()
    >>> averages = {event.key: event for event in profiler.key_averages(group_by_input_shape=True)}
    >>> averages["aten::addmm"].count, averages["aten::addmm"].input_shapes
    (1, [[4, 3], [2, 3], [2]])
    >>> "AddmmBackward0" in averages
    True
    >>> print(profiler.key_averages().table(sort_by="cpu_time_total", row_limit=10).split()[1])
    Name
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        if use_cuda is not None:
            sentence = "`use_cuda` is deprecated, use `activities` argument instead"
            warnings.warn(hinted(sentence, "there is no CUDA here"), FutureWarning, stacklevel=to_user())
        activities = list(supported_activities() if activities is None else activities)
        known = any(isinstance(item, (ProfilerActivity, dict)) for item in activities)
        check(known, "No valid profiler activities found", "ProfilerActivity.CPU is one")
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.schedule, self.record_steps = schedule or _always, schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num, self.step_rec_fn = 0, None
        self.current_action = self._planned(0)
        self.action_map = self._transitions()

    def _planned(self, step):
        action = self.schedule(step)
        if action == ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                hinted(
                    "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
                    "user-provided schedule",
                    f"it was, for step {step}",
                )
            )
        return action

    def _transitions(self):
        """What is done where one action follows another: ``{(before, after): functions}``."""
        none, warm, record, save = list(ProfilerAction)[:4]
        prepare, start, stop, ready = self.prepare_trace, self.start_trace, self.stop_trace, self._trace_ready

        def wrong(before, after):
            sentence = f"Incorrect schedule: {before} followed by {after}"
            return lambda: warnings.warn(hinted(sentence, "nothing is kept of that cycle"), stacklevel=to_user())

        return {
            (none, warm): (prepare,),
            **dict.fromkeys(((none, record), (none, save)), (prepare, start)),
            (warm, none): (wrong("WARMUP", "NONE"), start, stop),
            **dict.fromkeys(((warm, record), (warm, save)), (start,)),
            (record, none): (wrong("RECORD", "NONE"), stop),
            (record, warm): (wrong("RECORD", "WARMUP"), stop),
            (save, none): (stop, ready),
            (save, warm): (stop, ready, prepare),
            **dict.fromkeys(((save, record), (save, save)), (stop, ready, prepare, start)),
            (warm, None): (start, stop),
            **dict.fromkeys(((record, None), (save, None)), (stop, ready)),
        }

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def start(self):
        """Begin: as the schedule says of step 0."""
        self._transit_action(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self):
        """End."""
        self._end_step()
        self._transit_action(self.current_action, None)

    def step(self):
        """Say that the next step of the program begins."""
        self._end_step()
        before, after = self.current_action, self._planned(self.step_num + 1)
        self.step_num += 1
        self.current_action = after
        self._transit_action(before, after)
        self._begin_step()

    def _begin_step(self):
        if self.record_steps:
            self.step_rec_fn = record_function(f"{_STEP}#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self):
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def set_custom_trace_id_callback(self, callback):
        """Let ``callback()`` name the traces from the next cycle on."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self):
        """The name of the current trace; None before the first."""
        return None if self.profiler is None else self.profiler.trace_id

    def _trace_ready(self):
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _transit_action(self, prev_action, current_action):
        for act in self.action_map.get((prev_action, current_action), ()):
            act()


for _kind in (profile, _KinetoProfile, supported_activities):
    _kind.__module__ = "torch.profiler.profiler"
