"""The table of a list of events, to the character as PyTorch's."""

from __future__ import annotations

import math

from ..base.errors import hinted
from .kinds import DeviceType
from .numbers import format_memory, format_share, format_time

_WIDTH, _GAP = 12, "  "
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_DEVICES = (DeviceType.CUDA, DeviceType.PrivateUse1, DeviceType.MTIA, DeviceType.XPU)


def on_device(name):
    """The attribute that the name of a number on some device stands for."""
    for device in ("cuda", "xpu", "privateuse1"):
        name = name.replace(device, "device")
    return name


class _Column:
    """A column: its title, its width, and what stands in it for an event."""

    def __init__(self, title, cell, width=_WIDTH, align=">"):
        self.title, self.cell, self.width, self.align = title, cell, width, align


def table(events, sort_by, row_limit, widths, header, top_level_only, time_unit):
    """The table of an `EventList`; the arguments are those of its method, ``widths`` the three widest."""
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        rows.sort(key=lambda event: getattr(event, on_device(sort_by)), reverse=True)
    totals = _Totals(events, time_unit)
    columns = _columns(events, rows, widths, totals)
    line = _GAP.join("-" * column.width for column in columns) + _GAP
    lines = [] if header is None else ["=" * (len(line) - len(_GAP)), header]
    if top_level_only:
        lines += ["=" * (len(line) - len(_GAP)), "This report only display top-level ops statistics"]
    lines += [line, _row(columns, [column.title for column in columns]), line]
    source = next((column for column in columns if column.title == "Source Location"), None)
    shown = [event for event in rows if not (top_level_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(_row(columns, [column.cell(event) for column in columns]))
        if source is not None:
            lines += _rest_of_stack(columns, source.width, event)
    lines += [line, f"Self CPU time total: {totals.time(totals.cpu)}"]
    if totals.has_device_time:
        lines.append(f"Self {totals.device} time total: {totals.time(totals.on_device)}")
    return "\n".join(lines) + "\n"


class _Totals:
    """What is asked of all events before a row can be written."""

    def __init__(self, events, unit):
        self.unit = unit
        self.has_device_time = any(event.self_device_time_total > 0 for event in events)
        self.has_device_memory = any(event.self_device_memory_usage > 0 for event in events)
        device = events[0].use_device
        if not device and self.has_device_time:
            raise RuntimeError(
                hinted("use_device is None, but there is device performance data.", "the first event names no device")
            )
        self.device = "None" if device is None else device.upper()
        self.cpu = sum(event.self_cpu_time_total for event in events)
        self.on_device = sum(event.self_device_time_total for event in events if _counts_on_device(event))

    def time(self, microseconds):
        return format_time(microseconds, self.unit)


def _counts_on_device(event):
    if event.device_type == DeviceType.CPU:
        return event.is_legacy
    return event.device_type in _DEVICES and not event.is_user_annotation


def _columns(events, rows, widths, totals):
    widest_source, widest_name, widest_shapes = widths
    name_width = _limited(max(len(event.key) for event in rows) + 4, widest_name)
    columns = [_Column("Name", lambda event: _short(event.key, widest_name), name_width)]
    if any(event.overload_name for event in rows):
        columns.append(_Column("Overload Name", lambda event: _short(event.overload_name, widest_name), name_width))
    columns += _times(totals)
    if events._profile_memory:
        columns += _memory(totals, bool(events[0].use_device) and totals.has_device_memory)
    columns.append(_Column("# of Calls", lambda event: event.count))
    if any(event.node_id != -1 for event in rows):
        columns.append(_Column("Node ID", lambda event: event.node_id))
    if any(event.input_shapes is not None and len(event.input_shapes) > 0 for event in rows):
        most = _limited(max(len(str(event.input_shapes)) for event in rows) + 4, widest_shapes)
        columns.append(_Column("Input Shapes", lambda event: str(event.input_shapes)[:most], most))
    stacks = [event.stack for event in rows if event.stack]
    if stacks:
        width = _limited(max(len(entry) for stack in stacks for entry in stack) + 4, widest_source)
        first = lambda event: _end_of(event.stack[0], width) if event.stack else ""
        columns.append(_Column("Source Location", first, width, "<"))
    flops = _flops(rows) if events._with_flops else []
    if stacks and flops:  # PyTorch writes these two in the other's column
        columns[-1].cell, flops[0].cell = flops[0].cell, columns[-1].cell
    return columns + flops


def _times(totals):
    def share(name, total):
        return lambda event: (
            0 if event.is_async and name == "cpu_time_total" else format_share(getattr(event, name), total)
        )

    def time(name):
        return lambda event: totals.time(getattr(event, name))

    columns = [
        _Column("Self CPU %", share("self_cpu_time_total", totals.cpu)),
        _Column("Self CPU", time("self_cpu_time_total")),
        _Column("CPU total %", share("cpu_time_total", totals.cpu)),
        _Column("CPU total", time("cpu_time_total")),
        _Column("CPU time avg", time("cpu_time")),
    ]
    if totals.has_device_time:
        columns += [
            _Column(f"Self {totals.device}", time("self_device_time_total")),
            _Column(f"Self {totals.device} %", share("self_device_time_total", totals.on_device)),
            _Column(f"{totals.device} total", time("device_time_total")),
            _Column(f"{totals.device} time avg", time("device_time")),
        ]
    return columns


def _memory(totals, on_a_device):
    places = [("CPU", "cpu_memory_usage")] + [(totals.device, "device_memory_usage")] * on_a_device
    return [
        _Column(f"{before}{place} Mem", lambda event, name=prefix + name: format_memory(getattr(event, name)))
        for place, name in places
        for before, prefix in (("", ""), ("Self ", "self_"))
    ]


def _flops(rows):
    """The column of the numbers of operations, in a unit that fits the smallest; none where nothing was counted."""
    counted = [event.flops for event in rows if event.flops > 0]
    if not counted:
        return []
    power = max(0, min(math.log10(min(counted)) / 3, len(_FLOPS) - 1))
    scale = pow(10, math.floor(power) * -3.0)
    cell = lambda event: f"{event.flops * scale:8.3f}" if event.flops > 0 else "--"
    return [_Column(f"Total {_FLOPS[int(power)]}", cell)]


def _row(columns, cells):
    return _GAP.join(f"{cell: {column.align}{column.width}}" for column, cell in zip(columns, cells)) + _GAP


def _rest_of_stack(columns, width, event):
    """The lines below a row: the other frames of its stack, in the last column, and an empty one."""
    empty = [""] * (len(columns) - 1)
    return [_row(columns, [*empty, _end_of(entry, width)]) for entry in event.stack[1:]] + [_row(columns, [*empty, ""])]


def _limited(width, most):
    return width if most is None else min(width, most)


def _short(name, most):
    return name if most is None or len(name) < most - 3 else name[: most - 3] + "..."


def _end_of(path, width):
    if len(path) <= width:
        return path
    path = path[len(path) - width :]
    return "..." + path[3:] if len(path) > 3 else path
