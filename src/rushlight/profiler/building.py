"""From what a recorder noted to events: who ran within whom, memory and kernels by time, operations a second."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from itertools import accumulate

from ..base.settings import get_num_threads
from ..kernels.compiler.kernel import known
from ..kernels.products.multiply_add_rate import multiply_add_rate
from .event_list import EventList
from .events import FunctionEvent
from .recorder import Recorder, next_number

_STEP = "ProfilerStep#"
MEMORY_EVENT_NAME, KERNEL = "[memory]", "kernel"


def events_of(recorder: Recorder, use_device=None, memory=False, flops=False):
    """The `EventList` of a profile, its tree built."""
    made = [_event(record, recorder, use_device, flops) for record in recorder.records]
    if memory:
        made += _with_memory(made, recorder, use_device)
    kernels = _kernels(recorder, use_device)
    made += kernels
    made.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    found = EventList(made, use_device=use_device, profile_memory=memory, with_flops=flops)
    found._build_tree()
    counted = {record.number: record.flops for record in recorder.records if record.flops}
    _rate(kernels, counted)
    if flops:
        _give_convolutions(found)
    return found


def _event(record, recorder, use_device, flops):
    shown = record.arguments
    given = {"input_shapes": [], "concrete_inputs": [], "input_dtypes": [], "structured_input_shapes": []}
    if shown is not None:
        given = {
            "input_shapes": shown.shapes,
            "concrete_inputs": shown.values,
            "input_dtypes": shown.types,
            "structured_input_shapes": shown.structured,
            "structured_input_strides": shown.strides,
        }
    return FunctionEvent(
        record.number,
        f"{_STEP[:-1]}*" if record.name.startswith(_STEP) else record.name,
        1,
        (record.began - recorder.began) / 1000,
        (record.ended - recorder.began) / 1000,
        overload_name="",
        trace_name=record.name,
        fwd_thread=record.forward_thread,
        stack=record.stack,
        scope=record.scope,
        use_device=use_device,
        sequence_nr=record.sequence,
        flops=record.flops if flops else 0,
        kwinputs={},
        is_user_annotation=record.kind == "user_annotation",
        is_python_function=record.kind == "python_function",
        activity_type=record.kind,
        **given,
    )


def _with_memory(made, recorder, use_device):
    """Add up the memory of each event; events of their own for what was taken or given back outside of all."""
    noted = sorted((when - recorder.began, size) for when, size in recorder.memory)
    times = [when / 1000 for when, _ in noted]
    sums = [0, *accumulate(size for _, size in noted)]
    outside = set(range(len(noted)))
    for event in made:
        first, last = bisect_left(times, event.time_range.start), bisect_right(times, event.time_range.end)
        event.cpu_memory_usage = sums[last] - sums[first]
        outside.difference_update(range(first, last))
    nothing = {"input_shapes": [], "stack": [], "overload_name": "", "fwd_thread": 1, "flops": 0}
    return [
        FunctionEvent(
            next_number(),
            MEMORY_EVENT_NAME,
            1,
            times[n],
            times[n],
            cpu_memory_usage=noted[n][1],
            use_device=use_device,
            **nothing,
        )
        for n in sorted(outside)
    ]


def _kernels(recorder, use_device):
    """An event for each launch of a kernel."""
    kernels = {kernel.description: kernel for kernel in known()}
    made = []
    for description, threaded, _, began, ended in recorder.launches.tolist():
        kernel = kernels.get(description)
        name = f"{KERNEL}::{'unknown' if kernel is None else kernel.name}"
        threads = get_num_threads() if threaded else 1
        times = (began - recorder.began) / 1000, (ended - recorder.began) / 1000
        shown = {"overload_name": "", "trace_name": name, "input_shapes": [], "stack": [], "fwd_thread": 0, "flops": 0}
        event = FunctionEvent(next_number(), name, 1, *times, use_device=use_device, activity_type=KERNEL, **shown)
        event.threads, event.gigaflops = threads, None
        event.scalar = "f64" if kernel is not None and "f64" in kernel.key else "f32"
        made.append(event)
    return made


def _rate(kernels, counted):
    """Operations a second of kernels within an event whose operations are counted."""
    within: dict = {}
    for kernel in kernels:
        around = kernel.cpu_parent
        while around is not None and around.id not in counted:
            around = around.cpu_parent
        if around is not None:
            within.setdefault(around, []).append(kernel)
    for event, inside in within.items():
        taken = sum(kernel.time_range.elapsed_us() for kernel in inside)
        for kernel in inside:
            kernel.gigaflops = counted[event.id] / taken / 1000 if taken else None
    for kernel in kernels:
        kernel._metadata_json = json.dumps({"threads": kernel.threads, "GFLOP/s": kernel.gigaflops})
        if kernel.cpu_parent is not None:
            kernel.cpu_parent.append_kernel(kernel.name, 0, kernel.time_range.elapsed_us())


def _give_convolutions(events):
    """Count the operations of a two-dimensional convolution where PyTorch does: at ``aten::conv2d``."""
    for event in events:
        around = event.cpu_parent
        if event.name == "aten::convolution" and around is not None and around.name == "aten::conv2d":
            around.flops, event.flops = event.flops, 0


def kernel_table(events, row_limit=100):
    """Kernels as a table, most time first: launches, threads, microseconds and, where they are known, operations a second,
    and the share of what the multiply-add units can do, which is measured for it."""
    groups: dict = {}
    for event in events:
        if event.activity_type == KERNEL:
            key = event.name.partition("::")[2], event.threads, event.scalar
            groups.setdefault(key, []).append(event)
    rows = []
    for (name, threads, scalar), launches in groups.items():
        taken = sum(event.time_range.elapsed_us() for event in launches)
        cells = [name, str(len(launches)), str(threads), f"{taken:.1f}", f"{taken / len(launches):.1f}"]
        rows.append((taken, cells + _reached(launches, scalar, threads)))
    rows.sort(key=lambda row: -row[0])
    lines = [
        ["Kernel", "# of Launches", "Threads", "Total us", "us avg", "GFLOP/s", "of peak"],
        *(row for _, row in rows[:row_limit]),
    ]
    widths = [max(map(len, column)) for column in zip(*lines)]
    written = [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([rule, written[0], rule, *written[1:], rule]) + "\n"


def _reached(launches, scalar, threads):
    """The cells of the rate and of its share of the peak."""
    rates = [(event.gigaflops, event.time_range.elapsed_us()) for event in launches if event.gigaflops is not None]
    time = sum(time for _, time in rates)
    if not time:
        return ["--", "--"]
    rate = sum(rate * time for rate, time in rates) / time
    return [f"{rate:.1f}", f"{1e9 * rate / multiply_add_rate(scalar, threads):.0%}"]
