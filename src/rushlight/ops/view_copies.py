"""The views again as copies: ``permute_copy``, ``select_copy``, ...: the same arguments, memory of their own."""

import numpy as np

from ..base.errors import hinted
from . import order, split, strided, view
from .elementwise import complex_parts
from .parts import narrow_start
from .table import TABLE, composite, functions, op

# These modules hold the views that are copied here.
SOURCES = (complex_parts, order, split, strided, view)

# PyTorch's name -> the operation whose result is copied.
_COPIED = {
    "alias_copy": "alias", "as_strided_copy": "as_strided", "diagonal_copy": "diagonal", "expand_copy": "expand",
    "permute_copy": "permute", "select_copy": "select", "slice_copy": "slice_dim", "split_copy": "split_even",
    "split_with_sizes_copy": "split_with_sizes", "squeeze_copy": "squeeze", "t_copy": "t", "transpose_copy": "transpose",
    "unbind_copy": "unbind", "unfold_copy": "unfold_dim", "unsqueeze_copy": "unsqueeze",
    "view_as_complex_copy": "view_as_complex", "view_as_real_copy": "view_as_real", "view_shape_copy": "view_shape",
}  # fmt: skip


def _copying(name, view):
    """The record of a copying operation: forward copies what the view shows, the derivatives are the view's."""

    def forward(*arguments):
        if name == "view_shape_copy":  # a copy has a shape that a view may not be able to have
            arguments = (np.ascontiguousarray(arguments[0]), *arguments[1:])
        found = view.forward(*arguments)
        return tuple([part.copy(order="C") for part in found]) if found.__class__ is tuple else found.copy(order="C")

    rules = {"d_" + argument: rule for argument, rule in view.derivatives.items()}
    doc = f"A copy of what `{name.removesuffix('_copy')}` shows."
    node = view.node_name if view.node_name.__class__ is str else lambda *values: view.node_name(*values) + "_copy"
    node = node + "_copy" if node.__class__ is str else node
    record = type(name, (), {"__doc__": doc, "forward": forward, **rules})
    op(view.schema, names=() if name == "view_shape_copy" else ("torch",), node=node)(record)


for _name, _view in _COPIED.items():
    _copying(_name, TABLE[_view])


@composite(names=("torch",), out=True)
def view_copy(input, *size, dtype=None):
    """A copy of what ``input.view(...)`` shows: of another shape, or read as another dtype."""
    if dtype is None and len(size) == 1 and hasattr(size[0], "itemsize"):
        dtype = size[0]
    if dtype is not None:
        return input.view(dtype).clone()
    return functions.view_shape_copy(input, *size)


@composite(names=("torch",), out=True)
def detach_copy(input):
    """A copy outside the graph."""
    return input.detach().clone()


@op("narrow_copy(Tensor self, int dim, int start, int length) -> Tensor")
class narrow_copy:
    """``length`` elements of dimension ``dim`` from ``start`` on, as a copy."""

    def forward(self, dim, start, length):
        if self.ndim and dim >= self.ndim:
            raise RuntimeError(
                hinted(
                    "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message "
                    "be improved?  If so, please report an enhancement request to PyTorch.)",
                    f"dim is {dim}, the shape {list(self.shape)}",
                )
            )
        start = narrow_start(self.shape, dim, start, max(length, 0))
        if length < 0:
            message = f"start ({start}) + length ({length}) exceeds dimension size ({self.shape[dim]})."
            raise RuntimeError(hinted(message, "length counts the elements to copy"))
        return TABLE["slice_dim"].forward(self, dim, start, start + length, 1).copy(order="C")

    def d_self(grad, shape, dim, start, length):
        start = narrow_start(shape, dim, start, length)
        return functions.slice_gradient(grad, shape, dim, start, start + length, 1)
