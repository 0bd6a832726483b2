"""``rushlight.explain(tensor or module)``: what autograd knows about it, in words and as facts."""

from __future__ import annotations

import textwrap
from typing import Any

from ..base.errors import hinted
from .explain_module import explain_module
from .explain_tensor import explain_tensor
from .names import is_module, is_tensor

WIDTH = 110


class Explanation:
    """What `explain` found: ``print`` shows the words, the attributes are the facts.

    ``facts`` is the dictionary of all of them; ``sections`` are ``(heading, sentences)`` of the text.
    """

    def __init__(self, title, sections, facts):
        self.title, self.sections, self.facts = title, sections, facts
        self.__dict__.update(facts)

    def __str__(self):
        lines = [self.title]
        for heading, sentences in self.sections:
            lines.append(f"  {heading}")
            for sentence in sentences:
                indents = {"initial_indent": "    - ", "subsequent_indent": "      "}
                lines += textwrap.wrap(sentence, WIDTH, break_long_words=False, break_on_hyphens=False, **indents)
        return "\n".join(lines)

    __repr__ = __str__


def explain(subject: Any) -> Explanation:
    """Say in words what autograd knows about a tensor or a module; nothing is computed, freed or changed.

    For a tensor: why it does or does not require grad, why its ``grad`` is None, what ``backward()`` here would reach,
    how many bytes its graph holds and what keeps it alive. For a module: which parameters are frozen, got no gradient
    or one with NaN, and sizes. Names come from the caller's variables and modules. It looks through all living objects
    to find who refers to the graph: a tool for a person, not for a training loop.

    Args:
        subject: a Tensor or a module.

    Returns:
        An `Explanation`: its text is what ``print`` shows, its attributes are the facts. Of a tensor: ``name``,
        ``shape``, ``dtype``, ``requires_grad``, ``why_requires_grad``, ``is_leaf``, ``grad_fn``, ``why_grad_is_none``,
        ``possible_causes``, ``reaches`` (leaf names), ``nodes``, ``operations``, ``saved_tensors``, ``saved_bytes``,
        ``freed`` (file and line, or None), ``kept_alive_by``. Of a module: ``parameters`` and ``bytes`` (numbers),
        ``frozen``, ``without_gradient``, ``with_nan``, ``with_zero`` (names).

    Raises:
        TypeError: for anything else.

    >>> import rushlight as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> loss = (w * w).sum()
    >>> found = torch.explain(loss)
    >>> found.nodes, found.saved_bytes, found.reaches
    (3, 12, ['w'])
    >>> torch.explain(w).why_grad_is_none
    'no backward yet'
    >>> print(torch.explain(w > 0))
    a tensor: shape [3], bool
      requires_grad is False
        - Elements of type torch.bool cannot carry gradients, floating and complex ones can. ...
    """
    if is_tensor(subject):
        return Explanation(*explain_tensor(subject))
    if is_module(subject):
        return Explanation(*explain_module(subject))
    raise TypeError(
        hinted(
            f"explain() takes a tensor or a module, not {type(subject).__name__}",
            "explain(loss) tells what backward would reach, explain(model) which parameters have gradients",
        )
    )
