"""A progress bar for a training run: tqdm's where it is installed, otherwise a plain one."""

from __future__ import annotations

from rushlight.vision.datasets.progress import WIDTH, PlainBar


def training_bar(total):
    """A bar over `total` steps with ``update(count)``, ``write(line)`` (prints above the bar) and ``close()``."""
    try:
        from tqdm import tqdm
    except ImportError:
        return PlainTrainingBar(total, 0, "training")
    return tqdm(total=total, desc="training", unit="batch", mininterval=0.2, dynamic_ncols=True)


class PlainTrainingBar(PlainBar):
    """The plain bar, counting steps."""

    def line(self):
        share = self.done / self.total
        return f"{self.label}: {share:4.0%} [{('#' * int(WIDTH * share)).ljust(WIDTH, '.')}] {self.done}/{self.total}"

    def write(self, line):
        """Print a line on standard output, where the bar is."""
        if self.live:
            self.stream.write("\r\033[K")
            self.stream.flush()
        print(line, flush=True)
        if self.live:
            self.stream.write(self.line())
            self.stream.flush()
