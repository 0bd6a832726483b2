"""``Compare``: measurements as a table, a row for each case and a column for each description."""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from operator import itemgetter
from typing import Any

from ....base.errors import hinted
from .common import Measurement, log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_GREEN, _BLUE, _RED, _FAINT, _BOLD, _PLAIN = (f"\x1b[{code}m" for code in ("92", "34", "31", "2m\x1b[91", "1", "0"))
_BETWEEN = "  |  "
_WARNING_WIDTH = 7  # of " (! 12%)"


class Colorize(enum.Enum):
    """Which times are coloured by how they compare: none, those of a column, those of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class _Column:
    """The times of one description: how they are written, so that their points stand below each other."""

    def __init__(self, results, table):
        known = [each for each in results if each is not None]
        digits = [math.ceil(log10(each.median / table.scale)) for each in known]
        decimals = 1
        if table.trims:
            decimals = min(max(each.significant_figures - digit, 0) for digit, each in zip(digits, known))
        self.trims, self.results, self.decimals = table.trims, results, decimals
        self.width = max(digits) + decimals + (1 if decimals else 0)
        self.warns = table.warns and any(each.has_warnings for each in known)

    def written(self, value, figures, spread):
        """A time; blanks of its width where there is none."""
        if value is None:
            return " " * len(self.written(1, figures, None))
        if self.trims:
            value = trim_sigfig(value, figures)
        warning = f" (! {spread * 100:.0f}%)" if self.warns and spread is not None else ""
        return f"{value:>{self.width}.{self.decimals}f}{warning:>{_WARNING_WIDTH if self.warns else 0}}"


class Table:
    """The table of measurements that have one label."""

    def __init__(self, results, colorize, trims, warns):
        if len({each.label for each in results}) != 1:
            raise AssertionError(
                hinted("All results must share the same label", "Compare makes a table for each label")
            )
        self.results, self.colorize, self.trims, self.warns = results, colorize, trims, warns
        self.label = results[0].label
        self.unit, self.scale = select_unit(min(each.median for each in results))
        keys = ordered_unique((each.num_threads, each.env, each.as_row_name) for each in results)
        self.keys = sorted(keys, key=itemgetter(0, 1))
        self.names = ordered_unique(each.description for each in results)
        places: dict[Any, Measurement] = {
            (each.num_threads, each.env, each.as_row_name, each.description): each for each in results
        }
        self.rows = [[places.get((*key, name)) for name in self.names] for key in self.keys]
        self.columns = [_Column([row[number] for row in self.rows], self) for number in range(len(self.names))]

    def _row_names(self):
        """The first column: names of rows, after their environment where there are several and it is another one than above."""
        environments = {each.env for each in self.results}
        width = max(map(len, environments)) if len(environments) > 1 else 0
        above: Any = None
        for threads, environment, name in self.keys:
            shown = f"({environment})" if width and (threads, environment) != above else ""
            above = threads, environment
            yield "  " + shown.ljust(width + 4) + name

    def render(self):
        """The table as text."""
        cells = [["", *self.names]]
        for name, row in zip(self._row_names(), self.rows):
            cells.append([name, *map(self._cell, row, self.columns)])
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = [_BETWEEN.join(cell.center(width) for cell, width in zip(cells[0], widths))]
        whole, threads = len(lines[0]), None
        for key, row, line in zip(self.keys, self.rows, cells[1:]):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
            lines.append(_BETWEEN.join(self._coloured(line, widths, row, threads)))
        title = f" {self.label or ''} "
        head = f"[{title.center(whole - 2, '-')}]"
        note = ""
        if self.warns and any(each.has_warnings for each in self.results):
            note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        times = f"Times are in {unit_to_english(self.unit)}s ({self.unit})."
        return "\n".join([head, *lines, "", times, note])

    def _cell(self, result, column):
        if result is None:
            return column.written(None, 1, None)
        spread = result.iqr / result.median if result.has_warnings else None
        return column.written(result.median / self.scale, result.significant_figures, spread)

    def _coloured(self, line, widths, row, threads):
        """The cells of a row, as wide as their columns, in the colours that say how they compare."""
        yield line[0].ljust(widths[0])
        for number, (cell, width, result) in enumerate(zip(line[1:], widths[1:], row)):
            cell = cell.center(width)
            if self.colorize == Colorize.NONE or result is None:
                yield cell
                continue
            among = row
            if self.colorize == Colorize.COLUMNWISE:
                among = [each for key, each in zip(self.keys, self.columns[number].results) if key[0] == threads]
            yield _in_colour(cell, result.median, min(each.median for each in among if each is not None))


def _in_colour(text, value, best):
    if value <= best * 1.01 or value <= best + 1e-7:
        return _GREEN + _BOLD + text + _PLAIN * 2
    if value <= best * 1.1:
        return _BLUE + _BOLD + text + _PLAIN * 2
    if value >= best * 5:
        return _RED + _BOLD + text + _PLAIN * 2
    return _FAINT + text + _PLAIN * 2 if value >= best * 2 else text


class Compare:
    """Measurements side by side: a table for each label, rows by second label and threads, columns by description.

    >>> from rushlight.utils.benchmark import Compare, Measurement, TaskSpec
    >>> def measured(what, how, seconds):
    ...     return Measurement(1, [seconds], TaskSpec("", "", label="sums", sub_label=what, description=how))
    >>> Compare([measured("small", "a", 2e-6), measured("small", "b", 3e-6), measured("large", "a", 4e-5)]).print()
    [---------- sums ----------]
                     |  a   |  b
    1 threads: -----------------
          large      |  40.0  |
          small      |   2.0  |  3.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trims, self._colorize, self._warns = False, Colorize.NONE, False

    def extend_results(self, results):
        """Add measurements."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    hinted(f"Expected an instance of `Measurement`, got {type(each)} instead.", "a Timer measures")
                )
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only figures that mean something."""
        self._trims = True

    def colorize(self, rowwise=False):
        """Colour times by how they compare with the best of their column, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Mark times that spread too much."""
        self._warns = True

    def __str__(self):
        groups = defaultdict(list)
        for each in Measurement.merge(self._results):
            groups[each.label].append(each)
        return "\n".join(Table(group, self._colorize, self._trims, self._warns).render() for group in groups.values())

    def print(self):
        """Print the tables."""
        print(self)


for _kind in (Compare, Colorize):
    _kind.__module__ = "torch.utils.benchmark.utils.compare"
