"""The graph as an SVG file that needs nothing else: no scripts, no fonts, nothing from the network."""

from __future__ import annotations

from html import escape

from .cards import Cards, relative, text, text_width, tip
from .collect import OPERATION
from .levels import CUT, GROUP, IN, OUT
from .numbers import bytes_text, counted, numel
from .place import place_groups
from .style import FONT, style_sheet

MARGIN, TOP = 28, 74
SLIGHT = 6  # arrows between places that are so close are drawn straight
LEGEND = (
    ("product", "products"), ("element", "elementwise"), ("norm", "norms"), ("reduce", "reductions"),
    ("shape", "shapes"), ("loss", "losses"), ("own", "custom"),
)  # fmt: skip


def to_svg(model, tree, levels, opened, scheme):
    """The picture of a `Model` with the groups in `opened` unfolded."""
    cards, made = Cards(model, tree, levels), {}

    def card(item):
        if item not in made:
            made[item] = cards.card(item)
        return made[item]

    placed = place_groups(levels, opened, lambda item: card(item).extent)
    whole, summary = placed[0], summary_of(model)
    legend = list(legend_of(model))
    inner = max(whole.width, sum(text_width(name, 11) + 30 for _, name in legend), text_width(summary, 12))
    width, height = inner + 2 * MARGIN, whole.whole + TOP + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" role="img">',
        f"<title>{escape(summary)}</title>",
        f"<style>\n{style_sheet(scheme)}</style>",
        '<rect width="100%" height="100%" rx="12" class="rl-paper"/>',
        *header(summary, legend),
        *contents(placed, tree, card, MARGIN + (inner - whole.width) / 2, TOP),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def summary_of(model):
    """What the graph holds, in one line."""
    parts = [counted(model.total, "operation")]
    if model.parameters:
        numbers = sum(numel(leaf.shape) for leaf in model.parameters)
        parts.append(f"{counted(len(model.parameters), 'parameter')} with {counted(numbers, 'number')}")
    if model.saved_bytes:
        parts.append(f"{bytes_text(model.saved_bytes)} kept for backward")
    if model.left_out:
        parts.append(f"{model.left_out:,} of the operations are left out")
    return " · ".join(parts)


def legend_of(model):
    """(style, name) of what the drawing has."""
    families = {operation.family for operation in model.operations}
    yield from ((f"stripe rl-{family}", name) for family, name in LEGEND if family in families)
    if model.parameters:
        yield "box rl-parameter", "parameter"
    if len(model.parameters) < len(model.leaves):
        yield "box rl-leaf", "other leaf"


def header(summary, legend):
    """The summary and the legend."""
    yield text(MARGIN, 30, "detail", summary)
    x = MARGIN
    for css, name in legend:
        if css.startswith("box"):
            yield f'<rect x="{x:.1f}" y="43" width="14" height="10" rx="3" class="rl-{css}"/>'
        else:
            yield f'<path d="M{x + 2:.1f} 48h10" class="rl-{css}"/>'
        yield text(x + 20, 52, "note", name)
        x += round(text_width(name, 10)) + 40


def contents(placed, tree, card, left, top):
    """The contents of unfolded groups: frames first, then arrows, then boxes; outer groups before inner ones."""
    frames, arrows, boxes, names, waiting = [], [], [], [], [(0, left, top)]
    while waiting:
        number, x, y = waiting.pop()
        level = placed[number]
        if number:
            frames.append(frame_of(level, x, y))
            names.append(name_of(tree.groups[number], x, y))
        for place, link in enumerate(level.level.links):
            arrows.append(piece(level, place, link, x, y, placed))
        for spot in level.level.spots:
            if spot.item is None or spot.item[0] in ("in", "out"):
                continue
            center, middle = x + level.x[spot.number], y + level.y[spot.number]
            if spot.item[0] == GROUP and spot.item[1] in placed:
                inner = placed[spot.item[1]]
                waiting.append((spot.item[1], center - inner.width / 2, middle - inner.whole / 2))
            else:
                boxes.append(f'<g transform="translate({center:.1f} {middle:.1f})">{card(spot.item).markup}</g>')
    return [*frames, *arrows, *names, *boxes]


def frame_of(level, x, y):
    """The frame of an unfolded group."""
    size = f'width="{level.width:.1f}" height="{level.whole:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="12" class="rl-frame"/>'


def name_of(group, x, y):
    """The name in the frame of an unfolded group."""
    name = relative(group.name, group.parent)
    words = text(x + 14, y + 20, "frame-name", name or group.class_name)
    if name and group.class_name:
        words += text(x + 14 + text_width(name, 11.5) * 1.06 + 8, y + 20, "frame-class", group.class_name)
    return words


def is_box(spot, placed):
    """Whether a spot is a box, and no port, passing arrow or unfolded group."""
    item = spot.item
    return item is not None and item[0] not in (IN, OUT) and not (item[0] == GROUP and item[1] in placed)


def piece(level, place, link, x, y, placed):
    """One link: a smooth line, with a point where it reaches a box, and how many times its data are taken."""
    upper, lower = link.upper.number, link.lower.number
    x1, y1 = x + level.x[upper] + level.upper[place], y + level.y[upper]
    x2, y2 = x + level.x[lower] + level.lower[place], y + level.y[lower]
    item = link.lower.item
    ends = is_box(link.lower, placed)
    y1 += level.height[upper] / 2
    y2 -= level.height[lower] / 2
    stop = y2 - 5 if ends else y2
    if abs(x1 - x2) < SLIGHT:  # no kink where a box can be met beside its middle
        x1, x2 = (x2, x2) if is_box(link.upper, placed) else (x1, x1) if is_box(link.lower, placed) else (x1, x2)
    half = (y1 + y2) / 2
    curve = f"V{stop:.1f}" if abs(x1 - x2) < 0.5 else f"C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {stop:.1f}"
    through = f"V{y2 + level.height[lower]:.1f}" if item is None else ""
    dashes = ' stroke-dasharray="3 3"' if link.signal[0] == CUT else ""
    drawn = f'<path d="M{x1:.1f} {y1:.1f}{curve}{through}" class="rl-edge"{dashes}/>'
    if ends:
        drawn += tip(x2, y2 - 1)
    if link.count > 1 and item is not None and item[0] == OPERATION:
        side = -1 if x1 > x2 else 1  # the arrow comes from the other one
        drawn += text(x2 + 8 * side, y2 - 8, "note", f"×{link.count}", "start" if side > 0 else "end")
    return drawn
