"""Gradients in the form of their tensor: summed up to its shape, in its dtype; also where it shows another array by now."""

from __future__ import annotations

from ..base.errors import hinted
from .hooks import hooks_of
from .node import LEAF
from .op_node import fit_dtype
from .views import View


def fitted(gradient, shape, dtype, refusal, hint):
    """``gradient`` summed up to ``shape`` and in the NumPy ``dtype``. ``refusal`` begins the error where the shape does not fit."""
    if gradient.is_complex() and dtype.kind not in "cW":
        raise RuntimeError(
            hinted(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  "
                "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
                f"{hint}; it is real, its gradient complex: the .real of that would fit",
            )
        )
    if gradient._array.shape != shape:
        try:
            gradient = gradient.sum_to_size(shape)
        except RuntimeError:
            message = f"{refusal} - got {list(gradient.shape)} but expected shape compatible with {list(shape)}"
            raise RuntimeError(hinted(message, f"{hint}; its gradient must have that shape")) from None
    return gradient if gradient._array.dtype == dtype else fit_dtype(gradient, dtype)


def keep_form(tensor, array):
    """Before ``tensor`` shows ``array``, which nothing records: let what made it go on taking gradients of the form that it has."""
    former, edge = tensor._array, tensor._edge
    if edge is None or (former.shape == array.shape and former.dtype == array.dtype):
        return
    edge = edge.edge if edge.__class__ is View else edge
    if edge is LEAF and tensor._accumulator is not None and (node := tensor._accumulator()) is not None:
        edge = node, 0
    if edge.__class__ is tuple:
        hooks_of(edge[0]).forms.setdefault(edge[1], (former.shape, former.dtype))


def arriving(node, number, gradient, source, gradients):
    """``gradient``, one of the ``gradients`` that the node ``source`` made, in the form that ``node`` takes for its output ``number``.

    Where ``source`` is None, the user gave them.
    """
    form = node.hooks.forms.get(number)
    if form is None:
        return gradient
    place = next(place for place, each in enumerate(gradients) if each is gradient)
    refusal = f"invalid gradient at index {place}"
    if source is not None:
        refusal = f"Function {source.name()} returned an {refusal}"
    return fitted(gradient, *form, refusal, f"the tensor of {node.name()} had shape {list(form[0])} when it was made")
