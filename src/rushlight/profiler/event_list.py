"""``EventList``: the events of a profile, who ran within whom, averages, and what is written of them."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import groupby

from .events import FunctionEventAvg, check
from .kinds import DeviceType, RecordScope
from .tables import on_device, table

_METRICS = [f"self_{device}_time_total" for device in ("cpu", "cuda", "xpu", "privateuse1")]
_STACK_CHARACTERS = str.maketrans(" ;\t\n", "____")  # which end a frame or a stack in the file of stacks


class EventList(list):
    """A list of `FunctionEvent`, or of their averages, that shows itself as a table.

    >>> import rushlight as torch
    >>> with torch.profiler.profile() as profiler:
    ...     x = torch.ones(3).add(1)
    >>> [event.name for event in profiler.events()]
    ['aten::ones', 'aten::add']
    >>> averages = profiler.key_averages()
    >>> averages.table(sort_by="cpu_time_total", row_limit=1).count("aten::")
    1
    """

    def __init__(self, *args, **kwargs):
        self._use_device = kwargs.pop("use_device", None)
        self._profile_memory = kwargs.pop("profile_memory", False)
        self._with_flops = kwargs.pop("with_flops", False)
        super().__init__(*args, **kwargs)
        self._tree_built = False

    def __str__(self):
        return self.table()

    def _build_tree(self):
        """Find out which event ran within which, and give those of backward the stacks of their forward calls."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self):
        present = [event for event in self if not event.is_async and event.device_type == DeviceType.CPU]
        present.sort(key=lambda event: event.thread)
        for _, events in groupby(present, key=lambda event: (event.thread, event.node_id)):
            around = []  # the events that have begun and not ended, outermost first
            for event in sorted(events, key=lambda each: (each.time_range.start, -each.time_range.end)):
                time = event.time_range
                while around and not (time.start < around[-1].time_range.end >= time.end):
                    around.pop()
                if around:
                    check(
                        event.cpu_parent is None, f"There is already a CPU parent event for {event.key}", "build once"
                    )
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self):
        """Leave out events that are all that an event of the same name holds."""
        while True:
            kept = []
            for event in self:
                parent = event.cpu_parent
                if parent is None or parent.name != event.name or len(parent.cpu_children) != 1:
                    kept.append(event)
                    continue
                parent.cpu_children, parent.kernels = event.cpu_children, event.kernels
                for child in event.cpu_children:
                    child.cpu_parent = parent
            if len(kept) == len(self):
                return
            self[:] = kept

    def _set_backward_stacktraces(self):
        stacks = {}
        for event in self:
            if event.stack is not None and _node_around(event) is None:
                stacks.setdefault((event.sequence_nr, event.thread), event.stack)
        for event in self:
            node = _node_around(event)
            if node is not None:
                check(node.fwd_thread is not None, "Expected fwd_thread to be set for backward parent", node.name)
                event.stack = stacks.get((node.sequence_nr, node.fwd_thread), [])

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events, each without those within."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """The events as a table.

        Args:
            sort_by: the attribute by which rows are sorted, largest first: "cpu_time_total", "self_cpu_time_total", "cpu_time",
                "cpu_memory_usage", "self_cpu_memory_usage", "count", "flops"; None leaves their order.
            row_limit: how many rows, 100 by default; -1: all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: 75, 55 and 80 characters by default; None: as wide
                as they are.
            header: a line above it.
            top_level_events_only: leave out events that ran within others.
            time_unit: "s", "ms" or "us" for all times; by default each has its own.
        """
        return table(
            self,
            sort_by,
            row_limit,
            (max_src_column_width, max_name_column_width, max_shapes_column_width),
            header,
            top_level_events_only,
            time_unit,
        )

    def export_chrome_trace(self, path):
        """Write the events as a list that chrome://tracing and Perfetto open."""
        written = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": f" node_id:{event.node_id}, thread_id:{event.thread} " if event.is_remote else event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
            if event.trace_name is not None
        ]
        with open(path, "w") as file:
            json.dump(written, file)

    def supported_export_stacks_metrics(self):
        """What `export_stacks` can weigh stacks by."""
        return list(_METRICS)

    def export_stacks(self, path, metric):
        """Write a line for each event with a stack: its frames, outermost first, and the metric. Flame graphs are drawn of it."""
        if metric not in _METRICS:
            raise ValueError("metric should be one of: " + str(_METRICS))
        with open(path, "w") as file:
            for event in self:
                weight = int(getattr(event, on_device(metric))) if event.stack else 0
                if weight > 0:
                    frames = ";".join(entry.translate(_STACK_CHARACTERS) for entry in reversed(event.stack))
                    file.write(f"{frames} {weight}\n")

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The averages of events of one name; with one list of input shapes, too, or one beginning of the stack, if asked for."""
        check(self._tree_built, "Expected tree to be built before calling key_averages", "profilers build it")
        groups = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation]
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += event.stack[:group_by_stack_n]
            groups[tuple(key)].add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        options = {
            "use_device": self._use_device,
            "profile_memory": self._profile_memory,
            "with_flops": self._with_flops,
        }
        return EventList(groups.values(), **options)

    def total_average(self):
        """What all events come to, whatever their names."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total


def _node_around(event):
    """The event of the node of backward that an event is, or ran within; None where there is none."""
    while event is not None and event.scope != RecordScope.BACKWARD_FUNCTION.value:
        event = event.cpu_parent
    return event


EventList.__module__ = "torch.autograd.profiler_util"
