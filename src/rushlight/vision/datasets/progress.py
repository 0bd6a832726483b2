"""A progress bar for downloads: tqdm's where it is installed, otherwise a plain one."""

from __future__ import annotations

import sys
import time

WIDTH = 30


def progress_bar(total, done, label):
    """A bar with ``update(count)`` and ``close()`` for `total` bytes (None: unknown) of which `done` are there."""
    try:
        from tqdm import tqdm
    except ImportError:
        return PlainBar(total, done, label)
    return tqdm(total=total, initial=done, desc=label, unit="B", unit_scale=True)


class PlainBar:
    """One line on standard error, redrawn ten times a second on a terminal, written once at the end elsewhere."""

    def __init__(self, total, done, label):
        self.total, self.done, self.label = total, done, label
        self.stream, self.drawn = sys.stderr, 0.0
        self.live = self.stream.isatty()

    def update(self, count):
        """Count `count` more bytes."""
        self.done += count
        now = time.monotonic()
        if self.live and now - self.drawn > 0.1:
            self.drawn = now
            self.stream.write("\r" + self.line())
            self.stream.flush()

    def line(self):
        """The bar as text."""
        size = f"{self.done / 1e6:.1f} MB"
        if not self.total:
            return f"{self.label}: {size}"
        share = min(self.done / self.total, 1.0)
        bar = ("#" * int(WIDTH * share)).ljust(WIDTH, ".")
        return f"{self.label}: {share:4.0%} [{bar}] {size} of {self.total / 1e6:.1f} MB"

    def close(self):
        """Draw the last state and end the line."""
        self.stream.write(("\r" if self.live else "") + self.line() + "\n")
        self.stream.flush()
