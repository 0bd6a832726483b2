"""A measurement: the times of a statement, what they come to, and how they are written."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections import defaultdict
from typing import Any

import numpy as np

from ....base import settings
from ....base.contexts import contextmanager

__all__ = [
    "Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english",
]  # fmt: skip

_MOST_FIGURES = 4
_SHORTEST_INTERVAL = 25e-9  # seconds: below, a timer tells nothing apart
_UNSTEADY, _VERY_UNSTEADY = 0.1, 0.25  # the interquartile range, as a part of the median
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def log10(number):
    """The decimal logarithm of a number above 0, in single precision, by which PyTorch counts digits."""
    return np.float32(math.log10(np.float32(number)))


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What was measured, and how it is called: what a `Timer` was made with."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement, and the second label."""
        name = self.stmt if self.label is None else self.label
        if self.label is not None or "\n" not in name:
            return name + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(name, '  ')}"

    def setup_str(self) -> str:
        """The setup, as a measurement shows it; nothing where there is none."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a paragraph for each that has several lines."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(part + "\n" * ("\n" in part) for part in parts)


_FIELDS = frozenset(field.name for field in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement in seconds: ``raw_times``, each of ``number_per_run`` runs, and what was measured.

    The fields of ``task_spec`` are attributes, too.

    >>> from rushlight.utils.benchmark import Measurement, TaskSpec
    >>> measured = Measurement(10, [2e-5, 4e-5, 3e-5], TaskSpec("x + y", "pass"))
    >>> measured.median, measured.stmt
    (3e-06, 'x + y')
    >>> print(repr(measured).partition("\\n")[2])
    x + y
      Median: 3.00 us
      3 measurements, 10 runs per measurement, 1 thread
      WARNING: Interquartile range is 33.3% of the median measurement.
               This suggests significant environmental influence.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __post_init__(self) -> None:
        self._sorted_times: tuple[float, ...] = ()
        self._warnings: tuple[str, ...] = ()
        self._median = self._mean = self._p25 = self._p75 = -1.0

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        return super().__getattribute__(name)

    @property
    def times(self) -> list[float]:
        """Seconds of a run, in each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        self._summarise()
        return self._median

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        self._summarise()
        return self._mean

    @property
    def iqr(self) -> float:
        """The interquartile range: from the first quarter of `times` to the last."""
        self._summarise()
        return self._p75 - self._p25

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, 1 to 4, by the spread of the middle half."""
        self._summarise()
        count = len(self._sorted_times)
        middle = np.array(self._sorted_times[count // 4 : math.ceil(3 * count / 4)], np.float32)
        interval = max(1.645 * float(middle.std()) / float(np.sqrt(np.float32(len(middle)))), _SHORTEST_INTERVAL)
        figures = math.floor(log10(self._median / interval))
        return min(max(figures, 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread too much."""
        self._summarise()
        return bool(self._warnings)

    def _summarise(self) -> None:
        if not self.raw_times or self._sorted_times:
            return
        self._sorted_times = tuple(sorted(self.times))
        times = np.array(self._sorted_times)
        self._p25, self._median, self._p75 = (float(q) for q in np.quantile(times, (0.25, 0.5, 0.75)))
        self._mean = float(times.mean())
        if not self.meets_confidence(_UNSTEADY):
            much = not self.meets_confidence(_VERY_UNSTEADY)
            cause = (
                "This suggests significant environmental influence."
                if much
                else "This could indicate system fluctuation."
            )
            share = self.iqr / self.median * 100
            self._warnings += (
                f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           {cause}",
            )

    def meets_confidence(self, threshold: float = _UNSTEADY) -> bool:
        """Whether the interquartile range is below so large a part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The title of what was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """Its row in a comparison: the second label, or else the statement."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        self._summarise()
        count, (unit, scale) = len(self._sorted_times), select_unit(self._median)
        written = [
            super().__repr__(),
            self.task_spec.summarize(),
            f"  {'Median: ' if count > 1 else ''}{self._median / scale:.2f} {unit}",
        ]
        if count >= 4:
            low, high = self._p25 / scale, self._p75 / scale
            written.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        each = "per measurement," if count > 1 else ","
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        written.append(f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs {each} {threads}")
        return "\n".join("\n".join([*written, *self._warnings]).strip().splitlines())

    @staticmethod
    def merge(measurements) -> list[Measurement]:
        """One measurement for each thing that was measured, with all its times."""
        groups: dict[TaskSpec, list[Measurement]] = defaultdict(list)
        for each in measurements:
            groups[each.task_spec].append(each)
        return [Measurement(1, [t for each in group for t in each.times], spec) for spec, group in groups.items()]


TaskSpec.__module__ = Measurement.__module__ = "torch.utils.benchmark.utils.common"


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which ``t`` seconds are written, and its length in seconds.

    >>> from rushlight.utils.benchmark import select_unit
    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(log10(t) // 3), "s")
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    """The word for a unit: "us" is "microsecond"."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """``x`` with ``n`` significant figures.

    >>> from rushlight.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.0, 2)
    1200.0
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (math.ceil(log10(abs(x))) - n)
    return float(np.round(np.float32(x / scale)) * np.float32(scale))


def ordered_unique(elements) -> list[Any]:
    """The elements, each once, in the order in which they came first."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int):
    """A block that computes with ``n`` threads."""
    before = settings.get_num_threads()
    try:
        settings.set_num_threads(n)
        yield
    finally:
        settings.set_num_threads(before)
