"""The boxes of a drawing as pieces of SVG around their own middle: operations with their leaves, folded groups, results."""

from __future__ import annotations

from html import escape

from .collect import LEAF, OPERATION
from .levels import CUT, GROUP, RESULT
from .numbers import bytes_text, counted, numel, shape_text

TITLE, DETAIL, SMALL = 13, 11, 10  # sizes of letters
SIZES = {"title": TITLE * 1.08, "detail": DETAIL, "module": SMALL + 0.5, "note": SMALL}  # bold letters are wider
LINE, LEAF_LINE = 16, 17
LEAF_GAP, SIDE = 22, 14
SHOWN_LEAVES = 8  # beside one operation
NARROW = frozenset(" .,:;'|!iIjlrtf[]()1")


def text_width(text, size):
    """About how wide `text` is drawn; rather too wide, since fonts differ."""
    return sum(0.36 if letter in NARROW else 0.84 if letter in "mwMW—" else 0.62 for letter in text) * size


class Card:
    """A box: how far it reaches from its middle to the left and right, how high it is, and its SVG."""

    __slots__ = ("height", "left", "markup", "right")

    def __init__(self, left, right, height, markup):
        self.left, self.right, self.height, self.markup = left, right, height, markup

    @property
    def extent(self):
        return self.left, self.right, self.height


def text(x, y, css, content, anchor="start"):
    """A line of text; `css` are names of styles without their prefix."""
    classes = " ".join(f"rl-{name}" for name in css.split())
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{escape(content)}</text>'


def rectangle(x, y, width, height, css, radius=8):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" class="{css}"/>'


def tip(x, y, turn=0):
    """The point of an arrow that ends at (x, y), coming from above (or, turned by -90 degrees, from the left)."""
    if turn:
        return f'<path d="M{x:.1f} {y:.1f}l-7 -3.6v7.2z" class="rl-tip"/>'
    return f'<path d="M{x:.1f} {y:.1f}l-3.6 -7h7.2z" class="rl-tip"/>'


def type_text(shape, dtype):
    """``5 × 3``, with the dtype where it is not the usual one; ``number`` for a single one."""
    shown = shape_text(shape) or "number"
    return shown if dtype in ("float32", "", None) else f"{shown} {dtype}"


def relative(name, group):
    """A parameter's or module's name inside a group, without the group's own name."""
    prefix = group.name + "."
    if group.name and name.startswith(prefix):
        return name[len(prefix) :]
    # The group's name begins at the outermost module, the parameter's perhaps at the variable that holds it.
    head, dot, rest = name.partition("." + prefix)
    return rest if dot and group.name and head.isidentifier() else name


class Cards:
    """Makes the cards of a model; `played` reserves room for the gradients that the page shows later."""

    def __init__(self, model, tree, levels, played=False):
        self.model, self.tree, self.levels, self.played = model, tree, levels, played

    def card(self, item):
        """The `Card` of an item of a level."""
        kind, number = item
        if kind == OPERATION:
            return self.operation(self.model.operations[number])
        if kind == GROUP:
            return self.group(self.tree.groups[number])
        if kind == RESULT:
            return self.result(self.model.results[number])
        if kind == LEAF:
            width, height, markup = self.leaf_box([number], self.tree.root)
            shifted = f'<g transform="translate({-width / 2:.1f} 0)">{markup}</g>'
            return Card(width / 2, width / 2, height, shifted)
        if kind == CUT:
            return self.sign(f"{self.model.operations[number].hidden_inputs} more …")
        return self.sign(f"from {self.model.operations[number[2]].title}")

    def operation(self, operation):
        """An operation: the module it stands for, its title and gradient, its result, what it keeps and its place."""
        group = self.tree.home[operation.number]
        lines = []
        label = self.tree.labels.get(operation.number)
        if label is not None:
            lines.append(("module", " · ".join(filter(None, (relative(label.name, group), label.class_name)))))
        lines.append(("title", operation.title))
        outputs = [type_text(*output) for output in operation.outputs if output is not None]
        lines.append(("detail", " · ".join(filter(None, (operation.name, ", ".join(outputs[:3]))))))
        notes = [f"keeps {bytes_text(operation.saved_bytes)}"] if operation.saved else []
        notes += ["freed"] if operation.freed else []
        notes += [str(operation.place)] if operation.place else []
        lines.append(("note", " · ".join(notes)))
        lines = [line for line in lines if line[1]]
        gradient = next(iter(operation.gradients.values()), None)
        room = text_width("∇ 8.88e-88", SMALL) + 12 if gradient is not None or self.played else 0
        width = max(text_width(line, SIZES[kind]) + (room if kind == "title" else 0) for kind, line in lines)
        width = max(round(width) + 2 * SIDE + 4, 92)
        height = len(lines) * LINE + 12
        x, y = -width / 2, -height / 2
        parts = [
            f"<title>{escape(tooltip(operation))}</title>",
            rectangle(x, y, width, height, "rl-box rl-op" + self.mark([gradient])),
            f'<path d="M{x + 4:.1f} {y + 9:.1f}v{height - 18:.1f}" class="rl-stripe rl-{operation.family}"/>',
        ]
        for place, (kind, line) in enumerate(lines):
            parts.append(text(x + SIDE, y + 18 + place * LINE, kind, line))
            if kind == "title" and room:
                css = "gradient bad" if gradient is not None and gradient.bad else "gradient"
                shown = "" if gradient is None else f"∇ {gradient}"
                parts.append(text(-x - 9, y + 18 + place * LINE, css, shown, "end"))
        leaves = self.levels[group.number].attached.get(operation.number)
        left = width / 2
        if leaves:
            leaf_width, leaf_height, markup = self.leaf_box(leaves, label or group, operation)
            start = x - LEAF_GAP - leaf_width
            parts.append(f'<path d="M{start + leaf_width:.1f} 0H{x - 5:.1f}" class="rl-edge"/>{tip(x - 1, 0, turn=1)}')
            parts.append(f'<g transform="translate({start:.1f} 0)">{markup}</g>')
            left, height = -start, max(height, leaf_height)
        return Card(left, width / 2, height, "".join(parts))

    def mark(self, gradients):
        """The style of a box with NaN or infinity among its gradients; the page itself marks those that it plays."""
        return " rl-wrong" if not self.played and any(each is not None and each.bad for each in gradients) else ""

    def leaf_box(self, numbers, group, user=None):
        """(width, height, SVG from its left edge on) of the box of one or several leaves."""
        leaves = [self.model.leaves[number] for number in numbers]
        shown, hidden = leaves[:SHOWN_LEAVES], len(leaves) - SHOWN_LEAVES
        names, shapes, gradients = [], [], []
        for leaf in shown:
            times = 0 if user is None else user.inputs.count((LEAF, leaf.number, 0))
            names.append(relative(leaf.label, group) + (f" ×{times}" if times > 1 else ""))
            shapes.append(type_text(leaf.shape, leaf.dtype))
            gradients.append("" if leaf.gradient is None else f"∇ {leaf.gradient}")
        first = max(text_width(name, DETAIL) for name in names) * 1.06
        second = max(text_width(shape, SMALL + 0.5) for shape in shapes)
        third = max(text_width(gradient, SMALL) + 16 if gradient else 0 for gradient in gradients)
        third = max(third, text_width("∇ 8.88e-88", SMALL) + 12 if self.played else 0)
        width = round(first + second + third) + 2 * 11 + 10
        count = len(shown) + (hidden > 0)
        height = count * LEAF_LINE + 9
        parameters = all(leaf.is_parameter for leaf in leaves)
        css = f"rl-box rl-{'parameter' if parameters else 'leaf'}" + self.mark([leaf.gradient for leaf in leaves])
        parts = [rectangle(0, -height / 2, width, height, css)]
        for place, (leaf, name, shape, gradient) in enumerate(zip(shown, names, shapes, gradients)):
            y = -height / 2 + 16.5 + place * LEAF_LINE
            kind = "parameter" if leaf.is_parameter else "leaf"
            css = "gradient bad" if leaf.gradient is not None and leaf.gradient.bad else "gradient"
            parts.append(
                f'<g data-leaf="{leaf.number}"><title>{escape(leaf_tooltip(leaf))}</title>'
                + text(11, y, f"{kind}-name", name)
                + text(11 + first + 10, y, f"{kind}-shape", shape)
                + (text(width - 9, y, css, gradient, "end") if gradient or self.played else "")
                + "</g>"
            )
        if hidden > 0:
            parts.append(text(11, height / 2 - 8, "note", f"and {hidden:,} more"))
        return width, height, "".join(parts)

    def group(self, group):
        """A folded group, drawn as a pile of cards."""
        operations = group.all_operations()
        leaves = {
            source[1]
            for number in operations
            for source in self.model.operations[number].inputs
            if source is not None and source[0] == LEAF
        }
        numbers = sum(numel(self.model.leaves[each].shape) for each in leaves)
        title = relative(group.name, group.parent) if group.parent else group.name
        lines = [("title", title or group.class_name)]
        lines.append(("module", group.class_name if title else ""))
        lines.append(("detail", counted(len(operations), "operation")))
        lines.append(
            ("note", f"{counted(numbers, 'number')} in {counted(len(leaves), 'leaf', 'leaves')}" if leaves else "")
        )
        lines = [(kind, line) for kind, line in lines if line]
        width = max(round(max(text_width(line, SIZES[kind]) for kind, line in lines)) + 2 * SIDE + 12, 110)
        height = len(lines) * LINE + 16
        x, y = -width / 2, -height / 2
        parts = [
            f"<title>{escape(group.label)}</title>",
            rectangle(x + 8, y + 8, width - 8, height - 4, "rl-box rl-pile"),
            rectangle(x + 4, y + 4, width - 6, height - 4, "rl-box rl-pile"),
            rectangle(x, y, width - 4, height - 4, "rl-box rl-folded"),
        ]
        parts += [text(x + SIDE, y + 18 + place * LINE, *line) for place, line in enumerate(lines)]
        parts.append(f'<path d="M{-x - 20:.1f} {y + 10.5:.1f}l4 4l-4 4" class="rl-fold"/>')
        return Card(width / 2, width / 2 + 4, height + 4, "".join(parts))

    def result(self, result):
        shape = shape_text(result.shape)
        width = max(text_width(result.title, TITLE) * 1.06, text_width(shape, DETAIL)) + 44
        height = 46 if shape else 34
        parts = [rectangle(-width / 2, -height / 2, width, height, "rl-box rl-result", height // 2)]
        parts.append(text(0, -3 if shape else 4.5, "result-title", result.title, "middle"))
        if shape:
            parts.append(text(0, 13, "result-shape", type_text(result.shape, result.dtype), "middle"))
        return Card(width / 2, width / 2, height, "".join(parts))

    def sign(self, content):
        width = text_width(content, SMALL) + 24
        parts = [rectangle(-width / 2, -11, width, 22, "rl-box rl-cut", 11), text(0, 3.5, "note", content, "middle")]
        return Card(width / 2, width / 2, 22, "".join(parts))


def tooltip(operation):
    """All that is known of an operation, line by line."""
    lines = [operation.node_name]
    lines += [f"result: {list(shape)} {dtype}" for shape, dtype in filter(None, operation.outputs)]
    for saved in operation.saved:
        of = f" ({saved.source})" if saved.source else ""
        lines.append(f"keeps {saved.name}{of}: {list(saved.shape)} {saved.dtype}, {bytes_text(saved.bytes)}")
    if operation.freed:
        lines.append("what it kept was freed by backward")
    if operation.place:
        lines.append(f"{operation.place.file}:{operation.place.line}  {operation.place.code}".rstrip())
    lines += [f"gradient: {gradient.described}" for gradient in operation.gradients.values()]
    return "\n".join(lines)


def leaf_tooltip(leaf):
    """All that is known of a leaf, line by line."""
    lines = [f"{leaf.label}: {list(leaf.shape)} {leaf.dtype}"]
    if leaf.gradient is not None:
        lines.append(f"gradient: {leaf.gradient.described}")
        if leaf.gradient.bad:
            lines.append(f"{leaf.gradient.nan} NaN, {leaf.gradient.infinite} infinite")
    return "\n".join(lines)
