"""Profiles as trace events, JSON that chrome://tracing and Perfetto open."""

from __future__ import annotations

import json
import os
import sys
import threading
from itertools import count

from .building import KERNEL, MEMORY_EVENT_NAME


def write_trace(path, events, session):
    """Write the events of a profile; ``session`` has ``metadata`` (name -> JSON text), ``trace_id``, ``memory`` and ``epoch``."""
    process, thread = os.getpid(), threading.get_native_id()
    place = {"pid": process, "tid": thread}
    written = [
        {"ph": "M", "name": "process_name", "ts": 0, **place, "args": {"name": os.path.basename(sys.executable)}},
        {"ph": "M", "name": "process_labels", "ts": 0, **place, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "thread_name", "ts": 0, **place, "args": {"name": f"thread {thread}"}},
    ]
    shown = [event for event in events if event.trace_name is not None]
    written += [_slice(event, place) for event in shown]
    written += _arrows(shown, place)
    written += _memory(session.memory, place)
    end = max((event.time_range.end for event in shown), default=0)
    whole = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}
    written.append(whole | {"ts": 0, "dur": end, "args": {"Op count": len(shown)}})
    found = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": session.trace_id,
        **{key: json.loads(value) for key, value in session.metadata.items()},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": session.epoch,
        "traceName": path,
        "traceEvents": written,
    }
    with open(path, "w") as file:
        json.dump(found, file, allow_nan=False)


def _slice(event, place):
    """A block of time; what is known of the call are its arguments."""
    arguments = {"External id": event.id, "Ev Idx": event.id}
    if event.activity_type == KERNEL:
        arguments |= json.loads(event._metadata_json)
    elif event.sequence_nr >= 0:
        arguments |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
    if event.input_shapes:
        arguments |= {
            "Concrete Inputs": ["" if value is None else str(value) for value in event.concrete_inputs],
            "Input type": event.input_dtypes,
            "Input Strides": event.structured_input_strides,
            "Input Dims": event.structured_input_shapes,
        }
    if event.stack:
        arguments["Call stack"] = ";".join(event.stack)
    time = event.time_range
    return {
        "ph": "X",
        "cat": event.activity_type,
        "name": event.trace_name,
        **place,
        "ts": time.start,
        "dur": time.elapsed_us(),
        "args": arguments,
    }


def _arrows(events, place):
    """From each operation to the node of backward that it made."""
    forward = {event.sequence_nr: event for event in events if event.scope == 0 and event.fwd_thread == 0}
    forward.pop(-1, None)
    numbers, arrow = count(1), {**place, "cat": "fwdbwd", "name": "fwdbwd"}
    found = []
    for event in events:
        source = forward.get(event.sequence_nr) if event.scope == 1 else None
        if source is not None:
            number = next(numbers)
            found.append({"ph": "s", "id": number, **arrow, "ts": source.time_range.start})
            found.append({"ph": "f", "id": number, **arrow, "ts": event.time_range.start, "bp": "e"})
    return found


def _memory(noted, place):
    """What was taken and given back, and how much is held: since the profile began."""
    held, found = 0, []
    for when, size in noted:
        held += size
        arguments = {"Total Reserved": 0, "Total Allocated": held, "Bytes": size, "Device Id": -1, "Device Type": 0}
        found.append(
            {
                "ph": "i",
                "cat": "cpu_instant_event",
                "s": "t",
                "name": MEMORY_EVENT_NAME,
                **place,
                "ts": when,
                "args": arguments,
            }
        )
    return found
