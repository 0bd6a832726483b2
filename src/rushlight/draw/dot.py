"""The graph in Graphviz's language, for those who have it."""

from __future__ import annotations

from .collect import CUT, LEAF, OPERATION, PARAMETER, RESULT

FILL = {RESULT: "#2b3a67", OPERATION: "#eef1f8", PARAMETER: "#ffe9c2", LEAF: "#d9f2e1", CUT: "#ffffff"}


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def to_dot(collected):
    """A ``digraph`` whose arrows follow the data."""
    lines = ["digraph {", '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];']
    for number, box in enumerate(collected.boxes):
        label = "\n".join(part for part in (box.title, shape_text(box.shape)) if part)
        color = ', fontcolor="white"' if box.kind == RESULT else ""
        lines.append(f'  n{number} [label={quoted(label)}, fillcolor="{FILL[box.kind]}"{color}];')
    for number, box in enumerate(collected.boxes):
        for each, count in box.inputs.items():
            lines.extend([f"  n{each} -> n{number};"] * count)
    if collected.left_out:
        lines.append(f"  label={quoted(f'{collected.left_out:,} more operations are left out')};")
    return "\n".join([*lines, "}", ""])


def shape_text(shape):
    """``16 × 3``; nothing for a single number or an unknown shape."""
    return " × ".join(str(size) for size in shape) if shape else ""
