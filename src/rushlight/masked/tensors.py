"""MaskedTensor: data and a mask of the same shape, True where an element counts."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.function import Function
from ..autograd.modes import state
from ..base import dtypes
from ..base.device import sparse_coo, sparse_csr, strided
from ..base.errors import hinted
from ..base.user_code import to_user
from ..tensor import Tensor
from ..tensor.overrides import DisableTorchFunctionSubclass
from .printing import text

_DTYPES = frozenset(
    (
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.bool_,
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
    )
)
_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue "
    "for features requests and see our documentation on the torch.masked module for further information about the project."
)
_TRACKED = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
    "data.detach().clone()"
)
_WAY_OUT = "get_data() and to_tensor(value) are plain tensors"


class MaskedTensor(Tensor):
    """Data beside a mask, True where an element counts: operations leave the others out, and keep the mask.

    Args:
        data: a tensor of floats (not bfloat16), signed integers or bools; strided, sparse COO or CSR.
        mask: a bool tensor of the same shape and layout.
        requires_grad: whether gradients are recorded (False).

    The data is copied. Unary operations keep the mask; two operands need equal masks, or one is a plain tensor or a number;
    reductions (``sum mean prod amin amax argmin argmax all norm var std``) leave masked elements out; operations that only
    move elements move both. Others raise TypeError. A gradient is a MaskedTensor, too.

    Otherwise than in PyTorch, the graph is that of the data, between nodes that unmask and mask; a plain tensor's gradient is plain.

    >>> import rushlight as torch
    >>> x = torch.masked.MaskedTensor(torch.tensor([1.0, 2.0, -3.0]), torch.tensor([True, False, True]))
    >>> x.abs()
    MaskedTensor(
      [  1.0000,       --,   3.0000]
    )
    >>> x.sum()
    MaskedTensor( -2.0000, True)
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        for name, value in (("data", data), ("mask", mask)):
            if isinstance(value, MaskedTensor) or not isinstance(value, Tensor):
                raise TypeError(hinted(f"{name} must be a Tensor", f"it is a {type(value).__name__}"))
        level = to_user()
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=level)
        if data.requires_grad:
            warnings.warn(_TRACKED, UserWarning, stacklevel=level)
        return made(*_alike(data.detach(), mask.detach()), requires_grad, cls)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        pass

    def get_data(self) -> Tensor:
        """The data, of masked elements too, without the mask; gradients flow through it."""
        return _Data.apply(self) if is_tracked(self) else self._masked_data.detach()

    def get_mask(self) -> Tensor:
        """The mask: True where an element counts."""
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """A plain tensor with ``value`` in the place of the masked elements.

        >>> import rushlight as torch
        >>> torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).to_tensor(-1)
        tensor([ 1., -1.])
        """
        return self.get_data().masked_fill(~self.get_mask(), value)

    @property
    def grad(self) -> MaskedTensor | None:
        """The gradient, with this tensor's mask; None where there is none."""
        found = super().grad
        return None if found is None else made(found, self._masked_mask)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        with DisableTorchFunctionSubclass():
            vars(Tensor)["grad"].__set__(self, value._masked_data if isinstance(value, MaskedTensor) else value)

    @property
    def data(self) -> MaskedTensor:  # type: ignore[override]
        """`detach`."""
        return self.detach()

    def detach(self) -> MaskedTensor:
        """The same data and mask outside the graph."""
        return made(self._masked_data.detach(), self._masked_mask)

    def item(self) -> Any:
        """The only element; ValueError where it is masked."""
        if self._masked_mask.numel() == 1 and not self._masked_mask.item():
            raise ValueError(
                hinted(
                    "__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor",
                    "the element is masked: to_tensor(value) puts a number in its place",
                )
            )
        return self._masked_data.item()

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> MaskedTensor:
        """The same with strided data and mask."""
        return self if self.layout is strided else masked(self.get_data().to_dense(), self.get_mask().to_dense())

    def to_sparse(self, *args: Any, **options: Any) -> MaskedTensor:
        """The same with sparse COO data and mask: masked elements are not stored."""
        return _sparse(self, sparse_coo, lambda mask: mask.to_sparse().coalesce())

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: Any = None) -> MaskedTensor:
        """The same with sparse CSR data and mask, of a matrix."""
        if self._masked_data.dim() != 2:
            words = (
                f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {self._masked_data.size()}"
            )
            raise ValueError(hinted(words, "to_sparse() takes any number of dimensions"))
        return _sparse(self, sparse_csr, Tensor.to_sparse_csr)

    def tolist(self) -> Any:
        """Refused: a list cannot say what is masked."""
        raise RuntimeError(hinted(".tolist() is not supported for tensor subclasses, got MaskedTensor", _WAY_OUT))

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: an array cannot say what is masked."""
        raise RuntimeError(hinted(".numpy() is not supported for tensor subclasses.", _WAY_OUT))

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse COO tensors."""
        return self._masked_data.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse CSR tensors."""
        return self._masked_data.layout is sparse_csr

    @property
    def layout(self) -> Any:
        """The layout of data and mask."""
        return self._masked_data.layout

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse COO or CSR tensors."""
        return self._masked_data.layout is not strided

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return text(self._masked_data, self._masked_mask)


def is_tracked(tensor: Tensor) -> bool:
    """Whether an operation on the tensor is recorded."""
    with DisableTorchFunctionSubclass():
        return bool(tensor.requires_grad and state.grad)


def made(data: Tensor, mask: Tensor, requires_grad: bool = False, cls: type = MaskedTensor) -> MaskedTensor:
    """A MaskedTensor outside the graph on the memory of ``data``, checked."""
    _validate(data, mask)
    with DisableTorchFunctionSubclass():
        found = Tensor._make_subclass(cls, data, requires_grad)  # type: ignore[attr-defined]
    found._masked_data, found._masked_mask = data, mask
    return found


def _alike(data: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Copies of both, sparse ones with the places of the mask."""
    if data.layout is not mask.layout:
        raise TypeError(hinted("data and mask must have the same layout.", f"{data.layout} and {mask.layout}"))
    if data.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout in (sparse_coo, sparse_csr) and data._nnz() != mask._nnz():  # type: ignore[attr-defined]
        data = data.to_dense().sparse_mask(mask)
    return data.clone(), mask.clone()


def _validate(data, mask):
    """PyTorch's checks of what may be data and mask."""
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is sparse_coo and not same_numbers(data.indices(), mask.indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout is sparse_csr and not (
        same_numbers(data.crow_indices(), mask.crow_indices()) and same_numbers(data.col_indices(), mask.col_indices())
    ):
        raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
    if mask.dtype is not dtypes.bool_:
        raise TypeError(hinted("mask must have dtype bool.", f"it is {mask.dtype!r}: call .bool()"))
    if data.dtype not in _DTYPES:
        raise TypeError(hinted(f"{data.dtype!r} is not supported in MaskedTensor.", "convert the data with .float()"))
    shapes = f"the shapes are {list(data.shape)} and {list(mask.shape)}"
    if data.dim() != mask.dim():
        raise ValueError(hinted("data.dim() must equal mask.dim()", shapes))
    if data.shape != mask.shape:
        raise ValueError(hinted("data.size() must equal mask.size()", shapes))


def _sparse(tensor, layout, convert):
    """A MaskedTensor in a sparse layout, to which ``convert`` brings its mask."""
    if tensor.layout is layout:
        return tensor
    mask = convert(tensor.get_mask())
    return masked(tensor.get_data().sparse_mask(mask), mask)


def same_numbers(first: Tensor, second: Tensor) -> bool:
    """Whether two plain tensors have equal shapes and elements."""
    return first.shape == second.shape and bool((first == second).all())


class _Data(Function):
    """From a MaskedTensor to its data."""

    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:
        return input._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class _Masked(Function):
    """From data to a MaskedTensor; no gradient reaches what is masked."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        ctx.mask = mask
        return made(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (grad.masked_fill(~ctx.mask, 0) if grad.layout is strided else grad), None


def masked(data: Tensor, mask: Tensor) -> MaskedTensor:
    """The result of an operation: its data, with its history, and its mask."""
    return _Masked.apply(data, mask) if is_tracked(data) else made(data, mask)


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A `MaskedTensor` of copies of ``data`` and ``mask``, a leaf of its own.

    >>> import rushlight as torch
    >>> torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    MaskedTensor(
      [  1.0000,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A `MaskedTensor` that keeps the history of ``data``: gradients reach it, 0 where an element is masked.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = torch.masked.as_masked_tensor(x, torch.tensor([True, False]))
    >>> (y * y).sum().backward()
    >>> x.grad
    tensor([2., 0.])
    """
    if not (isinstance(data, Tensor) and isinstance(mask, Tensor) and is_tracked(data)):
        return MaskedTensor(data, mask)
    warnings.warn(_PROTOTYPE, UserWarning, stacklevel=to_user())
    found: MaskedTensor = _Masked.apply(*_alike(data, mask))
    return found


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a `MaskedTensor`.

    >>> import rushlight as torch
    >>> torch.masked.is_masked_tensor(torch.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)
