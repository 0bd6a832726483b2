"""What the examples share: their options, the bar and lines of a training, images and points as text.

Nothing here needs a framework: tensors come in, and only their `tolist` is called.
"""

import argparse
import sys
import time

SHADES = " .:-=+*#%@"
WIDTH = 30


def options(description, steps, **numbers):
    """What the command line says: ``--steps``, ``--seed``, ``--draw``, and an option for each of ``numbers``, its default."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=steps, help="how many steps to train (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default: %(default)s)")
    parser.add_argument(
        "--draw", metavar="FILE", help="write the graph of the last loss there: .svg, .html, .dot, .txt"
    )
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=type(number), default=number, help="(default: %(default)s)")
    return parser


class Progress:
    """Counts the steps of a training from 1: a bar on a terminal, and a line of numbers at each fifth of the way.

    for step in (progress := Progress(100)):
        ...
        progress.show(loss=loss.item())
    """

    def __init__(self, steps, lines=5):
        self.steps, self.every, self.step = steps, max(1, steps // lines), 0
        self.live = sys.stderr.isatty()

    def __iter__(self):
        self.began = time.perf_counter()
        for step in range(1, self.steps + 1):
            self.step = step
            yield step

    def show(self, **numbers):
        """Tell the numbers of this step."""
        formats = {name: ".4f" if isinstance(number, float) else "" for name, number in numbers.items()}
        text = ", ".join(f"{name} {number:{formats[name]}}" for name, number in numbers.items())
        last = self.step == self.steps
        if self.step % self.every == 0 or last:
            self.redraw("")
            print(f"step {self.step:{len(str(self.steps))}}: {text}", flush=True)
        if not last:
            done = "#" * (WIDTH * self.step // self.steps)
            pace = 1000 * (time.perf_counter() - self.began) / self.step
            self.redraw(f"[{done:.<{WIDTH}}] {self.step}/{self.steps}, {pace:.2g} ms a step, {text}")

    def redraw(self, text):
        """Put another text in place of the bar."""
        if self.live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def draw(loss, model, path):
    """Write the graph that computed ``loss`` to ``path``, if one was given; only Rushlight's tensors can draw."""
    if path:
        loss.draw(model).save(path)
        print(f"wrote {path}")


def image_lines(image):
    """An image of numbers from 0 to 1 as lines of text, two characters for each pixel."""
    shade = lambda value: SHADES[max(0, min(int(value * len(SHADES)), len(SHADES) - 1))]
    return ["".join(shade(value) * 2 for value in row) for row in image.tolist()]


def point_lines(points, low, high, width=48, height=20):
    """How many of the points, rows of two numbers, lie where in the square from ``low`` to ``high``: lines of text."""
    counts = [[0] * width for _ in range(height)]
    for x, y in points.tolist():
        column = int((x - low) / (high - low) * width)
        row = int((high - y) / (high - low) * height)
        if 0 <= column < width and 0 <= row < height:
            counts[row][column] += 1
    top = max(max(map(max, counts)), 1)
    return ["".join(SHADES[-(-count * (len(SHADES) - 1) // top)] for count in row) for row in counts]


def side_by_side(*blocks, gap=3):
    """Print blocks of lines beside each other."""
    for lines in zip(*blocks):
        print((" " * gap).join(lines).rstrip())
