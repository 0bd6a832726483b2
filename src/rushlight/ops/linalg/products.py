"""Products and powers of matrices and vectors: cross, vecdot, multi_dot, matrix powers and exponentials,
Vandermonde."""

import numpy as np

from ...base import dtypes
from ...base.device import contiguous_format
from ...base.errors import hinted, kind_name
from ...base.notes import warn_once
from ...base.scalars import c_name
from ...base.shapes import broadcast_shapes, wrap_dim
from ..elementwise.complex_parts import times_conjugate
from ..table import composite, conj, functions, is_half, op
from .checks import check_floating, check_square
from .deprecated import tell_successor

# ---------------------------------------------------------------- vectors

_DIM_OF_CROSS = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
    "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release."
)


@op("linalg_cross(Tensor self, Tensor other, int dim) -> Tensor", names=(), node="LinalgCrossBackward0")
class cross_parts:
    """Vector products along ``dim``; the operands have one shape."""

    def forward(self, other, dim):
        a, b = np.moveaxis(self, dim, 0), np.moveaxis(other, dim, 0)
        found = np.empty(self.shape, self.dtype)
        out = np.moveaxis(found, dim, 0)
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            np.subtract(a[j] * b[k], a[k] * b[j], out=out[i, ...])
        return found

    def d_self(grad, other, dim):
        return functions.cross_parts(conj(other), grad, dim)

    def d_other(grad, self, dim):
        return functions.cross_parts(grad, conj(self), dim)


@composite(names=("linalg:cross",), out=True)
def linalg_cross(input, other, *, dim=-1):
    """The vector product of vectors of length 3 along ``dim``; other dimensions broadcast.

    >>> import rushlight as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError(
            hinted(
                "linalg.cross: inputs must have the same number of dimensions.",
                f"the shapes are {list(input.shape)} and {list(other.shape)}",
            )
        )
    place = wrap_dim(dim, input.ndim)
    if input.shape[place] != 3 or other.shape[place] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[place]} and "
            f"{other.shape[place]}"
        )
    shape = broadcast_shapes(tuple(input.shape), tuple(other.shape))
    if input.dtype is dtypes.bool_:
        raise NotImplementedError(hinted("\"cross\" not implemented for 'Bool'", "convert the tensors first"))
    if input.dtype is not other.dtype:
        message = f"expected scalar type {input.dtype.legacy_name} but found {other.dtype.legacy_name}"
        raise RuntimeError(hinted(message, "convert one of them with .to(other.dtype)"))
    first, second = input.expand(shape), other.expand(shape)
    return functions.cross_parts(first, second, place)


@composite(out=True)
def cross(input, other, dim=None):
    """`linalg.cross` along the first dimension of length 3 unless ``dim`` is given, as it should be."""
    if dim is None:
        warn_once(_DIM_OF_CROSS)
        dim = next((d for d, length in enumerate(input.shape) if length == 3), None)
        if dim is None:
            raise RuntimeError(hinted("no dimension of size 3 in input", f"the shape is {list(input.shape)}"))
    return linalg_cross(input, other, dim=dim)


@composite(names=("linalg:vecdot",), out=True)
def linalg_vecdot(x, y, *, dim=-1):
    """Sums of ``conj(x) * y`` along ``dim``; other dimensions broadcast."""
    check_floating(x, "linalg.vecdot")
    if x.dtype is not y.dtype:
        message = (
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.legacy_name} and y of type {y.dtype.legacy_name} instead"
        )
        raise RuntimeError(hinted(message, "convert one of them with .to(other.dtype)"))
    if x.ndim == 1 and y.ndim == 1:
        return functions.vdot(x, y)
    return (times_conjugate(y, x) if x.is_complex() else x * y).sum(dim)


@composite(names=("linalg:diagonal",))
def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view: `torch.diagonal` of the last two dimensions."""
    return A.diagonal(offset, dim1, dim2)


@composite(names=("linalg:vander",))
def linalg_vander(x, *, N=None):
    """The powers 0 to N - 1 of each element, along a new last dimension: (..., n) gives (..., n, N)."""
    if x.dtype is dtypes.bool_ or is_half(x.dtype.numpy):
        raise RuntimeError(
            hinted(
                f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.legacy_name}",
                "convert it first: x.float()",
            )
        )
    x = functions.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(
            hinted("N must be greater than 1.", "it is the number of powers, by default the length of x")
        )
    powers = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    return functions.cat([functions.ones((*x.shape, 1), dtype=powers.dtype, device=powers.device), powers], -1)


@composite(names=("torch",))
def vander(x, N=None, increasing=False):
    """The powers of a vector's elements as rows, by default from N - 1 down to 0."""
    if x.ndim != 1:
        raise RuntimeError(hinted("x must be a one-dimensional tensor.", f"its shape is {list(x.shape)}"))
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = dtypes.promote_types(x.dtype, dtypes.int64)
    if count < 2:
        return functions.ones((x.shape[0], count), dtype=dtype, device=x.device)
    ones = functions.ones((x.shape[0], 1), dtype=dtype, device=x.device)
    powers = x.expand((count - 1, x.shape[0])).cumprod(0)  # as rows first, of which each is the one before times x
    return functions.cat([ones, powers.t()] if increasing else [powers.flip(0).t(), ones], 1)


# ---------------------------------------------------------------- chains


@composite(names=("linalg:multi_dot",), out=True)
def linalg_multi_dot(tensors):
    """The product of two or more matrices in the order that takes the fewest multiplications; the first and last may
    be vectors.

    >>> import rushlight as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for where, place in (("first", 0), ("last", -1)):
        if tensors[place].ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {where} tensor must be 1D or 2D but got {tensors[place].ndim}D")
    for place, tensor in enumerate(tensors[1:-1], 1):
        if tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {tensor.ndim}D")
    for place, tensor in enumerate(tensors[1:], 1):
        if tensor.dtype is not tensors[0].dtype:
            first, other = (c_name(t.dtype) for t in (tensors[0], tensor))
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {first} and tensor {place} "
                f"{other}"
            )
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    tensors[0] = tensors[0].unsqueeze(0) if row else tensors[0]
    tensors[-1] = tensors[-1].unsqueeze(-1) if column else tensors[-1]
    for place in range(len(tensors) - 1):
        if tensors[place].shape[1] != tensors[place + 1].shape[0]:
            raise RuntimeError(
                hinted(
                    f"multi_dot(): tensors {place} and {place + 1} with shapes {list(tensors[place].shape)} and "
                    f"{list(tensors[place + 1].shape)} cannot be multiplied",
                    "the columns of one must be as many as the rows of the next",
                )
            )
    found = _in_best_order(tensors)
    shape = [*([] if row else [found.shape[0]]), *([] if column else [found.shape[1]])]
    return found.view(shape)


def _in_best_order(matrices):
    """Matrix chain multiplication: the split of every stretch that costs least, found from short stretches to long
    ones."""
    count = len(matrices)
    sizes = [matrices[0].shape[0], *[m.shape[1] for m in matrices]]
    cost = {(i, i): (0, i) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def multiply(i, j):
        if i == j:
            return matrices[i]
        split = cost[i, j][1]
        return functions.mm(multiply(i, split), multiply(split + 1, j))

    return multiply(0, count - 1)


@composite(names=("torch",), out=True)
def chain_matmul(*matrices):
    """Deprecated in PyTorch: `linalg.multi_dot` of the matrices given one by one."""
    tell_successor("chain_matmul")
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = matrices[0]
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    found = matrices[0].clone() if len(matrices) == 1 else linalg_multi_dot(matrices)
    return found


# ---------------------------------------------------------------- powers and exponentials


@composite(names=("linalg:matrix_power",), out=True)
def linalg_matrix_power(A, n):
    """Square matrices (..., m, m) multiplied with themselves ``n`` times; their inverses where n is negative.

    >>> import rushlight as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {kind_name(n)}")
    check_square(A, "linalg.matrix_power")
    n = n.__index__()
    if n == 0:
        eye = functions.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape)
        return A.clone(memory_format=contiguous_format).copy_(eye)
    square = functions.linalg_inv(A) if n < 0 else A
    n = abs(n)
    found = None
    while n:
        if n & 1:
            found = square if found is None else functions.matmul(found, square)
        n >>= 1
        if n:
            square = functions.matmul(square, square)
    return found.clone(memory_format=contiguous_format) if found is A else found


_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip


def _exponential(a):
    """exp of matrices: scaling, the Pade approximant of degree 13, squaring (Higham 2005)."""
    kind = a.dtype
    size = np.abs(a).sum(-2).max(-1, initial=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squarings = np.where((size > 2) & np.isfinite(size), np.ceil(np.log2(size / 2)), 0).astype(np.int64)
    a = a * np.exp2(-squarings.astype(a.real.dtype))[..., None, None]
    scale = float(_PADE[0])
    b = [kind.type(c / scale) for c in _PADE]
    eye = np.eye(a.shape[-1], dtype=kind)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    found = np.linalg.solve(even - odd, even + odd)
    for step in range(int(squarings.max(initial=0))):
        more = squarings > step
        found = found @ found if more.all() else np.where(more[..., None, None], found @ found, found)
    return found.astype(kind, copy=False)


@op("linalg_matrix_exp(Tensor self) -> Tensor", names=(), node="LinalgMatrixExpBackward0")
class matrix_exp_parts:
    """Matrix exponentials."""

    def forward(self):
        check_square(self, "linalg.matrix_exp")
        check_floating(self, "linalg.matrix_exp")
        if self.size == 0:
            return np.empty(self.shape, self.dtype)
        if self.dtype.itemsize == 2:
            return _exponential(self.astype(np.float32)).astype(self.dtype)
        return _exponential(self)

    def d_self(grad, self):
        # Upper right in exp [[A^H, G], [0, A^H]]: the derivative in the direction G (Najfeld and Havel 1995).
        turned = conj(self.mT)
        upper = functions.cat([turned, grad], -1)
        lower = functions.cat([functions.zeros_like(grad), turned], -1)
        n = self.shape[-1]
        return functions.matrix_exp_parts(functions.cat([upper, lower], -2))[..., :n, n:]


@composite(names=("linalg:matrix_exp",))
def linalg_matrix_exp(A):
    """The matrix exponential of square matrices (..., n, n): the sum of ``A^k / k!``.

    >>> import rushlight as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return functions.matrix_exp_parts(A)


@composite
def matrix_exp(input):
    """`linalg.matrix_exp` under its older name."""
    return functions.linalg_matrix_exp(input)


@composite(out=True)
def matrix_power(input, n):
    """`linalg.matrix_power` under its older name."""
    return functions.linalg_matrix_power(input, n)
