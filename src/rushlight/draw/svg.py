"""The graph as an SVG file that needs nothing else: no scripts, no fonts, no style sheets."""

from __future__ import annotations

from html import escape

from .collect import CUT, LEAF, OPERATION, PARAMETER, RESULT
from .layout import DETAIL_SIZE, TITLE_SIZE, detail_of, text_width, title_of

MARGIN, HEADER = 28, 58
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
COLORS = {  # fill, outline, text
    RESULT: ("#2b3a67", "#2b3a67", "#ffffff"),
    OPERATION: ("#eef1f8", "#b9c3dc", "#22304f"),
    PARAMETER: ("#fff0d4", "#e3a63c", "#6a4200"),
    LEAF: ("#dcf4e4", "#5fb07a", "#1d5232"),
    CUT: ("#ffffff", "#b9c3dc", "#6b7794"),
}
LEGEND = ((OPERATION, "operation"), (PARAMETER, "parameter"), (LEAF, "other leaf"))
ARROW = "#8c98b5"


def to_svg(collected, layout):
    """The picture of a `Collected` as placed by a `Layout`."""
    kinds = [(kind, label) for kind, label in LEGEND if collected.of_kind(kind)]
    summary = summary_of(collected)
    legend_width = sum(text_width(label, DETAIL_SIZE) + 44 for _, label in kinds)
    inner = max(layout.width, legend_width, text_width(summary, DETAIL_SIZE + 1))
    width, height = inner + 2 * MARGIN, layout.height + MARGIN + HEADER + 22
    left, top = MARGIN + (inner - layout.width) / 2, HEADER + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" text-anchor="middle" role="img">',
        f"<title>{escape(summary)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0.5 0.8 L7.5 4 L0.5 7.2 Z" fill="{ARROW}"/></marker></defs>',
        '<rect width="100%" height="100%" rx="10" fill="#ffffff"/>',
        *header(kinds, summary),
        f'<g transform="translate({left:.1f} {top:.1f})">',
        f'<g fill="none" stroke="{ARROW}" stroke-width="1.4">',
        *(arrow(chain) for chain, _ in layout.arrows),
        "</g>",
        *(times(chain, count) for chain, count in layout.arrows if count > 1),
        *(drawn(spot) for spot in layout.spots),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def summary_of(collected):
    """What the graph holds, in one line."""
    parameters = collected.of_kind(PARAMETER)
    parts = [count(collected.operations, "operation")]
    if parameters:
        numbers = sum(numel(box.shape) for box in parameters)
        parts.append(f"{count(len(parameters), 'parameter')} with {count(numbers, 'number')}")
    if collected.left_out:
        parts.append(f"{collected.left_out:,} of the operations are left out")
    return " · ".join(parts)


def count(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def numel(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def header(kinds, summary):
    """The summary and the legend."""
    start = f'<text x="{MARGIN}" y="30" text-anchor="start" font-size="{DETAIL_SIZE + 1}" fill="#22304f">'
    yield f"{start}{escape(summary)}</text>"
    x = MARGIN
    for kind, label in kinds:
        fill, line, _ = COLORS[kind]
        yield f'<rect x="{x}" y="43" width="16" height="12" rx="4" fill="{fill}" stroke="{line}"/>'
        yield (f'<text x="{x + 22}" y="53" text-anchor="start" font-size="{DETAIL_SIZE}" fill="#6b7794">{label}</text>')
        x += round(text_width(label, DETAIL_SIZE)) + 44


def arrow(chain):
    """A smooth line from the lower edge of the first spot to the upper edge of the last, upright in rows between."""
    x, y = chain[0].x, chain[0].y + chain[0].height / 2
    path = [f"M{x:.1f} {y:.1f}"]
    for spot in chain[1:]:
        top = spot.y - spot.height / 2 - (1 if spot.box is not None else 0)
        if abs(spot.x - x) < 0.5:
            path.append(f"L{spot.x:.1f} {top:.1f}")
        else:
            half = (y + top) / 2
            path.append(f"C{x:.1f} {half:.1f} {spot.x:.1f} {half:.1f} {spot.x:.1f} {top:.1f}")
        x, y = spot.x, spot.y + spot.height / 2
        if spot.box is None and spot.height:
            path.append(f"L{x:.1f} {y:.1f}")
    dashes = ' stroke-dasharray="3 3"' if chain[0].box.kind == CUT else ""
    return f'<path d="{" ".join(path)}"{dashes} marker-end="url(#tip)"/>'


def times(chain, count):
    """The sign that an operation takes the same input several times."""
    user = chain[-1]
    return (
        f'<text x="{user.x + 12:.1f}" y="{user.y - user.height / 2 - 8:.1f}" text-anchor="start" '
        f'font-size="{DETAIL_SIZE}" fill="#6b7794">×{count}</text>'
    )


def drawn(spot):
    """A box with its one or two lines; the full name of the node shows under the mouse."""
    box = spot.box
    fill, line, ink = COLORS[box.kind]
    title, detail = escape(title_of(box)), escape(detail_of(box))
    x, y = spot.x - spot.width / 2, spot.y - spot.height / 2
    radius = spot.height / 2 if box.kind in (RESULT, CUT) else 8
    dashes = ' stroke-dasharray="3 3"' if box.kind == CUT else ""
    weight = ' font-weight="600"' if box.kind != OPERATION else ""
    parts = [
        f"<g><title>{escape(box.node_name)}</title>" if box.node_name else "<g>",
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{spot.width}" height="{spot.height}" rx="{radius:.0f}" fill="{fill}" '
        f'stroke="{line}" stroke-width="1.2"{dashes}/>',
        f'<text x="{spot.x:.1f}" y="{spot.y + (-2.5 if detail else 4.5):.1f}" font-size="{TITLE_SIZE}"{weight} '
        f'fill="{ink}">{title}</text>',
    ]
    if detail:
        parts.append(
            f'<text x="{spot.x:.1f}" y="{spot.y + 13:.1f}" font-size="{DETAIL_SIZE}" fill="{ink}" '
            f'fill-opacity="0.75">{detail}</text>'
        )
    return "".join(parts) + "</g>"
