"""``Timer``: how long a statement takes."""

from __future__ import annotations

import enum
import importlib
import shutil
import sys
import textwrap
import timeit
from statistics import median
from typing import Any

from ....base.errors import hinted
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["CopyIfCallgrind", "Language", "Timer", "timer"]

_MOST_RUNS = 2147483647
_SHORTEST = 1e-9  # seconds that a run takes at least


def timer() -> float:
    """The clock that measures: seconds."""
    return timeit.default_timer()


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


class CopyIfCallgrind:
    """A value that a measurement under callgrind would copy; elsewhere the value itself."""

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self.value, self.setup = value, setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """The globals, with values in place of what holds them."""
        return {k: v.value if isinstance(v, CopyIfCallgrind) else v for k, v in globals.items()}


class Timer:
    """Measures a statement, as the standard library's ``timeit.Timer`` does, with warm-up, a number of threads, and medians.

    Args:
        stmt: the statement, "pass" by default; ``torch`` is among its globals.
        setup: what runs once before, "pass" by default.
        global_setup: for C++, which is not here.
        timer: the clock.
        globals: the statement's globals.
        label, sub_label, description, env: what it is called in measurements and comparisons.
        num_threads: how many threads compute, 1 by default.
        language: Python.

    >>> from rushlight.utils.benchmark import Timer
    >>> timed = Timer("x + x", setup="x = torch.ones(4)", label="sum", num_threads=1)
    >>> measured = timed.timeit(100)
    >>> measured.number_per_run, measured.title, measured.median > 0
    (100, 'sum', True)
    >>> Timer("sum(range(9))").blocked_autorange(min_run_time=0.001).number_per_run > 1
    True
    """

    _timer_cls: Any = timeit.Timer

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError(hinted("Currently only a `str` stmt is supported.", f"got {type(stmt).__name__}"))
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError(hinted("Timer: C++ is not implemented", "Rushlight has no C++ interface"))
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(hinted(f"Invalid language `{language}`.", "Language.PYTHON is one"))
        if global_setup:
            raise ValueError(
                hinted(
                    f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.",
                    "setup runs once before the statement",
                )
            )
        self._globals = dict(globals or {})
        self._globals.setdefault("torch", importlib.import_module("rushlight"))
        self._language = Language.PYTHON
        stmt, setup = _dedented(stmt), _dedented(setup)
        values = CopyIfCallgrind.unwrap_all(self._globals)
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=values)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number):
        return max(self._timer.timeit(number), _SHORTEST)

    def _measured(self, number, times):
        return Measurement(number, times, self._task_spec)

    def timeit(self, number=1000000):
        """Run the statement ``number`` times, after a hundredth of that to warm up. Returns a `Measurement` of one time."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat=-1, number=-1):
        """Refused, as in PyTorch: `blocked_autorange` repeats."""
        raise NotImplementedError(hinted("See `Timer.blocked_autorange.`", "it repeats for a given time"))

    def autorange(self, callback=None):
        """Refused, as in PyTorch: `blocked_autorange` chooses the number of runs."""
        raise NotImplementedError(hinted("See `Timer.blocked_autorange.`", "it chooses the number of runs"))

    def _measure(self, number, enough, least, most=None, callback=None):
        """Times of ``number`` runs each, until ``least`` seconds are over and it is enough, or ``most`` seconds are over."""
        spent, times, done = 0.0, [], False
        with set_torch_threads(self._task_spec.num_threads):
            while spent < least or not done:
                times.append(self._timeit(number))
                spent += times[-1]
                if callback:
                    callback(number, times[-1])
                done = enough(times)
                if most and spent > most:
                    break
        return times

    def _block_size(self, least):
        """How many runs make the clock's own time, and a thousandth of the time to be measured, small."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead, number = median(self._timeit(0) for _ in range(5)), 1
            while True:
                taken = self._timeit(number)
                long_enough = overhead / taken <= 1e-4 and taken >= least / 1000
                if long_enough or taken > least or number * 10 > _MOST_RUNS:
                    return number
                number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measure blocks of runs, each long enough for the clock, for at least ``min_run_time`` seconds.

        ``callback(number, seconds)`` is called after each block.
        """
        number = self._block_size(min_run_time)
        return self._measured(number, self._measure(number, lambda times: True, min_run_time, callback=callback))

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measure blocks until the interquartile range is below ``threshold`` of the median, at most ``max_run_time`` seconds."""
        number = self._block_size(0.05)

        def enough(times):
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        return self._measured(number, self._measure(number, enough, min_run_time, max_run_time, callback))

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        """Count instructions under valgrind: refused."""
        if repeats is not None and repeats < 1:
            raise ValueError(hinted("If specified, `repeats` must be >= 1", f"got {repeats}"))
        if not sys.platform.startswith("linux"):
            raise OSError(hinted("Valgrind is not supported on this platform.", "it counts on Linux"))
        if shutil.which("valgrind") is None:
            raise OSError(hinted("Could not find `valgrind`", "timeit and blocked_autorange measure without it"))
        raise NotImplementedError(
            hinted(
                "Timer.collect_callgrind is not implemented",
                "valgrind sees the interpreter and the code that Rushlight generates as one; blocked_autorange measures time",
            )
        )


for _kind in (Timer, Language):
    _kind.__module__ = "torch.utils.benchmark.utils.timer"


def _dedented(text):
    return textwrap.dedent(text).removeprefix("\n").rstrip()
