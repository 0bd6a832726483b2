"""Contractions: products of matrices, vectors and batches of them, and the linear layer."""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import stored_in
from ..base.scalars import c_name
from ..base.shapes import broadcast_shapes, wrap_own_dim
from .blockwise import FEW
from .join import common_array_dtype
from .reduce import add_up
from .table import composite, conj, functions, is_half, op, widened

NATIVE_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def product(a, b):
    """``a @ b`` on arrays of one dtype; half precision is multiplied and added up in float32."""
    if a.dtype in NATIVE_FLOATS:
        # dot starts in half of matmul's time, but takes 0 times NaN or infinity for 0 where an operand is one number.
        return a.dot(b) if a.ndim <= 2 and b.ndim <= 2 and a.size != 1 != b.size else np.matmul(a, b)
    if is_half(a.dtype):
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if a.dtype.kind == "b":
        return np.matmul(a.astype(np.uint8), b.astype(np.uint8)) != 0
    return np.matmul(a, b)


def check_same_dtype(a, b):
    """PyTorch's refusal to multiply matrices of two dtypes."""
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            hinted(
                f"expected m1 and m2 to have the same dtype, but got: {c_name(a.dtype)} != {c_name(b.dtype)}",
                f"products do not promote: convert one of them, for example with .to({dtypes.from_numpy(a.dtype)!r})",
            )
        )


def same_batch_dtype(a, b):
    if not (a.size and b.size):
        return  # PyTorch multiplies nothing, and looks at no dtype
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        first, second = (dtypes.from_numpy(t.dtype).legacy_name for t in (a, b))
        raise RuntimeError(
            hinted(
                f"expected scalar type {first} but found {second}", "products do not promote: convert one with .to()"
            )
        )


def check_addend(array, shape):
    """PyTorch's refusal of a tensor that cannot be expanded to a product's ``shape``."""
    if array.ndim > len(shape):
        name = f"torch.{dtypes.from_numpy(array.dtype).legacy_name}Tensor"
        raise RuntimeError(
            f"expand({name}{{{list(array.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({array.ndim})"
        )
    for place in range(1, array.ndim + 1):
        if array.shape[-place] not in (1, shape[-place]):
            raise RuntimeError(
                hinted(
                    f"The expanded size of the tensor ({shape[-place]}) must match the existing size ({array.shape[-place]}) "
                    f"at non-singleton dimension {len(shape) - place}.  Target sizes: {list(shape)}.  Tensor sizes: "
                    f"{list(array.shape)}",
                    "what is added must have the product's shape, or be broadcast to it",
                )
            )


@op("mm(Tensor self, Tensor mat2) -> Tensor")
class mm:
    """The product of two matrices: (n, m) with (m, p) gives (n, p)."""

    def forward(self, mat2):
        if self.ndim != 2:
            raise RuntimeError("self must be a matrix")
        if mat2.ndim != 2:
            raise RuntimeError("mat2 must be a matrix")
        if self.shape[1] != mat2.shape[0]:
            raise RuntimeError(
                hinted(
                    f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})",
                    f"the inner lengths {self.shape[1]} and {mat2.shape[0]} must be equal; .T transposes a matrix",
                )
            )
        if self.dtype is not mat2.dtype:
            check_same_dtype(self, mat2)
        if self.size and mat2.size:
            refuse_bools(self, "addmm_impl_cpu_")
        return product(self, mat2)

    def d_self(grad, mat2):
        return functions.linear_rows(grad, conj(mat2))

    def d_mat2(grad, self):
        return functions.transposed_mm(conj(self), grad)


def refuse_bools(array, kernel):
    """PyTorch's error for a product of bools that has something to add up."""
    if array.dtype.kind == "b":
        raise NotImplementedError(
            hinted(f"\"{kernel}\" not implemented for 'Bool'", "convert both to an integer dtype with .to()")
        )


@op("mv(Tensor self, Tensor vec) -> Tensor")
class mv:
    """The product of a matrix (n, m) and a vector (m)."""

    def forward(self, vec):
        if self.ndim != 2 or vec.ndim != 1:
            wrap_own_dim(0, self.ndim)
            raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
        if self.shape[1] != vec.shape[0]:
            raise RuntimeError(
                hinted(
                    f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})",
                    f"the matrix has {self.shape[1]} columns, the vector {vec.shape[0]} elements",
                )
            )
        if self.dtype is not vec.dtype and self.dtype != vec.dtype:
            matrix, vector = (dtypes.from_numpy(t.dtype).legacy_name for t in (self, vec))
            raise RuntimeError(
                hinted(
                    f"addmv input tensors must have the same dtype, but got {vector}, {matrix}, and {vector}",
                    "products do not promote: convert one of them with .to()",
                )
            )
        if self.size:
            refuse_bools(self, "addmv_impl_cpu")
        return product(self, vec)

    def d_self(grad, vec):
        return functions.outer_product(grad, conj(vec))

    def d_vec(grad, self):
        return conj(self.t()).mv(grad)


@op("dot(Tensor self, Tensor tensor) -> Tensor")
class dot:
    """The sum of products of two vectors' elements."""

    def forward(self, tensor):
        if self.ndim != 1 or tensor.ndim != 1:
            raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
        if self.dtype is not tensor.dtype and self.dtype != tensor.dtype:
            first, second = (dtypes.from_numpy(t.dtype).legacy_name for t in (self, tensor))
            raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {first} and {second}")
        if self.shape != tensor.shape:
            raise RuntimeError(
                hinted(
                    f"inconsistent tensor size, expected tensor [{self.size}] and src [{tensor.size}] to have the same number of "
                    f"elements, but got {self.size} and {tensor.size} elements respectively",
                    "dot() takes two vectors of the same length",
                )
            )
        refuse_bools(self, "dot")
        return np.asarray(product(self, tensor))

    def d_self(grad, tensor):
        return grad * conj(tensor)

    def d_tensor(grad, self):
        return grad * conj(self)


@op("vdot(Tensor self, Tensor other) -> Tensor")
class vdot:
    """`dot` with the first vector conjugated."""

    def forward(self, other):
        return dot.forward(self.conj() if self.dtype.kind == "c" else self, other)

    def d_self(grad, other):
        return conj(grad) * other

    def d_other(grad, self):
        return grad * self


@op("outer_product(Tensor self, Tensor vec2) -> Tensor", names=(), node="MulBackward0")
class outer_product:
    """``self[i] * vec2[j]`` as a matrix."""

    def forward(self, vec2):
        if self.dtype is not vec2.dtype:
            kind = common_array_dtype([self, vec2])
            self, vec2 = self.astype(kind, copy=False), vec2.astype(kind, copy=False)
        return self[:, None] * vec2

    def d_self(grad, vec2):
        return grad.mv(conj(vec2).to(grad.dtype))

    def d_vec2(grad, self):
        return grad.t().mv(conj(self).to(grad.dtype))


@composite(
    names=("torch", "Tensor", "torch:ger", "Tensor:ger"), out=True, short="outer_product",
    fits="array0.ndim == array1.ndim == 1",
)  # fmt: skip
def outer(input, vec2):
    """The matrix ``input[i] * vec2[j]`` of two vectors."""
    for value, name in ((input, "self"), (vec2, "vec2")):
        if value.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {value.ndim}-D")
    return functions.outer_product(input, vec2)


_SMALL_PRODUCT = 400  # products of numbers in a batch's matrix: PyTorch adds fewer up in a loop of its own


@op("bmm(Tensor self, Tensor mat2) -> Tensor")
class bmm:
    """The products of two batches of matrices: (b, n, m) with (b, m, p) gives (b, n, p)."""

    def forward(self, mat2):
        if self.ndim != 3:
            raise RuntimeError("batch1 must be a 3D tensor")
        if mat2.ndim != 3:
            raise RuntimeError("batch2 must be a 3D tensor")
        if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
            raise RuntimeError(
                hinted(
                    f"Expected size for first two dimensions of batch2 tensor to be: [{self.shape[0]}, {self.shape[2]}] but got: "
                    f"[{mat2.shape[0]}, {mat2.shape[1]}].",
                    f"the batches have shapes {list(self.shape)} and {list(mat2.shape)}",
                )
            )
        small = self.shape[1] * self.shape[2] * mat2.shape[2] < _SMALL_PRODUCT
        if small and self.size and mat2.size:
            refuse_bools(self, "bmm")
        same_batch_dtype(self, mat2)
        if self.dtype != mat2.dtype:
            return np.zeros((*self.shape[:2], mat2.shape[2]), mat2.dtype)
        if self.size and mat2.size:
            refuse_bools(self, "addmm_impl_cpu_")
        return product(self, mat2)

    def d_self(grad, mat2):
        return grad.bmm(conj(mat2.transpose(1, 2)))

    def d_mat2(grad, self):
        return conj(self.transpose(1, 2)).bmm(grad)


@composite(names=("torch", "Tensor", "linalg"), explains=True)
def matmul(input, other, *, out=None):
    """The product of matrices, vectors, or batches of matrices, with broadcasting of the batch dimensions.

    >>> import rushlight as torch
    >>> torch.matmul(torch.ones(2, 3), torch.ones(3)).shape
    torch.Size([2])
    """
    if out is not None:
        if not hasattr(out, "_edge"):
            functions.refuse("matmul", (input, other), {"out": out})
        return functions.written_into(out, "matmul", matmul, input, other)
    try:
        n, m = input._array.ndim, other._array.ndim
    except AttributeError:
        functions.refuse("matmul", (input, other), {})
        raise
    if n == 2 and m == 2:
        return functions.mm(input, other)
    if n == 0 or m == 0:
        raise RuntimeError(
            hinted(
                f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D",
                "use * to multiply by a number or a 0-dim tensor",
            )
        )
    if n == 1 and m == 1:
        return functions.dot(input, other)
    if n == 2 and m == 1:
        return functions.mv(input, other)
    if n == 1 and m == 2:
        if _is_untracked_product(input, other):
            return functions.mv(other.t(), input)
        return functions.mm(input.unsqueeze(0), other).squeeze_(0)
    if m <= 2 and n >= 3:
        return _folded(input, other)
    if n <= 2 and (input.requires_grad or (n == 1 and _folds(other.mT))):
        found = _folded(other.mT, input.t())
        return found if n == 1 else found.mT.contiguous()
    return _batched(input, other)


@op("unsafe_view(Tensor self, int[] size) -> Tensor", names=())
class unsafe_view:
    """A fresh result in another shape: no view, since nobody else sees the memory that it looks into."""

    def forward(self, size):
        return self.reshape(size)

    def d_self(grad, shape):
        return grad.reshape(shape)


def _is_untracked_product(input, other):
    """Whether vectors fit a matrix behind them and no graph shows by which of PyTorch's views they are multiplied."""
    array, matrix = input._array, other._array
    fits = (
        matrix.ndim == 2 and array.shape[-1] == len(matrix) and array.dtype is matrix.dtype and matrix.dtype.kind != "b"
    )
    return fits and not (input.requires_grad or other.requires_grad)


def _folded(input, other):
    """Many rows times one matrix or vector: one product with the batch folded into the rows."""
    shape = input._array.shape
    if _is_untracked_product(input, other):
        return functions.batched_product(input, other)
    rows = input.reshape(math.prod(shape[:-1]), shape[-1])
    if other.ndim == 1:
        return functions.unsafe_view(functions.mv(rows, other), shape[:-1])
    return functions.unsafe_view(functions.mm(rows, other), (*shape[:-1], other.shape[1]))


def _batched(input, other):
    vector_first, vector_second = input.ndim == 1, other.ndim == 1
    a = input.unsqueeze(0) if vector_first else input
    b = other.unsqueeze(1) if vector_second else other
    if a.shape[-1] != b.shape[-2]:
        _refuse_inner_lengths(input, other, a, b)
    if a.ndim == b.ndim == 3 and a.shape[0] == b.shape[0] and not (a.requires_grad or b.requires_grad):
        return functions.bmm(a, b)  # a graph shows the views that PyTorch has here; nothing else does
    batch = broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    count = math.prod(batch)
    flat_a = a.expand((*batch, *a.shape[-2:])).reshape(count, *a.shape[-2:])
    flat_b = b.expand((*batch, *b.shape[-2:])).reshape(count, *b.shape[-2:])
    shape = (*batch, *(() if vector_first else a.shape[-2:-1]), *(() if vector_second else b.shape[-1:]))
    return functions.unsafe_view(functions.bmm(flat_a, flat_b), shape)


def _refuse_inner_lengths(input, other, a, b):
    """Refuse a product as that of two batches as wide as both would."""
    count = math.prod(broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])))
    raise RuntimeError(
        hinted(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {a.shape[-1]}] but got: "
            f"[{count}, {b.shape[-2]}].",
            f"the shapes {list(input.shape)} and {list(other.shape)} cannot be multiplied: inner lengths must be equal",
        )
    )


def _folds(tensor):
    """Whether a tensor is empty or can be viewed as rows: each dimension but the last goes on where the next one ends."""
    shape, strides = tensor.shape, tensor.stride()
    return not tensor.numel() or all(strides[d] == strides[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


# ---------------------------------------------------------------- the linear layer


def _linear_node(input, weight, bias):
    return "MmBackward0" if bias is None else "AddmmBackward0"


@op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", names=(), node=_linear_node)
class linear_rows:
    """``input @ weight.T + bias`` for a matrix of rows."""

    def forward(input, weight, bias):
        if input.shape[-1] != weight.shape[-1]:
            raise RuntimeError(
                hinted(
                    f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and {weight.shape[1]}x{weight.shape[0]})",
                    f"the layer takes {weight.shape[1]} features, the input has {input.shape[1]} in its last dimension",
                )
            )
        if bias is None:
            check_same_dtype(input, weight)
        else:
            _check_layer_dtypes(input, weight, bias)
        if input.size and weight.size:
            refuse_bools(input, "addmm_impl_cpu_")
        found = product(widened(input), widened(weight).T)
        if bias is not None:
            if bias.shape != found.shape[1:]:
                check_addend(bias, found.shape)
            np.add(found, widened(bias), out=found)
        return found.astype(input.dtype, copy=False)  # half precision is rounded once

    def d_input(grad, weight):
        return grad.mm(conj(weight))

    def d_weight(grad, input):
        return functions.transposed_mm(grad, conj(input))

    def d_bias(grad, bias_shape):
        return functions.unexpanded(grad, bias_shape)


def _check_layer_dtypes(input, weight, bias):
    """PyTorch's refusal of a layer's input or bias that has not the dtype of the weight."""
    for name, array in (("self", bias), ("mat1", input)):
        if array.dtype is not weight.dtype and array.dtype != weight.dtype:
            first, second = (dtypes.from_numpy(t.dtype).legacy_name for t in (array, weight))
            what = "bias" if array is bias else "input"
            raise RuntimeError(
                hinted(
                    f"{name} and mat2 must have the same dtype, but got {first} and {second}",
                    f"convert the {what} with .to({dtypes.from_numpy(weight.dtype)!r}), or the layer",
                )
            )


def linear_gradients(grad, input, weight, needs, gated):
    """The gradients of a linear layer's input, weight and bias on arrays, those that are needed; the others are None.

    And whether the first is 0 where the input is 0 or less, as the gradient of a `relu` before the layer, which may be so
    only if ``gated``.
    """
    of_input = product(grad, weight) if needs[0] else None
    gated = gated and input.size <= FEW  # many elements take less time in an operation of their own
    if gated:
        of_input = np.where(input <= 0, of_input.dtype.type(0), of_input)
    return (
        of_input,
        product(grad.T, input) if needs[1] else None,
        add_up(grad, 0) if needs[2] else None,
        gated,
    )


@op("mm(Tensor self, Tensor mat2) -> Tensor", names=(), node="MmBackward0")
class transposed_mm:
    """``self.T @ mat2``: the gradient of a layer's weight, in one operation."""

    def forward(self, mat2):
        return product(self.T, mat2)

    def d_self(grad, mat2):
        return functions.linear_rows(conj(mat2), grad)

    def d_mat2(grad, self):
        return conj(self).mm(grad)


def _flattens(input, bias):
    """Whether PyTorch takes all samples of an input that is no matrix for rows: else it adds the bias in an operation of its own."""
    row, samples = stored_in(bias._array), stored_in(input._array)
    is_row = row.ndim == 1 or (row.ndim and math.prod(row.shape[:-1]) == 1)
    return is_row and row.flags.c_contiguous and samples.flags.c_contiguous


@composite(names=("nn.functional",))
def linear(input, weight, bias=None):
    """``input @ weight.T + bias``: input (*, in), weight (out, in) or (in), bias (out).

    >>> import rushlight as torch
    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    ndim = input._array.ndim
    if ndim == 2 and weight._array.ndim == 2:
        return functions.linear_rows(input, weight, bias)
    if not (ndim and weight._array.ndim):
        raise RuntimeError(
            hinted(
                f"both arguments to linear need to be at least 1D, but they are {ndim}D and {weight._array.ndim}D",
                "the input's last dimension holds the features of one sample, the weight is (out, in)",
            )
        )
    alone = bias is not None and ndim != 2 and not _flattens(input, bias)
    if bias is not None and weight._array.ndim == 1 and not alone:
        _check_layer_dtypes(input._array, weight._array, bias._array)
        raise RuntimeError(
            hinted("mat2 must be a matrix, got 1-D tensor", "the weight of a layer with a bias is (out, in)")
        )
    if weight._array.ndim != 2 or alone or (ndim < 2 and bias is None):
        found = functions.matmul(input, weight.t())
        return found if bias is None else found.add_(bias)
    shape = input._array.shape
    rows, size = (math.prod(shape[:-1]), shape[-1]), (*shape[:-1], weight._array.shape[0])
    if bias is None:
        return functions.unsafe_view(functions.linear_rows(input.reshape(rows), weight), size)
    return functions.view_shape(functions.linear_rows(functions.view_shape(input, rows), weight, bias), size)


@composite(names=("nn.functional", "torch"))
def bilinear(input1, input2, weight, bias=None):
    """``input1[i] * weight[o, i, j] * input2[j]`` summed over i and j, plus bias."""
    _check_bilinear(input1, input2, weight, bias)
    if input1.numel() and input2.numel() and weight.numel():
        refuse_bools(input1._array, "bmm")
    found = functions.einsum("...i,oij,...j->...o", input1, weight, input2)
    return found if bias is None else found + bias


def _check_bilinear(input1, input2, weight, bias):
    """PyTorch's refusals of dtypes and shapes that do not belong together."""
    named = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if any(value.dtype is not input1.dtype for value in named.values()):
        listed = ", ".join(f"{name}: {c_name(value._array.dtype)}" for name, value in named.items())
        raise RuntimeError(
            hinted(
                f"All tensors must have the same dtype, got {listed}", "products do not promote: convert one with .to()"
            )
        )
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim, (first, second) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if first != second:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {first} and {second}"
            )
    for number, value in ((1, input1), (2, input2)):
        found, wanted = value.size(-1), weight.size(number)
        if found != wanted:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {found} but expected {wanted}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {weight.size(0)}"
        )
