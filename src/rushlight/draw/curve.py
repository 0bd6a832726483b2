"""Line charts as SVG: a few series over one x axis, with a second y axis where two quantities meet."""

from __future__ import annotations

import math
from html import escape

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 66, 66, 74, 58
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
COLORS = ("#2f5fd0", "#e07b1f", "#1f9d63", "#b03a8c", "#6b7794")
INK, FAINT, GRID = "#22304f", "#6b7794", "#e6eaf3"


class Series:
    """A line of a chart: a name and points; `axis` is "left" or "right"; `faint` draws it thin, behind the others."""

    def __init__(self, name, xs, ys, axis="left", faint=False, color=None):
        if len(xs) != len(ys):
            raise ValueError(f"series {name!r} has {len(xs)} x values and {len(ys)} y values")
        if axis not in ("left", "right"):
            raise ValueError(f"axis must be 'left' or 'right', got {axis!r}")
        self.name, self.axis, self.faint, self.color = name, axis, faint, color
        self.points = [(float(x), float(y)) for x, y in zip(xs, ys) if math.isfinite(x) and math.isfinite(y)]


class Curve:
    """A chart of several `Series`; Jupyter shows it as a picture.

    `x`, `left` and `right` name the axes; `x_range`, `left_range` and `right_range` fix their ends (None: from the
    values).

    >>> from rushlight.draw import Curve, Series
    >>> chart = Curve([Series("loss", [1, 2, 3], [2.3, 1.1, 0.6])], title="Training", x="epoch", left="loss")
    >>> chart.svg()[:38]
    '<svg xmlns="http://www.w3.org/2000/svg'
    """

    def __init__(self, series, title="", x="", left="", right="", x_range=None, left_range=None, right_range=None):
        self.series, self.title, self.x, self.left, self.right = list(series), title, x, left, right
        for number, each in enumerate(self.series):
            each.color = each.color or COLORS[number % len(COLORS)]
        points = [point for each in self.series for point in each.points]
        self.x_scale = Scale([x for x, _ in points], x_range, LEFT, WIDTH - RIGHT, widen=False)
        self.scales = {}
        for axis, fixed in (("left", left_range), ("right", right_range)):
            values = [y for each in self.series if each.axis == axis for _, y in each.points]
            if values:
                self.scales[axis] = Scale(values, fixed, HEIGHT - BOTTOM, TOP)

    def svg(self):
        """The picture as the text of a self-contained SVG file."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" font-size="12" role="img">',
            f"<title>{escape(self.title)}</title>",
            '<rect width="100%" height="100%" rx="10" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="32" font-size="16" font-weight="600" fill="{INK}">{escape(self.title)}</text>',
            *self.legend(),
            *self.axes(),
            *(self.line(each) for each in sorted(self.series, key=lambda each: not each.faint)),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def save(self, path):
        """Write the picture to `path`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())

    def _repr_svg_(self):
        return self.svg()

    def legend(self):
        """One row below the title: a piece of each line and its name."""
        x = LEFT
        for each in self.series:
            width, opacity = stroke(each)
            yield (
                f'<line x1="{x}" y1="51" x2="{x + 22}" y2="51" stroke="{each.color}" stroke-width="{width}" '
                f'stroke-opacity="{opacity}" stroke-linecap="round"/>'
            )
            yield label(x + 29, 55, each.name, "start", INK)
            x += 29 + round(len(each.name) * 7.2) + 24

    def axes(self):
        """Grid, ticks and names of the axes."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        grid = self.scales.get("left") or self.scales.get("right")
        for value in grid.ticks if grid else ():
            y = grid(value)
            yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{GRID}"/>'
        for axis, scale in self.scales.items():
            x, anchor = (LEFT - 9, "end") if axis == "left" else (right + 9, "start")
            for value in scale.ticks:
                yield label(x, scale(value) + 4, scale.label(value), anchor, FAINT)
        for value in self.x_scale.ticks:
            x = self.x_scale(value)
            yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="{FAINT}"/>'
            yield label(x, bottom + 20, self.x_scale.label(value), "middle", FAINT)
        yield f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="{FAINT}"/>'
        yield label((LEFT + right) / 2, HEIGHT - 14, self.x, "middle", INK)
        for name, x, turn in ((self.left, 20, -90), (self.right, WIDTH - 20, 90)):
            if name:
                text = label(0, 4, name, "middle", INK)
                yield f'<g transform="translate({x} {(TOP + bottom) / 2}) rotate({turn})">{text}</g>'

    def line(self, series):
        """The line of one series, with dots where there are few points."""
        if not series.points:
            return ""
        scale = self.scales[series.axis]
        places = [f"{self.x_scale(x):.1f},{scale(y):.1f}" for x, y in series.points]
        width, opacity = stroke(series)
        parts = [
            f'<polyline points="{" ".join(places)}" fill="none" stroke="{series.color}" stroke-width="{width}" '
            f'stroke-opacity="{opacity}" stroke-linejoin="round" stroke-linecap="round"/>'
        ]
        if not series.faint and len(places) <= 60:
            for place in places:
                x, y = place.split(",")
                parts.append(
                    f'<circle cx="{x}" cy="{y}" r="3.4" fill="#ffffff" stroke="{series.color}" stroke-width="2"/>'
                )
        return "".join(parts)


def stroke(series):
    """(width, opacity) of its line."""
    return (1, 0.4) if series.faint else (2.4, 1)


def label(x, y, text, anchor, color):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


class Scale:
    """Maps values to places along an axis, and knows round numbers for its ticks."""

    def __init__(self, values, fixed, begin, end, widen=True):
        low, high = fixed or (min(values, default=0.0), max(values, default=1.0))
        if low == high:
            low, high = low - 0.5, high + 0.5
        self.step = round_step((high - low) / 6)
        if widen and fixed is None:
            low, high = math.floor(low / self.step) * self.step, math.ceil(high / self.step) * self.step
        self.low, self.high, self.begin, self.end = low, high, begin, end
        first, last = math.ceil(low / self.step - 1e-9), math.floor(high / self.step + 1e-9)
        self.ticks = [number * self.step for number in range(first, last + 1)]

    def __call__(self, value):
        inside = min(max(value, self.low), self.high)
        return self.begin + (inside - self.low) / (self.high - self.low) * (self.end - self.begin)

    def label(self, value):
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{value:,.{decimals}f}" if decimals < 6 and abs(value) < 1e7 else f"{value:.3g}"


def round_step(rough):
    """The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
