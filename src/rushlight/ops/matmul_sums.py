"""Products added to a tensor: addmv, addr, addbmm; `addmm` and `baddbmm` stand beside their products."""

from ..base import dtypes
from ..base.errors import hinted
from .join import common_array_dtype
from .matmul import add_scaled, check_addend, multiplied, product
from .table import conj, functions, op


@op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", inplace=True)
class addmv:
    """``beta * self + alpha * (mat @ vec)``."""

    def forward(self, mat, vec, beta, alpha):
        if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
            raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
        if mat.shape[1] != vec.shape[0] or (self.size != 1 and self.shape[0] != mat.shape[0]):
            raise RuntimeError(
                hinted(
                    f"size mismatch, got input ({self.size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})",
                    f"the product of the matrix takes a vector of {mat.shape[1]} and gives one of {mat.shape[0]}",
                )
            )
        _same_dtypes("addmv", self, mat, vec)
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
        kind = common_array_dtype([self, vec1, vec2])
        _check_factors(dtypes.from_numpy(kind), beta, alpha)
        check_addend(self, (vec1.size, vec2.size))
        found = vec1.astype(kind)[:, None] * vec2.astype(kind, copy=False)
        return add_scaled(self.astype(kind, copy=False), found, beta, alpha)

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
        check_addend(self, (batch1.shape[1], batch2.shape[2]))
        for name, first in (("self", self), ("mat1", batch1)):
            if first.dtype != batch2.dtype:
                kinds = [dtypes.from_numpy(a.dtype).legacy_name for a in (first, batch2)]
                raise RuntimeError(
                    hinted(
                        f"{name} and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}",
                        "products do not promote: convert one of them with .to()",
                    )
                )
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
        if isinstance(factor, float) and dtype.category <= dtypes.SIGNED:
            raise RuntimeError(
                hinted(
                    f"For integral input tensors, argument {name} must not be a floating point number.",
                    "convert the tensors with .float(), or give a whole number",
                )
            )
        if isinstance(factor, bool) and dtype is not dtypes.bool_:
            raise RuntimeError(hinted(f"Boolean {name} only supported for Boolean results.", "give a number"))
