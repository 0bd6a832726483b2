"""The graph in Graphviz's language, for those who have it: groups are clusters, folded ones a box of their own."""

from __future__ import annotations

from .collect import LEAF, OPERATION
from .numbers import bytes_text, counted, shape_text

FILL = {
    "result": "#27346b",
    "operation": "#ffffff",
    "parameter": "#fff7e8",
    "leaf": "#e9f8ef",
    "group": "#eef2fb",
    "cut": "#ffffff",
    "bad": "#fdecee",
}


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def to_dot(model, tree, opened):
    """A ``digraph`` whose arrows follow the data."""
    shown = [shown_group(tree, number, opened) for number in range(len(model.operations))]
    lines = [
        "digraph {",
        '  graph [fontname="sans-serif", fontsize=11, style="rounded,filled", fillcolor="#f6f8fd", color="#c9d4ec"];',
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, color="#b9c3dc"];',
        '  edge [color="#8c98b5"];',
    ]
    lines += clusters(model, tree, opened)
    for leaf in model.leaves:
        kind = "parameter" if leaf.is_parameter else "leaf"
        lines.append(f"  l{leaf.number} [{label_of(leaf_lines(leaf))}, {fill(kind, leaf.gradient)}];")
    for number, result in enumerate(model.results):
        words = label_of([result.title, shape_text(result.shape)])
        lines.append(f'  r{number} [{words}, fillcolor="{FILL["result"]}", fontcolor="white"];')
    lines += arrows(model, shown)
    if model.left_out:
        lines.append(f"  label={quoted(f'{model.left_out:,} more operations are left out')};")
    return "\n".join([*lines, "}", ""])


def shown_group(tree, operation, opened):
    """The folded group that an operation is drawn as; None where it is drawn itself."""
    return next((group for group in tree.way(operation) if group.number not in opened), None)


def clusters(model, tree, opened):
    """Operations and folded groups, each in the clusters around it."""
    waiting = [(tree.root, 1, False)]
    while waiting:
        group, depth, ends = waiting.pop()
        indent = "  " * depth
        if ends:
            yield f"{indent}}}"
            continue
        if group.number not in opened:
            words = label_of([group.label, counted(len(group.all_operations()), "operation")])
            yield f'{indent}g{group.number} [{words}, shape=box3d, fillcolor="{FILL["group"]}"];'
            continue
        inner = indent
        if group.parent is not None:
            yield f"{indent}subgraph cluster_{group.number} {{"
            inner = indent + "  "
            yield f"{inner}label={quoted(group.label)};"
            waiting.append((group, depth, True))
        for number in sorted(group.operations):
            operation = model.operations[number]
            bad = next((each for each in operation.gradients.values() if each.bad), None)
            yield f"{inner}n{number} [{label_of(operation_lines(operation, tree))}, {fill('operation', bad)}];"
        waiting += [(each, depth + (group.parent is not None), False) for each in reversed(group.groups)]


def arrows(model, shown):
    """The arrows: one for each time that data are taken, one for all of them where a group is folded."""
    folded = set()
    for operation in model.operations:
        group = shown[operation.number]
        end = f"n{operation.number}" if group is None else f"g{group.number}"
        for source in operation.inputs:
            if source is None:
                continue
            other = shown[source[1]] if source[0] == OPERATION else None
            start = f"{'l' if source[0] == LEAF else 'n'}{source[1]}" if other is None else f"g{other.number}"
            if group is not None or other is not None:
                if start == end or (start, end) in folded:
                    continue
                folded.add((start, end))
            yield f"  {start} -> {end};"
        if operation.hidden_inputs:
            yield f'  c{operation.number} [label="…", style="rounded,dashed"];'
            yield f"  c{operation.number} -> {end} [style=dashed];"
    for number, result in enumerate(model.results):
        kind, source, _ = result.source
        group = shown[source] if kind == OPERATION else None
        start = f"{'l' if kind == LEAF else 'n'}{source}" if group is None else f"g{group.number}"
        yield f"  {start} -> r{number};"


def operation_lines(operation, tree):
    label = tree.labels.get(operation.number)
    gradient = next(iter(operation.gradients.values()), None)
    yield operation.title if label is None else f"{operation.title}  ({label.label})"
    yield " · ".join(part for part in (operation.name, shape_text(operation.shape)) if part)
    yield f"keeps {bytes_text(operation.saved_bytes)}" if operation.saved else ""
    yield str(operation.place or "")
    yield "" if gradient is None else f"∇ {gradient}"


def leaf_lines(leaf):
    yield leaf.name or ""
    yield " ".join([shape_text(leaf.shape) or "number", "" if leaf.dtype == "float32" else leaf.dtype]).strip()
    yield "" if leaf.gradient is None else f"∇ {leaf.gradient}"


def label_of(lines):
    return "label=" + quoted("\n".join(line for line in lines if line))


def fill(kind, gradient):
    """The colour of a box; red ink where its gradient has a NaN or an infinity."""
    if gradient is not None and gradient.bad:
        return f'fillcolor="{FILL["bad"]}", color="#d6263b", fontcolor="#d6263b"'
    return f'fillcolor="{FILL[kind]}"'
