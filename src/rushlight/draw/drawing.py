"""``graph(loss)``: the computation graph of a tensor, as SVG, as text for the terminal, or as DOT."""

from __future__ import annotations

from rushlight.base.errors import hinted

from .collect import Collector
from .dot import to_dot
from .layout import Layout
from .svg import to_svg
from .text import to_text

LIMIT = 400


def graph(loss, params=None, names=None, limit=LIMIT):
    """The graph that `loss` was computed by, ready to be drawn; nothing is computed or freed.

    `params` is ``{name: parameter}`` or the module itself: those leaves are drawn as parameters, under these names;
    without it, every ``nn.Parameter`` is. `names` is ``{name: tensor}`` for other leaves and for results on the way.
    At most `limit` operations are drawn, those nearest to `loss`; the drawing says how many it leaves out.
    RuntimeError for a tensor that has no graph.

    >>> import rushlight as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> loss = (w * 2).exp().sum()
    >>> print(torch.draw.graph(loss, names={"w": w}).text())
    loss = 22.167
    ↑ Sum
    ↑ Exp
    ↑ Mul  ← w [3]
    """
    if not loss.requires_grad:
        raise RuntimeError(
            hinted(
                "the tensor does not require grad and does not have a grad_fn",
                "nothing to draw: compute it from tensors with requires_grad=True, outside of torch.no_grad()",
            )
        )
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    if hasattr(params, "named_parameters"):
        params = dict(params.named_parameters())
    return Graph(Collector(params, names or {}).collect(loss, limit))


class Graph:
    """A computation graph that `graph` gathered; Jupyter shows it as a picture."""

    def __init__(self, collected):
        self.collected = collected

    def svg(self):
        """The picture as the text of a self-contained SVG file: data flow from top to bottom."""
        return to_svg(self.collected, Layout(self.collected.boxes))

    def dot(self):
        """The graph in Graphviz's language."""
        return to_dot(self.collected)

    def text(self):
        """The graph for a terminal: from the result up to the leaves, one operation a line."""
        return to_text(self.collected)

    def save(self, path):
        """Write the picture to `path`; a name that ends in ``.dot`` or ``.txt`` gets that form instead of SVG."""
        name = str(path)
        text = self.dot() if name.endswith(".dot") else self.text() if name.endswith(".txt") else self.svg()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else text + "\n")

    def _repr_svg_(self):
        return self.svg()

    def __str__(self):
        return self.text()

    def __repr__(self):
        drawn = self.collected.operations - self.collected.left_out
        return f"<rushlight.draw.Graph: {drawn} of {self.collected.operations} operations>"
