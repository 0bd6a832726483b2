"""The graph as lines of text: one operation a line, from the result upwards, its leaves beside it, modules as headings."""

from __future__ import annotations

from .cards import relative
from .collect import LEAF, OPERATION
from .dot import shown_group
from .numbers import bytes_text, counted

WIDEST = 52  # columns up to which what stands beside the operations is aligned


def leaf_text(leaf):
    return " ".join(part for part in (leaf.name, typed(leaf.shape, leaf.dtype)) if part)


def typed(shape, dtype):
    """``[5, 3]``, with the dtype where it is not the usual one; nothing where it is not known."""
    if shape is None:
        return ""
    return f"{list(shape)}" if dtype in ("float32", "", None) else f"{list(shape)} {dtype}"


class Writer:
    """Writes the graph of a model, a line for each box that the depth shows.

    A chain runs down one column. Where an operation has several inputs, all but the last open a column of their own.
    An operation that is used several times carries a number: it is drawn in full at its last use, and the earlier ones
    point to it.
    """

    def __init__(self, model, tree, opened, saved, places):
        self.model, self.tree, self.saved, self.places = model, tree, saved, places
        self.keys = []  # what each operation is drawn as: itself, or a folded group
        for number in range(len(model.operations)):
            group = shown_group(tree, number, opened)
            self.keys.append((OPERATION, number) if group is None else ("group", group.number))
        self.inputs = {}  # of each box: {(kind, number): how many times}; leaves too, and those of all in a group
        for operation in model.operations:
            own = self.inputs.setdefault(self.keys[operation.number], {})
            for source in operation.inputs:
                if source is not None:
                    key = self.keys[source[1]] if source[0] == OPERATION else source[:2]
                    if key != self.keys[operation.number]:
                        own[key] = own.get(key, 0) + 1

    def text(self):
        blocks = [self.block(result) for result in self.model.results]
        return "\n".join([*(line for block in blocks for line in block), *self.footer()])

    def block(self, result):
        """The lines of one result."""
        head = result.title if result.value is not None else f"{result.title} {typed(result.shape, result.dtype)}"
        kind, number, _ = result.source
        if kind == LEAF:
            return [head, f"↑ {leaf_text(self.model.leaves[number])}"]
        return [head, *align(self.lines(self.keys[number]))]

    def lines(self, start):
        """(what stands left, what stands right) of each line."""
        uses = self.count_uses(start)
        remaining, marks, waiting, heading = dict(uses), {}, [(start, "", "↑ ")], ()
        while waiting:
            key, prefix, sign = waiting.pop()
            remaining[key] -= 1
            mark = f" #{marks.setdefault(key, len(marks) + 1)}" if uses[key] > 1 else ""
            if remaining[key]:
                yield f"{prefix}{sign}{self.title(key)}{mark} is below", ""
                continue
            around = self.around(key)
            if around != heading:
                heading = around
                yield prefix + " › ".join(around or ("outside of modules",)), ""
            yield f"{prefix}{sign}{self.title(key)}{mark}{self.details(key)}", self.beside(key)
            column = prefix + ("│ " if sign == "├─" else "")
            if key[0] == OPERATION and self.model.operations[key[1]].hidden_inputs:
                yield f"{column}↑ …", ""
            inner = [each for each in self.inputs[key] if each[0] != LEAF]
            waiting.extend((each, column, "├─" if each != inner[-1] else "↑ ") for each in reversed(inner))

    def count_uses(self, start):
        """How many boxes use each box below this result."""
        uses, waiting = {start: 1}, [start]
        while waiting:
            for each in self.inputs[waiting.pop()]:
                if each[0] != LEAF:
                    if each not in uses:
                        uses[each] = 0
                        waiting.append(each)
                    uses[each] += 1
        return uses

    def title(self, key):
        if key[0] == OPERATION:
            return self.model.operations[key[1]].title
        return f"▸ {self.tree.groups[key[1]].label}"

    def around(self, key):
        """The names of the groups that a box stands in, outermost first."""
        group = self.tree.home[key[1]] if key[0] == OPERATION else self.tree.groups[key[1]].parent
        names = []
        while group is not None and group.parent is not None:
            names.append(group.label)
            group = group.parent
        return tuple(reversed(names))

    def details(self, key):
        """Shape, variable and module of an operation; what there is in a folded group."""
        if key[0] != OPERATION:
            return f": {counted(len(self.tree.groups[key[1]].all_operations()), 'operation')}"
        operation = self.model.operations[key[1]]
        label = self.tree.labels.get(operation.number)
        repeated = "".join(f" ×{count}" for each, count in self.inputs[key].items() if count > 1 and each[0] != LEAF)
        shape = "" if operation.outputs[0] is None else typed(*operation.outputs[0])
        gradient = next(iter(operation.gradients.values()), None)
        parts = (
            repeated.strip(),
            shape,
            f"= {operation.name}" if operation.name else "",
            f"· {relative(label.name, self.tree.home[key[1]]) or label.class_name}" if label is not None else "",
            "" if gradient is None else f"∇ {gradient}",
        )
        return "".join(f" {part}" for part in parts if part)

    def beside(self, key):
        """The leaves that a box uses, what it keeps and where it was made."""
        leaves = {number: count for (kind, number), count in self.inputs[key].items() if kind == LEAF}
        if key[0] != OPERATION:
            return f"← {counted(len(leaves), 'leaf', 'leaves')}" if leaves else ""
        operation = self.model.operations[key[1]]
        words = []
        for number, count in leaves.items():
            leaf = self.model.leaves[number]
            times = f" ×{count}" if count > 1 else ""
            words.append(leaf_text(leaf) + times + ("" if leaf.gradient is None else f" ∇ {leaf.gradient}"))
        parts = ["← " + ", ".join(words)] if words else []
        if self.saved and operation.freed:
            parts.append("freed")
        if self.saved and operation.saved:
            parts.append(f"keeps {bytes_text(operation.saved_bytes)}")
        if self.places and operation.place:
            parts.append(str(operation.place))
        return "  ".join(parts)

    def footer(self):
        if self.model.left_out:
            yield f"({self.model.left_out:,} more operations are left out: limit={len(self.model.operations)})"


def align(lines):
    lines = list(lines)
    width = min(max((len(left) for left, right in lines if right), default=0), WIDEST)
    return [f"{left:{width}}  {right}" if right else left for left, right in lines]
