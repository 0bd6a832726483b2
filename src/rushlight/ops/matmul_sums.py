"""Products added to a tensor: addmm, baddbmm, addmv, addr, addbmm."""

import numpy as np

from ..base import dtypes
from ..base.arrays import converted, in_result_order
from ..base.errors import hinted
from ..base.scalars import c_name, number_in, wrapped
from ..base.shapes import wrap_own_dim
from .join import common_array_dtype
from .matmul import NATIVE_FLOATS, check_addend, product, same_batch_dtype
from .table import conj, functions, is_half, op, widened

FLOAT = np.dtype(np.float32)
_FEW = 16**3  # elements of a matrix that PyTorch multiplies by its own loops


def multiplied(value, factor):
    """A gradient times the conjugate of a factor, without an operation where that is one."""
    return value if factor == 1 else value * conj(factor)


def factors_in(dtype, beta, alpha, kernel="addmm_impl_cpu_"):
    """The factors of a sum of products, refused where the NumPy dtype, float32 for half precision, has no place for them.

    ``kernel`` is what PyTorch calls the one that has no bools.
    """
    if dtype.kind == "b":
        raise NotImplementedError(
            hinted(f"\"{kernel}\" not implemented for 'Bool'", "convert the masks with .int() or .float()")
        )
    if beta == alpha == 1:
        return beta, alpha
    goal = FLOAT if is_half(dtype) else dtype
    return number_in(goal, beta), number_in(goal, alpha)


def added_product(array, a, b, beta, alpha, kernel="addmm_impl_cpu_"):
    """``beta * array + alpha * (a @ b)`` on arrays; half precision is rounded once, at the end."""
    if beta == alpha == 1 and a.dtype in NATIVE_FLOATS:
        found = product(a, b)
        return np.add(found, array, out=found)
    if a.dtype.kind == "b" and not (a.shape[-2] and b.shape[-1]):
        return product(a, b)  # no elements, for which PyTorch starts no kernel
    beta, alpha = factors_in(a.dtype, beta, alpha, kernel)
    if is_half(a.dtype):
        return add_scaled(widened(array), product(widened(a), widened(b)), beta, alpha).astype(a.dtype)
    return add_scaled(array, product(a, b), beta, alpha)


def add_scaled(array, found, beta, alpha):
    """``beta * array + alpha * found`` on arrays, written over ``found``."""
    dtype = found.dtype
    if dtype.kind == "b":
        return found & bool(alpha) | array & bool(beta)
    if alpha != 1:
        found = np.multiply(found, wrapped(dtype, alpha), out=found)
    if beta == 0:
        return found
    return np.add(found, array if beta == 1 else array * wrapped(dtype, beta), out=found)


def check_dtypes_added(array, first, second):
    """Refuse dtypes that differ in a sum of a tensor and a product."""
    kind = second.dtype
    if array.dtype is first.dtype is kind:
        return
    for name, one in (("self", array), ("mat1", first)):
        if one.dtype != kind:
            kinds = [dtypes.from_numpy(a.dtype).legacy_name for a in (one, second)]
            raise RuntimeError(
                hinted(
                    f"{name} and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}",
                    "products do not promote: convert one of them with .to()",
                )
            )


def _length(array, dim):
    """The length of a dimension that an array may lack: then PyTorch's refusal."""
    return array.shape[wrap_own_dim(dim, array.ndim)]


@op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class addmm:
    """``beta * self + alpha * (mat1 @ mat2)``."""

    def forward(self, mat1, mat2, beta, alpha):
        check_dtypes_added(self, mat1, mat2)
        if mat1.ndim != 2 or mat2.ndim != 2:
            raise RuntimeError(
                f"mat{1 if mat1.ndim != 2 else 2} must be a matrix, got {(mat1 if mat1.ndim != 2 else mat2).ndim}-D tensor"
            )
        (rows, inner), (length, columns) = mat1.shape, mat2.shape
        if inner != length:
            raise RuntimeError(
                hinted(
                    f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {length}x{columns})",
                    f"the inner lengths {inner} and {length} must be equal; .T transposes a matrix",
                )
            )
        shape = rows, columns
        if self.shape != shape:
            check_addend(self, shape)
        return added_product(self, mat1, mat2, beta, alpha)

    def d_self(grad, shape, beta):
        return (grad if beta == 1 else grad * conj(beta)).sum_to_size(shape)

    def d_mat1(grad, mat2, alpha):
        return multiplied(grad.mm(conj(mat2.t())), alpha)

    def d_mat2(grad, mat1, alpha):
        return multiplied(conj(mat1.t()).mm(grad), alpha)


@op("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class baddbmm:
    """``beta * self + alpha * (batch1 @ batch2)`` for batches of matrices."""

    def forward(self, batch1, batch2, beta, alpha):
        if batch1.ndim == batch2.ndim == 3:
            shape = *batch1.shape[:2], batch2.shape[2]
        else:
            shape = _length(batch1, 0), _length(batch1, 1), _length(batch2, 2)
        if self.shape != shape:
            check_addend(self, shape)
        if batch1.ndim != 3 or batch2.ndim != 3:
            raise RuntimeError(f"batch{1 if batch1.ndim != 3 else 2} must be a 3D tensor")
        if self.dtype != batch1.dtype:
            raise RuntimeError(
                hinted(
                    f"Input dtypes must be the same, got: input {c_name(self.dtype)}, batch1: {c_name(batch1.dtype)}, "
                    f"batch2: {c_name(batch2.dtype)}",
                    "products do not promote: convert with .to()",
                )
            )
        if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{batch1.shape[0]}, {batch1.shape[2]}] but got: "
                f"[{batch2.shape[0]}, {batch2.shape[1]}]."
            )
        same_batch_dtype(batch1, batch2)
        return added_product(self, batch1, batch2, beta, alpha, "baddbmm")

    def d_self(grad, shape, beta):
        return multiplied(grad, beta).sum_to_size(shape)

    def d_batch1(grad, batch2, alpha):
        return multiplied(grad.bmm(conj(batch2.transpose(1, 2))), alpha)

    def d_batch2(grad, batch1, alpha):
        return multiplied(conj(batch1.transpose(1, 2)).bmm(grad), alpha)


def _by_columns(mat):
    """Whether PyTorch adds up the columns of a matrix in half precision, and rounds their sum before it adds the vector."""
    rows, columns = (stride // mat.itemsize for stride in mat.strides)
    return rows == 1 and columns >= max(1, mat.shape[0]) and mat.size <= _FEW


@op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class addmv:
    """``beta * self + alpha * (mat @ vec)``."""

    def forward(self, mat, vec, beta, alpha):
        if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
            raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
        if mat.shape[1] != vec.shape[0] or (self.size != 1 and self.shape[0] != mat.shape[0]):
            raise RuntimeError(
                hinted(
                    f"size mismatch, got input ({_length(self, 0)}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})",
                    f"the product of the matrix takes a vector of {mat.shape[1]} and gives one of {mat.shape[0]}",
                )
            )
        _same_dtypes("addmv", self, mat, vec)
        if mat.dtype.kind == "b":
            factors_in(mat.dtype, beta, alpha, "addmv_impl_cpu")
        rounded = number_in(mat.dtype, beta), number_in(mat.dtype, alpha)
        if is_half(mat.dtype) and not _by_columns(mat):
            return added_product(self, mat, vec, beta, alpha)
        beta, alpha = rounded
        return add_scaled(self, product(mat, vec), beta, alpha)

    def d_self(grad, shape, beta):
        return multiplied(grad, beta).sum_to_size(shape)

    def d_mat(grad, vec, alpha):
        return multiplied(functions.outer_product(grad, conj(vec)), alpha)

    def d_vec(grad, mat, alpha):
        return multiplied(conj(mat.t()).mv(grad), alpha)


@op("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class addr:
    """``beta * self + alpha * outer(vec1, vec2)``."""

    def forward(self, vec1, vec2, beta, alpha):
        for number, vector in ((1, vec1), (2, vec2)):
            if vector.ndim != 1:
                raise RuntimeError(f"addr: Expected 1-D argument vec{number}, but got {vector.ndim}-D")
        # The product first; then a single number counts as much as a matrix.
        kind = dtypes.promote_types(*map(dtypes.from_numpy, (common_array_dtype([vec1, vec2]), self.dtype))).numpy
        _check_factors(dtypes.from_numpy(kind), beta, alpha)
        check_addend(self, (vec1.size, vec2.size))
        beta, alpha = number_in(kind, beta), number_in(kind, alpha)
        found = vec1.astype(kind)[:, None] * vec2.astype(kind, copy=False)
        addend = self if self.dtype is kind else converted(self, kind)
        return in_result_order(add_scaled(addend, found, beta, alpha), (addend,))

    def d_self(grad, shape, beta):
        return multiplied(grad, beta).sum_to_size(shape)

    def d_vec1(grad, vec2, alpha):
        return multiplied(grad.mv(conj(vec2)), alpha)

    def d_vec2(grad, vec1, alpha):
        return multiplied(grad.t().mv(conj(vec1)), alpha)


@op("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class addbmm:
    """``beta * self + alpha * sum(batch1 @ batch2)`` over the batch."""

    def forward(self, batch1, batch2, beta, alpha):
        check_addend(self, (_length(batch1, 1), _length(batch2, 2)))
        for number, batch in ((1, batch1), (2, batch2)):
            if batch.ndim != 3:
                raise RuntimeError(f"batch{number} must be a 3D tensor")
        if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
            words = (
                f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
                if batch1.shape[0] != batch2.shape[0]
                else f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and "
                f"{batch2.shape[1]}x{batch2.shape[2]})"
            )
            raise RuntimeError(hinted(words, f"the batches have shapes {list(batch1.shape)} and {list(batch2.shape)}"))
        check_dtypes_added(self, batch1, batch2)
        if is_half(batch1.dtype):  # rounded after each product, as PyTorch adds them
            found = self
            for first, second in zip(batch1, batch2):
                found, beta = added_product(found, first, second, beta, alpha), 1
            return np.broadcast_to(found, (batch1.shape[1], batch2.shape[2])).copy()
        beta, alpha = factors_in(batch1.dtype, beta, alpha)
        found = product(batch1, batch2).sum(0, dtype=batch1.dtype)
        return add_scaled(self, found, beta, alpha)

    def d_self(grad, shape, beta):
        return multiplied(grad, beta).sum_to_size(shape)

    def d_batch1(grad, batch2, alpha):
        return multiplied(_spread(grad, batch2).bmm(conj(batch2.transpose(1, 2))), alpha)

    def d_batch2(grad, batch1, alpha):
        return multiplied(conj(batch1.transpose(1, 2)).bmm(_spread(grad, batch1)), alpha)


def _spread(grad, batch):
    return grad.unsqueeze(0).expand(batch.shape[0], *grad.shape)


def _same_dtypes(name, self, mat, vec):
    if not self.dtype == mat.dtype == vec.dtype:
        kinds = [dtypes.from_numpy(a.dtype).legacy_name for a in (self, mat, vec)]
        raise RuntimeError(
            hinted(
                f"{name} input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[2]}",
                "products do not promote: convert one of them with .to()",
            )
        )


def _check_factors(dtype, beta, alpha):
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, (float, complex)) and dtype.category <= dtypes.SIGNED:
            raise RuntimeError(
                hinted(
                    f"For integral input tensors, argument {name} must not be a floating point number.",
                    "convert the tensors with .float(), or give a whole number",
                )
            )
        if isinstance(factor, bool) and dtype is not dtypes.bool_:
            raise RuntimeError(hinted(f"Boolean {name} only supported for Boolean results.", "give a number"))
