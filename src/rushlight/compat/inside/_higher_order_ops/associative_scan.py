"""``torch._higher_order_ops.associative_scan``: running results of a function of two, in a logarithmic number of calls."""

from rushlight.base.errors import hinted as _hinted
from rushlight.func import vmap as _vmap
from rushlight.ops.table import functions as _functions
from rushlight.tensor import Tensor as _Tensor
from rushlight.utils import _pytree


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """``combine_fn`` of all elements up to each one along ``dim``; ``xs`` is a tensor or a nest of tensors.

    ``combine_fn`` takes two elements, each a nest like ``xs`` without ``dim``, and must be associative. ``combine_mode``
    is "generic" on a CPU. PyTorch's name is ``torch._higher_order_ops.associative_scan``.

    >>> import rushlight as torch
    >>> from rushlight.compat.inside._higher_order_ops import associative_scan
    >>> associative_scan(torch.mul, torch.tensor([1, 2, 3, 4]), 0, combine_mode="generic")
    tensor([ 1,  2,  6, 24])
    """
    leaves, structure = _pytree.tree_flatten(xs)
    dim = _checked_dim(leaves, dim)
    _check(combine_fn, leaves, dim, reverse, combine_mode)
    leaves = [leaf.movedim(dim, 0) for leaf in leaves]
    if reverse:
        leaves = [leaf.flip(0) for leaf in leaves]
    combined = _vmap(combine_fn)

    def combine(*parts):
        first, second = parts[: len(leaves)], parts[len(leaves) :]
        return combined(_pytree.tree_unflatten(first, structure), _pytree.tree_unflatten(second, structure))

    made = generic_associative_scan(combine, leaves)
    if reverse:
        made = [leaf.flip(0) for leaf in made]
    return _pytree.tree_unflatten([leaf.movedim(0, dim) for leaf in made], structure)


def generic_associative_scan(operator, leaves, dim=0, additional_inputs=()):
    """The running results of tensors along ``dim``: ``operator`` takes as many again, and combines them place by place.

    Neighbours are combined in pairs, the pairs' running results found in the same way, and the places between filled in.
    """
    count = leaves[0].shape[dim]
    if count < 2:
        return list(leaves)

    def combine(first, second):
        return _pytree.tree_leaves(operator(*first, *second, *additional_inputs))

    def part(tensors, start, end, step):
        return [each.movedim(dim, 0)[start:end:step].movedim(0, dim) for each in tensors]

    pairs = combine(part(leaves, 0, count - 1, 2), part(leaves, 1, None, 2))
    odd = generic_associative_scan(operator, pairs, dim, additional_inputs)
    even = part(leaves, 0, 1, 1)
    if count > 2:
        between = combine(part(odd, 0, (count - 1) // 2, 1), part(leaves, 2, None, 2))
        even = [_functions.cat([first, rest], dim) for first, rest in zip(even, between)]
    order = _functions.arange(count)
    places = order // 2 + order % 2 * ((count + 1) // 2)
    return [_functions.cat([one, other], dim).index_select(dim, places) for one, other in zip(even, odd)]


def _checked_dim(leaves, dim):
    """``dim`` counted from the front."""
    if not leaves:
        raise IndexError("list index out of range")
    dimensions = leaves[0].ndim
    if not -dimensions <= dim < max(dimensions, 1):
        low, high = -max(dimensions, 1), max(dimensions, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % max(dimensions, 1)


def _check(combine_fn, leaves, dim, reverse, combine_mode):
    """PyTorch's errors for arguments that cannot be scanned."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise":
        message = "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU"
        raise ValueError(_hinted(message, 'pass combine_mode="generic"'))
    if any(not isinstance(leaf, _Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(leaf.is_sparse for leaf in leaves):
        raise ValueError("xs leaves must dense Tensors, consider using `to_dense()`")
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
