"""``graph(loss)``: the computation graph of a tensor as SVG, as an interactive page, as DOT, or as text."""

from __future__ import annotations

import os
from html import escape

from rushlight.autograd import gradients
from rushlight.autograd.names import is_tensor
from rushlight.autograd.node import edge_of
from rushlight.base.errors import hinted

from .collect import collect
from .dot import to_dot
from .groups import Tree
from .html import graph_data, to_html
from .levels import build_levels
from .names import Names
from .play import Recorder, as_list, gradients_alone
from .style import AUTO
from .svg import to_svg
from .text import Writer

LIMIT = 2000
PAGE_HEIGHT = 720  # of the frame in a notebook


def graph(tensors, module=None, *, names=None, depth=None, limit=LIMIT, play=False, gradient=None):
    """The graph that a tensor was computed by, ready to be drawn.

    Nothing is freed and no ``grad`` is changed. Leaves and results are named after the caller's variables and the
    parameters of his modules. Inside `draw.trace` or anomaly mode, nodes remember the line of code that made them; with
    `trace`, calls of modules become groups. Without it groups are guessed from the names of parameters.

    Args:
        tensors: a tensor, or several of one graph.
        module: the module whose parameters are drawn as parameters, under its names; or ``{name: parameter}``. Default:
            every ``nn.Parameter``, named by the modules that the caller's code can see.
        names: ``{name: tensor}`` for other leaves and for results on the way.
        depth: how many levels of modules are unfolded; default: as many as stay readable.
        limit: at most so many operations are drawn, those nearest to the result; the drawing says how many it leaves out.
        play: run a backward pass, and keep each step for the slider of the HTML page.
        gradient: what the played backward starts from, for a tensor of several elements; a list for several tensors.

    Returns:
        A `Drawing`.

    Raises:
        RuntimeError: a tensor has no graph.
        TypeError: something that is no tensor.
        ValueError: `limit` or `depth` is too small.

    >>> import rushlight as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> loss = (w * 2).exp().sum()
    >>> print(torch.draw.graph(loss))
    loss = 22.167
    ↑ Sum []
    ↑ Exp [3]  keeps 12 B
    ↑ Mul [3]  ← w [3]
    """
    recorder = watcher(tensors, module, names, limit)
    if play:
        with recorder:
            gradients_alone(recorder.model, recorder.tensors, gradient)
    return Drawing(recorder.model, recorder.steps, depth)


def backward(tensors, module=None, *, names=None, depth=None, limit=LIMIT, gradient=None, retain_graph=None):
    """Run ``backward()`` as the tensor's method does, ``grad`` and all, and return the drawing of what happened.

    The drawing is that of `graph` with ``play=True``: its HTML page plays the steps of this very pass.

    Args:
        tensors, module, names, depth, limit: as for `graph`.
        gradient, retain_graph: as for ``Tensor.backward``.

    >>> import rushlight as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> drawing = torch.draw.backward((w * w).sum())
    >>> w.grad
    tensor([2., 4.])
    >>> len(drawing.steps)  # Sum, Mul, and the leaf
    3
    """
    with watcher(tensors, module, names, limit) as recorder:
        gradients.backward(recorder.tensors, as_list(gradient), retain_graph=retain_graph)
    return Drawing(recorder.model, recorder.steps, depth)


def watcher(tensors, module=None, names=None, limit=LIMIT):
    """A `Recorder` of the graph of `tensors`: what backward does inside of it can be drawn."""
    tensors = [tensors] if is_tensor(tensors) else list(tensors)
    for tensor in tensors:
        _check(tensor)
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    return Recorder(collect(tensors, Names(module, names), limit), tensors)


def _check(tensor):
    if not is_tensor(tensor):
        raise TypeError(
            hinted(f"graph() draws tensors, not {type(tensor).__name__}", "pass the loss, or a list of tensors")
        )
    if edge_of(tensor) is None:
        raise RuntimeError(
            hinted(
                "the tensor does not require grad and does not have a grad_fn",
                "nothing to draw: compute it from tensors with requires_grad=True, outside of torch.no_grad()",
            )
        )


class Drawing:
    """A computation graph that `graph` gathered; Jupyter shows it as a page that can be explored.

    ``model`` is the graph as data, ``tree`` the modules in it, ``steps`` what a played backward did.
    """

    def __init__(self, model, steps=(), depth=None):
        if depth is not None and depth < 0:
            raise ValueError(f"depth must be at least 0, got {depth}")
        self.model, self.steps, self.depth = model, steps, depth
        self.tree = Tree(model)
        self._levels = None
        model.let_go()

    def svg(self, depth=None, scheme=AUTO):
        """The picture as the text of a self-contained SVG file: data flow from top to bottom.

        `depth` is how many levels of modules are unfolded, `scheme` "light", "dark", or "auto": as the reader has it.
        """
        return to_svg(self.model, self.tree, self.levels(), self.opened(depth), scheme)

    def html(self, depth=None):
        """A self-contained page: groups fold and unfold, boxes tell all they know, and a slider plays backward."""
        return to_html(self.model, self.tree, self.levels(), self.opened(depth), self.steps)

    def dot(self, depth=None):
        """The graph in Graphviz's language."""
        return to_dot(self.model, self.tree, self.opened(depth))

    def text(self, depth=None, saved=True, places=True):
        """The graph for a terminal: from the result up to the leaves, one operation a line.

        `saved` and `places` say whether lines tell the bytes kept for backward and the lines of code.
        """
        return Writer(self.model, self.tree, self.opened(depth), saved, places).text()

    def data(self):
        """The graph as dictionaries and lists: what the page of `html` holds as JSON."""
        return graph_data(self.model, self.tree, self.steps)

    def save(self, path, depth=None):
        """Write the drawing to `path`; its suffix says in which form: .svg, .html, .dot (or .gv), .txt."""
        forms = {".svg": self.svg, ".html": self.html, ".dot": self.dot, ".gv": self.dot, ".txt": self.text}
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in forms:
            raise ValueError(f"cannot tell the form of the drawing from {str(path)!r}: use one of {', '.join(forms)}")
        content = forms[suffix](depth)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if content.endswith("\n") else content + "\n")

    def levels(self):
        """The rows and links of each group."""
        if self._levels is None:
            self._levels = build_levels(self.model, self.tree)
        return self._levels

    def opened(self, depth):
        """The groups that are unfolded at a depth."""
        return self.tree.open_to(self.depth if depth is None else depth)

    def _repr_svg_(self):
        return self.svg()

    def _repr_html_(self):
        """The page in a frame of its own, so that its styles and scripts and those of the notebook do not meet."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:{PAGE_HEIGHT}px;border:0;border-radius:8px" '
            'title="computation graph"></iframe>'
        )

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<rushlight.draw.Drawing: {len(self.model.operations)} of {self.model.total} operations>"
