"""What kernels ran when: launches write into a log while somebody, the profiler, listens. Off, a launch pays one test.

The log is memory that this process keeps: capacity and number of entries, then of each entry the kernel's description,
whether all threads ran, the thread that launched it (`threading.get_ident`), when it began and when it ended (`system.nanoseconds`; 0
where it has not ended).
"""

from __future__ import annotations

import ctypes

import numpy as np

from .system import system

CAPACITY = 1 << 18
FIELDS = 5  # numbers of an entry
KERNEL, THREADED, THREAD, BEGAN, ENDED = range(FIELDS)
_cell = ctypes.c_void_p(None)  # where launches look for the log
_log: list[np.ndarray] = []  # the one log, once there is one


def symbols():
    """Addresses of what the code of launches links against, besides the system's functions."""
    return {"launch_log": ctypes.addressof(_cell)}


def log_code():
    """LLVM IR of ``note_launch``, the address of a new entry or NULL where the log is full, and ``end_launch`` of an entry."""
    return f"""{system().clock}
@launch_log = external dso_local global ptr
define ptr @note_launch(ptr %log, ptr %kernel, i1 %threaded) noinline nounwind {{
  %used_at = getelementptr i64, ptr %log, i64 1
  %number = atomicrmw add ptr %used_at, i64 1 monotonic, align 8
  %capacity = load i64, ptr %log
  %fits = icmp slt i64 %number, %capacity
  br i1 %fits, label %note, label %full
note:
  %before = mul i64 %number, {FIELDS}
  %first = add i64 %before, 2
  %entry = getelementptr i64, ptr %log, i64 %first
  %described = ptrtoint ptr %kernel to i64
  store i64 %described, ptr %entry
  %all = zext i1 %threaded to i64
  %all_at = getelementptr i64, ptr %entry, i64 {THREADED}
  store i64 %all, ptr %all_at
  %thread = call i64 @this_thread()
  %thread_at = getelementptr i64, ptr %entry, i64 {THREAD}
  store i64 %thread, ptr %thread_at
  %ended_at = getelementptr i64, ptr %entry, i64 {ENDED}
  store i64 0, ptr %ended_at
  %began_at = getelementptr i64, ptr %entry, i64 {BEGAN}
  call void @read_clock(ptr %began_at)
  ret ptr %entry
full:
  ret ptr null
}}
define void @end_launch(ptr %entry) noinline nounwind {{
  %ended_at = getelementptr i64, ptr %entry, i64 {ENDED}
  call void @read_clock(ptr %ended_at)
  ret void
}}
"""


def begin():
    """Let launches be noted from now on; what the log held is forgotten."""
    if not _log:
        _log.append(np.empty(2 + CAPACITY * FIELDS, np.int64))
    _log[0][:2] = _capacity(), 0
    _cell.value = _log[0].ctypes.data


def noted():
    """The noted launches that have ended, rows of FIELDS numbers, and how many did not fit."""
    used = int(_log[0][1])
    count = min(used, _capacity())
    rows = _log[0][2 : 2 + count * FIELDS].reshape(count, FIELDS).copy()
    return rows[rows[:, ENDED] != 0], used - count


def _capacity():
    """How many entries there is memory for."""
    return (len(_log[0]) - 2) // FIELDS


def end():
    """Note no more."""
    _cell.value = None
