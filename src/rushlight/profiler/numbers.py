"""Times, shares and sizes as text."""

from __future__ import annotations

from ..base.errors import hinted

_PER_SECOND, _PER_MILLISECOND = 1000.0 * 1000.0, 1000.0
_SIZES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def format_time(microseconds, unit=None):
    """Microseconds in the largest unit of which they are at least one, or in a given ``unit``: "s", "ms" or "us"."""
    if unit not in ("s", "ms", "us"):
        unit = "s" if microseconds >= _PER_SECOND else "ms" if microseconds >= _PER_MILLISECOND else "us"
    per_unit = {"s": _PER_SECOND, "ms": _PER_MILLISECOND, "us": 1}[unit]
    return f"{microseconds / per_unit:.3f}{unit}"


def format_share(microseconds, total):
    """Which part of ``total`` it is, in per cent."""
    if total == 0:
        if microseconds != 0:
            raise AssertionError(hinted(f"Expected time_us == 0 but got {microseconds}", "the total is 0"))
        return "NaN"
    return f"{microseconds * 100.0 / total:.2f}%"


def format_memory(count):
    """Bytes, with two digits in the largest unit of which they are at least one."""
    for size, unit in _SIZES:
        if abs(count) >= size:
            return f"{count * 1.0 / size:.2f} {unit}"
    return f"{count} B"
