"""Complex numbers: parts and pairs as views, conjugates, angles, and numbers from their parts."""

import numpy as np

from ...base import dtypes
from ...base.arrays import address_of, in_result_order, narrowed, owner_of
from ...base.errors import hinted
from ...base.lazy import LazyArray
from ...base.shapes import broadcast_shapes
from ..table import FLOAT, FUSED, UNARY, VIEW, composite, functions, op
from .checks import is_tensor


def _parts(array):
    """The parts of complex32 numbers (NumPy's letter for their kind is W) as pairs in the same memory."""
    return array[..., None].view(np.float16)


@op("real_part(Tensor self) -> Tensor", kind=VIEW, names=(), node="SelectBackward0")
class real_part:
    """The real parts of a complex tensor, as a view."""

    def bits(conj, neg):
        return False, neg

    def forward(self):
        return _parts(self)[..., 0] if self.dtype.kind == "W" else self.real

    def d_self(grad):
        return functions.complex(grad, functions.zeros_like(grad))


@op("imaginary_part(Tensor self) -> Tensor", kind=VIEW, names=(), node="SelectBackward0")
class imaginary_part:
    """The imaginary parts of a complex tensor, as a view; of a lazy conjugate they are read negated."""

    def bits(conj, neg):
        return False, conj != neg

    def forward(self):
        return _parts(self)[..., 1] if self.dtype.kind == "W" else self.imag

    def d_self(grad):
        return functions.complex(functions.zeros_like(grad), grad)


@composite(names=("torch",))
def real(input):
    """The real parts of a complex tensor, as a view; a real tensor itself."""
    return functions.real_part(input) if input.is_complex() else input


@composite(names=("torch",))
def imag(input):
    """The imaginary parts of a complex tensor, as a view."""
    if not input.is_complex():
        raise RuntimeError(
            hinted(
                "imag is not implemented for tensors with non-complex dtypes.",
                f"this tensor is {input.dtype!r}: its imaginary part is zero",
            )
        )
    return functions.imaginary_part(input)


@op("view_as_real(Tensor self) -> Tensor", kind=VIEW, names=("torch",))
class view_as_real:
    """A complex tensor as a real view with a last dimension of length 2: real and imaginary parts."""

    def bits(conj, neg):
        if conj:
            raise RuntimeError(
                hinted(
                    "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
                    "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.",
                    "the imaginary parts of a lazy conjugate are stored with the other sign: one view cannot show both parts",
                )
            )
        return False, neg

    def forward(self):
        if self.dtype.kind == "W":
            return _parts(self)
        if self.dtype.kind != "c":
            raise RuntimeError(
                hinted("view_as_real is only supported for complex tensors", f"this tensor holds {self.dtype} elements")
            )
        return self[..., None].view(self.real.dtype)

    def d_self(grad):
        return functions.view_as_complex(grad.contiguous())


@op("view_as_complex(Tensor self) -> Tensor", kind=VIEW, names=("torch",))
class view_as_complex:
    """A real tensor with a last dimension of length 2 as a complex view: its pairs are real and imaginary parts."""

    def forward(self):
        kind = dtypes.from_numpy(self.dtype)
        if kind not in (dtypes.float32, dtypes.float64, dtypes.float16):
            raise RuntimeError(
                hinted(
                    "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                    f"scalar type: {kind.legacy_name}",
                    "convert it with .float() or .double()",
                )
            )
        if self.ndim == 0:
            raise RuntimeError("Input tensor must have one or more dimensions")
        if self.shape[-1] != 2:
            raise RuntimeError(
                hinted(
                    "Tensor must have a last dimension of size 2",
                    f"its shape is {list(self.shape)}: (..., real and imaginary)",
                )
            )
        size = self.itemsize
        if self.strides[-1] != size:
            raise RuntimeError("Tensor must have a last dimension with stride 1")
        if any(s % (2 * size) for n, s in zip(self.shape[:-1], self.strides) if n != 1):
            raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
        if (address_of(self) - address_of(owner_of(self))) % (2 * size):
            raise RuntimeError(
                hinted(
                    "Tensor must have a storage_offset divisible by 2",
                    "it begins within a pair of its memory's numbers; a clone() begins at 0",
                )
            )
        return self.view(kind.to_complex().numpy)[..., 0]

    def d_self(grad):
        return functions.view_as_real(grad)


@op("conj_view(Tensor self) -> Tensor", kind=VIEW, names=(), node="ConjBackward0")
class conj_view:
    """The complex conjugate as a view: the same memory, read conjugated."""

    def bits(conj, neg):
        return not conj, neg

    def forward(self):
        return LazyArray(self[...], True, False)

    def d_self(grad):
        return grad.conj()


@op(
    "_neg_view(Tensor self) -> Tensor",
    kind=VIEW,
    names=("torch:_neg_view", "Tensor:_neg_view"),
    node="NegViewBackward0",
)
class _neg_view:
    """The negative as a view: the same memory, read negated."""

    def bits(conj, neg):
        return conj, not neg

    def forward(self):
        return LazyArray(self[...], False, True)

    def d_self(grad):
        return -grad


@op("conj(Tensor self) -> Tensor", kind=UNARY, names=(), node="ConjBackward0")
class conjugate:
    """The complex conjugate of each element, in new memory: what derivatives multiply by."""

    def numpy(self):
        return np.conjugate(self)

    def d_self(grad):
        return functions.conjugate(grad)


@composite
def conj(input):
    """The complex conjugate, as a view: the same memory, read conjugated. A real tensor itself.

    >>> import rushlight as torch
    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().is_conj(), x.conj().data_ptr() == x.data_ptr(), x.conj()
    (True, True, tensor([1.-2.j]))
    """
    return functions.conj_view(input) if input.is_complex() else input


@composite
def _conj(input):
    """`conj` of a complex tensor."""
    if not input.is_complex():
        raise RuntimeError(
            hinted(
                "isComplexType(typeMetaToScalarType(dtype())) INTERNAL ASSERT FAILED: _conj is for complex tensors",
                f"this tensor is {input.dtype!r}: conj() gives it as it is",
            )
        )
    return functions.conj_view(input)


@op("conj_physical_complex(Tensor self) -> Tensor", kind=UNARY, names=(), node="ConjPhysicalBackward0")
class conj_physical_complex:
    """The complex conjugate of each element, in new memory."""

    def numpy(self):
        return np.conjugate(self)

    def d_self(grad):
        return functions.conj_physical_complex(grad)


@composite(inplace=True, out=True)
def conj_physical(input):
    """The complex conjugate in new memory; a real tensor itself."""
    return functions.conj_physical_complex(input) if input.is_complex() else input


@composite
def resolve_conj(input):
    """The tensor itself, or a copy with the conjugates in memory where it is read conjugated."""
    return input.clone() if input.is_conj() else input


@composite
def resolve_neg(input):
    """The tensor itself, or a copy with the negatives in memory where it is read negated."""
    return input.clone() if input.is_neg() else input


@op("mul_conjugate(Tensor gradient, Tensor other) -> Tensor", kind=FUSED, names=())
class mul_conjugate:
    """The gradient of a product with a complex number."""

    light = True

    def element(m, gradient, other):
        return gradient * m.conj(other)


def times_conjugate(gradient, value):
    """``gradient * conj(value)`` in one step; ``value`` is a tensor or a number."""
    array = getattr(value, "_array", None)
    if array is None:
        return gradient * value.conjugate()
    return functions.mul_conjugate(gradient, value) if array.dtype.kind == "c" else gradient * value


@op("angle(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT)
class angle:
    """The angle of a complex number in the plane; of a real one 0, pi where it is negative."""

    def numpy(self):
        if self.dtype.kind == "c":
            return np.angle(self)
        found = np.where(self < 0, self.dtype.type(np.pi), self.dtype.type(0))
        return np.where(np.isnan(self), self, found)

    def patterns(self):
        return () if self.dtype.kind == "c" else (self,)

    def d_self(grad, self):
        if not self.is_complex():
            return functions.zeros_like(grad)
        square = self.real * self.real + self.imag * self.imag
        inverse = square.reciprocal().masked_fill(square == 0, 0)
        return functions.complex(-self.imag * inverse * grad, self.real * inverse * grad)


def _check_parts(first, second):
    for value in (first, second):
        if not is_tensor(value):
            return
    kinds = (first.dtype, second.dtype)
    if kinds[0] is not kinds[1] and all(kind in (dtypes.float16, dtypes.float32, dtypes.float64) for kind in kinds):
        names = [kind.legacy_name for kind in kinds]
        message = f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument"
        raise RuntimeError(hinted(message, "convert one of them with .to(other.dtype)"))
    if any(kind not in (dtypes.float16, dtypes.float32, dtypes.float64) for kind in kinds):
        raise RuntimeError(
            hinted(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{kinds[0].legacy_name} and {kinds[1].legacy_name}",
                "convert both with .float() or .double()",
            )
        )


@op("complex_of_parts(Tensor self, Tensor imag) -> Tensor", names=(), node="ComplexBackward0")
class complex_of_parts:
    """Complex numbers with the given real and imaginary parts."""

    def forward(self, imag):
        kind = dtypes.from_numpy(self.dtype).to_complex()
        halved = kind is dtypes.complex32
        found = np.empty(broadcast_shapes(self.shape, imag.shape), np.complex64 if halved else kind.numpy)
        found.real, found.imag = self, imag
        return in_result_order(narrowed(found, kind.numpy) if halved else found, (self, imag))

    def d_self(grad, self):  # PyTorch saves each part for its own gradient
        return grad.real

    def d_imag(grad, imag):
        return grad.imag


@composite(names=("torch",))
def complex(real, imag, *, out=None):
    """Complex numbers with the given real and imaginary parts, which have one dtype: float16, float32 or float64.

    >>> import rushlight as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts(real, imag)
    options = {} if out is None else {"out": out}
    return functions.complex_of_parts(real, imag, **options)


@op("polar_of_parts(Tensor self, Tensor angle) -> Tensor", names=(), node="PolarBackward0")
class polar_of_parts:
    """Complex numbers with the given absolute values and angles."""

    def forward(self, angle):
        found = np.empty(broadcast_shapes(self.shape, angle.shape), dtypes.from_numpy(self.dtype).to_complex().numpy)
        np.multiply(self, np.cos(angle), out=found.real)
        np.multiply(self, np.sin(angle), out=found.imag)
        return in_result_order(found, (self, angle))

    def d_self(grad, result):  # as in PyTorch, negative absolute values count as positive ones, and 0 has no angle
        return (functions.conj(grad) * result.sgn()).real

    def d_angle(grad, result):
        return (functions.conj(grad) * (result * 1j)).real


@composite(names=("torch",))
def polar(abs, angle, *, out=None):
    """Complex numbers with the given absolute values and angles, which have one dtype, float32 or float64."""
    _check_parts(abs, angle)
    if is_tensor(abs) and abs.dtype is dtypes.float16:
        raise NotImplementedError(hinted("\"polar_cpu\" not implemented for 'Half'", "convert both with .float()"))
    options = {} if out is None else {"out": out}
    return functions.polar_of_parts(abs, angle, **options)
