"""The graph as lines of text: one operation a line, from the result upwards, its leaves beside it."""

from __future__ import annotations

from .collect import CUT

WIDEST = 48  # columns up to which the leaves of all lines are aligned


def leaf_text(box):
    shape = str(list(box.shape))
    return f"{box.name} {shape}" if box.name else shape


def to_text(collected):
    """The drawing of a `Collected`.

    A chain runs down one column. Where an operation has several inputs, all but the last open a column of their own.
    An operation that is used several times carries a number: it is drawn in full at its last use, and the earlier ones
    point to it.
    """
    boxes = collected.boxes
    uses = [0] * len(boxes)
    for box in boxes:
        for number in box.inputs:
            uses[number] += 1
    remaining, marks, lines = list(uses), {}, []
    waiting = [(number, "", "↑ ") for number in boxes[0].inputs]
    while waiting:
        number, prefix, sign = waiting.pop()
        box = boxes[number]
        remaining[number] -= 1
        mark = ""
        if uses[number] > 1 and not box.is_leaf:
            mark = f" #{marks.setdefault(number, len(marks) + 1)}"
        if remaining[number] and not box.is_leaf:
            lines.append((f"{prefix}{sign}{box.title}{mark} is below", ""))
            continue
        lines.append(line_of(box, boxes, prefix + sign, mark))
        column = prefix + ("│ " if sign == "├─" else "")
        inner = [each for each in box.inputs if not boxes[each].is_leaf]
        waiting.extend((each, column, "├─" if each != inner[-1] else "↑ ") for each in reversed(inner))
    return "\n".join([boxes[0].title if boxes[0].shape == () else head(boxes[0]), *align(lines), *footer(collected)])


def head(box):
    return f"{box.title} {list(box.shape)}"


def line_of(box, boxes, start, mark):
    """(what stands left, the leaves) of an operation's line."""
    if box.is_leaf:
        return start + leaf_text(box), ""
    if box.kind == CUT:
        return start + "…", ""
    named = f" ({box.name} {list(box.shape)})" if box.name else ""
    leaves = ", ".join(
        leaf_text(boxes[each]) + (f" ×{count}" if count > 1 else "")
        for each, count in box.inputs.items()
        if boxes[each].is_leaf
    )
    repeated = "".join(f" ×{count}" for each, count in box.inputs.items() if count > 1 and not boxes[each].is_leaf)
    return f"{start}{box.title}{mark}{repeated}{named}", leaves


def align(lines):
    width = min(max((len(left) for left, leaves in lines if leaves), default=0), WIDEST)
    return [f"{left:{width}}  ← {leaves}" if leaves else left for left, leaves in lines]


def footer(collected):
    if not collected.left_out:
        return []
    drawn = collected.operations - collected.left_out
    return [f"({collected.left_out:,} more operations are left out: limit={drawn})"]
