"""swap_tensors: two tensor objects exchange all that they are; whoever holds one of them holds the other's content then."""

from __future__ import annotations

import copyreg
import weakref

from ..base.errors import hinted
from .attributes import held_by

_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run backward on a "
    "tensor that was swapped. For a module m with `torch.__future__.set_swap_module_params_on_conversion(True)` you should not "
    "change the device or dtype of the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve "
    "this, please only change the device/dtype before running forward (or after both forward and backward)."
)


def swap_tensors(t1, t2):
    """Exchange the class, the elements, the gradient and the attributes of two tensors.

    >>> import rushlight as torch
    >>> x, y = torch.ones(2), torch.zeros(3)
    >>> torch.utils.swap_tensors(x, y)
    >>> x, y
    (tensor([0., 0., 0.]), tensor([1., 1.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(
                hinted(
                    f"Cannot swap {name} because it has weakref associated with it", "what it refers to would change"
                )
            )
    slots = [set(copyreg._slotnames(tensor.__class__)) for tensor in (t1, t2)]
    if slots[0] != slots[1]:
        raise RuntimeError(hinted("Cannot swap t1 and t2 if they have different slots", "their classes differ in them"))
    for tensor in (t1, t2):
        _poison(tensor)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = held_by(t1), held_by(t2)
    kept = dict(first)
    for held, given in ((first, dict(second)), (second, kept)):
        held.clear()
        held.update(given)
    for slot in slots[0]:
        values = [getattr(tensor, slot, _MISSING) for tensor in (t1, t2)]
        for tensor, value in ((t1, values[1]), (t2, values[0])):
            if value is not _MISSING:
                setattr(tensor, slot, value)
            elif hasattr(tensor, slot):
                delattr(tensor, slot)


_MISSING = object()


def _poison(tensor):
    """Let a graph that waits for a leaf's gradient refuse to bring it, as it would come to the other tensor."""
    node = tensor._accumulator and tensor._accumulator()
    if node is not None:
        node.register_prehook(_refuse)


def _refuse(grads):
    raise RuntimeError(hinted(_POISONED, "run forward again: the graph was made before the swap"))
