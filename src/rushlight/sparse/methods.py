"""What tensors tell about their parts: entries, indices and values. Methods of every tensor; a dense one refuses most."""

from __future__ import annotations

from ..base.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..base.errors import hinted
from ..tensor.base import wrap
from .calls import BACKENDS, is_sparse, layout_name, unavailable
from .conversion import expect_coo, to_sparse
from .patterns import Coordinates
from .products import sparse_mm
from .tensors import values_of


def is_coalesced(self):
    """Whether the entries of a COO tensor are sorted by place and distinct."""
    expect_coo(self, "is_coalesced")
    return self._array.pattern.coalesced


def _coalesced_only(self, name):
    if self.layout is sparse_coo and not self._array.pattern.coalesced:
        message = f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        raise RuntimeError(hinted(message, f"_{name}() gives them as they are"))


def indices(self):
    """The places of a coalesced COO tensor's entries: (sparse dimensions, entries), of int64. They cannot be written."""
    expect_coo(self, "indices")
    _coalesced_only(self, "indices")
    return _indices(self)


def _indices(self):
    """The places of a COO tensor's entries as they are: (sparse dimensions, entries)."""
    if self.layout is not sparse_coo:
        raise unavailable("_indices", BACKENDS[False] if is_sparse(self) else "CPU")
    return wrap(self._array.pattern.indices[...])


def values(self):
    """The elements of a sparse tensor: of COO ones, which have to be coalesced, (entries, *dense dimensions)."""
    if not is_sparse(self):
        message = f"values expected sparse tensor layout but got {layout_name(self)}"
        raise RuntimeError(hinted(message, "a dense tensor is its values"))
    _coalesced_only(self, "values")
    return values_of(self, "ValuesBackward0")


def _values(self):
    """The elements of a COO tensor as they are, outside of the graph; they share its memory."""
    if self.layout is not sparse_coo:
        raise unavailable("_values", BACKENDS[False] if is_sparse(self) else "CPU")
    return wrap(self._array.values[...])


def _nnz(self):
    """The number of entries."""
    if not is_sparse(self):
        raise unavailable("_nnz", "CPU")
    return self._array.pattern.nnz


def _compressed_part(name, layouts, what, part):
    def get(self):
        if self.layout not in layouts:
            message = f"{name} expected sparse {what} compressed tensor layout but got {layout_name(self)}"
            raise RuntimeError(hinted(message, f"to_sparse_{'csr' if what == 'row' else 'csc'}() has them"))
        return wrap(getattr(self._array.pattern, part)[...])

    get.__name__, get.__qualname__ = name, f"Tensor.{name}"
    get.__doc__ = f"The {part} indices of a matrix by {what}s. They cannot be written."
    return get


crow_indices = _compressed_part("crow_indices", (sparse_csr, sparse_bsr), "row", "compressed")
col_indices = _compressed_part("col_indices", (sparse_csr, sparse_bsr), "row", "plain")
ccol_indices = _compressed_part("ccol_indices", (sparse_csc, sparse_bsc), "column", "compressed")
row_indices = _compressed_part("row_indices", (sparse_csc, sparse_bsc), "column", "plain")


def to_sparse_coo(self):
    """`to_sparse`."""
    return to_sparse(self)


def smm(input, mat):
    """The product of a sparse matrix and a dense one, as a sparse tensor with all its elements."""
    return to_sparse(sparse_mm(input, mat))


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat1 @ mat2)``, sparse, of sparse ``input`` and ``mat1`` and a dense ``mat2``."""
    if out is not None:
        raise NotImplementedError(hinted("torch.sspaddmm(out=...) is not in this version", "use its result"))
    product = to_sparse(sparse_mm(mat1, mat2))
    return input * beta + product * alpha


def _coalesced_(self, coalesced):
    """Say whether the entries of a COO tensor are coalesced; that they are is looked up."""
    expect_coo(self, "_coalesced_")
    pattern = self._array.pattern
    if coalesced and not pattern.checked_coalesced():
        message = "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        raise RuntimeError(hinted(message, "places occur twice, or are not sorted: coalesce() the tensor"))
    self._array.pattern = Coordinates(pattern.shape, pattern.indices, bool(coalesced))
    return self


def _part_copy(get):
    name = get.__name__

    def copy(input):
        if input.layout is sparse_coo:
            raise unavailable(f"{name}_copy", BACKENDS[True])
        return get(input).clone()

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"A copy of what `Tensor.{name}` shows, of a compressed tensor."
    return copy


values_copy, crow_indices_copy, col_indices_copy = map(_part_copy, (values, crow_indices, col_indices))
ccol_indices_copy, row_indices_copy = map(_part_copy, (ccol_indices, row_indices))


def indices_copy(input):
    """Refused for the one layout that has indices: PyTorch copies those of COO tensors on no device."""
    indices(input)
    raise unavailable("indices_copy", BACKENDS[True])
